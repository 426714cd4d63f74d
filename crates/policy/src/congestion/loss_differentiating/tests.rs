//! Loss-differentiating congestion control: which losses change the algorithm of a path?

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use anabranch_types::{Instant, PathId, SendNumber};

use super::evidence::Evidence;
use super::{LossDifferentiating, LossDifferentiatingParameters};
use crate::testing::{CHUNK, at, healthy, in_order, ms, sack, tsn};
use crate::{CongestionControl, LossCause, LossEvent, PathFacts, SentOnce, SentPacket};

/// A path with a round-trip time of 20 ms whose cwnd is full, and its controller.
struct Fixture {
    control: LossDifferentiating,
    paths: Vec<PathFacts>,
    now: Instant,
}

impl Fixture {
    fn new() -> Self {
        let mut control = LossDifferentiating::new(LossDifferentiatingParameters::DEFAULT);
        let paths = vec![healthy(0), healthy(1)];
        for path in &paths {
            control.add_path(path, at(0));
        }
        let mut fixture = Self {
            control,
            paths,
            now: at(0),
        };
        fixture.refresh();
        fixture
    }

    fn refresh(&mut self) {
        for path in &mut self.paths {
            path.cwnd = self.control.cwnd(path.id);
            path.in_flight = path.cwnd;
        }
    }

    /// Sixteen chunks are acknowledged on `path`, each after a round-trip time of `rtt` ms.
    fn acknowledge(&mut self, path: u8, rtt: u64) {
        self.acknowledge_some(path, 16, rtt);
    }

    fn acknowledge_some(&mut self, path: u8, count: u64, rtt: u64) {
        for _ in 0..count {
            self.now += ms(2);
            let mut ack = in_order(path, self.paths[usize::from(path)].in_flight, CHUNK);
            let sent_at = self.now - ms(rtt);
            ack.rtt_sample = Some(SentOnce { sent_at, tsn: tsn(1) });
            ack.latest_send_number = Some(SendNumber(1));
            self.control.on_ack(&sack(&[ack]), &self.paths, self.now);
            self.refresh();
        }
    }

    fn lose(&mut self, path: u8, cause: LossCause) {
        let event = LossEvent {
            path: PathId(path),
            cause,
            bytes: CHUNK,
        };
        self.control.on_loss(&event, &self.paths, self.now);
        self.refresh();
    }

    /// Loss events on path 0, each after chunks with a round-trip time of `rtt` ms.
    fn lose_at(&mut self, rtts: &[u64]) {
        for rtt in rtts {
            self.acknowledge(0, *rtt);
            self.lose(0, LossCause::FastRetransmit);
        }
    }

    fn has_model(&self, path: u8) -> bool {
        self.control.has_model(PathId(path))
    }
}

fn started() -> Fixture {
    let mut fixture = Fixture::new();
    fixture.now = at(1_000);
    fixture.acknowledge(0, 20);
    fixture
}

#[test]
fn two_losses_without_a_queue_lead_to_a_model() {
    let mut fixture = started();
    fixture.lose_at(&[20]);
    assert!(!fixture.has_model(0) && !fixture.control.measures_rates());
    let cwnd = fixture.control.cwnd(PathId(0));
    fixture.lose_at(&[20]);
    assert!(fixture.has_model(0) && fixture.control.measures_rates());
    assert!(fixture.control.cwnd(PathId(0)) >= cwnd, "not cut");
    assert!(!fixture.has_model(1), "the other path lost nothing");
}

/// The mean is that of the round trip before, in which slow start had sent half as much.
#[test]
fn a_queue_that_only_the_last_samples_show_may_be_that_of_slow_start() {
    let mut fixture = started();
    for losses in 1..=4 {
        assert!(!fixture.has_model(0), "{losses}");
        fixture.acknowledge_some(0, 21, 20);
        fixture.acknowledge_some(0, 4, 40);
        fixture.lose(0, LossCause::FastRetransmit);
    }
    assert!(fixture.has_model(0), "the mean never showed one");
}

#[test]
fn losses_with_a_queue_leave_cubic() {
    let mut fixture = started();
    let cwnd = fixture.control.cwnd(PathId(0));
    fixture.lose_at(&[40; 8]);
    assert!(!fixture.has_model(0));
    assert!(fixture.control.cwnd(PathId(0)) < cwnd);
}

#[test]
fn one_loss_with_a_queue_restarts_the_count() {
    let mut fixture = started();
    fixture.lose_at(&[20, 40]);
    // The mean of round trips with and without the queue ends.
    fixture.acknowledge(0, 20);
    fixture.lose_at(&[20]);
    assert!(!fixture.has_model(0));
    fixture.lose_at(&[20]);
    assert!(fixture.has_model(0));
}

/// Three of its own chunks in flight of sixty would take 1 ms of 20 ms, and a rise by 4 ms shows the queue of others.
#[test]
fn a_large_flight_makes_small_queues_visible() {
    let mut fixture = started();
    while fixture.control.cwnd(PathId(0)) < 120 * CHUNK {
        fixture.acknowledge(0, 20);
    }
    fixture.lose_at(&[22; 4]);
    assert!(!fixture.has_model(0));
}

