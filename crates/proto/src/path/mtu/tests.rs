//! Tests of path MTU discovery: probes on a path of a given MTU, and the sizes that follow.

use alloc::vec::Vec;
use core::time::Duration;

use anabranch_types::Instant;

use super::{MtuSearch, PathMtu};

const SEARCH: MtuSearch = MtuSearch {
    min: 576,
    base: 1_200,
    max: 1_500,
    raise_after: Duration::from_secs(600),
};
const RTO: Duration = Duration::from_millis(400);
const ROUND_TRIP: Duration = Duration::from_millis(50);

/// Path MTU discovery and its simulated path.
struct Fixture {
    mtu: PathMtu,
    now: Instant,
    /// MTU of the path.
    carries: u16,
    /// When something was last acknowledged.
    passed_at: Option<Instant>,
    /// The number of probes still to be lost to congestion although they fit.
    congested: u32,
    probes: Vec<u16>,
}

impl Fixture {
    fn new(search: MtuSearch, carries: u16) -> Self {
        let mut fixture = Self {
            mtu: PathMtu::searching(search),
            now: Instant::ZERO,
            carries,
            passed_at: Some(Instant::MAX),
            congested: 0,
            probes: Vec::new(),
        };
        fixture.mtu.begin(fixture.now);
        fixture
    }

    /// Advances time until no timer expires within five seconds, so that no larger size is probed again.
    fn settles(&mut self) {
        while self
            .mtu
            .deadline(true)
            .is_some_and(|deadline| deadline < self.now + Duration::from_secs(5))
        {
            self.steps();
        }
    }

    fn steps(&mut self) {
        if let Some(size) = self.mtu.due(self.now) {
            self.probes.push(size);
            let nonce = self.mtu.sent(u64::from(size), RTO, ROUND_TRIP, self.now);
            if size <= self.carries && self.congested == 0 {
                self.now += ROUND_TRIP;
                assert!(self.mtu.answered(nonce, self.now));
                return;
            }
            self.congested = self.congested.saturating_sub(1);
        }
        if let Some(deadline) = self.mtu.deadline(true) {
            self.now = self.now.max(deadline);
            self.mtu.on_timer(self.passed_at, self.now);
        }
    }

    #[track_caller]
    fn finds(&mut self, at_least: u16) {
        self.settles();
        let size = self.mtu.size();
        let right = at_least..=self.carries;
        assert!(right.contains(&size), "{size} after {:?}", self.probes);
    }
}

#[test]
fn clean_path_is_found_in_two_round_trips() {
    let mut fixture = Fixture::new(SEARCH, 1_500);
    assert_eq!(fixture.mtu.size(), 1_200);
    fixture.finds(1_500);
    assert_eq!(fixture.probes, [1_200, 1_500]);
    assert_eq!(fixture.now, Instant::ZERO + ROUND_TRIP * 2);
    assert_eq!(fixture.mtu.deadline(true), None, "nothing larger is wanted");
}

#[test]
fn tunnel_mtu_is_found_to_within_two_percent() {
    for carries in [1_492, 1_480, 1_420, 1_400, 1_300, 1_281] {
        Fixture::new(SEARCH, carries).finds(carries - carries / 50);
    }
}

#[test]
fn common_mtus_are_probed_first_for_a_large_maximum() {
    let jumbo = MtuSearch {
        max: 65_535,
        ..SEARCH
    };
    let mut fixture = Fixture::new(jumbo, 1_500);
    fixture.finds(1_500 - 30);
    assert_eq!(fixture.probes[..5], [1_200, 65_535, 65_535, 65_535, 1_500]);
    Fixture::new(jumbo, 9_000).finds(9_000 - 150);
}

#[test]
fn lost_probe_is_repeated() {
    let mut fixture = Fixture::new(SEARCH, 1_500);
    fixture.congested = 2;
    fixture.finds(1_500);
    assert_eq!(fixture.probes, [1_200, 1_200, 1_200, 1_500]);
}

