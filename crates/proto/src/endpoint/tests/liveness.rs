//! Tests of failure detection and heartbeats (RFC 9260 §8.1 to §8.3): which errors count, what clears them, and
//! when heartbeats are sent.

use core::time::Duration;

use anabranch_policy::options::RtoParameters;
use anabranch_policy::{PolicyRecipe, Reachability};
use anabranch_types::PathId;

use super::*;
use crate::{CloseReason, PathChange};

/// Exactly as in RFC 9260: RTO.Min is one second, and no path is suspected before Path.Max.Retrans errors.
fn rfc9260_config() -> AssociationConfig {
    let mut policies = PolicyRecipe::rfc9260();
    policies.set("pmtu", "fixed").expect("a choice of the catalog");
    AssociationConfig { policies, ..config() }
}

fn association(endpoint: &Endpoint) -> &Association {
    endpoint.associations().next().expect("one")
}

fn send_message(endpoint: &mut Endpoint, now: Instant) -> Vec<Vec<u8>> {
    let id = association(endpoint).id();
    let mut association = endpoint.association_mut(id).expect("it lives");
    association
        .send(Message::new(StreamId(0), "anybody there?"))
        .expect("room");
    drop(association);
    poll_packets(endpoint, now)
}

/// Advances time until something is sent.
fn next_packets(endpoint: &mut Endpoint) -> (Instant, Vec<Vec<u8>>) {
    loop {
        let (now, packets) = next_timeout(endpoint);
        if !packets.is_empty() {
            return (now, packets);
        }
    }
}

/// The next timer expires. Returns its time and the packets sent.
fn next_timeout(endpoint: &mut Endpoint) -> (Instant, Vec<Vec<u8>>) {
    let now = endpoint.poll_timeout().expect("a timer runs");
    endpoint.handle_timeout(now);
    (now, poll_packets(endpoint, now))
}

/// Answers each HEARTBEAT among `packets` that goes to one of `peers`.
fn answers_heartbeats(endpoint: &mut Endpoint, now: Instant, tag: VerificationTag, packets: &[Vec<u8>]) {
    for bytes in packets {
        let packet = Packet::parse(bytes).expect("a packet in order");
        for raw in packet
            .chunks()
            .flatten()
            .filter(|raw| raw.kind == kind::HEARTBEAT)
        {
            let answer = RawChunk {
                kind: kind::HEARTBEAT_ACK,
                ..raw
            };
            deliver(endpoint, now, peer(2), tag, &answer);
        }
    }
}

//= rfc9260 8.1-1, 8.1-3, 8.1-4, 8.1-5
#[test]
fn association_ends_one_error_after_association_max_retrans() {
    let mut endpoint = endpoint_with(AssociationConfig {
        max_retransmits: 3,
        ..rfc9260_config()
    });
    accept_peer(&mut endpoint, 5, &[]);
    let mut sent = send_message(&mut endpoint, START);
    while !association(&endpoint).is_closed() {
        sent.extend(next_timeout(&mut endpoint).1);
    }
    let data = kinds(&sent)
        .into_iter()
        .filter(|kind| *kind == kind::DATA)
        .count();
    assert_eq!(data, 4, "once, and three times again");
    assert!(events(&mut endpoint).contains(&Event::Closed(CloseReason::PeerUnreachable)));
    assert!(
        association(&endpoint).poll_timeout().is_none(),
        "nothing is sent any more"
    );
}

