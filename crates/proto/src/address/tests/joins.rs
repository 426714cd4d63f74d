//! Tests of joins: which packets make the peer add their source address, and when a join is sent.

use super::rules::{add_alice_address, asconfs, send_message};
use super::*;

/// A second after the last heartbeats of the fixture.
const MUCH_LATER: Instant = Instant::from_nanos(6_000_000_000);

/// A path on which Bob receives Alice's packets from another port of her known address.
fn path_from_port(port: u16) -> PathAddr {
    PathAddr {
        local: at(0, 2),
        remote: SocketAddr::new(at(0, 1).ip(), port),
    }
}

/// Alice's ASCONF with the next serial number plus `number`, which requests to add the source address of its packet.
fn join_packet(pair: &Pair, number: u32) -> Vec<u8> {
    let mut asconf = pair.asconf(&one(|list| list.push_add_address(about(0, "0.0.0.0"))));
    asconf.number = AsconfNumber(asconf.number.0.wrapping_add(number));
    asconf.address = [0, 0, 0, 0].into();
    pair.authenticated(&asconf)
}

/// Delivers `bytes` to Bob over `path`. Returns the destinations of his replies.
fn reply_destinations(pair: &mut Pair, path: PathAddr, bytes: &[u8]) -> Vec<SocketAddr> {
    pair.bob.handle_datagram(LATER, path, Ecn::NotCapable, bytes);
    let answers = poll_packets(&mut pair.bob, LATER);
    answers.iter().map(|(path, _)| path.remote).collect()
}

/// Delivers a packet from Alice's known address to Bob.
fn deliver_from_known_address(pair: &mut Pair) {
    let data = send_message(&mut pair.alice, "from where I was");
    deliver(data, &mut pair.bob);
    poll_packets(&mut pair.bob, LATER);
}

fn remotes(pair: &Pair) -> Vec<SocketAddr> {
    pair.bobs().transfer.paths.remotes().collect()
}

/// Advances Alice's time for `seconds` while all her packets are lost. Returns the packets and their times.
fn run_alice_alone(pair: &mut Pair, seconds: u64) -> Vec<(Instant, PathAddr, Vec<u8>)> {
    let mut sent = Vec::new();
    for step in 0..seconds * 100 {
        let now = LATER + Duration::from_millis(10 * step);
        pair.alice.handle_timeout(now);
        let packets = poll_packets(&mut pair.alice, now);
        sent.extend(packets.into_iter().map(|(path, bytes)| (now, path, bytes)));
    }
    sent
}

fn contains_chunk(bytes: &[u8], wanted: u8) -> bool {
    let packet = Packet::parse(bytes).expect("in order");
    packet.chunks().flatten().any(|raw| raw.kind == wanted)
}

//= rfc5061 4.2.1-3
#[test]
fn join_from_another_port_of_a_known_address_is_a_second_path() {
    let mut pair = Pair::with(1);
    let packet = join_packet(&pair, 0);
    let answered = reply_destinations(&mut pair, path_from_port(40_001), &packet);
    assert!(answered.contains(&path_from_port(40_001).remote), "{answered:?}");
    assert_eq!(remotes(&pair), [at(0, 1), path_from_port(40_001).remote]);
}

//= rfc6951 5.4-1
#[test]
fn packet_from_another_port_does_not_move_a_path_in_use() {
    let mut pair = Pair::with(1);
    deliver_from_known_address(&mut pair);
    let heartbeat = pair.packet_from_alice(|_, packet| {
        packet
            .push(&anabranch_wire::Heartbeat { info: b"info" })
            .expect("room");
    });
    assert_eq!(
        reply_destinations(&mut pair, path_from_port(40_001), &heartbeat),
        []
    );
    assert_eq!(remotes(&pair), [at(0, 1)]);
    // After a minute without packets from the known port, the path moves to the other port.
    let later = LATER + Duration::from_secs(60);
    pair.bob
        .handle_datagram(later, path_from_port(40_001), Ecn::NotCapable, &heartbeat);
    assert_eq!(remotes(&pair), [path_from_port(40_001).remote]);
}

