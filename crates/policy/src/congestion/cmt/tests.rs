//! Tests of the rules of RFC 9260 §7.2.

use anabranch_types::{Instant, PathId};

use super::{Cmt, CmtParameters};
use crate::congestion::Growth;
use crate::testing::{CHUNK, healthy, in_order, ms, sack, unmeasured};
use crate::{CongestionControl, LossCause, LossEvent, PathFacts};

const PATH: PathId = PathId(0);

struct Fixture {
    cc: Cmt,
    paths: [PathFacts; 2],
}

impl Fixture {
    fn new() -> Self {
        let mut cc = Cmt::new(CmtParameters::DEFAULT);
        let paths = [healthy(0), healthy(1)];
        paths.iter().for_each(|path| cc.add_path(path, Instant::ZERO));
        Self { cc, paths }
    }

    fn cwnd(&self) -> u64 {
        self.cc.cwnd(PATH)
    }

    fn acked(&mut self, in_flight: u64, bytes: u64) {
        let ack = in_order(0, in_flight, bytes);
        self.cc.on_ack(&sack(&[ack]), &self.paths, Instant::ZERO);
    }

    fn lost(&mut self, cause: LossCause) {
        let loss = LossEvent {
            path: PATH,
            cause,
            bytes: CHUNK,
        };
        self.cc.on_loss(&loss, &self.paths, Instant::ZERO);
    }

    /// A window of `chunks` full chunks, in congestion avoidance.
    fn settles_at(&mut self, chunks: u64) {
        while self.cwnd() < 2 * chunks * CHUNK {
            self.acked(self.cwnd(), CHUNK);
        }
        self.lost(LossCause::FastRetransmit);
        self.acked(self.cwnd(), CHUNK);
        assert!(self.cwnd() > self.cc.ssthresh(PATH));
    }
}

//= rfc9260 7.2.1-1, 7.2.1-3
#[test]
fn initial_window_is_that_of_the_rfc_for_packets_of_any_size() {
    for (chunk, ipv4, ipv6) in [
        (500, 2_000, 2_000),
        (1_452, 4_404, 4_344),
        (9_000, 18_000, 18_000),
    ] {
        for (ipv6, expected) in [(false, ipv4), (true, ipv6)] {
            let mut path = PathFacts::new(PATH, chunk + 12, chunk, unmeasured());
            path.ipv6 = ipv6;
            let mut cc = Cmt::new(CmtParameters::DEFAULT);
            cc.add_path(&path, Instant::ZERO);
            assert_eq!((cc.cwnd(PATH), cc.ssthresh(PATH)), (expected, u64::MAX));
        }
    }
}

//= rfc9260 7.2-1, 7.2.1-7, 7.2.1-8
#[test]
fn slow_start_adds_acked_bytes_up_to_one_chunk_per_sack() {
    let mut fixture = Fixture::new();
    fixture.acked(4_404, 500);
    assert_eq!(fixture.cwnd(), 4_904);
    fixture.acked(4_904, 2 * CHUNK);
    assert_eq!(fixture.cwnd(), 4_904 + CHUNK);
}

//= rfc9260 7.2.1-5, 7.2.1-6
#[test]
fn unused_cwnd_does_not_grow() {
    let mut fixture = Fixture::new();
    fixture.acked(CHUNK, CHUNK);
    assert_eq!(fixture.cwnd(), 4_404);
}

#[test]
fn batched_sacks_grow_cwnd_like_single_ones() {
    let mut fixture = Fixture::new();
    fixture.acked(3 * CHUNK, CHUNK);
    fixture.acked(2 * CHUNK, CHUNK);
    fixture.acked(CHUNK, CHUNK);
    assert_eq!(fixture.cwnd(), 4_404 + 3 * CHUNK);
    fixture.acked(CHUNK, CHUNK);
    assert_eq!(
        fixture.cwnd(),
        4_404 + 3 * CHUNK,
        "this chunk was sent after the full flight"
    );
}

//= rfc9260 7.2-1, 7.2.2-1, 7.2.2-2
#[test]
fn congestion_avoidance_adds_one_chunk_per_window() {
    let mut fixture = Fixture::new();
    fixture.settles_at(20);
    let window = fixture.cwnd();
    for _ in 0..window.div_ceil(CHUNK) - 1 {
        fixture.acked(window, CHUNK);
        assert_eq!(fixture.cwnd(), window);
    }
    fixture.acked(window, CHUNK);
    assert_eq!(fixture.cwnd(), window + CHUNK);
}

