//! Attacks on sealed datagrams: replay, forgery, amplification, floods, resets.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use anabranch_types::{PathAddr, Seed};

use super::{CLIENT, Pair, SERVER, Sent, client_config, milliseconds, path, server_config, to_server};
use crate::{Dropped, Endpoint, Event, OVERHEAD, Received};

#[test]
fn replayed_packet_is_dropped_on_every_path() {
    let mut pair = Pair::connected();
    let packet = to_server(pair.sealed(CLIENT, 0, b"once"));
    assert!(pair.deliver(&packet).is_ok());
    assert_eq!(pair.deliver(&packet), Err(Dropped::Replayed));
    let elsewhere = Sent {
        path: path(1),
        ..packet.clone()
    };
    assert_eq!(pair.deliver(&elsewhere), Err(Dropped::Replayed));
    // The space is part of the nonce, and the header is authenticated.
    for number in 1..32 {
        let mut other = packet.clone();
        other.datagram[0] ^= number;
        assert_eq!(pair.deliver(&other), Err(Dropped::Forged));
    }
}

#[test]
fn packet_is_dropped_when_replayed_across_key_updates() {
    let mut config = client_config();
    config.key_update_after = 2;
    let mut pair = Pair::new(1, config, server_config());
    pair.connect(&[path(0)]);
    pair.run(Pair::is_connected);
    pair.settle();
    let packet = to_server(pair.sealed(CLIENT, 0, b"once"));
    assert!(pair.deliver(&packet).is_ok());
    for _ in 0..20 {
        pair.send(CLIENT, 0, b"x");
        pair.send(SERVER, 0, b"x");
        pair.wait(Duration::from_secs(4));
        assert_eq!(pair.deliver(&packet), Err(Dropped::Replayed));
        for phase in 1..4 {
            let mut other = packet.clone();
            other.datagram[0] ^= phase << 5;
            assert!(pair.deliver(&other).is_err());
        }
    }
    assert_eq!(pair.payloads[SERVER].len(), 21);
    assert!(
        pair.ends[SERVER]
            .key_phase(pair.connected[SERVER].unwrap())
            .unwrap()
            > 4
    );
}

#[test]
fn replayed_handshake_creates_no_connection() {
    let mut pair = Pair::connected();
    pair.send(CLIENT, 0, b"once");
    pair.settle();
    let recorded = to_the_server(&pair);
    for pause in [0, 1, 5, 14, 30, 100] {
        pair.wait(Duration::from_secs(pause));
        let before = pair.log.len();
        for sent in &recorded {
            let _ = pair.deliver(sent);
        }
        pair.collect();
        // The answers reach nobody who could go on.
        pair.queue.clear();
        let [received, sent] = [&recorded[..], &pair.log[before..]].map(bytes);
        assert!(sent <= 3 * received, "{sent} bytes for {received}");
    }
    assert_eq!(pair.events[SERVER].len(), 1);
    assert_eq!(pair.ends[SERVER].connections(), 1);
    assert_eq!(pair.payloads[SERVER].len(), 1);
}

/// Everything that the client sent so far.
fn to_the_server(pair: &Pair) -> Vec<Sent> {
    let sent = pair.log.iter().filter(|sent| sent.to == SERVER);
    sent.cloned().collect()
}

fn bytes(packets: &[Sent]) -> usize {
    packets.iter().map(|sent| sent.datagram.len()).sum()
}

#[test]
fn unproven_address_gets_at_most_three_times_its_bytes() {
    let mut pair = Pair::new(1, client_config(), server_config());
    pair.connect(&[path(0)]);
    pair.run(Pair::is_connected);
    // Everything that the client sent, from a victim's address, and again.
    let recorded = to_the_server(&pair);
    let victim = PathAddr {
        local: "198.51.100.1:53".parse().unwrap(),
        ..path(0)
    };
    let mut fresh = Pair::new(2, client_config(), server_config());
    for target in [&mut pair, &mut fresh] {
        target.settle();
        target.log.clear();
        let mut received = 0;
        for sent in recorded.iter().cycle().take(10 * recorded.len()) {
            let spoofed = Sent {
                path: victim,
                ..sent.clone()
            };
            received += spoofed.datagram.len();
            let _ = target.deliver(&spoofed);
            target.collect();
            target.queue.clear();
        }
        target.wait(Duration::from_secs(40));
        let mut to: BTreeMap<SocketAddr, usize> = BTreeMap::new();
        for sent in target.log.iter().filter(|sent| sent.to == CLIENT) {
            *to.entry(sent.path.remote).or_default() += sent.datagram.len();
        }
        let sent = to.get(&victim.local).copied().unwrap_or_default();
        assert!(sent <= 3 * received, "{sent} bytes for {received}");
    }
}

