//! Does `redundant` hide what goes wrong on one path, and what does it cost?

use std::time::Duration;

use anabranch_netsim::LinkConfig;
use anabranch_policy::{PolicyRecipe, Reachability};
use anabranch_sim::app::{Paced, Streams, Workload};
use anabranch_types::StreamId;

use crate::story::{World, mbit, ms, secs};

/// Delays of the paths in one direction, in milliseconds.
const DELAYS: [u64; 2] = [10, 15];
const MESSAGE: usize = 200;

/// Somebody plays a game: a small message every 10 ms.
fn game(scheduler: &str) -> World {
    let mut policies = PolicyRecipe::recommended();
    policies.set("path-scheduler", scheduler).unwrap();
    let links = DELAYS.map(|delay| LinkConfig::new(mbit(10), ms(delay)));
    let mut world = World::paths(links).policies(policies).connected();
    world.runs_for(secs(1));
    world.alice().talks(|conversation, association, now| {
        let paced = Paced::new(MESSAGE, ms(10), Streams::One(StreamId(0)));
        conversation.also(now, Workload::Paced(paced), association);
    });
    world.runs_for(secs(2));
    world
}

/// How long the last message took at worst that was read from now on until the end of `events`.
fn worst_delay(world: &mut World, events: impl FnOnce(&mut World)) -> Duration {
    let since = world.simulation.now();
    events(world);
    world.slowest_of_stream(0, since)
}

fn sent(world: &mut World) -> u64 {
    let paths = world.alice().statistics().paths;
    paths.iter().map(|path| path.counters.bytes_sent).sum()
}

#[test]
fn a_path_that_is_cut_cannot_be_seen_in_the_delay() {
    let delay_with = |scheduler| {
        let mut world = game(scheduler);
        worst_delay(&mut world, |world| {
            world.path_is_cut(0);
            world.runs_for(secs(3));
            world.path_heals(0);
            world.runs_for(secs(3));
        })
    };
    let redundant = delay_with("redundant");
    assert!(redundant <= ms(17), "the other path's delay, not {redundant:?}");
    let alone = delay_with("min-rtt");
    assert!(alone > ms(200), "a timeout, not {alone:?}");
}

/// Copies of all that is tried there arrive elsewhere, so no timer tells. A redundancy that is gone must be told all the same.
#[test]
fn a_path_that_is_cut_for_good_is_found_out_though_nothing_waits_for_it() {
    let mut world = game("redundant");
    world.path_is_cut(0);
    world.runs_until(
        |world| world.alice().reachability(0) == Reachability::Inactive,
        secs(300),
    );
    assert_eq!(world.alice().reachability(1), Reachability::Active);
}

#[test]
fn losses_cannot_be_seen_in_the_delay_unless_they_meet() {
    let delay_with = |scheduler| {
        let mut world = game(scheduler);
        worst_delay(&mut world, |world| {
            world.path_becomes_lossy(0, 0.05);
            world.runs_for(secs(20));
        })
    };
    let redundant = delay_with("redundant");
    assert!(redundant <= ms(17), "the other path's delay, not {redundant:?}");
    let alone = delay_with("min-rtt");
    assert!(alone > ms(40), "a retransmission, not {alone:?}");
}

#[test]
fn it_costs_everything_once_for_each_path() {
    let bytes_with = |scheduler| {
        let mut world = game(scheduler);
        let before = sent(&mut world);
        world.runs_for(secs(10));
        sent(&mut world) - before
    };
    let (redundant, alone) = (bytes_with("redundant"), bytes_with("min-rtt"));
    let ratio = redundant as f64 / alone as f64;
    assert!(
        (1.8..2.2).contains(&ratio),
        "{redundant} bytes instead of {alone}"
    );
}

#[test]
fn a_transfer_that_fills_the_paths_still_finds_out_what_they_carry() {
    let mut policies = PolicyRecipe::recommended();
    policies.set("path-scheduler", "redundant").unwrap();
    let mut world = World::two_paths(mbit(10), ms(20)).policies(policies).connected();
    world.alice().sends_forever();
    world.runs_for(secs(10));
    let goodput = world.bob().goodput_of_last(secs(5));
    assert!(goodput > mbit(8), "{goodput:?}");
    world.alice().falls_silent();
    world.delivers_everything(secs(10));
}
