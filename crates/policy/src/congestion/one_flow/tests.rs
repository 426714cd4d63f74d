//! Tests of one flow of several paths.

use alloc::vec::Vec;

use anabranch_types::PathId;

use crate::congestion::{Cubic, CubicParameters, Reno, RenoParameters};
use crate::testing::{CHUNK, at, healthy, in_order, ms, sack};
use crate::{CongestionControl, LossCause, LossEvent, PathFacts};

/// Paths of one bottleneck with these cwnds, in chunks.
fn grouped(policy: &mut dyn CongestionControl, cwnds: &[u64]) -> Vec<PathFacts> {
    let mut paths: Vec<PathFacts> = (0..).zip(cwnds).map(|(id, _)| healthy(id)).collect();
    for (path, chunks) in paths.iter().zip(cwnds) {
        policy.add_path(path, at(0));
        while policy.cwnd(path.id) < chunks * CHUNK {
            let ack = in_order(path.id.0, policy.cwnd(path.id), CHUNK);
            policy.on_ack(&sack(&[ack]), &paths, at(0));
        }
        policy.on_burst_limit(path.id, chunks * CHUNK);
    }
    for path in &mut paths {
        path.bottleneck = Some(PathId(0));
    }
    policy.on_bottlenecks(&paths);
    paths
}

fn cwnds(policy: &dyn CongestionControl, paths: &[PathFacts]) -> Vec<u64> {
    paths.iter().map(|path| policy.cwnd(path.id)).collect()
}

fn sum(policy: &dyn CongestionControl, paths: &[PathFacts]) -> u64 {
    cwnds(policy, paths).iter().sum()
}

const fn loss(path: u8, cause: LossCause) -> LossEvent {
    LossEvent {
        path: PathId(path),
        cause,
        bytes: CHUNK,
    }
}

#[test]
fn a_group_begins_with_the_cwnd_of_its_largest_path() {
    let mut policy = Cubic::new(CubicParameters::DEFAULT);
    let paths = grouped(&mut policy, &[40, 60, 100]);
    let total = sum(&policy, &paths);
    assert!(total.abs_diff(100 * CHUNK) < 3 * CHUNK, "{total}");
}

#[test]
fn losses_within_a_round_trip_are_one() {
    let mut policy = Cubic::new(CubicParameters::DEFAULT);
    let paths = grouped(&mut policy, &[100, 100]);
    let before = sum(&policy, &paths);
    policy.on_loss(&loss(0, LossCause::FastRetransmit), &paths, at(1_000));
    let after = cwnds(&policy, &paths);
    let total: u64 = after.iter().sum();
    assert!(total.abs_diff(before * 7 / 10) <= 2, "{before} → {total}");
    // The path that lost pays most.
    assert!(
        after[0] * 2 <= before / 2 + 2 && after[1] > 4 * before / 10,
        "{after:?}"
    );
    policy.on_loss(&loss(1, LossCause::FastRetransmit), &paths, at(1_015));
    assert_eq!(cwnds(&policy, &paths), after);
    policy.on_loss(&loss(1, LossCause::FastRetransmit), &paths, at(1_040));
    assert!(sum(&policy, &paths) < total);
}

#[test]
fn a_group_grows_as_one_path() {
    let mut policy = Reno::new(RenoParameters::DEFAULT);
    let paths = grouped(&mut policy, &[50, 50, 50]);
    for round in 1..=10 {
        let before = sum(&policy, &paths);
        for path in &paths {
            let cwnd = policy.cwnd(path.id);
            let ack = in_order(path.id.0, cwnd, cwnd);
            policy.on_ack(&sack(&[ack]), &paths, at(20 * round));
        }
        let gained = sum(&policy, &paths) - before;
        assert!(gained <= CHUNK, "{gained} in round {round}");
    }
    assert!(sum(&policy, &paths) >= 58 * CHUNK);
}

#[test]
fn what_a_timeout_takes_from_one_path_goes_to_the_others() {
    let mut policy = Cubic::new(CubicParameters::DEFAULT);
    let paths = grouped(&mut policy, &[100, 100]);
    let before = sum(&policy, &paths);
    policy.on_loss(&loss(0, LossCause::Timeout), &paths, at(1_000));
    assert_eq!(policy.cwnd(PathId(0)), CHUNK);
    for round in 0..5 {
        let cwnd = policy.cwnd(PathId(1));
        let ack = in_order(1, cwnd, cwnd);
        policy.on_ack(&sack(&[ack]), &paths, at(1_100 + 20 * round));
    }
    assert!(
        policy.cwnd(PathId(1)) > 6 * before / 10,
        "{:?}",
        cwnds(&policy, &paths)
    );
}