/// A repeated ASCONF adds no path, because its serial number was accepted already. Its sender may have moved before it
/// received the ASCONF ACK.
#[test]
fn repeated_join_gets_its_asconf_ack_and_adds_nothing() {
    let mut pair = Pair::with(1);
    deliver_from_known_address(&mut pair);
    let packet = join_packet(&pair, 0);
    reply_destinations(&mut pair, path_from_port(40_001), &packet);
    let before = remotes(&pair);
    for path in [
        path_from_port(40_002),
        PathAddr {
            remote: at(9, 9),
            ..path_from_port(0)
        },
    ] {
        assert_eq!(reply_destinations(&mut pair, path, &packet), [path.remote]);
        assert_eq!(remotes(&pair), before);
    }
}

#[test]
fn unauthenticated_or_out_of_order_join_is_ignored() {
    let mut pair = Pair::with(1);
    deliver_from_known_address(&mut pair);
    let asconf = pair.asconf(&one(|list| list.push_add_address(about(0, "0.0.0.0"))));
    let bare = pair.packet_from_alice(|_, packet| packet.push(&asconf).expect("room"));
    let mut forged = join_packet(&pair, 0);
    // A byte of the HMAC: after the common header, the chunk header, and the ids of key and HMAC.
    forged[12 + 8] ^= 1;
    reseal(&mut forged);
    for packet in [bare, forged, join_packet(&pair, 1), join_packet(&pair, u32::MAX)] {
        assert_eq!(reply_destinations(&mut pair, path_from_port(40_001), &packet), []);
        assert_eq!(remotes(&pair), [at(0, 1)]);
    }
}

/// A join from the same IP address replaces a path that does not work.
#[test]
fn join_replaces_a_failed_path_to_the_same_address() {
    let mut pair = Pair::with(1);
    for number in 0..30 {
        let packet = join_packet(&pair, number);
        reply_destinations(&mut pair, path_from_port(40_000 + number as u16), &packet);
    }
    // The second path was never confirmed, so each join replaced it.
    assert_eq!(remotes(&pair), [at(0, 1), path_from_port(40_029).remote]);
}

#[test]
fn joins_from_100_addresses_leave_16_paths() {
    let mut pair = Pair::with(1);
    for number in 0..100 {
        let packet = join_packet(&pair, number);
        let path = PathAddr {
            remote: at(100 + number as u8, 1),
            ..path_from_port(0)
        };
        reply_destinations(&mut pair, path, &packet);
    }
    let remotes = remotes(&pair);
    assert_eq!(remotes.len(), 16);
    assert!(
        remotes.contains(&at(0, 1)) && remotes.contains(&at(199, 1)),
        "{remotes:?}"
    );
}

#[test]
fn deleting_an_address_removes_its_joined_path() {
    let mut pair = Pair::with(1);
    let packet = join_packet(&pair, 0);
    let path = PathAddr {
        remote: at(7, 1),
        ..path_from_port(0)
    };
    reply_destinations(&mut pair, path, &packet);
    let mut asconf = pair.asconf(&one(|list| list.push_delete_address(about(1, "10.7.0.1"))));
    asconf.number = AsconfNumber(asconf.number.0.wrapping_add(1));
    let packet = pair.authenticated(&asconf);
    pair.deliver_to_bob(0, &packet);
    assert_eq!(remotes(&pair), [at(0, 1)]);
}

