//! Tests of PIE: the update of the probability by the equation of RFC 8033 §4.2, and the decisions that follow from it.

use super::{Pie, PieConfig, scale};
use crate::link::queue::{Admission, Arrival};
use crate::link::{Clock, Count, DropCause, QueueConfig};
use crate::{Link, LinkConfig};
use anabranch_types::{Instant, Rate, Seed};
use std::time::Duration;

const BUSY: Arrival = Arrival {
    bytes: 1_000,
    idle: None,
    service: Duration::from_millis(1),
};

const LONG: Count = Count {
    packets: 50,
    bytes: 50_000,
};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + ms(millis)
}

fn pie() -> Pie {
    Pie::new(PieConfig::standard(1_000), 1_500, Clock::TRUE, Seed(2).rng())
}

/// A controller with this probability whose burst allowance is used up, and whose last packets waited for 30 ms.
fn controller(probability: f64) -> Pie {
    Pie {
        probability,
        delay: ms(30),
        delay_before: ms(30),
        burst_allowance: Duration::ZERO,
        ..pie()
    }
}

#[test]
fn probability_moves_by_the_equation_at_every_scale() {
    // 0.125 · (40 ms − 15 ms) + 1.25 · (40 ms − 30 ms) = 0.003125 + 0.0125.
    let change = 0.015_625;
    for (probability, divisor) in [
        (0.0, 2_048.0),
        (0.000_005, 512.0),
        (0.000_05, 128.0),
        (0.000_5, 32.0),
        (0.005, 8.0),
        (0.05, 2.0),
        (0.3, 1.0),
    ] {
        let mut pie = controller(probability);
        pie.note_departure(at(0), ms(40), false);
        pie.catch_up(at(15));
        let expected = probability + change / divisor;
        assert!(
            (pie.probability - expected).abs() < 1e-12,
            "{probability}: {}",
            pie.probability
        );
        assert_eq!(pie.delay_before, ms(40));
    }
}

#[test]
fn probability_falls_while_the_delay_is_below_target() {
    let mut pie = controller(0.3);
    pie.note_departure(at(0), ms(10), false);
    pie.catch_up(at(15));
    // 0.125 · (10 − 15) ms + 1.25 · (10 − 30) ms.
    assert!((pie.probability - (0.3 - 0.000_625 - 0.025)).abs() < 1e-12);
}

#[test]
fn increase_of_a_high_probability_is_capped() {
    let mut pie = controller(0.1);
    pie.note_departure(at(0), ms(500), false);
    pie.catch_up(at(15));
    assert!((pie.probability - 0.12).abs() < 1e-12, "{}", pie.probability);
}

#[test]
fn probability_decays_exponentially_without_a_queue() {
    let mut pie = controller(0.5);
    pie.note_departure(at(0), ms(0), true);
    let mut expected = 0.5;
    pie.catch_up(at(15));
    expected -= 0.125 * 0.015 + 1.25 * 0.030;
    assert!((pie.probability - expected).abs() < 1e-12);
    for round in 2..20 {
        pie.catch_up(at(15 * round));
        expected = (expected - 0.125 * 0.015 / scale(expected)) * 0.98;
        assert!((pie.probability - expected).abs() < 1e-12, "update {round}");
    }
}

#[test]
fn updates_follow_the_clock() {
    let clock = Clock {
        phase: ms(1_009),
        drift: 0,
    };
    let mut pie = Pie::new(PieConfig::standard(1_000), 1_500, clock, Seed(2).rng());
    pie.delay_before = ms(30);
    pie.catch_up(at(10));
    assert_eq!(pie.delay_before, ms(30), "the clock shows 1,019 ms");
    pie.catch_up(at(11));
    assert_eq!(
        pie.delay_before,
        ms(0),
        "the clock shows 1,020 ms, a multiple of 15"
    );
}