#[test]
fn late_probe_ack_counts_while_its_size_is_probed() {
    let mut mtu = PathMtu::searching(SEARCH);
    mtu.begin(Instant::ZERO);
    let first = mtu.sent(7, RTO, ROUND_TRIP, Instant::ZERO);
    let overdue = mtu.deadline(true).unwrap();
    assert_eq!(overdue, Instant::ZERO + Duration::from_secs(1));
    mtu.on_timer(Some(overdue), overdue);
    let second = mtu.sent(8, RTO, ROUND_TRIP, overdue);
    assert_eq!(first, second);
    assert!(!mtu.answered(8, overdue), "nobody was told this nonce");
    assert!(mtu.answered(first, overdue));
    assert_eq!(mtu.due(overdue), Some(1_500));
    assert!(!mtu.answered(first, overdue), "this size is settled");
}

#[test]
fn larger_sizes_are_probed_again_after_10_s_to_600_s() {
    let mut fixture = Fixture::new(SEARCH, 1_300);
    fixture.finds(1_280);
    let mut waits = Vec::new();
    for _ in 0..9 {
        let raise = fixture.mtu.deadline(true).expect("a larger size is tried again");
        waits.push((raise - fixture.now).as_secs());
        fixture.now = raise;
        fixture.steps();
        fixture.settles();
    }
    assert_eq!(waits, [10, 20, 40, 80, 160, 320, 600, 600, 600]);
    fixture.carries = 1_500;
    fixture.now = fixture.mtu.deadline(true).expect("a larger size is tried again");
    fixture.steps();
    fixture.finds(1_500);
}

#[test]
fn lost_probes_of_an_outage_do_not_count() {
    let mut fixture = Fixture::new(SEARCH, 1_500);
    fixture.settles();
    fixture.mtu.doubt_after_timeout(fixture.now);
    fixture.passed_at = None;
    fixture.carries = 0;
    let before = fixture.probes.len();
    let began_at = fixture.now;
    for _ in 0..30 {
        fixture.steps();
    }
    let outage = fixture.now - began_at;
    assert!(outage > Duration::from_secs(500), "{outage:?}");
    assert_eq!(fixture.probes.split_off(before), [1_500; 15]);
    assert_eq!(fixture.mtu.size(), SEARCH.base);

    fixture.carries = 1_500;
    fixture.mtu.carried_others(fixture.now);
    assert_eq!(fixture.mtu.due(fixture.now), Some(1_500));
    fixture.finds(1_500);
}

#[test]
fn base_size_is_used_a_round_trip_after_a_timeout_until_the_size_is_confirmed() {
    let mut fixture = Fixture::new(SEARCH, 1_500);
    fixture.settles();
    fixture.mtu.doubt_after_timeout(fixture.now);
    let nonce = fixture.mtu.sent(1, RTO, ROUND_TRIP, fixture.now);
    assert_eq!(fixture.mtu.size(), 1_500);
    assert_eq!(fixture.mtu.deadline(true), Some(fixture.now + ROUND_TRIP));
    fixture.now += ROUND_TRIP;
    fixture.mtu.on_timer(Some(fixture.now), fixture.now);
    assert_eq!(fixture.mtu.size(), 1_200);
    assert!(fixture.mtu.answered(nonce, fixture.now));
    assert_eq!(fixture.mtu.size(), 1_500);
}

#[test]
fn base_size_is_used_at_once_after_two_timeouts() {
    let mut fixture = Fixture::new(SEARCH, 1_500);
    fixture.settles();
    fixture.mtu.doubt_after_timeout(fixture.now);
    fixture.mtu.doubt_after_timeout(fixture.now);
    assert_eq!(fixture.mtu.size(), 1_200);
    fixture.finds(1_500);
}

#[test]
fn black_hole_is_distinguished_from_congestion_loss() {
    let mut fixture = Fixture::new(SEARCH, 1_500);
    fixture.settles();
    fixture.mtu.doubt(fixture.now);
    fixture.finds(1_500);
    assert_eq!(fixture.probes, [1_200, 1_500, 1_500]);

    fixture.carries = 1_400;
    let began = fixture.now;
    fixture.mtu.doubt(fixture.now);
    while fixture.mtu.size() > 1_400 {
        fixture.steps();
    }
    assert_eq!(
        fixture.now,
        began + Duration::from_secs(2),
        "data and two probes were lost"
    );
    assert_eq!(fixture.mtu.size(), 1_200);
    fixture.finds(1_375);
}

