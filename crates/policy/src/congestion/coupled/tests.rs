//! Tests of the coupled controllers apart from the formulas: groups, order of updates, paths that are alone.

use alloc::boxed::Box;
use alloc::vec::Vec;

use anabranch_types::{Instant, PathId};

use super::Coupling;
use super::{Coupled, CoupledParameters, Groups};
use crate::catalog::{Choice, CongestionChoice};
use crate::congestion::{LinkedIncreases, OpportunisticIncreases, RateShares, ThresholdShares};
use crate::parameters::Parameters;
use crate::testing::{CHUNK, healthy, in_order, ms, sack};
use crate::{CongestionControl, LossCause, LossEvent, PathAck, PathFacts};

struct Fixture {
    cc: Box<dyn CongestionControl>,
    paths: Vec<PathFacts>,
}

impl Fixture {
    /// Three paths of 20 ms in these groups.
    fn in_groups<A: Coupling>(groups: &str) -> Self {
        let mut parameters = CoupledParameters::default();
        parameters.set("groups", groups).unwrap();
        Self::with(Box::new(Coupled::<A>::new(parameters)))
    }

    fn with(mut cc: Box<dyn CongestionControl>) -> Self {
        let paths: Vec<_> = (0..3).map(healthy).collect();
        paths.iter().for_each(|path| cc.add_path(path, Instant::ZERO));
        Self { cc, paths }
    }

    fn cwnd(&self, path: u8) -> u64 {
        self.cc.cwnd(PathId(path))
    }

    /// Fully used cwnds, `bytes` of each acknowledged by one SACK.
    fn acked(&mut self, paths: &[u8], bytes: u64) {
        let ack = |path: &u8| in_order(*path, self.cwnd(*path).max(bytes + 1), bytes);
        let acks: Vec<PathAck> = paths.iter().map(ack).collect();
        self.cc.on_ack(&sack(&acks), &self.paths, Instant::ZERO);
    }

    fn lost(&mut self, path: u8, cause: LossCause) {
        let path = PathId(path);
        let loss = LossEvent {
            path,
            cause,
            bytes: CHUNK,
        };
        self.cc.on_loss(&loss, &self.paths, Instant::ZERO);
    }

    /// All paths in congestion avoidance, somewhere near `chunks`.
    fn settles_at(&mut self, chunks: u64) {
        while self.cwnd(0) < chunks * CHUNK {
            self.acked(&[0, 1, 2], CHUNK);
        }
        (0..3).for_each(|path| self.lost(path, LossCause::FastRetransmit));
        self.acked(&[0, 1, 2], CHUNK);
    }

    /// The increase of each path after one SACK that acknowledges a full cwnd of all paths.
    fn gains(&mut self) -> [i64; 3] {
        let before = [0, 1, 2].map(|path| self.cwnd(path));
        let acks: Vec<PathAck> = (0..)
            .zip(before)
            .map(|(path, window)| in_order(path, window + CHUNK, window))
            .collect();
        self.cc.on_ack(&sack(&acks), &self.paths, Instant::ZERO);
        [0, 1, 2].map(|path| self.cwnd(path) as i64 - before[usize::from(path)] as i64)
    }
}

#[test]
fn all_paths_see_the_cwnds_from_before_the_sack() {
    let mut fixture = Fixture::in_groups::<LinkedIncreases>("0");
    fixture.settles_at(90);
    let [first, second, third] = fixture.gains();
    // A ninth of a chunk each: α = 1/3, and a third of the sum of cwnd.
    assert_eq!((first, second, third), (162, 162, 162));
}

#[test]
fn next_sack_sees_the_cwnd_after_a_loss_elsewhere() {
    let mut fixture = Fixture::in_groups::<LinkedIncreases>("0");
    fixture.settles_at(90);
    let [before, ..] = fixture.gains();
    fixture.lost(1, LossCause::Timeout);
    let [after, ..] = fixture.gains();
    assert!(after > before, "{after} is not more than {before}");
}

#[test]
fn sums_run_inside_a_group_only() {
    let mut fixture = Fixture::in_groups::<LinkedIncreases>("0,0,1");
    fixture.settles_at(90);
    let [first, second, third] = fixture.gains();
    assert_eq!(
        (first, second, third),
        (363, 363, 1_452),
        "a quarter, a quarter, and one alone"
    );
}

