//! Duplication of chunks on all paths (`redundant`). Does it hide faults of one path, and what does it cost?

use std::time::Duration;

use anabranch_netsim::LinkConfig;
use anabranch_policy::{PolicyRecipe, Reachability};
use anabranch_sim::app::{Paced, Streams, Workload};
use anabranch_types::StreamId;

use crate::fixture::{Pair, mbit, ms, secs};

/// One-way delays of the paths in milliseconds.
const DELAYS: [u64; 2] = [10, 15];
const MESSAGE: usize = 200;

/// Game traffic: a small message every 10 ms.
fn game(scheduler: &str) -> Pair {
    let mut policies = PolicyRecipe::recommended();
    policies.set("path-scheduler", scheduler).unwrap();
    let links = DELAYS.map(|delay| LinkConfig::new(mbit(10), ms(delay)));
    let mut pair = Pair::paths(links).policies(policies).connected();
    pair.run_for(secs(1));
    pair.alice().act(|conversation, association, now| {
        let paced = Paced::new(MESSAGE, ms(10), Streams::One(StreamId(0)));
        conversation.also(now, Workload::Paced(paced), association);
    });
    pair.run_for(secs(2));
    pair
}

/// Maximum delay of the messages read during `events`.
fn worst_delay(pair: &mut Pair, events: impl FnOnce(&mut Pair)) -> Duration {
    let since = pair.simulation.now();
    events(pair);
    pair.max_stream_delay(0, since)
}

fn sent(pair: &mut Pair) -> u64 {
    let paths = pair.alice().statistics().paths;
    paths.iter().map(|path| path.counters.bytes_sent).sum()
}

#[test]
fn duplication_hides_a_path_cut() {
    let delay_with = |scheduler| {
        let mut pair = game(scheduler);
        worst_delay(&mut pair, |pair| {
            pair.cut_path(0);
            pair.run_for(secs(3));
            pair.heal_path(0);
            pair.run_for(secs(3));
        })
    };
    let redundant = delay_with("redundant");
    assert!(redundant <= ms(17), "the other path's delay, not {redundant:?}");
    let alone = delay_with("min-rtt");
    assert!(alone > ms(200), "a timeout, not {alone:?}");
}

/// Duplicates arrive on other paths, so no data waits for a timer. The failure must still be detected and reported.
#[test]
fn duplication_still_detects_a_dead_path() {
    let mut pair = game("redundant");
    pair.cut_path(0);
    pair.run_until(
        |pair| pair.alice().reachability(0) == Reachability::Inactive,
        secs(300),
    );
    assert_eq!(pair.alice().reachability(1), Reachability::Active);
}

#[test]
fn duplication_hides_losses_on_single_paths() {
    let delay_with = |scheduler| {
        let mut pair = game(scheduler);
        worst_delay(&mut pair, |pair| {
            pair.set_loss(0, 0.05);
            pair.run_for(secs(20));
        })
    };
    let redundant = delay_with("redundant");
    assert!(redundant <= ms(17), "the other path's delay, not {redundant:?}");
    let alone = delay_with("min-rtt");
    assert!(alone > ms(40), "a retransmission, not {alone:?}");
}

#[test]
fn duplication_sends_everything_on_each_path() {
    let bytes_with = |scheduler| {
        let mut pair = game(scheduler);
        let before = sent(&mut pair);
        pair.run_for(secs(10));
        sent(&mut pair) - before
    };
    let (redundant, alone) = (bytes_with("redundant"), bytes_with("min-rtt"));
    let ratio = redundant as f64 / alone as f64;
    assert!(
        (1.8..2.2).contains(&ratio),
        "{redundant} bytes instead of {alone}"
    );
}

#[test]
fn duplication_bulk_transfer_probes_path_capacity() {
    let mut policies = PolicyRecipe::recommended();
    policies.set("path-scheduler", "redundant").unwrap();
    let mut pair = Pair::two_paths(mbit(10), ms(20)).policies(policies).connected();
    pair.alice().send_forever();
    pair.run_for(secs(10));
    let goodput = pair.bob().goodput_in_last(secs(5));
    assert!(goodput > mbit(8), "{goodput:?}");
    pair.alice().stop_sending();
    pair.deliver_all(secs(10));
}