#[test]
fn a_path_that_leaves_keeps_its_share() {
    let mut policy = Cubic::new(CubicParameters::DEFAULT);
    let mut paths = grouped(&mut policy, &[100, 100]);
    let shares = cwnds(&policy, &paths);
    paths[1].bottleneck = Some(PathId(1));
    policy.on_bottlenecks(&paths);
    assert_eq!(cwnds(&policy, &paths), shares);
    // From now on a loss concerns one of them.
    policy.on_loss(&loss(0, LossCause::FastRetransmit), &paths, at(1_000));
    assert_eq!(policy.cwnd(PathId(1)), shares[1]);
    policy.on_loss(&loss(1, LossCause::FastRetransmit), &paths, at(1_001));
    assert_eq!(policy.cwnd(PathId(1)), shares[1] * 7 / 10);
}

#[test]
fn an_idle_share_goes_to_the_others() {
    let mut policy = Cubic::new(CubicParameters::DEFAULT);
    let paths = grouped(&mut policy, &[100, 100]);
    policy.on_idle(&paths[0], ms(10_000));
    assert_eq!(policy.cwnd(PathId(0)), 4 * CHUNK);
    for round in 0..4 {
        let cwnd = policy.cwnd(PathId(1));
        let ack = in_order(1, cwnd, cwnd);
        policy.on_ack(&sack(&[ack]), &paths, at(1_100 + 20 * round));
    }
    assert!(
        policy.cwnd(PathId(1)) > 90 * CHUNK,
        "{:?}",
        cwnds(&policy, &paths)
    );
}

/// All of `paths` acknowledge their whole cwnd, fully used, once in each of `rounds` round trips from `begin` on.
fn fill(policy: &mut dyn CongestionControl, paths: &[PathFacts], begin: u64, rounds: u64) {
    for round in 0..rounds {
        for path in paths {
            let cwnd = policy.cwnd(path.id);
            policy.on_ack(
                &sack(&[in_order(path.id.0, cwnd, cwnd)]),
                paths,
                at(begin + 20 * round),
            );
        }
    }
}

/// The bottlenecks of `paths` are now these.
fn regroup(policy: &mut dyn CongestionControl, paths: &mut [PathFacts], leaders: &[u8]) {
    for (path, leader) in paths.iter_mut().zip(leaders) {
        path.bottleneck = Some(PathId(*leader));
    }
    policy.on_bottlenecks(paths);
}

#[test]
fn when_the_leader_is_released_the_others_keep_their_shares() {
    let mut policy = Cubic::new(CubicParameters::DEFAULT);
    let mut paths = grouped(&mut policy, &[100, 100, 100]);
    let before = cwnds(&policy, &paths);
    regroup(&mut policy, &mut paths, &[0, 1, 1]);
    assert_eq!(cwnds(&policy, &paths), before);
    // They are one flow still.
    policy.on_loss(&loss(1, LossCause::FastRetransmit), &paths, at(1_000));
    let (after, others) = (cwnds(&policy, &paths), before[1] + before[2]);
    assert!(
        (after[1] + after[2]).abs_diff(others * 7 / 10) <= 2,
        "{before:?} → {after:?}"
    );
}

#[test]
fn when_the_leader_is_removed_the_others_keep_their_shares() {
    let mut policy = Cubic::new(CubicParameters::DEFAULT);
    let mut paths = grouped(&mut policy, &[100, 100, 100, 100]);
    let before = cwnds(&policy, &paths);
    policy.remove_path(PathId(0));
    paths.remove(0);
    regroup(&mut policy, &mut paths, &[1, 1, 1]);
    assert_eq!(cwnds(&policy, &paths), before[1..]);
}

#[test]
fn a_path_of_lower_id_joins_the_flow_as_it_is() {
    let mut policy = Cubic::new(CubicParameters::DEFAULT);
    let mut paths = grouped(&mut policy, &[4, 100, 100]);
    regroup(&mut policy, &mut paths, &[0, 1, 1]);
    let before = cwnds(&policy, &paths);
    regroup(&mut policy, &mut paths, &[0, 0, 0]);
    let total = sum(&policy, &paths);
    assert!(
        total.abs_diff(before[1] + before[2]) < 3 * CHUNK,
        "{before:?} → {total}"
    );
}

#[test]
fn a_group_that_parts_keeps_its_shares_and_begins_with_the_larger_when_it_is_one_again() {
    let mut policy = Cubic::new(CubicParameters::DEFAULT);
    let mut paths = grouped(&mut policy, &[100, 100, 100, 100]);
    let before = cwnds(&policy, &paths);
    regroup(&mut policy, &mut paths, &[0, 0, 2, 2]);
    assert_eq!(cwnds(&policy, &paths), before);
    policy.on_loss(&loss(2, LossCause::FastRetransmit), &paths, at(1_000));
    let after = cwnds(&policy, &paths);
    assert_eq!(after[..2], before[..2]);
    regroup(&mut policy, &mut paths, &[0, 0, 0, 0]);
    let total = sum(&policy, &paths);
    let larger = (after[0] + after[1]).max(after[2] + after[3]);
    assert!(total.abs_diff(larger) <= 4, "{after:?} → {total}");
}