/// SETPROTOCOLPARAMETERS (RFC 9260 §11.1.13).
#[test]
fn protocol_parameters_change_while_an_association_runs() {
    let mut endpoint = endpoint_with(rfc9260_config());
    accept_peer(&mut endpoint, 5, &[]);
    let id = association(&endpoint).id();
    let mut wanted = association(&endpoint).protocol_parameters();
    wanted.max_retransmits = 2;
    wanted.rto = RtoParameters {
        initial: Duration::from_millis(200),
        min: Duration::from_millis(100),
        max: Duration::from_millis(300),
        ..wanted.rto
    };
    let mut association_mut = endpoint.association_mut(id).expect("it lives");
    association_mut.set_protocol_parameters(&wanted);
    drop(association_mut);
    assert_eq!(association(&endpoint).protocol_parameters(), wanted);
    assert_eq!(association(&endpoint).path_facts()[0].rto(), wanted.rto.initial);
    let mut sent = send_message(&mut endpoint, START);
    let mut ended = START;
    while !association(&endpoint).is_closed() {
        let (now, more) = next_timeout(&mut endpoint);
        ended = now;
        sent.extend(more);
    }
    let data = kinds(&sent).into_iter().filter(|kind| *kind == kind::DATA);
    assert_eq!(data.count(), 3, "once, and two times again");
    assert_eq!(ended - START, wanted.rto.initial + 2 * wanted.rto.max);
}

#[test]
fn replaced_failover_policy_has_the_new_threshold() {
    let errors_of_failure = |changed: bool| {
        let mut endpoint = endpoint_with(rfc9260_config());
        let tag = accept_peer(&mut endpoint, 5, &[peer(2).ip(), peer(3).ip()]);
        confirm_path(&mut endpoint, tag, PathId(1));
        let id = association(&endpoint).id();
        let mut wanted = association(&endpoint).protocol_parameters();
        let mut policies = rfc9260_config().policies;
        policies
            .set("failover.max-retrans", "1")
            .expect("a choice of the catalog");
        if changed {
            wanted.failover = policies.failover;
        }
        let mut association_mut = endpoint.association_mut(id).expect("it lives");
        association_mut.set_protocol_parameters(&wanted);
        drop(association_mut);
        send_message(&mut endpoint, START);
        while association(&endpoint).path_facts()[0].reachability == Reachability::Active {
            next_timeout(&mut endpoint);
        }
        association(&endpoint).path_facts()[0].errors
    };
    assert_eq!((errors_of_failure(false), errors_of_failure(true)), (6, 2));
}

//= rfc9260 8.1-6, 8.1-7, 8.2-4, 8.3-13
#[test]
fn acks_of_data_and_heartbeats_clear_the_error_counters() {
    for by_heartbeat in [false, true] {
        let mut endpoint = endpoint_with(AssociationConfig {
            max_retransmits: 3,
            ..rfc9260_config()
        });
        let tag = accept_peer(&mut endpoint, 5, &[]);
        let mut now = START;
        for round in 0..3_u32 {
            let mut sent = send_message(&mut endpoint, now);
            while association(&endpoint).transfer.errors < 3 {
                let (at, more) = next_timeout(&mut endpoint);
                now = at;
                sent.extend(more);
            }
            assert!(association(&endpoint).path_facts()[0].errors > 0);
            if by_heartbeat {
                let id = association(&endpoint).id();
                let mut one = endpoint.association_mut(id).expect("it lives");
                one.request_heartbeat(PathId(0));
                drop(one);
                let asked = poll_packets(&mut endpoint, now);
                answers_heartbeats(&mut endpoint, now, tag, &asked);
            } else {
                let sack = anabranch_wire::OutboundSack {
                    cumulative: Tsn(tag.0.wrapping_add(round)),
                    a_rwnd: 10_000,
                    packet_count: None,
                    blocks: &[],
                    duplicates: &[],
                };
                deliver(&mut endpoint, now, peer(2), tag, &sack);
            }
            assert_eq!(association(&endpoint).transfer.errors, 0);
            assert_eq!(association(&endpoint).path_facts()[0].errors, 0);
        }
        assert!(association(&endpoint).is_connected());
    }
}