#[test]
fn replies_without_state_are_not_longer_than_what_they_answer() {
    let mut rng = Seed(9).rng();
    let mut pair = Pair::new(1, client_config(), server_config());
    let mut replies = 0;
    for _ in 0..20_000 {
        let mut datagram = vec![0; 1 + rng.below(200) as usize];
        rng.fill(&mut datagram);
        if rng.chance(1, 2) {
            datagram[0] = 0x80 | rng.below(7) as u8;
        }
        if datagram.len() >= 5 && rng.chance(1, 2) {
            datagram[1..5].copy_from_slice(&0x616e_6101_u32.to_be_bytes());
        }
        let len = datagram.len();
        let _ = pair.deliver(&to_server(datagram));
        while let Some(reply) = pair.ends[SERVER].poll_transmit(pair.now) {
            assert!(reply.datagram.len() <= len);
            replies += 1;
        }
    }
    assert!(replies > 500, "{replies}");
    assert_eq!(pair.ends[SERVER].connections(), 0);
}

#[test]
fn flood_of_requests_keeps_no_state() {
    let mut server = Endpoint::new(server_config());
    let mut rng = Seed(3).rng();
    let now = anabranch_types::Instant::ZERO;
    for _ in 0..50_000 {
        let mut datagram = vec![0; 64];
        rng.fill(&mut datagram);
        datagram[..5].copy_from_slice(&[0x80, 0x61, 0x6e, 0x61, 0x01]);
        let _ = server.handle_datagram(now, path(0).reversed(), &mut datagram);
    }
    assert_eq!(server.connections(), 0);
    assert_eq!(server.deadline(), None);
    let replies = std::iter::from_fn(|| server.poll_transmit(now)).count();
    assert!((1..=1_024).contains(&replies));
}

#[test]
fn handshakes_in_progress_are_limited() {
    let mut config = server_config();
    config.max_handshakes = 3;
    let mut pair = Pair::new(1, client_config(), config);
    for number in 0..10 {
        pair.connect(&[path(number)]);
    }
    // All clients get cookies and send their ClientHello; no answer reaches them.
    pair.run(|pair| pair.log.iter().filter(|sent| sent.datagram[0] == 0x83).count() >= 20);
    pair.run(|pair| pair.queue.values().all(|sent| sent.to == CLIENT));
    assert_eq!(pair.ends[SERVER].connections(), 3);
    assert!(pair.dropped[SERVER].contains(&Dropped::Busy));
    pair.queue.clear();
    for number in 0..10 {
        pair.cut.insert(path(number).local);
    }
    pair.wait(Duration::from_secs(40));
    assert_eq!(pair.ends[SERVER].connections(), 0);
}

#[test]
fn handshakes_that_are_over_do_not_count() {
    let mut config = server_config();
    config.max_handshakes = 3;
    let mut pair = Pair::new(1, client_config(), config);
    for number in 0..10 {
        pair.connect(&[path(number)]);
        pair.run(|pair| pair.ends[SERVER].connections() == 1 + usize::from(number));
        pair.settle();
    }
    assert!(pair.dropped[SERVER].is_empty(), "{:?}", pair.dropped);
    let is_connected = |event: &&Event| matches!(event, Event::Connected { .. });
    assert_eq!(pair.events[SERVER].iter().filter(is_connected).count(), 10);
}