#[test]
fn a_path_that_joins_after_a_loss_does_not_make_it_two() {
    let mut policy = Cubic::new(CubicParameters::DEFAULT);
    let mut paths = grouped(&mut policy, &[100, 100, 4]);
    regroup(&mut policy, &mut paths, &[0, 0, 2]);
    policy.on_loss(&loss(0, LossCause::FastRetransmit), &paths, at(1_000));
    regroup(&mut policy, &mut paths, &[0, 0, 0]);
    let before = sum(&policy, &paths);
    policy.on_loss(&loss(1, LossCause::FastRetransmit), &paths, at(1_010));
    assert_eq!(sum(&policy, &paths), before);
    policy.on_loss(&loss(1, LossCause::FastRetransmit), &paths, at(1_030));
    assert!(sum(&policy, &paths) < before);
}

#[test]
fn the_time_that_a_flow_is_idle_is_not_time_of_growth() {
    let mut policy = Cubic::new(CubicParameters::DEFAULT);
    let paths = grouped(&mut policy, &[100, 100]);
    policy.on_loss(&loss(0, LossCause::FastRetransmit), &paths, at(1_000));
    fill(&mut policy, &paths, 1_040, 50);
    let before = sum(&policy, &paths);
    // Data is sent on one path, and its acknowledgement arrives before the other carries any.
    policy.on_idle(&paths[0], ms(60_000));
    fill(&mut policy, &paths[..1], 62_040, 1);
    policy.on_idle(&paths[1], ms(60_000));
    assert!(sum(&policy, &paths) < 20 * CHUNK, "{:?}", cwnds(&policy, &paths));
    fill(&mut policy, &paths, 62_060, 10);
    let after = sum(&policy, &paths);
    // It is fast back where it was, and not far beyond.
    assert!(
        after > before * 9 / 10 && after < before * 11 / 10,
        "{before} → {after}"
    );
}

#[test]
fn an_idle_path_beside_a_busy_one_does_not_make_the_flow_idle() {
    let mut policy = Cubic::new(CubicParameters::DEFAULT);
    let paths = grouped(&mut policy, &[100, 100]);
    fill(&mut policy, &paths[1..], 1_000, 3_000);
    let before = sum(&policy, &paths);
    policy.on_idle(&paths[0], ms(60_000));
    fill(&mut policy, &paths, 61_000, 5);
    let after = sum(&policy, &paths);
    assert!(after >= before * 95 / 100, "{before} → {after}");
}

#[test]
fn an_outage_of_all_paths_is_one_loss_event_after_which_the_flow_starts_slowly() {
    let mut policy = Cubic::new(CubicParameters::DEFAULT);
    let paths = grouped(&mut policy, &[100, 100]);
    let before = sum(&policy, &paths);
    for millis in [1_000, 2_000, 4_000, 8_000, 16_000] {
        policy.on_loss(&loss(0, LossCause::Timeout), &paths, at(millis));
        policy.on_loss(&loss(1, LossCause::Timeout), &paths, at(millis + 300));
    }
    assert_eq!(cwnds(&policy, &paths), [CHUNK, CHUNK]);
    fill(&mut policy, &paths, 20_000, 3);
    let early = sum(&policy, &paths);
    assert!(early <= 16 * CHUNK, "doubled thrice: {early}");
    fill(&mut policy, &paths, 20_060, 7);
    let after = sum(&policy, &paths);
    assert!(
        after > before * 6 / 10 && after < before * 8 / 10,
        "as after one cut: {before} → {after}"
    );
}

#[test]
fn when_the_only_path_that_delivers_times_out_the_flow_does() {
    let mut policy = Cubic::new(CubicParameters::DEFAULT);
    let paths = grouped(&mut policy, &[100, 100]);
    let before = sum(&policy, &paths);
    policy.on_loss(&loss(0, LossCause::Timeout), &paths, at(1_000));
    fill(&mut policy, &paths[1..], 1_040, 1);
    let beside = sum(&policy, &paths);
    assert!(beside > before * 6 / 10, "{before} → {beside}");
    // Another timeout of the path that is silent already concerns no other.
    policy.on_loss(&loss(0, LossCause::Timeout), &paths, at(2_000));
    assert_eq!(sum(&policy, &paths), beside);
    for millis in [3_000, 5_000, 9_000] {
        policy.on_loss(&loss(1, LossCause::Timeout), &paths, at(millis));
    }
    assert_eq!(cwnds(&policy, &paths), [CHUNK, CHUNK]);
    fill(&mut policy, &paths[1..], 10_000, 10);
    let after = sum(&policy, &paths);
    assert!(
        after > before * 4 / 10 && after < before * 6 / 10,
        "as after two cuts: {before} → {after}"
    );
}
