//! What distinguishes the path schedulers.

use alloc::vec;
use alloc::vec::Vec;

use anabranch_types::Instant;

use super::{MinRtt, Primary, RoundRobin};
use crate::parameters::NoParameters;
use crate::testing::{CHUNK, healthy, ms};
use crate::{Backlog, PathFacts, PathScheduler, Pick, Reachability};

fn three_paths() -> Vec<PathFacts> {
    vec![healthy(0), healthy(1), healthy(2)]
}

fn pick(scheduler: &mut dyn PathScheduler, paths: &[PathFacts]) -> Option<u8> {
    match scheduler.pick(paths, &Backlog::default(), Instant::ZERO) {
        Pick::On(path) => Some(path.0),
        Pick::Wait { .. } => None,
    }
}

/// The paths of the packets of one output call in which each path takes two.
fn round(scheduler: &mut dyn PathScheduler) -> Vec<u8> {
    let mut paths = three_paths();
    paths.iter_mut().for_each(|path| path.room = 2 * CHUNK);
    scheduler.on_round();
    let mut picked = Vec::new();
    while let Some(path) = pick(scheduler, &paths) {
        paths[usize::from(path)].room -= CHUNK;
        picked.push(path);
    }
    picked
}

#[test]
fn primary_waits_for_its_path_rather_than_take_another() {
    let mut scheduler = Primary::new(NoParameters);
    let mut paths = three_paths();
    assert_eq!(pick(&mut scheduler, &paths), Some(0));
    paths[0].room = 0;
    assert_eq!(pick(&mut scheduler, &paths), None);
    paths[0].reachability = Reachability::Inactive;
    assert_eq!(pick(&mut scheduler, &paths), Some(1));
}

#[test]
fn round_robin_fills_one_path_after_the_other_and_begins_with_the_next_one_each_time() {
    let mut scheduler = RoundRobin::new(NoParameters);
    assert_eq!(round(&mut scheduler), [0, 0, 1, 1, 2, 2]);
    assert_eq!(round(&mut scheduler), [1, 1, 2, 2, 0, 0]);
    assert_eq!(round(&mut scheduler), [2, 2, 0, 0, 1, 1]);
    assert_eq!(round(&mut scheduler), [0, 0, 1, 1, 2, 2]);
}

#[test]
fn min_rtt_fills_the_fastest_path_first_and_tries_unmeasured_ones_before() {
    let mut scheduler = MinRtt::new(NoParameters);
    let mut paths = three_paths();
    paths[0].srtt = Some(ms(80));
    paths[2].srtt = Some(ms(10));
    assert_eq!(pick(&mut scheduler, &paths), Some(2));
    paths[2].room = 0;
    assert_eq!(pick(&mut scheduler, &paths), Some(1));
    paths[0].srtt = None;
    assert_eq!(pick(&mut scheduler, &paths), Some(0));
}

#[test]
fn where_all_paths_are_suspected_the_one_with_the_fewest_errors_carries_on() {
    for scheduler in [
        &mut MinRtt::new(NoParameters) as &mut dyn PathScheduler,
        &mut RoundRobin::new(NoParameters),
        &mut Primary::new(NoParameters),
    ] {
        let mut paths = three_paths();
        for (path, errors) in paths.iter_mut().zip([3, 1, 2]) {
            path.reachability = Reachability::PotentiallyFailed;
            path.errors = errors;
        }
        assert_eq!(pick(scheduler, &paths), Some(1), "{}", scheduler.name());
    }
}

#[test]
fn an_unconfirmed_path_carries_nothing_even_if_it_is_the_only_one() {
    let mut path = healthy(0);
    path.reachability = Reachability::Unconfirmed;
    assert_eq!(pick(&mut MinRtt::new(NoParameters), &[path]), None);
}
