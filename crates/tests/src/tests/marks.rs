//! Is every algorithm of the catalog asked? Each leaves a mark of its own on the packets of some world.
//!
//! An extension point that the core forgets to ask gives the same packets whatever is chosen, and an algorithm that
//! is registered under two names gives the same packets under both.

use std::collections::BTreeMap;
use std::num::NonZeroU16;

use anabranch_netsim::LinkConfig;
use anabranch_netsim::link::QueueConfig;
use anabranch_policy::PolicyRecipe;
use anabranch_policy::catalog::{CATALOG, ExtensionPoint};
use anabranch_sim::app::{Bulk, Streams};
use anabranch_types::{Seed, StreamId};

use crate::story::{World, mbit, ms, secs};

/// Unlike paths, losses, buffers that block, and messages of many sizes on several streams.
fn crowded(policies: PolicyRecipe) -> World {
    let links = [
        LinkConfig::new(mbit(10), ms(10)).queue(QueueConfig::Packets(30)),
        LinkConfig::new(mbit(4), ms(60)).queue(QueueConfig::Packets(30)),
        LinkConfig::new(mbit(2), ms(25)).queue(QueueConfig::Packets(3)),
    ];
    let setting = World::paths(links).policies(policies).with(|config| {
        config.send_buffer = 96 << 10;
        config.receive_buffer = 64 << 10;
    });
    let mut world = setting.connected();
    world.path_becomes_lossy(0, 0.01);
    world.path_becomes_lossy(1, 0.02);
    world
        .alice()
        .works_at(Bulk::new(1_400, Streams::random(3, Seed(1))));
    world
        .alice()
        .works_at(Bulk::new(5_000, Streams::random(4, Seed(2))));
    world
        .alice()
        .works_at(Bulk::new(150, Streams::random(4, Seed(3))));
    world.alice().talks(|_, association, _| {
        for (stream, rank) in (0..4).map(StreamId).zip([3, 1, 4, 2]) {
            association.set_stream_priority(stream, rank).unwrap();
            association
                .set_stream_weight(stream, NonZeroU16::new(rank).unwrap())
                .unwrap();
        }
    });
    world.bob().sends_at(mbit(1));
    world.runs_for(secs(4));
    world
}

/// The peer's buffer is what blocks.
fn tight(policies: PolicyRecipe) -> World {
    let setting = World::paths([
        LinkConfig::new(mbit(20), ms(5)),
        LinkConfig::new(mbit(20), ms(80)),
    ]);
    let mut world = setting
        .policies(policies)
        .with(|config| {
            config.send_buffer = 1 << 20;
            config.receive_buffer = 48 << 10;
        })
        .connected();
    world.alice().sends_forever();
    world.runs_for(secs(3));
    world
}

/// Room for everything, a path that fails and comes back, and little to send.
fn calm(policies: PolicyRecipe) -> World {
    let links = [
        LinkConfig::new(mbit(20), ms(40)).queue(QueueConfig::Packets(200)),
        LinkConfig::new(mbit(10), ms(15)).queue(QueueConfig::Packets(200)),
    ];
    let mut world = World::paths(links).policies(policies).connected();
    world.alice().sends_forever();
    world.runs_for(secs(2));
    world.path_is_cut(1);
    world.runs_for(secs(12));
    world.path_heals(1);
    world.runs_for(secs(3));
    world.alice().falls_silent();
    world.runs_for(secs(1));
    world.alice().sends_at(mbit(1));
    world.runs_for(secs(3));
    world
}

/// What `choice` does to the worlds.
fn mark(point: &ExtensionPoint, choice: &str) -> Vec<u64> {
    let mut policies = PolicyRecipe::cmt();
    policies.set(point.name, choice).unwrap();
    let mut mark = Vec::new();
    for world in [crowded(policies), tight(policies), calm(policies)] {
        let outcome = world.simulation.outcome();
        mark.push(outcome.trace_hash);
        // Ways of handling SACKs give the same packets, and differ in what they look at; samples of round trips need
        // not show in packets either.
        let near = outcome.near.expect("an association");
        mark.push(near.sack_elements_visited);
        let srtts = near.paths.iter().filter_map(|path| path.srtt);
        mark.extend(srtts.map(|srtt| srtt.as_nanos() as u64));
    }
    mark
}

#[test]
fn every_algorithm_leaves_a_mark_of_its_own() {
    let mut idle = Vec::new();
    for point in CATALOG {
        let mut marks = BTreeMap::new();
        for algorithm in point.algorithms {
            let mark = mark(point, algorithm.name);
            if let Some(other) = marks.insert(mark, algorithm.name) {
                idle.push(format!(
                    "{}: `{}` does what `{other}` does",
                    point.name, algorithm.name
                ));
            }
        }
    }
    assert!(idle.is_empty(), "{idle:#?}");
}