#[test]
fn detected_bottlenecks_part_a_group() {
    let mut fixture = Fixture::in_groups::<LinkedIncreases>("0");
    fixture.settles_at(90);
    for path in &mut fixture.paths {
        path.bottleneck = Some(path.id);
    }
    assert_eq!(fixture.gains(), [1_452; 3], "none is known to share one");
    let mut fixture = Fixture::in_groups::<LinkedIncreases>("0");
    fixture.settles_at(90);
    for (path, leader) in fixture.paths.iter_mut().zip([0, 0, 2]) {
        path.bottleneck = Some(PathId(leader));
    }
    assert_eq!(fixture.gains(), [363, 363, 1_452]);
}

#[test]
fn a_path_without_rtt_sample_is_not_in_the_sums() {
    let mut fixture = Fixture::in_groups::<LinkedIncreases>("0");
    fixture.settles_at(90);
    fixture.paths[2].set_srtt(None);
    assert_eq!(fixture.gains(), [363, 363, 1_452]);
}

#[test]
fn resource_pooling_couples_slow_start_too() {
    let mut fixture = Fixture::in_groups::<ThresholdShares>("0,0,1");
    let before = fixture.cwnd(0);
    fixture.acked(&[0, 1, 2], CHUNK);
    assert_eq!(fixture.cwnd(0) - before, 726, "half of it");
    assert_eq!(fixture.cwnd(2) - before, 1_452, "alone");
    let mut fixture = Fixture::in_groups::<LinkedIncreases>("0");
    fixture.acked(&[0, 1, 2], CHUNK);
    assert_eq!(fixture.cwnd(0) - before, 1_452, "linked increases do not");
}

#[test]
fn rpv2_loss_leaves_at_least_one_chunk() {
    let mut fixture = Fixture::in_groups::<RateShares>("0");
    fixture.settles_at(12);
    (0..4).for_each(|_| fixture.lost(1, LossCause::FastRetransmit));
    assert_eq!(fixture.cwnd(1), CHUNK);
    assert_eq!(fixture.cc.ssthresh(PathId(1)), CHUNK);
}

#[test]
fn olia_uses_the_longer_interval_between_losses() {
    let mut fixture = Fixture::in_groups::<OpportunisticIncreases>("0,0,1");
    fixture.settles_at(60);
    // Path 1 loses repeatedly, so it has delivered less between losses; then it is the smaller one, too.
    for _ in 0..3 {
        (0..20).for_each(|_| fixture.acked(&[0, 1], CHUNK));
        fixture.lost(1, LossCause::FastRetransmit);
    }
    let [first, second, _] = fixture.gains();
    assert!(
        first > 0 && second > 0,
        "the best path is the largest: nothing moves"
    );
    // Now path 0 loses its cwnd by a timeout, but what it delivered before still counts.
    fixture.lost(0, LossCause::Timeout);
    fixture.acked(&[0], CHUNK);
    fixture.acked(&[0], 5 * CHUNK);
    let [first, second, _] = fixture.gains();
    assert!(first > 0, "{first}");
    assert!(
        second < 0,
        "the largest window gives to the collected path: {second}"
    );
}

#[test]
fn groups_are_set_by_name() {
    let mut choice = CongestionChoice::named("olia").unwrap();
    choice.set_parameter("groups", "0,1").unwrap();
    choice.set_parameter("slow-start-limit", "4").unwrap();
    let CongestionChoice::Olia(parameters) = choice else {
        panic!("{choice:?}");
    };
    assert_eq!(parameters.groups.of(PathId(1)), 1);
    assert_eq!(parameters.base.slow_start_limit, 4);
    assert_eq!(Groups::default(), CoupledParameters::default().groups);
    assert!(choice.set_parameter("groups", "x").is_err());
}

#[test]
fn idle_cwnd_decays() {
    let mut fixture = Fixture::in_groups::<LinkedIncreases>("0");
    fixture.settles_at(90);
    let path = fixture.paths[0].clone();
    fixture.cc.on_idle(&path, ms(60_000));
    assert_eq!(fixture.cwnd(0), 4 * CHUNK);
}