#[test]
fn complete_handshakes_answer_repetitions_up_to_a_limit() {
    let mut config = server_config();
    config.max_handshakes = 3;
    let mut pair = Pair::new(1, client_config(), config);
    for number in 0..10 {
        pair.connect(&[path(number)]);
        pair.run(|pair| pair.ends[SERVER].connections() == 1 + usize::from(number));
        pair.settle();
        assert!(pair.ends[SERVER].lingering() <= 3);
    }
    assert_eq!(pair.ends[SERVER].lingering(), 3);
    // The connections stay, and the last ones answer.
    let answered = |pair: &mut Pair, number: u8| {
        let of_client = |sent: &&Sent| sent.to == SERVER && sent.path == path(number);
        let last = pair.log.iter().rfind(of_client).cloned().unwrap();
        assert_eq!(last.datagram[0], 0x85);
        let received = pair.deliver(&last);
        pair.settle();
        received
    };
    assert_eq!(answered(&mut pair, 0), Err(Dropped::UnknownConnection));
    assert_eq!(answered(&mut pair, 9), Ok(Received::Control));
    assert_eq!(pair.ends[SERVER].connections(), 10);
    pair.wait(Duration::from_secs(20));
    assert_eq!(pair.ends[SERVER].lingering(), 0);
}

#[test]
fn handshake_completes_despite_truncated_and_damaged_copies() {
    let mut pair = Pair::new(1, client_config(), server_config());
    pair.connect(&[path(0)]);
    let mut rng = Seed(4).rng();
    while !pair.is_connected() {
        pair.collect();
        let flying: Vec<Sent> = pair.queue.values().cloned().collect();
        for sent in flying {
            // Retry and Version Negotiation are not authenticated; other tests forge them.
            let copies = if matches!(sent.datagram[0], 0x81 | 0x82) {
                0
            } else {
                40
            };
            for _ in 0..copies {
                let mut copy = sent.clone();
                copy.datagram
                    .truncate(rng.below(sent.datagram.len() as u64) as usize);
                let _ = pair.deliver(&copy);
                let mut copy = sent.clone();
                let bit = rng.below(8 * copy.datagram.len() as u64);
                copy.datagram[(bit / 8) as usize] ^= 1 << (bit % 8);
                let _ = pair.deliver(&copy);
            }
        }
        assert!(pair.step(), "{:?}", pair.events);
    }
    pair.settle();
    pair.send(CLIENT, 0, b"ping");
    pair.settle();
    assert_eq!(pair.payloads[SERVER].len(), 1);
}

#[test]
fn wrong_cookie_from_the_way_delays_a_handshake_only() {
    let mut pair = Pair::new(1, client_config(), server_config());
    pair.connect(&[path(0)]);
    pair.collect();
    let mut datagram = vec![0x81];
    datagram.extend(&pair.log[0].datagram[5..13]);
    datagram.extend(*b"not a cookie of this server");
    let forged = Sent {
        to: CLIENT,
        path: path(0).reversed(),
        datagram,
    };
    pair.deliver(&forged).unwrap();
    pair.run(Pair::is_connected);
}

#[test]
fn forged_packets_are_dropped_and_change_nothing() {
    let mut pair = Pair::connected();
    let packet = to_server(pair.sealed(CLIENT, 0, b"genuine"));
    for bit in 0..8 * packet.datagram.len() {
        let mut forged = packet.clone();
        forged.datagram[bit / 8] ^= 1 << (bit % 8);
        assert!(pair.deliver(&forged).is_err(), "bit {bit}");
    }
    for len in 0..packet.datagram.len() {
        let mut short = packet.clone();
        short.datagram.truncate(len);
        assert!(pair.deliver(&short).is_err());
    }
    let mut rng = Seed(5).rng();
    for _ in 0..20_000 {
        let mut forged = packet.clone();
        rng.fill(&mut forged.datagram[9..]);
        assert_eq!(pair.deliver(&forged), Err(Dropped::Forged));
    }
    assert!(pair.deliver(&packet).is_ok());
}