//= rfc9260 8.1-2, 8.2-1, 8.2-2, 8.2-3, 8.2-5, 8.3-3, 8.3-4, 8.3-5, 8.3-6, 8.3-7, 8.3-11, 8.3-12
/// The peer has two addresses and does not answer at the second.
#[test]
fn path_is_inactive_after_path_max_retrans_but_still_probed() {
    let mut endpoint = endpoint_with(rfc9260_config());
    let tag = accept_peer(&mut endpoint, 5, &[peer(2).ip(), peer(3).ip()]);
    let silent = PathId(1);
    confirm_path(&mut endpoint, tag, silent);
    events(&mut endpoint);
    let (mut now, mut asked) = (START, Vec::new());
    while now < START + Duration::from_secs(1_000) {
        endpoint.handle_timeout(now);
        assert_eq!(association(&endpoint).transfer.errors, 0, "another path works");
        let mut buffer = Vec::new();
        while let Some(transmit) = endpoint.poll_transmit(now, &mut buffer, 1) {
            let packet = core::mem::take(&mut buffer);
            if transmit.path.remote == peer(2) {
                answers_heartbeats(&mut endpoint, now, tag, &[packet]);
            } else {
                asked.push((now, association(&endpoint).path_facts()[1].errors));
            }
        }
        now = endpoint.poll_timeout().expect("heartbeats go on");
    }
    let facts = &association(&endpoint).path_facts()[1];
    assert_eq!((facts.errors, facts.reachability), (6, Reachability::Inactive));
    let after = asked.iter().filter(|(_, errors)| *errors == 6).count();
    assert!(after > 5, "{after} heartbeats after it was given up");
    let is_told = |event: &Event| {
        matches!(event, Event::Path(seen)
            if seen.id == silent && seen.change == PathChange::Reachability(Reachability::Inactive))
    };
    assert_eq!(
        events(&mut endpoint)
            .iter()
            .filter(|event| is_told(event))
            .count(),
        1
    );
    assert!(
        association(&endpoint).is_connected(),
        "only the path was given up"
    );

    confirm_path(&mut endpoint, tag, silent);
    let facts = &association(&endpoint).path_facts()[1];
    assert_eq!((facts.errors, facts.reachability), (0, Reachability::Active));
    let is_told = |event: &Event| {
        matches!(event, Event::Path(seen)
            if seen.id == silent && seen.change == PathChange::Reachability(Reachability::Active))
    };
    assert!(events(&mut endpoint).iter().any(is_told));
}

/// The peer answers a HEARTBEAT sent on `path`.
fn confirm_path(endpoint: &mut Endpoint, tag: VerificationTag, path: PathId) {
    let mut now = START;
    while association(endpoint).path_facts()[path.index()].reachability != Reachability::Active {
        now = endpoint.poll_timeout().expect("it is asked").max(now);
        endpoint.handle_timeout(now);
        let sent = poll_packets(endpoint, now);
        answers_heartbeats(endpoint, now, tag, &sent);
    }
}

//= rfc9260 8.3-14
#[test]
fn heartbeat_ack_gives_an_rtt_sample_of_its_path() {
    let mut endpoint = endpoint_with(rfc9260_config());
    let tag = accept_peer(&mut endpoint, 5, &[]);
    let (sent_at, asked) = next_packets(&mut endpoint);
    assert_eq!(kinds(&asked), [kind::HEARTBEAT]);
    assert_eq!(association(&endpoint).path_facts()[0].srtt(), None);
    let round_trip = Duration::from_millis(70);
    answers_heartbeats(&mut endpoint, sent_at + round_trip, tag, &asked);
    assert_eq!(association(&endpoint).path_facts()[0].srtt(), Some(round_trip));
}