#[test]
fn losses_of_a_flight_that_the_application_limits_say_nothing() {
    let mut fixture = started();
    for _ in 0..8 {
        fixture.acknowledge(0, 20);
        fixture.paths[0].in_flight = fixture.paths[0].cwnd / 3;
        fixture.lose(0, LossCause::FastRetransmit);
    }
    assert!(!fixture.has_model(0));
}

#[test]
fn timeouts_marks_and_rescheduling_are_no_evidence() {
    for cause in [LossCause::Timeout, LossCause::Mark, LossCause::Reschedule] {
        let mut fixture = started();
        for _ in 0..8 {
            fixture.acknowledge(0, 20);
            fixture.lose(0, cause);
        }
        assert!(!fixture.has_model(0), "{cause:?}");
    }
}

#[test]
fn a_mark_gives_the_path_back_to_cubic() {
    let mut fixture = started();
    fixture.lose_at(&[20; 4]);
    let cwnd = fixture.control.cwnd(PathId(0));
    fixture.lose(0, LossCause::Mark);
    assert!(!fixture.has_model(0) && !fixture.control.measures_rates());
    assert!(fixture.control.cwnd(PathId(0)) < cwnd, "it says congestion");
}

#[test]
fn the_first_mean_after_a_model_takes_a_round_trip() {
    let path = Fixture::new().paths.remove(0);
    let mut evidence = Evidence::new(at(0));
    let acknowledge = |evidence: &mut Evidence, times: Range<u64>| {
        for time in times.map(|number| at(2 * number)) {
            let mut ack = in_order(0, path.in_flight, CHUNK);
            let sent_at = time - ms(20);
            ack.rtt_sample = Some(SentOnce { sent_at, tsn: tsn(1) });
            ack.latest_send_number = Some(SendNumber(1));
            evidence.on_ack(&ack, &path, time);
        }
    };
    acknowledge(&mut evidence, 10..30);
    evidence.forget_losses(at(5_000));
    acknowledge(&mut evidence, 2_500..2_509);
    assert!(
        !(0..8).any(|_| evidence.on_loss(&path)),
        "16 ms of a round trip of 20 ms"
    );
    acknowledge(&mut evidence, 2_509..2_530);
    assert!((0..8).any(|_| evidence.on_loss(&path)));
}

/// Sends and acknowledges `rounds` flights of twenty chunks, each with a round-trip time of `rtt` ms.
fn transfer(fixture: &mut Fixture, rounds: u64, rtt: u64) {
    let id = PathId(0);
    for round in 0..rounds {
        for number in 0..20 {
            let packet = SentPacket {
                bytes: CHUNK,
                in_flight_before: number * CHUNK,
                last: SendNumber(20 * round + number + 10),
            };
            fixture.control.on_sent(&packet, &fixture.paths[0], fixture.now);
        }
        let sent_at = fixture.now;
        fixture.now += ms(rtt);
        for number in 0..20 {
            let mut ack = in_order(0, (20 - number) * CHUNK, CHUNK);
            ack.rtt_sample = Some(SentOnce { sent_at, tsn: tsn(1) });
            ack.latest_send_number = Some(SendNumber(20 * round + number + 10));
            fixture.control.on_ack(&sack(&[ack]), &fixture.paths, fixture.now);
        }
        fixture.paths[0].cwnd = fixture.control.cwnd(id);
    }
}

#[test]
fn a_loss_with_a_queue_ends_the_model_once_the_floor_is_low() {
    let mut fixture = started();
    fixture.lose_at(&[20; 4]);
    transfer(&mut fixture, 20, 20);
    transfer(&mut fixture, 2, 40);
    fixture.lose(0, LossCause::FastRetransmit);
    assert!(fixture.has_model(0), "400 chunks say little about the loss floor");
    transfer(&mut fixture, 100, 20);
    fixture.lose(0, LossCause::FastRetransmit);
    assert!(fixture.has_model(0), "no queue");
    transfer(&mut fixture, 4, 40);
    fixture.lose(0, LossCause::FastRetransmit);
    assert!(!fixture.has_model(0));
}

#[test]
fn short_queues_have_the_model_at_the_rate_of_a_full_path_until_they_end() {
    let mut fixture = Fixture::new();
    fixture.acknowledge(0, 20);
    let (paths, now) = (fixture.paths.clone(), fixture.now);
    fixture.control.set_low_latency(true, &paths, now);
    for path in &paths {
        assert!(fixture.control.has_model(path.id));
        // Drain: half of the rate, which is a flight in 20 ms, less a margin of a hundredth.
        let rate = path.in_flight * 50;
        let pacing = fixture.control.pacing_rate(path.id).unwrap().get();
        assert!(pacing.abs_diff(rate / 2) < rate / 50, "{pacing} {rate}");
    }
    // Losses do not end it.
    fixture.refresh();
    fixture.lose(0, LossCause::FastRetransmit);
    assert!(fixture.control.has_model(PathId(0)));
    let mut paths = fixture.paths.clone();
    paths[1].in_flight = 0;
    fixture.control.set_low_latency(false, &paths, now);
    assert!(!fixture.control.has_model(PathId(0)));
    assert!(
        fixture.control.ssthresh(PathId(0)) < u64::MAX,
        "it goes on with its flight"
    );
    assert_eq!(
        fixture.control.ssthresh(PathId(1)),
        u64::MAX,
        "it was not full, and starts again"
    );
}
