//! Tests of the curve of RFC 9438 and of HyStart++.

use core::time::Duration;

use anabranch_types::{Instant, PathId};

use super::{Cubic, CubicParameters, Epoch};
use crate::testing::{CHUNK, healthy, in_order, ms, sack, tsn};
use crate::{CongestionControl, LossCause, LossEvent, PathFacts, SentOnce};

const PATH: PathId = PathId(0);

struct Fixture {
    cc: Cubic,
    path: PathFacts,
    now: Instant,
}

impl Fixture {
    fn new(round_trip: Duration, parameters: CubicParameters) -> Self {
        let mut path = healthy(0);
        path.set_srtt(Some(round_trip));
        let mut cc = Cubic::new(parameters);
        cc.add_path(&path, Instant::ZERO);
        Self {
            cc,
            path,
            now: Instant::ZERO,
        }
    }

    fn cwnd(&self) -> u64 {
        self.cc.cwnd(PATH)
    }

    /// A round trip of `taking` in which a full cwnd is acknowledged, two chunks by each SACK.
    fn round(&mut self, taking: Duration) {
        let window = self.cwnd();
        let sacks = u32::try_from(window.div_ceil(2 * CHUNK)).unwrap();
        for _ in 0..sacks {
            self.now += taking / sacks;
            let mut ack = in_order(0, window, 2 * CHUNK);
            ack.rtt_sample = Some(SentOnce {
                sent_at: self.now - taking,
                tsn: tsn(1 << 32),
            });
            self.cc
                .on_ack(&sack(&[ack]), core::slice::from_ref(&self.path), self.now);
        }
    }

    fn lost(&mut self, cause: LossCause) {
        let loss = LossEvent {
            path: PATH,
            cause,
            bytes: CHUNK,
        };
        self.cc
            .on_loss(&loss, core::slice::from_ref(&self.path), self.now);
    }

    fn reaches(&mut self, chunks: u64, round_trip: Duration) {
        while self.cwnd() < chunks * CHUNK {
            self.round(round_trip);
        }
    }
}

#[test]
fn cwnd_returns_to_its_peak_after_k_seconds() {
    let round_trip = ms(200);
    let mut fixture = Fixture::new(round_trip, CubicParameters::DEFAULT);
    fixture.reaches(200, round_trip);
    let peak = fixture.cwnd();
    fixture.lost(LossCause::FastRetransmit);
    assert_eq!(fixture.cwnd(), peak * 7 / 10);
    let chunks = peak as f64 / CHUNK as f64;
    let seconds_to_peak = (chunks * 0.3 / 0.4).cbrt();
    let rounds = (seconds_to_peak / 0.2) as u32;
    (0..rounds).for_each(|_| fixture.round(round_trip));
    let reached = fixture.cwnd() as f64 / peak as f64;
    assert!(
        (0.98..1.02).contains(&reached),
        "{reached} of the peak after {seconds_to_peak} s"
    );
    let plateau = fixture.cwnd();
    (0..4).for_each(|_| fixture.round(round_trip));
    assert!(fixture.cwnd() - plateau < 3 * CHUNK);
    (0..30).for_each(|_| fixture.round(round_trip));
    assert!(
        fixture.cwnd() > peak * 13 / 10,
        "beyond the peak it probes faster and faster"
    );
}

#[test]
fn the_curve_agrees_with_floating_point() {
    let epoch = Epoch::begin(700_000, Some(1_000_000), CHUNK);
    let k = (300_000.0 / (0.4 * CHUNK as f64)).cbrt();
    for millis in (0..60_000).step_by(37) {
        let t = millis as f64 / 1e3;
        let exact = 0.4 * CHUNK as f64 * (t - k).powi(3) + 1e6;
        let ours = epoch.curve(ms(millis), CHUNK) as f64;
        assert!(
            (ours - exact).abs() <= 2.0 + exact.abs() * 2e-3,
            "{ours} is not {exact} at {t}"
        );
    }
}

