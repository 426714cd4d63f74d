//! Data packets of established connections: key updates, changed addresses, batches.

use std::time::Duration;

use anabranch_types::PathAddr;

use super::{
    CLIENT, Pair, SERVER, Sent, Weather, client_config, milliseconds, path, server_config, space, to_server,
};
use crate::{DATA_HEADER_LEN, OVERHEAD, Received, SealError};

#[test]
fn payload_is_opened_in_place_and_not_visible_on_the_way() {
    let mut pair = Pair::connected();
    let payload = b"a payload that nobody on the way may read";
    let mut datagram = pair.sealed(CLIENT, 3, payload);
    assert!(
        datagram
            .windows(8)
            .all(|window| !payload.windows(8).any(|part| part == window))
    );
    let received = pair.ends[SERVER]
        .handle_datagram(pair.now, path(0).reversed(), &mut datagram)
        .unwrap();
    let connection = pair.connected[SERVER].unwrap();
    let range = DATA_HEADER_LEN..DATA_HEADER_LEN + payload.len();
    assert_eq!(datagram[range.clone()], *payload);
    assert_eq!(
        received,
        Received::Data {
            connection,
            space: space(3),
            payload: range
        }
    );
}

#[test]
fn payloads_of_all_lengths_arrive() {
    let mut pair = Pair::connected();
    for len in [0, 1, 15, 16, 17, 1_171, 8_972, 65_000] {
        let payload = vec![7; len];
        pair.send(CLIENT, 0, &payload);
        pair.settle();
        assert_eq!(pair.payloads[SERVER].pop().unwrap(), (space(0), payload));
    }
}

#[test]
fn batch_is_sealed_and_opened_by_segments() {
    let mut pair = Pair::connected();
    let segment = OVERHEAD + 100;
    // Three whole segments and a shorter one.
    let mut buffer = vec![5; 3 * segment + OVERHEAD + 10];
    let connection = pair.connected[CLIENT].unwrap();
    pair.ends[CLIENT]
        .seal_segments(connection, space(0), &mut buffer, segment)
        .unwrap();
    let mut lengths = Vec::new();
    let from = path(0).reversed();
    pair.ends[SERVER].handle_segments(pair.now, from, &mut buffer, segment, |received, datagram| {
        let Ok(Received::Data { payload, .. }) = received else {
            panic!("{received:?}")
        };
        assert!(datagram[payload.clone()].iter().all(|byte| *byte == 5));
        lengths.push(payload.len());
    });
    assert_eq!(lengths, [100, 100, 100, 10]);
}

#[test]
fn packets_from_a_new_address_belong_to_the_connection() {
    let mut pair = Pair::connected();
    let datagram = pair.sealed(CLIENT, 0, b"moved");
    let path = PathAddr {
        local: "203.0.113.9:77".parse().unwrap(),
        ..path(0)
    };
    let received = pair.deliver(&Sent {
        to: SERVER,
        path,
        datagram,
    });
    assert!(
        matches!(received, Ok(Received::Data { connection, .. }) if Some(connection) == pair.connected[SERVER])
    );
}

#[test]
fn nothing_is_sealed_before_the_handshake_is_complete() {
    let mut pair = Pair::new(1, client_config(), server_config());
    let connection = pair.connect(&[path(0)]);
    let mut packet = [0; 100];
    assert_eq!(
        pair.ends[CLIENT].seal(connection, space(0), &mut packet),
        Err(SealError::NoKeys)
    );
    pair.run(Pair::is_connected);
    assert_eq!(
        pair.ends[CLIENT].seal(connection, space(0), &mut packet[..28]),
        Err(SealError::TooShort(28))
    );
    pair.ends[CLIENT]
        .seal(connection, space(0), &mut packet[..29])
        .unwrap();
}

fn phase(pair: &Pair, end: usize) -> u64 {
    pair.ends[end].key_phase(pair.connected[end].unwrap()).unwrap()
}

fn pair_with_updates(seed: u64, client: u64, server: u64) -> Pair {
    let [mut first, mut second] = [client_config(), server_config()];
    first.key_update_after = client;
    second.key_update_after = server;
    let mut pair = Pair::new(seed, first, second);
    pair.connect(&[path(0)]);
    pair.run(Pair::is_connected);
    pair.settle();
    pair
}

