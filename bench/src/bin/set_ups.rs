//! Benchmark `set_ups`: associations set up and shut down per second of CPU time, both ends together.
//!
//! A life is the four-way handshake with its cookie, a message each way where the row says so, the shutdown of three
//! packets, and the removal of the association at both ends.

use std::time::Duration;

use anabranch_bench::{Arguments, Column, Pair, Stopwatch, Table, median};
use anabranch_proto::{AssociationConfig, Message};
use anabranch_types::{AssociationId, StreamId};
use bytes::Bytes;

/// What is measured: paths of each association, others that are there and idle, whether each carries a message each way.
const SCENES: [Scene; 5] = [
    Scene::of(1, 0, false),
    Scene::of(1, 0, true),
    Scene::of(1, 10_000, false),
    Scene::of(2, 0, false),
    Scene::of(2, 10_000, true),
];

/// Lives between two looks at the clock.
const BATCH: usize = 100;

#[derive(Clone, Copy)]
struct Scene {
    paths: u8,
    idle: usize,
    talks: bool,
}

impl Scene {
    const fn of(paths: u8, idle: usize, talks: bool) -> Self {
        Self { paths, idle, talks }
    }

    fn name(self) -> String {
        let Self { paths, idle, talks } = self;
        let talk = if talks { ", one message each way" } else { "" };
        format!("{paths} path(s) beside {idle} others{talk}")
    }
}

fn main() {
    let arguments = Arguments {
        json: false,
        runs: 5,
        seconds: 1.0,
    };
    let arguments =
        arguments.or("set_ups: associations set up, ended and forgotten in a second, both ends on one core");
    let columns = [("lives_per_s", 0), ("us_per_life", 1), ("packets_per_life", 1)];
    let columns = columns.map(|(name, decimals)| Column { name, decimals });
    let mut table = Table::new("set-ups", &columns);
    for scene in SCENES {
        let runs = (0..arguments.runs).map(|_| measure(scene, arguments.seconds));
        let (rates, packets): (Vec<_>, Vec<_>) = runs.unzip();
        let rate = median(&rates);
        table.row(scene.name(), &[rate, 1e6 / rate, median(&packets)]);
    }
    table.print(arguments.json);
}

/// Lives in a second, and packets of one.
fn measure(scene: Scene, seconds: f64) -> (f64, f64) {
    let config = AssociationConfig::default();
    let mut pair = Pair::new(scene.paths, &config);
    for _ in 0..scene.idle {
        pair.associate(&config);
    }
    let (mut lives, mut packets) = (0, 0);
    let watch = Stopwatch::start();
    loop {
        for _ in 0..BATCH {
            packets += live(&mut pair, &config, scene.talks);
        }
        lives += BATCH;
        let elapsed = watch.elapsed().as_secs_f64();
        if elapsed >= seconds {
            let lives = lives as f64;
            return (lives / elapsed, packets as f64 / lives);
        }
    }
}

/// One association from its first packet to its last; the number of packets.
fn live(pair: &mut Pair, config: &AssociationConfig, talks: bool) -> u64 {
    let before = pair.carried();
    let (alice, bob) = pair.associate(config);
    if talks {
        talk(pair, alice, bob);
    }
    let mut association = pair.alice.association_mut(alice).expect("it was set up");
    association.shutdown();
    drop(association);
    pair.settle();
    pair.ignore_events();
    for (endpoint, id) in [(&mut pair.alice, alice), (&mut pair.bob, bob)] {
        let association = endpoint.association(id).expect("nobody forgot it");
        assert!(association.is_closed(), "both ends know that it ended");
        endpoint.forget(id);
    }
    pair.pass(Duration::from_micros(100), false);
    pair.carried() - before
}

/// A message each way, received.
fn talk(pair: &mut Pair, alice: AssociationId, bob: AssociationId) {
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