/// One ASCONF is outstanding however often it is sent, and its intervals grow.
#[test]
fn unanswered_joins_repeat_one_asconf_at_growing_intervals() {
    let mut pair = Pair::with(1);
    send_message(&mut pair.alice, "which nobody hears");
    let sent = run_alice_alone(&mut pair, 20);
    let mut joins: Vec<(Instant, Vec<u8>)> = Vec::new();
    for (at, _, bytes) in &sent {
        let packet = Packet::parse(bytes).expect("in order");
        let asconf = packet.chunks().flatten().find(|raw| raw.kind == kind::ASCONF);
        joins.extend(asconf.map(|raw| (*at, raw.bytes.to_vec())));
    }
    assert!((3..8).contains(&joins.len()), "{}", joins.len());
    assert!(joins.windows(2).all(|pair| pair[0].1 == pair[1].1));
    let gaps: Vec<Duration> = joins.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    assert!(gaps.is_sorted_by(|before, after| before < after), "{gaps:?}");
}

//= rfc5061 5.1.1-5
#[test]
fn unanswered_shutdown_causes_joins_unanswered_shutdown_ack_does_not() {
    for acknowledges in [false, true] {
        let mut pair = Pair::with(1);
        if acknowledges {
            pair.bob.association_mut(ID).expect("it lives").shutdown();
            let shutdown = poll_packets(&mut pair.bob, LATER);
            deliver(shutdown, &mut pair.alice);
        } else {
            pair.alice.association_mut(ID).expect("it lives").shutdown();
        }
        let sent = run_alice_alone(&mut pair, 20);
        let last = if acknowledges {
            kind::SHUTDOWN_ACK
        } else {
            kind::SHUTDOWN
        };
        assert!(sent.iter().any(|(.., bytes)| contains_chunk(bytes, last)));
        let joins = sent.iter().any(|(.., bytes)| contains_chunk(bytes, kind::ASCONF));
        assert_eq!(joins, !acknowledges);
    }
}

//= rfc5061 5.1-12
/// An unanswered join is sent on the working path, where it adds nothing, and the waiting request follows.
#[test]
fn request_replaces_an_unanswered_join() {
    let mut pair = Pair::with(2);
    // Packets of the second path are lost.
    let mut now = LATER;
    let mut numbers = Vec::new();
    let mut is_added = false;
    while !is_added {
        now += Duration::from_millis(10);
        assert!(now < LATER + Duration::from_secs(120), "{numbers:?}");
        for endpoint in [&mut pair.alice, &mut pair.bob] {
            endpoint.handle_timeout(now);
        }
        let sent = poll_packets(&mut pair.alice, now);
        for (number, ..) in asconfs(&sent) {
            numbers.push(number);
        }
        let passes = |packet: &(PathAddr, Vec<u8>)| packet.0.local == at(0, 1);
        for (path, bytes) in sent.into_iter().filter(passes) {
            pair.bob
                .handle_datagram(now, path.reversed(), Ecn::NotCapable, &bytes);
        }
        for (path, bytes) in poll_packets(&mut pair.bob, now) {
            pair.alice
                .handle_datagram(now, path.reversed(), Ecn::NotCapable, &bytes);
        }
        if numbers.len() == 1 {
            add_alice_address(&mut pair, at(2, 1));
            numbers.push(0);
        }
        is_added = pair.alices().addresses.local_addrs.contains(&at(2, 1));
    }
    let first = pair.alices().local.initial_tsn.0;
    assert_eq!(numbers[..4], [first, 0, first, first.wrapping_add(1)]);
}