//= rfc9260 7.2.2-2
#[test]
fn bytes_acked_without_growth_add_at_most_one_chunk_later() {
    let mut fixture = Fixture::new();
    fixture.settles_at(20);
    let window = fixture.cwnd();
    fixture.paths[0].in_recovery = true;
    (0..500).for_each(|_| fixture.acked(window, CHUNK));
    fixture.paths[0].in_recovery = false;
    (0..10).for_each(|_| fixture.acked(window, CHUNK));
    assert_eq!(fixture.cwnd(), window + CHUNK);
}

//= rfc9260 7.2.1-2, 7.2.3-1, 7.2.3-2
#[test]
fn a_loss_halves_cwnd_and_a_timeout_leaves_one_chunk() {
    let mut fixture = Fixture::new();
    fixture.settles_at(20);
    let before = fixture.cwnd();
    fixture.lost(LossCause::FastRetransmit);
    assert_eq!(fixture.cwnd(), before / 2);
    fixture.lost(LossCause::Timeout);
    assert_eq!(fixture.cwnd(), CHUNK);
    assert_eq!(fixture.cc.ssthresh(PATH), before / 4);
}

//= rfc9260 7.2.3-1
#[test]
fn ssthresh_is_at_least_four_chunks_but_cwnd_is_not_raised() {
    let mut fixture = Fixture::new();
    fixture.lost(LossCause::FastRetransmit);
    assert_eq!(fixture.cc.ssthresh(PATH), 4 * CHUNK);
    assert_eq!(fixture.cwnd(), 4_404);
}

//= rfc9260 6.1-9, 7.1-1, 7.2.1-10, 7.2.1-11, 7.2.2-3
#[test]
fn idle_cwnd_halves_once_per_rto_down_to_four_chunks() {
    let mut fixture = Fixture::new();
    fixture.settles_at(40);
    let before = fixture.cwnd();
    let path = fixture.paths[0].clone();
    fixture.cc.on_idle(&path, ms(999));
    assert_eq!(fixture.cwnd(), before, "less than one RTO");
    fixture.cc.on_idle(&path, ms(2_500));
    assert_eq!(fixture.cwnd(), before / 4);
    assert_eq!(fixture.cc.ssthresh(PATH), before);
    fixture.cc.on_idle(&path, ms(60_000));
    assert_eq!(fixture.cwnd(), 4 * CHUNK);
}

#[test]
fn with_cuc_cwnd_grows_while_cumulative_tsn_stands_still() {
    for (growth, grows) in [
        (Growth::Cumack, false),
        (Growth::CucV1, true),
        (Growth::CucV2, true),
    ] {
        let mut fixture = Fixture::new();
        fixture.cc = Cmt::new(CmtParameters {
            growth,
            ..CmtParameters::DEFAULT
        });
        fixture.cc.add_path(&fixture.paths[0], Instant::ZERO);
        let mut ack = in_order(0, 4_404, CHUNK);
        ack.cumulative_advanced = false;
        fixture.cc.on_ack(&sack(&[ack]), &fixture.paths, Instant::ZERO);
        assert_eq!(fixture.cwnd() > 4_404, grows, "{growth:?}");
    }
}

//= rfc9260 7.2.1-9, 7.2-3
#[test]
fn paths_do_not_touch_each_other() {
    let mut fixture = Fixture::new();
    fixture.settles_at(20);
    assert_eq!(fixture.cc.cwnd(PathId(1)), 4_404);
}

#[test]
fn cwnd_counts_as_used_while_pacing_delays_data() {
    let mut fixture = Fixture::new();
    fixture.paths[0].pacing_limited = true;
    fixture.acked(2 * CHUNK, CHUNK);
    assert_eq!(fixture.cwnd(), 4_404 + CHUNK);
    fixture.paths[0].pacing_limited = false;
    fixture.acked(CHUNK, CHUNK);
    fixture.acked(CHUNK, CHUNK);
    assert_eq!(
        fixture.cwnd(),
        4_404 + 2 * CHUNK,
        "for the rest of that flight, and no longer"
    );
}