#[test]
fn suspected_black_holes_do_not_postpone_the_raise_timer() {
    let mut fixture = Fixture::new(SEARCH, 1_300);
    fixture.settles();
    let raise = fixture.mtu.deadline(true);
    for _ in 0..5 {
        fixture.mtu.doubt(fixture.now);
        fixture.settles();
    }
    assert_eq!(fixture.mtu.deadline(true), raise);
}

#[test]
fn mtu_below_the_base_uses_the_minimum_with_rarer_probes() {
    let mut fixture = Fixture::new(SEARCH, 1_000);
    fixture.settles();
    assert_eq!(fixture.mtu.size(), 576);
    assert!(fixture.probes.len() < 15, "{:?}", fixture.probes);
    fixture.carries = 1_500;
    while fixture.mtu.size() < 1_500 {
        fixture.steps();
    }
}

#[test]
fn reported_mtu_is_used_if_plausible() {
    let mut fixture = Fixture::new(SEARCH, 1_400);
    fixture.steps();
    assert_eq!(fixture.mtu.due(fixture.now), Some(1_500));
    fixture.mtu.sent(1, RTO, ROUND_TRIP, fixture.now);
    fixture.mtu.refused(Some(1_500), fixture.now);
    fixture.mtu.refused(Some(9_000), fixture.now);
    fixture.mtu.refused(Some(100), fixture.now);
    assert_eq!(fixture.mtu.due(fixture.now), None, "nonsense changes nothing");
    fixture.mtu.refused(Some(1_400), fixture.now);
    assert_eq!(fixture.mtu.size(), 1_200, "not before it is proved");
    fixture.finds(1_400);
    assert_eq!(fixture.now, Instant::ZERO + ROUND_TRIP * 2);

    fixture.carries = 1_250;
    fixture.mtu.refused(Some(1_250), fixture.now);
    assert_eq!(fixture.mtu.size(), 1_200);
    fixture.finds(1_200);
}

#[test]
fn size_refused_by_the_interface_is_not_probed_again() {
    let mut fixture = Fixture::new(SEARCH, 1_400);
    fixture.steps();
    fixture.mtu.sent(1, RTO, ROUND_TRIP, fixture.now);
    fixture.mtu.refused(None, fixture.now);
    assert_eq!(fixture.mtu.due(fixture.now), Some(1_350));
}

/// Several packets were queued for the interface when its MTU changed.
#[test]
fn repeated_refusals_do_not_lower_the_mtu_below_the_base() {
    let mut fixture = Fixture::new(SEARCH, 1_500);
    fixture.settles();
    fixture.carries = 1_400;
    fixture.mtu.refused(None, fixture.now);
    fixture.mtu.refused(None, fixture.now);
    assert_eq!(fixture.mtu.size(), 1_200);
    fixture.finds(1_350);
}

#[test]
fn probe_has_no_deadline_while_probing_is_not_allowed() {
    let fixture = Fixture::new(SEARCH, 1_500);
    assert_eq!(fixture.mtu.deadline(false), None);
    assert_eq!(fixture.mtu.deadline(true), Some(fixture.now));
}

#[test]
fn restored_path_is_probed_again() {
    let mut fixture = Fixture::new(SEARCH, 1_500);
    fixture.settles();
    fixture.mtu.end();
    assert_eq!((fixture.mtu.size(), fixture.mtu.deadline(true)), (1_200, None));
    fixture.mtu.begin(fixture.now);
    fixture.finds(1_500);
}

#[test]
fn fixed_mtu_is_never_probed() {
    let mut mtu = PathMtu::fixed(1_500);
    mtu.begin(Instant::ZERO);
    mtu.doubt(Instant::ZERO);
    mtu.refused(None, Instant::ZERO);
    assert_eq!((mtu.size(), mtu.deadline(true)), (1_500, None));
}

#[test]
fn maximum_below_the_base_lowers_the_base() {
    let small = MtuSearch { max: 577, ..SEARCH };
    let mut fixture = Fixture::new(small, 1_500);
    assert_eq!(fixture.mtu.size(), 577);
    fixture.settles();
    assert_eq!(fixture.probes, [577]);
}
