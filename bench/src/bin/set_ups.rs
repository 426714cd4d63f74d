//! Benchmark `set_ups`: associations set up and shut down per second of CPU time, both ends together.
//!
//! Each association is set up by the four-way handshake, transfers one message in each direction where the row says so, is shut
//! down with three packets, and is removed at both ends.

use std::time::Duration;

use anabranch_bench::{Arguments, Column, Pair, Stopwatch, Table, median};
use anabranch_proto::{AssociationConfig, Message};
use anabranch_types::{AssociationId, StreamId};
use bytes::Bytes;

/// The measured cases: paths per association, number of idle associations beside it, whether messages are exchanged.
const CASES: [Case; 5] = [
    Case::of(1, 0, false),
    Case::of(1, 0, true),
    Case::of(1, 10_000, false),
    Case::of(2, 0, false),
    Case::of(2, 10_000, true),
];

/// Associations between two readings of the clock.
const BATCH: usize = 100;

#[derive(Clone, Copy)]
struct Case {
    paths: u8,
    idle: usize,
    exchanges_messages: bool,
}

impl Case {
    const fn of(paths: u8, idle: usize, exchanges_messages: bool) -> Self {
        Self {
            paths,
            idle,
            exchanges_messages,
        }
    }

    fn name(self) -> String {
        let Self {
            paths,
            idle,
            exchanges_messages,
        } = self;
        let exchange = if exchanges_messages {
            ", one message each way"
        } else {
            ""
        };
        format!("{paths} path(s) beside {idle} idle ones{exchange}")
    }
}

fn main() {
    let arguments = Arguments {
        json: false,
        runs: 5,
        seconds: 1.0,
    };
    let arguments =
        arguments.or("set_ups: associations set up, shut down and removed per second, both ends on one core");
    let columns = [
        ("associations_per_s", 0),
        ("us_per_association", 1),
        ("packets_per_association", 1),
    ];
    let columns = columns.map(|(name, decimals)| Column { name, decimals });
    let mut table = Table::new("set-ups", &columns);
    for case in CASES {
        let runs = (0..arguments.runs).map(|_| measure(case, arguments.seconds));
        let (rates, packets): (Vec<_>, Vec<_>) = runs.unzip();
        let rate = median(&rates);
        table.row(case.name(), &[rate, 1e6 / rate, median(&packets)]);
    }
    table.print(arguments.json);
}

/// Associations per second, and packets per association.
fn measure(case: Case, seconds: f64) -> (f64, f64) {
    let config = AssociationConfig::default();
    let mut pair = Pair::new(case.paths, &config);
    for _ in 0..case.idle {
        pair.associate(&config);
    }
    let (mut associations, mut packets) = (0, 0);
    let watch = Stopwatch::start();
    loop {
        for _ in 0..BATCH {
            packets += run_association(&mut pair, &config, case.exchanges_messages);
        }
        associations += BATCH;
        let elapsed = watch.elapsed().as_secs_f64();
        if elapsed >= seconds {
            let associations = associations as f64;
            return (associations / elapsed, packets as f64 / associations);
        }
    }
}

/// Runs one association from its first packet to its last; returns the number of packets.
fn run_association(pair: &mut Pair, config: &AssociationConfig, exchanges_messages: bool) -> u64 {
    let before = pair.carried();
    let (alice, bob) = pair.associate(config);
    if exchanges_messages {
        exchange_messages(pair, alice, bob);
    }
    let mut association = pair.alice.association_mut(alice).expect("it was set up");
    association.shutdown();
    drop(association);
    pair.settle();
    pair.ignore_events();
    for (endpoint, id) in [(&mut pair.alice, alice), (&mut pair.bob, bob)] {
        let association = endpoint.association(id).expect("it was not removed");
        assert!(association.is_closed(), "both ends have closed it");
        endpoint.forget(id);
    }
    pair.pass(Duration::from_micros(100), false);
    pair.carried() - before
}

/// Sends one message in each direction and receives both.
fn exchange_messages(pair: &mut Pair, alice: AssociationId, bob: AssociationId) {
    let message = Message::new(StreamId(0), Bytes::from_static(&[7; 100]));
    for (endpoint, id) in [(&mut pair.alice, alice), (&mut pair.bob, bob)] {
        let mut association = endpoint.association_mut(id).expect("it was set up");
        association.send(message.clone()).expect("an empty buffer");
    }
    pair.settle();
    for (endpoint, id) in [(&mut pair.alice, alice), (&mut pair.bob, bob)] {
        let mut association = endpoint.association_mut(id).expect("it was set up");
        association.receive().expect("what was sent arrives");
    }
}