#[test]
fn keys_are_updated_without_loss_of_packets() {
    let mut pair = pair_with_updates(1, 10, u64::MAX);
    for number in 0..200_u8 {
        pair.send(CLIENT, number % 3, &[number]);
        pair.send(SERVER, number % 2, &[number]);
        pair.wait(milliseconds(400));
    }
    assert_eq!(
        (pair.payloads[CLIENT].len(), pair.payloads[SERVER].len()),
        (200, 200)
    );
    assert_eq!((phase(&pair, CLIENT), phase(&pair, SERVER)), (19, 19));
}

#[test]
fn both_ends_may_update_keys_at_the_same_time() {
    let mut pair = pair_with_updates(1, 5, 5);
    for number in 0..100_u8 {
        pair.send(CLIENT, 0, &[number]);
        pair.send(SERVER, 0, &[number]);
        pair.wait(milliseconds(800));
    }
    assert_eq!(
        (pair.payloads[CLIENT].len(), pair.payloads[SERVER].len()),
        (100, 100)
    );
    assert_eq!(phase(&pair, CLIENT), phase(&pair, SERVER));
    assert!(phase(&pair, CLIENT) > 10);
}

#[test]
fn silent_peer_holds_up_the_next_update_only() {
    let mut pair = pair_with_updates(1, 10, u64::MAX);
    for number in 0..100_u8 {
        pair.send(CLIENT, 0, &[number]);
        pair.settle();
    }
    assert_eq!(pair.payloads[SERVER].len(), 100);
    assert_eq!((phase(&pair, CLIENT), phase(&pair, SERVER)), (1, 1));
}

#[test]
fn reordered_packets_of_the_previous_phase_are_opened() {
    for seed in 0..20 {
        let mut pair = pair_with_updates(seed, 80, 120);
        pair.weather = Weather {
            jitter: milliseconds(15),
            ..Weather::default()
        };
        for number in 0..600_u32 {
            pair.send(CLIENT, (number % 2) as u8, &number.to_be_bytes());
            pair.send(SERVER, (number % 2) as u8, &number.to_be_bytes());
            pair.wait(milliseconds(if number % 100 == 0 { 4_000 } else { 1 }));
        }
        pair.settle();
        assert_eq!(
            (pair.payloads[CLIENT].len(), pair.payloads[SERVER].len()),
            (600, 600),
            "seed {seed}"
        );
        assert!(phase(&pair, CLIENT) >= 5);
    }
}

#[test]
fn keys_of_the_previous_phase_are_discarded_after_three_seconds() {
    let mut pair = pair_with_updates(1, 3, u64::MAX);
    let late = [
        pair.sealed(CLIENT, 0, b"late"),
        pair.sealed(CLIENT, 0, b"too late"),
    ];
    for _ in 0..3 {
        pair.send(CLIENT, 0, b"x");
        pair.send(SERVER, 0, b"x");
        pair.settle();
    }
    assert_eq!(phase(&pair, SERVER), 1);
    let [late, too_late] = late;
    assert!(pair.deliver(&to_server(late)).is_ok());
    pair.wait(Duration::from_secs(4));
    assert!(pair.deliver(&to_server(too_late)).is_err());
}

#[test]
fn late_packet_is_opened_although_an_update_followed_at_once() {
    let mut pair = pair_with_updates(1, 1, 1);
    let late = pair.sealed(SERVER, 0, b"late");
    for _ in 0..4 {
        pair.send(CLIENT, 0, b"x");
        pair.send(SERVER, 0, b"x");
        pair.settle();
    }
    let late = Sent {
        to: CLIENT,
        path: path(0).reversed(),
        datagram: late,
    };
    assert!(pair.deliver(&late).is_ok());
    // An update may follow when the keys that opened it are discarded.
    assert_eq!((phase(&pair, CLIENT), phase(&pair, SERVER)), (1, 1));
    pair.wait(Duration::from_secs(4));
    for _ in 0..2 {
        pair.send(CLIENT, 0, b"x");
        pair.send(SERVER, 0, b"x");
        pair.settle();
    }
    assert_eq!((phase(&pair, CLIENT), phase(&pair, SERVER)), (2, 2));
}
