//! Use of all policies. Does every algorithm of the catalog change the packets of some simulation?
//!
//! If the core does not consult an extension point, all its algorithms give the same packets; so does an algorithm
//! registered under two names.

use std::collections::BTreeMap;
use std::num::NonZeroU16;

use anabranch_netsim::LinkConfig;
use anabranch_netsim::link::{DelayVariation, Distribution, QueueConfig};
use anabranch_policy::PolicyRecipe;
use anabranch_policy::catalog::{CATALOG, ExtensionPoint};
use anabranch_proto::BufferSize;
use anabranch_sim::app::{Bulk, Streams};
use anabranch_types::{Seed, StreamId};

use crate::fixture::{Pair, mbit, ms, secs};

/// Dissimilar paths, losses, small buffers, and messages of many sizes on several streams.
fn crowded(policies: PolicyRecipe) -> Pair {
    let links = [
        LinkConfig::new(mbit(10), ms(10)).queue(QueueConfig::Packets(30)),
        LinkConfig::new(mbit(4), ms(60)).queue(QueueConfig::Packets(30)),
        LinkConfig::new(mbit(2), ms(25)).queue(QueueConfig::Packets(3)),
    ];
    let builder = Pair::paths(links).policies(policies).with(|config| {
        config.send_buffer = BufferSize::Fixed(96 << 10);
        config.receive_buffer = BufferSize::Fixed(64 << 10);
    });
    let mut pair = builder.connected();
    pair.set_loss(0, 0.01);
    pair.set_loss(1, 0.02);
    pair.alice()
        .start_bulk(Bulk::new(1_400, Streams::random(3, Seed(1))));
    pair.alice()
        .start_bulk(Bulk::new(5_000, Streams::random(4, Seed(2))));
    pair.alice()
        .start_bulk(Bulk::new(150, Streams::random(4, Seed(3))));
    pair.alice().act(|_, association, _| {
        for (stream, rank) in (0..4).map(StreamId).zip([3, 1, 4, 2]) {
            association.set_stream_priority(stream, rank).unwrap();
            association
                .set_stream_weight(stream, NonZeroU16::new(rank).unwrap())
                .unwrap();
        }
    });
    pair.bob().send_paced(mbit(1));
    pair.run_for(secs(4));
    pair
}

/// A small receive buffer.
fn tight(policies: PolicyRecipe) -> Pair {
    let builder = Pair::paths([
        LinkConfig::new(mbit(20), ms(5)),
        LinkConfig::new(mbit(20), ms(80)),
    ]);
    let mut pair = builder
        .policies(policies)
        .with(|config| {
            config.send_buffer = BufferSize::Fixed(1 << 20);
            config.receive_buffer = BufferSize::Fixed(48 << 10);
        })
        .connected();
    pair.alice().send_forever();
    pair.run_for(secs(3));
    pair
}

/// Large buffers, a path that fails and recovers, and little data.
fn calm(policies: PolicyRecipe) -> Pair {
    let links = [
        LinkConfig::new(mbit(20), ms(40)).queue(QueueConfig::Packets(200)),
        LinkConfig::new(mbit(10), ms(15)).queue(QueueConfig::Packets(200)),
    ];
    let mut pair = Pair::paths(links).policies(policies).connected();
    pair.alice().send_forever();
    pair.run_for(secs(2));
    pair.cut_path(1);
    pair.run_for(secs(12));
    pair.heal_path(1);
    pair.run_for(secs(3));
    pair.alice().stop_sending();
    pair.run_for(secs(1));
    pair.alice().send_paced(mbit(1));
    pair.run_for(secs(3));
    pair
}

/// Packets that overtake one another, and hardly any loss.
fn reordering(policies: PolicyRecipe) -> Pair {
    let link = LinkConfig::new(mbit(10), ms(20)).variation(DelayVariation {
        deviation: ms(5),
        distribution: Distribution::Normal,
    });
    let mut pair = Pair::paths([link, LinkConfig::new(mbit(5), ms(30))])
        .policies(policies)
        .connected();
    pair.alice().send_forever();
    pair.run_for(secs(2));
    pair
}

/// Two paths through one bottleneck, with all that fits.
fn narrow(policies: PolicyRecipe) -> Pair {
    let link = |delay| LinkConfig::new(mbit(100), ms(delay)).jitter(ms(1));
    let builder = Pair::paths([link(5), link(6)]).policies(policies);
    let mut pair = builder
        .scenario(|scenario| {
            let shared = LinkConfig::new(mbit(10), ms(10)).queue(QueueConfig::Packets(40));
            scenario.bottleneck(shared)
        })
        .connected();
    pair.alice().send_forever();
    pair.run_for(secs(20));
    pair
}

/// Fingerprint of the simulations with `choice`.
fn mark(point: &ExtensionPoint, choice: &str) -> Vec<u64> {
    let mut policies = PolicyRecipe::cmt();
    if point.name == "probing" {
        // With the profile's `failover`, the path stays in use for a minute after it fails.
        policies.set("failover", "potentially-failed").unwrap();
    }
    policies.set(point.name, choice).unwrap();
    let mut mark = Vec::new();
    let narrow = (point.name == "shared-bottleneck").then_some(narrow as fn(PolicyRecipe) -> Pair);
    let simulated = [crowded, tight, calm, reordering].into_iter().chain(narrow);
    for simulated in simulated {
        let pair = simulated(policies);
        let outcome = pair.simulation.outcome();
        mark.push(outcome.trace_hash);
        // SACK handling does not change packets, only the number of visited elements; RTT samples need not change
        // packets either.
        let near = outcome.near.expect("an association");
        mark.push(near.sack_elements_visited);
        let srtts = near.paths.iter().filter_map(|path| path.srtt);
        mark.extend(srtts.map(|srtt| srtt.as_nanos() as u64));
    }
    mark
}

#[test]
fn every_policy_of_the_catalog_changes_some_run() {
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