/// A peer that lists addresses of other hosts must not cause more than heartbeats to be sent there.
#[test]
fn unconfirmed_listed_address_gets_no_joins_from_the_listener() {
    let mut pair = Pair::with(1);
    let mut requests = ParameterWriter::new();
    requests.push_add_address(about(1, "10.7.0.1"));
    assert_eq!(pair.response_to(&requests), "[]");
    let mut to_victim = Vec::new();
    for step in 0..20_000 {
        let now = LATER + Duration::from_millis(10 * step);
        pair.alice.handle_timeout(now);
        pair.bob.handle_timeout(now);
        let sent = poll_packets(&mut pair.bob, now);
        let (there, back): (Vec<_>, Vec<_>) = sent
            .into_iter()
            .partition(|(path, _)| path.remote.ip() == at(7, 1).ip());
        to_victim.extend(there);
        for (path, bytes) in back {
            pair.alice
                .handle_datagram(now, path.reversed(), Ecn::NotCapable, &bytes);
        }
        for (path, bytes) in poll_packets(&mut pair.alice, now) {
            pair.bob
                .handle_datagram(now, path.reversed(), Ecn::NotCapable, &bytes);
        }
    }
    assert!(
        to_victim
            .iter()
            .any(|(_, bytes)| contains_chunk(bytes, kind::HEARTBEAT))
    );
    assert!(
        !to_victim
            .iter()
            .any(|(_, bytes)| contains_chunk(bytes, kind::ASCONF))
    );
}

/// Two rebindings of one uplink: the first made a second path by a join, and the second moved the first path.
#[test]
fn path_that_a_rebinding_has_left_is_removed() {
    let mut pair = Pair::with(1);
    let packet = join_packet(&pair, 0);
    reply_destinations(&mut pair, path_from_port(40_001), &packet);
    let later = LATER + Duration::from_secs(10);
    let data = send_message(&mut pair.alice, "from the third port");
    for (_, bytes) in data {
        pair.bob
            .handle_datagram(later, path_from_port(40_002), Ecn::NotCapable, &bytes);
    }
    let both = [path_from_port(40_002).remote, path_from_port(40_001).remote];
    assert_eq!(remotes(&pair), both);
    // Alice replies to what is sent to her last port.
    for step in 0..700 {
        let now = later + Duration::from_millis(100 * step);
        pair.bob.handle_timeout(now);
        for (path, bytes) in poll_packets(&mut pair.bob, now) {
            if path.remote == both[0] {
                let there = PathAddr {
                    local: at(0, 1),
                    remote: path.local,
                };
                pair.alice.handle_datagram(now, there, Ecn::NotCapable, &bytes);
            }
        }
        for (_, bytes) in poll_packets(&mut pair.alice, now) {
            pair.bob
                .handle_datagram(now, path_from_port(40_002), Ecn::NotCapable, &bytes);
        }
    }
    assert_eq!(remotes(&pair), [both[0]]);
}

/// Bob's paths from the same address and to the same address count as usable until their heartbeats fail, so they do not show that the joined
/// path is superfluous.
#[test]
fn joined_path_is_kept_while_former_paths_still_count_as_usable() {
    let mut pair = Pair::with(2);
    let joined = PathAddr {
        local: at(0, 2),
        remote: SocketAddr::new(at(1, 1).ip(), 40_001),
    };
    let join = join_packet(&pair, 0);
    pair.bob
        .handle_datagram(MUCH_LATER, joined, Ecn::NotCapable, &join);
    // Alice answers only what is sent to her last port.
    for (path, bytes) in poll_packets(&mut pair.bob, MUCH_LATER) {
        let packet = Packet::parse(&bytes).expect("in order");
        let heartbeat = packet.chunks().flatten().find(|raw| raw.kind == kind::HEARTBEAT);
        if let Some(raw) = heartbeat.filter(|_| path == joined) {
            let answer = RawChunk {
                kind: kind::HEARTBEAT_ACK,
                ..raw
            };
            let answer = pair.packet_from_alice(|_, packet| packet.push(&answer).expect("room"));
            pair.bob
                .handle_datagram(MUCH_LATER, path, Ecn::NotCapable, &answer);
        }
    }
    poll_packets(&mut pair.bob, MUCH_LATER);
    assert!(remotes(&pair).contains(&joined.remote));
    let usable = pair.bobs().transfer.paths.iter();
    let mut found = usable.filter(|(_, path)| path.addr == joined);
    assert!(found.any(|(facts, _)| facts.is_usable()));
}