//= rfc9260 8.3-1, 8.3-15
/// HB.interval plus the RTO with a jitter of ±50% (RFC 9260 §8.3); the RTO is doubled if the last heartbeat was not
/// answered.
#[test]
fn heartbeat_period_is_interval_plus_jittered_rto() {
    let mut endpoint = endpoint_with(rfc9260_config());
    let tag = accept_peer(&mut endpoint, 5, &[]);
    let interval = Duration::from_secs(30);
    let mut pauses = Vec::new();
    let mut last = START;
    for _ in 0..20 {
        let (now, asked) = next_packets(&mut endpoint);
        assert_eq!(kinds(&asked), [kind::HEARTBEAT]);
        pauses.push(now - last);
        last = now;
        answers_heartbeats(&mut endpoint, now, tag, &asked);
    }
    let rto = Duration::from_secs(1);
    assert!(
        pauses
            .iter()
            .all(|pause| (interval + rto / 2..=interval + rto * 3 / 2).contains(pause))
    );
    let different: alloc::collections::BTreeSet<_> = pauses.iter().collect();
    assert!(different.len() > 15, "{pauses:?}");

    let (_, asked) = next_packets(&mut endpoint);
    assert_eq!(kinds(&asked), [kind::HEARTBEAT]);
    let mut overdue = START;
    while association(&endpoint).path_facts()[0].rto() == rto {
        overdue = next_timeout(&mut endpoint).0;
    }
    assert_eq!(association(&endpoint).path_facts()[0].rto(), 2 * rto);
    let (next, asked) = next_packets(&mut endpoint);
    assert_eq!(kinds(&asked), [kind::HEARTBEAT]);
    assert!((interval + rto..=interval + 3 * rto).contains(&(next - overdue)));
}

//= rfc9260 16-1, 16-2
#[test]
fn rfc9260_profile_has_the_values_of_section_16() {
    let config = rfc9260_config();
    assert_eq!((config.max_retransmits, config.max_init_retransmits), (10, 8));
    let rto = config.rto();
    assert_eq!(
        (rto.initial, rto.min, rto.max),
        (
            Duration::from_secs(1),
            Duration::from_secs(1),
            Duration::from_secs(60)
        )
    );
    let limits = config.policies.assignments();
    let value = |name: &str| {
        limits
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| &**value)
    };
    assert_eq!(value("failover.max-retrans"), Some("5"));
    assert_eq!(value("failover.heartbeat"), Some("30s"));
    assert_eq!(EndpointConfig::default().cookie_life, Duration::from_secs(60));
}

//= rfc9260 8.2-6
/// The peer has three addresses and does not answer at the primary one.
#[test]
fn only_one_path_replaces_an_inactive_primary_path() {
    let mut endpoint = endpoint_with(rfc9260_config());
    let tag = accept_peer(&mut endpoint, 5, &[peer(2).ip(), peer(3).ip(), peer(4).ip()]);
    for path in [PathId(1), PathId(2)] {
        confirm_path(&mut endpoint, tag, path);
    }
    let mut now = START;
    let mut buffer = Vec::new();
    while association(&endpoint).path_facts()[0].reachability == Reachability::Active {
        now = endpoint.poll_timeout().expect("heartbeats go on").max(now);
        endpoint.handle_timeout(now);
        while let Some(transmit) = endpoint.poll_transmit(now, &mut buffer, 1) {
            let packet = core::mem::take(&mut buffer);
            if transmit.path.remote != peer(2) {
                answers_heartbeats(&mut endpoint, now, tag, &[packet]);
            }
        }
    }
    let id = association(&endpoint).id();
    let mut one = endpoint.association_mut(id).expect("it lives");
    one.send(Message::new(StreamId(0), vec![7; 100_000]))
        .expect("room");
    drop(one);
    let mut remotes = Vec::new();
    while let Some(transmit) = endpoint.poll_transmit(now, &mut buffer, 1) {
        let packet = core::mem::take(&mut buffer);
        assert!(kinds(&[packet]).contains(&kind::DATA));
        remotes.push(transmit.path.remote);
    }
    assert!(remotes.len() > 1, "{remotes:?}");
    assert!(remotes.iter().all(|remote| *remote == peer(3)), "{remotes:?}");
}

/// Of the default profile, without probes for the path MTU.
fn without_mtu_probes() -> AssociationConfig {
    let mut policies = PolicyRecipe::default();
    policies.set("pmtu", "fixed").expect("a choice of the catalog");
    AssociationConfig { policies, ..config() }
}

/// The peer has two confirmed paths. Returns the verification tag of packets to the endpoint.
fn with_two_paths(endpoint: &mut Endpoint) -> VerificationTag {
    let tag = accept_peer(endpoint, 5, &[peer(2).ip(), peer(3).ip()]);
    confirm_path(endpoint, tag, PathId(1));
    tag
}