#[test]
fn probability_settles_where_delay_is_at_target() {
    let mut pie = controller(0.05);
    pie.delay_before = ms(15);
    pie.note_departure(at(0), ms(15), false);
    pie.catch_up(at(15_000));
    assert_eq!(pie.probability, 0.05);
    // The updates that were skipped are not made up for.
    pie.note_departure(at(15_000), ms(30), false);
    pie.catch_up(at(15_015));
    assert!((pie.probability - (0.05 + (0.001_875 + 0.018_75) / 2.0)).abs() < 1e-12);
}

/// Numbers of arrivals that are not accepted among 100,000 at a constant probability.
fn drops(pie: &mut Pie) -> Vec<u32> {
    (0..100_000)
        .filter(|_| pie.decide(at(0), LONG, BUSY) != Admission::Accept)
        .collect()
}

#[test]
fn drops_are_spaced_by_the_accumulated_probability() {
    let mut pie = controller(0.05);
    let drops = drops(&mut pie);
    let gaps: Vec<u32> = drops.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // None before the sum reaches 0.85, at the 17th packet; from there each with probability 0.05: 16 + 20 in the mean. At the
    // 170th packet, one is certain.
    assert_eq!(gaps.iter().min(), Some(&17));
    assert!(*gaps.iter().max().unwrap() <= 170);
    let mean = gaps.iter().map(|gap| f64::from(*gap)).sum::<f64>() / gaps.len() as f64;
    assert!((mean - 36.0).abs() < 1.5, "{mean}");
}

#[test]
fn mild_congestion_and_short_queues_drop_nothing() {
    let mut mild = Pie {
        delay_before: ms(7),
        ..controller(0.19)
    };
    assert_eq!(drops(&mut mild), []);
    let short = Count {
        packets: 3,
        bytes: 3_000,
    };
    let mut pie = controller(0.9);
    assert!((0..1_000).all(|_| pie.decide(at(0), short, BUSY) == Admission::Accept));
    let mut strong = Pie {
        delay_before: ms(7),
        ..controller(0.21)
    };
    assert!(!drops(&mut strong).is_empty());
}

#[test]
fn burst_after_an_idle_period_is_allowed() {
    let mut pie = pie();
    pie.probability = 0.5;
    pie.delay_before = ms(30);
    // 150 ms are used up by ten updates.
    pie.note_departure(at(0), ms(30), false);
    for millis in 0..150 {
        assert_eq!(
            pie.decide(at(millis), LONG, BUSY),
            Admission::Accept,
            "at {millis} ms"
        );
    }
    assert!((150..200).any(|millis| pie.decide(at(millis), LONG, BUSY) != Admission::Accept));
}

#[test]
fn high_probability_drops_where_a_low_one_marks() {
    let marking = |probability| {
        let mut pie = controller(probability);
        pie.config.mark = true;
        (0..1_000)
            .map(|_| pie.decide(at(0), LONG, BUSY))
            .find(|admission| *admission != Admission::Accept)
    };
    assert_eq!(marking(0.09), Some(Admission::Mark));
    assert_eq!(marking(0.11), Some(Admission::Drop(DropCause::Early)));
}

#[test]
fn overloaded_link_waits_for_the_target() {
    // 1,000 packets of a second that cannot react: the delay settles where the drops balance the load.
    let config =
        LinkConfig::new(Rate::mbit(8), Duration::ZERO).queue(QueueConfig::Pie(PieConfig::standard(10_000)));
    let mut link = Link::<Vec<u8>>::new(config, Seed(3));
    let (mut waited, mut samples, mut early) = (0.0, 0, 0);
    for number in 0..120_000_u64 {
        let now = Instant::ZERO + Duration::from_micros(800) * number as u32;
        while link.take_due(now).is_some() {}
        if number == 60_000 {
            early = link.stats().dropped(DropCause::Early).packets;
        }
        link.offer(now, vec![0], 1_000);
        if number > 60_000 {
            waited += link.waiting_time(now).as_secs_f64() * 1e3;
            samples += 1;
        }
    }
    let mean = waited / f64::from(samples);
    assert!((13.0..17.0).contains(&mean), "{mean} ms");
    // A fifth of the packets must go.
    let dropped = link.stats().dropped(DropCause::Early).packets - early;
    assert!((11_700..12_300).contains(&dropped), "{dropped}");
}