#[test]
fn on_short_rtts_cubic_is_as_fast_as_reno() {
    let round_trip = ms(5);
    let mut fixture = Fixture::new(round_trip, CubicParameters::DEFAULT);
    fixture.reaches(100, round_trip);
    fixture.lost(LossCause::FastRetransmit);
    let after_loss = fixture.cwnd();
    (0..57).for_each(|_| fixture.round(round_trip));
    let grown = (fixture.cwnd() - after_loss) / CHUNK;
    assert!(
        (28..=33).contains(&grown),
        "9/17 of a chunk per round trip, not {grown} in 57"
    );
}

#[test]
fn a_second_loss_below_the_peak_lowers_w_max() {
    let mut fixture = Fixture::new(ms(100), CubicParameters::DEFAULT);
    fixture.reaches(100, ms(100));
    fixture.lost(LossCause::FastRetransmit);
    let window = fixture.cwnd();
    fixture.lost(LossCause::FastRetransmit);
    (0..200).for_each(|_| fixture.round(ms(100)));
    assert!(fixture.cwnd() > window, "it recovers");
}

/// RFC 5681 §3.1, which RFC 9438 §4.8 follows: an outage of many timeouts cuts ssthresh once.
#[test]
fn consecutive_timeouts_lower_ssthresh_once() {
    let mut fixture = Fixture::new(ms(100), CubicParameters::DEFAULT);
    fixture.reaches(100, ms(100));
    let before = fixture.cwnd();
    (0..5).for_each(|_| fixture.lost(LossCause::Timeout));
    assert_eq!(fixture.cwnd(), CHUNK);
    assert_eq!(fixture.cc.ssthresh(PATH), before * 7 / 10);
    fixture.round(ms(100));
    fixture.lost(LossCause::Timeout);
    assert_eq!(fixture.cc.ssthresh(PATH), 4 * CHUNK, "a new one");
}

#[test]
fn slow_start_ends_when_rtt_rises() {
    let mut fixture = Fixture::new(ms(40), CubicParameters::DEFAULT);
    fixture.reaches(60, ms(40));
    (0..8).for_each(|_| fixture.round(ms(60)));
    let ssthresh = fixture.cc.ssthresh(PATH);
    assert!(ssthresh < u64::MAX, "left without any loss");
    let window = fixture.cwnd();
    fixture.round(ms(60));
    assert!(fixture.cwnd() < window + window / 10, "no doubling any more");
}

#[test]
fn a_single_slow_round_does_not_end_slow_start() {
    let mut fixture = Fixture::new(ms(40), CubicParameters::DEFAULT);
    fixture.reaches(30, ms(40));
    fixture.round(ms(60));
    (0..3).for_each(|_| fixture.round(ms(40)));
    assert_eq!(fixture.cc.ssthresh(PATH), u64::MAX);
}

#[test]
fn without_hystart_only_a_loss_ends_slow_start() {
    let parameters = CubicParameters {
        hystart: false,
        ..CubicParameters::DEFAULT
    };
    let mut fixture = Fixture::new(ms(40), parameters);
    fixture.reaches(60, ms(40));
    (0..4).for_each(|_| fixture.round(ms(80)));
    assert_eq!(fixture.cc.ssthresh(PATH), u64::MAX);
}

#[test]
fn time_with_unused_cwnd_does_not_count() {
    let mut fixture = Fixture::new(ms(100), CubicParameters::DEFAULT);
    fixture.reaches(100, ms(100));
    fixture.lost(LossCause::FastRetransmit);
    (0..3).for_each(|_| fixture.round(ms(100)));
    let window = fixture.cwnd();
    for _ in 0..600 {
        fixture.now += ms(100);
        let ack = in_order(0, CHUNK, CHUNK);
        fixture
            .cc
            .on_ack(&sack(&[ack]), core::slice::from_ref(&fixture.path), fixture.now);
    }
    fixture.round(ms(100));
    assert!(
        fixture.cwnd() < window + 10 * CHUNK,
        "a minute at one chunk per round trip proves nothing"
    );
}