#[test]
fn million_forged_packets_leave_the_connection_as_it_was() {
    let mut pair = Pair::connected();
    let genuine = pair.sealed(CLIENT, 0, &[7; 36]);
    let mut rng = Seed(6).rng();
    for number in 0..1_000_000_u32 {
        let mut forged = genuine.clone();
        // A space, a phase and a number that nobody has used, and a payload that nobody has sealed.
        forged[0] = rng.below(0x80) as u8;
        rng.fill(&mut forged[9..]);
        let received = pair.ends[SERVER].handle_datagram(pair.now, path(0).reversed(), &mut forged);
        assert_eq!(received, Err(Dropped::Forged), "{number}");
    }
    assert!(pair.ends[SERVER].poll_transmit(pair.now).is_none());
    assert!(pair.ends[SERVER].poll_event().is_none());
    assert!(pair.deliver(&to_server(genuine)).is_ok());
    pair.send(SERVER, 0, b"answer");
    pair.settle();
    assert_eq!(pair.payloads[CLIENT].len(), 1);
}

#[test]
fn server_that_lost_its_state_resets_the_connection() {
    let config = server_config();
    let mut pair = Pair::new(1, client_config(), config.clone());
    pair.connect(&[path(0)]);
    pair.run(Pair::is_connected);
    pair.settle();
    pair.ends[SERVER] = Endpoint::new(config);
    pair.send(CLIENT, 0, b"are you there, after the restart?");
    pair.settle();
    assert!(matches!(
        pair.events[CLIENT][..],
        [Event::Connected { .. }, Event::Reset { .. }]
    ));
    assert_eq!(pair.ends[CLIENT].connections(), 0);
    let reset = pair.log.last().unwrap();
    assert!(reset.datagram.len() < pair.log[pair.log.len() - 2].datagram.len());
    // It looks like a data packet.
    assert!(reset.datagram[0] < 0x80 && reset.datagram.len() >= OVERHEAD);
}

#[test]
fn forged_reset_of_another_host_is_ignored() {
    let mut pair = Pair::connected();
    // Another secret gives other tokens.
    let mut another = Endpoint::new(client_config());
    let mut datagram = pair.sealed(CLIENT, 0, b"a packet of some length");
    assert!(
        another
            .handle_datagram(pair.now, path(0).reversed(), &mut datagram)
            .is_err()
    );
    let reset = another.poll_transmit(pair.now).unwrap();
    let reset = Sent {
        to: CLIENT,
        path: path(0).reversed(),
        datagram: reset.datagram,
    };
    assert_eq!(pair.deliver(&reset), Err(Dropped::UnknownConnection));
    pair.send(SERVER, 0, b"still here");
    pair.settle();
    assert_eq!(pair.payloads[CLIENT].len(), 1);
}

#[test]
fn resets_are_limited() {
    let mut server = Endpoint::new(server_config());
    let mut now = anabranch_types::Instant::ZERO + Duration::from_secs(9);
    let mut count = |now| {
        for _ in 0..1_000 {
            let _ = server.handle_datagram(now, path(0).reversed(), &mut [9; 100]);
        }
        std::iter::from_fn(|| server.poll_transmit(now)).count()
    };
    assert_eq!(count(now), 100);
    now += milliseconds(500);
    assert_eq!(count(now), 50);
}

#[test]
fn two_ends_without_state_do_not_answer_each_other_for_ever() {
    let mut pair = Pair::new(1, client_config(), server_config());
    pair.post(CLIENT, path(0), vec![9; 1_200]);
    pair.settle();
    assert!((2..=20).contains(&pair.log.len()), "{}", pair.log.len());
}

#[test]
fn sealed_packets_of_one_connection_do_not_open_in_another() {
    let mut pair = Pair::connected();
    let packet = pair.sealed(CLIENT, 0, b"of the first connection");
    let first = pair.connected[SERVER];
    pair.connect(&[path(1)]);
    pair.run(|pair| pair.connected[SERVER] != first);
    pair.settle();
    let mut datagram = packet.clone();
    datagram[1..9].copy_from_slice(pair.connected[SERVER].unwrap().as_bytes());
    assert_eq!(pair.deliver(&to_server(datagram)), Err(Dropped::Forged));
    assert!(matches!(
        pair.deliver(&to_server(packet)),
        Ok(Received::Data { .. })
    ));
}
