//! Several machines serve one address, behind a balancer that keeps no state.

use std::collections::BTreeSet;

use super::{CLIENT, Pair, SERVER, Sent, client_config, path, server_config, to_server};
use crate::{Config, Destination, Dropped, Endpoint, Event, destination};

/// The configuration of machine `number`. All have the same secret and the same certificate.
fn machine(number: u16) -> Config {
    let mut config = server_config();
    config.secret = [9; 32];
    config.machine = Some(number);
    config
}

/// The machine for a datagram, of `count`.
fn route(datagram: &[u8], count: u16) -> u16 {
    match destination(datagram).unwrap() {
        Destination::Machine(number) => number,
        Destination::AnyMachine(index) => {
            index.as_bytes().iter().map(|byte| u16::from(*byte)).sum::<u16>() % count
        }
    }
}

#[test]
fn all_packets_of_a_client_reach_one_machine_on_all_paths() {
    let mut used = BTreeSet::new();
    for seed in 0..20 {
        let mut pair = Pair::new(seed, client_config(), machine(0));
        pair.connect(&[path(0), path(1)]);
        pair.collect();
        let number = route(&pair.log[0].datagram, 4);
        pair.ends[SERVER] = Endpoint::new(machine(number));
        pair.run(Pair::is_connected);
        for end in [CLIENT, SERVER] {
            pair.send(end, 0, b"one");
            pair.send(end, 1, b"other");
        }
        pair.settle();
        assert_eq!(pair.payloads[SERVER].len(), 2);
        let of_client = pair.log.iter().filter(|sent| sent.to == SERVER);
        assert!(
            of_client
                .map(|sent| route(&sent.datagram, 4))
                .all(|at| at == number)
        );
        used.insert(number);
    }
    assert!(used.len() > 1, "{used:?}");
}

/// The balancer has another list of machines from then on.
#[test]
fn handshake_that_moves_to_another_machine_gets_a_new_cookie() {
    let mut pair = Pair::new(1, client_config(), machine(1));
    pair.connect(&[path(0)]);
    pair.run(|pair| pair.log.len() == 2);
    pair.ends[SERVER] = Endpoint::new(machine(2));
    pair.run(Pair::is_connected);
    let retries = pair.log.iter().filter(|sent| sent.datagram[0] == 0x81);
    // Each Initial with the former cookie is answered with one.
    assert!(retries.count() >= 2);
}

#[test]
fn machine_resets_its_own_connections_only() {
    let mut pair = Pair::new(1, client_config(), machine(1));
    pair.connect(&[path(0)]);
    pair.run(Pair::is_connected);
    pair.settle();
    // A balancer has made a mistake: the connection is another machine's.
    pair.ends[SERVER] = Endpoint::new(machine(2));
    let packet = to_server(pair.sealed(CLIENT, 0, &[0; 100]));
    assert_eq!(pair.deliver(&packet), Err(Dropped::UnknownConnection));
    pair.settle();
    assert_eq!(pair.ends[CLIENT].connections(), 1);
    // The machine has lost its state.
    pair.ends[SERVER] = Endpoint::new(machine(1));
    pair.send(CLIENT, 0, &[0; 100]);
    pair.settle();
    assert!(matches!(pair.events[CLIENT].last(), Some(Event::Reset { .. })));
}

#[test]
fn datagrams_of_servers_and_nonsense_have_no_destination() {
    for datagram in [
        &[][..],
        &[0x80; 12],
        &[0x00; 8],
        &[0x81; 40],
        &[0x82; 40],
        &[0x84; 40],
        &[0xFF; 40],
    ] {
        assert_eq!(destination(datagram), None, "{datagram:?}");
    }
}

#[test]
fn connections_of_a_machine_have_different_indexes() {
    let mut pair = Pair::new(1, client_config(), machine(0x0A0B));
    let mut seen = BTreeSet::new();
    for _ in 0..10 {
        pair.connect(&[path(0)]);
        pair.connected = [None, None];
        pair.run(Pair::is_connected);
        let index = pair.connected[SERVER].unwrap();
        assert_eq!(index.as_bytes()[..2], [0x0A, 0x0B]);
        assert!(seen.insert(index));
    }
    let sent = Sent {
        to: SERVER,
        path: path(0),
        datagram: pair.sealed(CLIENT, 0, b""),
    };
    assert_eq!(destination(&sent.datagram), Some(Destination::Machine(0x0A0B)));
}