/// The remote addresses of the heartbeats that are sent now.
fn heartbeats(endpoint: &mut Endpoint, now: Instant) -> Vec<(SocketAddr, Vec<u8>)> {
    let mut sent = Vec::new();
    let mut buffer = Vec::new();
    while let Some(transmit) = endpoint.poll_transmit(now, &mut buffer, 1) {
        let packet = core::mem::take(&mut buffer);
        if kinds(core::slice::from_ref(&packet)).contains(&kind::HEARTBEAT) {
            sent.push((transmit.path.remote, packet));
        }
    }
    sent
}

/// Duplicates may have other causes than a path that loses SACKs, and one heartbeat may be lost.
#[test]
fn path_is_suspected_after_two_lost_checks_with_unchanged_rto() {
    for answers_second in [true, false] {
        let mut endpoint = endpoint_with(without_mtu_probes());
        let tag = with_two_paths(&mut endpoint);
        // Long enough after the last heartbeat was answered, long before the next.
        let begin = START + Duration::from_secs(3);
        endpoint.handle_timeout(begin);
        assert!(poll_packets(&mut endpoint, begin).is_empty());
        let rto = association(&endpoint).path_facts()[1].rto();
        let bytes = packet(tag, |packet| packet.push(&DATA).expect("room"));
        let path = PathAddr {
            local: here(),
            remote: peer(2),
        };
        for _ in 0..2 {
            endpoint.handle_datagram(begin, path, Ecn::NotCapable, &bytes);
        }
        let mut asked_at_second = 0;
        let mut log = Vec::new();
        let mut now = begin;
        while now < begin + 3 * rto {
            endpoint.handle_timeout(now);
            for (remote, heartbeat) in heartbeats(&mut endpoint, now) {
                log.push((now, remote));
                asked_at_second += u32::from(remote == peer(3));
                if remote == peer(2) || answers_second && asked_at_second == 2 {
                    answers_heartbeats(&mut endpoint, now, tag, &[heartbeat]);
                }
            }
            if asked_at_second == 1 {
                let facts = &association(&endpoint).path_facts()[1];
                assert_eq!((facts.reachability, facts.errors), (Reachability::Active, 0));
            }
            now = endpoint.poll_timeout().expect("heartbeats go on").max(now);
        }
        let facts = &association(&endpoint).path_facts()[1];
        assert!(asked_at_second >= 2, "{log:?}");
        let expected = if answers_second {
            Reachability::Active
        } else {
            Reachability::PotentiallyFailed
        };
        assert_eq!(facts.reachability, expected);
        if !answers_second {
            assert_eq!(facts.errors, 1);
        }
        assert_eq!(facts.rto(), rto, "a lost check backs nothing off");
    }
}

//= rfc9260 8.3-1
/// RFC 9260 §11.1.6.
#[test]
fn disabled_heartbeats_stop_on_active_paths_until_enabled() {
    let mut endpoint = endpoint_with(without_mtu_probes());
    let tag = with_two_paths(&mut endpoint);
    let id = association(&endpoint).id();
    let mut one = endpoint.association_mut(id).expect("it lives");
    one.set_heartbeats(PathId(1), false);
    drop(one);
    let end = START + Duration::from_secs(600);
    let mut now = START;
    let mut asked = 0;
    while now < end {
        endpoint.handle_timeout(now);
        for (remote, heartbeat) in heartbeats(&mut endpoint, now) {
            assert_eq!(remote, peer(2), "the other path");
            asked += 1;
            answers_heartbeats(&mut endpoint, now, tag, &[heartbeat]);
        }
        now = endpoint
            .poll_timeout()
            .expect("heartbeats on the other path")
            .max(now);
    }
    assert!(asked > 5);
    let mut one = endpoint.association_mut(id).expect("it lives");
    one.set_heartbeats(PathId(1), true);
    drop(one);
    let remotes: Vec<_> = heartbeats(&mut endpoint, now)
        .into_iter()
        .map(|(remote, _)| remote)
        .collect();
    assert!(remotes.contains(&peer(3)));
}
