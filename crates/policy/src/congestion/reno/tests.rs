//! Tests of the rules of RFC 5681.

use anabranch_types::{Instant, PathId};

use super::{Reno, RenoParameters};
use crate::testing::{CHUNK, healthy, in_order, ms, sack};
use crate::{CongestionControl, LossCause, LossEvent, PathFacts};

const PATH: PathId = PathId(0);

struct Fixture {
    cc: Reno,
    path: PathFacts,
}

impl Fixture {
    fn new() -> Self {
        let mut cc = Reno::new(RenoParameters::DEFAULT);
        let path = healthy(0);
        cc.add_path(&path, Instant::ZERO);
        Self { cc, path }
    }

    /// The cwnd in full segments.
    fn segments(&self) -> u64 {
        self.cc.cwnd(PATH) / CHUNK
    }

    fn acked(&mut self, segments: u64) {
        let ack = in_order(0, self.cc.cwnd(PATH), segments * CHUNK);
        let paths = core::slice::from_ref(&self.path);
        self.cc.on_ack(&sack(&[ack]), paths, Instant::ZERO);
    }

    fn lost(&mut self, cause: LossCause) {
        let loss = LossEvent {
            path: PATH,
            cause,
            bytes: CHUNK,
        };
        let paths = core::slice::from_ref(&self.path);
        self.cc.on_loss(&loss, paths, Instant::ZERO);
    }
}

#[test]
fn slow_start_adds_one_segment_for_each_acknowledgement() {
    let mut fixture = Fixture::new();
    assert_eq!(fixture.segments(), 10);
    fixture.acked(1);
    fixture.acked(2);
    assert_eq!(fixture.segments(), 12);
}

#[test]
fn consecutive_timeouts_halve_ssthresh_once() {
    let mut fixture = Fixture::new();
    fixture.acked(20);
    let ssthresh = |fixture: &Fixture| fixture.cc.ssthresh(PATH) / CHUNK;
    let before = fixture.segments();
    for _ in 0..3 {
        fixture.lost(LossCause::Timeout);
        assert_eq!((fixture.segments(), ssthresh(&fixture)), (1, before / 2));
    }
    fixture.acked(1);
    fixture.lost(LossCause::Timeout);
    assert_eq!(ssthresh(&fixture), 2, "that is another outage");
}

#[test]
fn after_a_loss_each_acked_cwnd_adds_one_segment() {
    let mut fixture = Fixture::new();
    fixture.lost(LossCause::FastRetransmit);
    assert_eq!(fixture.segments(), 5);
    for _ in 0..4 {
        fixture.acked(1);
    }
    assert_eq!(fixture.segments(), 5);
    fixture.acked(1);
    assert_eq!(fixture.segments(), 6);
}

#[test]
fn small_cwnds_are_halved_down_to_two_segments() {
    let mut fixture = Fixture::new();
    for expected in [5, 2, 2] {
        fixture.lost(LossCause::FastRetransmit);
        assert_eq!(fixture.segments(), expected);
    }
    fixture.lost(LossCause::Timeout);
    assert_eq!(fixture.segments(), 1);
}

#[test]
fn idle_cwnd_falls_to_the_initial_cwnd() {
    let mut fixture = Fixture::new();
    for _ in 0..20 {
        fixture.acked(1);
    }
    fixture.cc.on_idle(&fixture.path, ms(900));
    assert_eq!(fixture.segments(), 30);
    fixture.cc.on_idle(&fixture.path, ms(1_000));
    assert_eq!(fixture.segments(), 10);
}
