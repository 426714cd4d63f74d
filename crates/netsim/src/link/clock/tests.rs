//! Tests of clocks with phase and drift, and of the links that they drive.

use super::Clock;
use crate::{Link, LinkConfig, RateTrace};
use anabranch_types::{Instant, Rate, Seed};
use std::sync::Arc;
use std::time::Duration;

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + ms(millis)
}

fn clock(phase: Duration, ppm: i32) -> Clock {
    Clock {
        phase,
        drift: ppm * 1_000,
    }
}

fn drain(link: &mut Link<Vec<u8>>) -> Vec<Instant> {
    let mut arrivals = Vec::new();
    while let Some(due) = link.deadline() {
        while link.take_due(due).is_some() {
            arrivals.push(due);
        }
    }
    arrivals
}

#[test]
fn reading_and_moment_are_inverse() {
    for clock in [
        Clock::TRUE,
        clock(ms(7), 50),
        clock(ms(999), -100),
        clock(ms(0), 400_000),
    ] {
        for nanos in [0, 1, 999_999_937, 3_600_000_000_000, 86_400_000_000_001] {
            let moment = Instant::from_nanos(nanos);
            let again = clock.moment(clock.reading(moment));
            assert!(
                again >= moment && again - moment <= Duration::from_nanos(2),
                "{clock:?}: {moment:?} became {again:?}"
            );
        }
    }
}

#[test]
fn clock_gains_its_drift() {
    let fast = clock(ms(0), 50);
    // 50 ppm of 300 s are 15 ms: that many ticks of 1 ms.
    assert_eq!(fast.reading(at(300_000)), at(300_015));
    assert_eq!(clock(ms(2), -50).reading(at(300_000)), at(299_987));
    assert_eq!(fast.passing(Duration::MAX), Duration::MAX);
}

#[test]
fn ticks_follow_phase_and_drift() {
    let config = LinkConfig::unlimited(ms(0)).tick(ms(1));
    let mut link = Link::new(config.clock(clock(Duration::from_micros(300), 100)), Seed(1));
    let mut ticks = Vec::new();
    for second in 0..10 {
        link.offer(at(second * 1_000 + 500), vec![0], 100);
        ticks.extend(drain(&mut link));
    }
    for (second, tick) in (0_u32..).zip(ticks) {
        // The clock shows 300 µs more at time 0 and gains 100 µs a second.
        let ahead = 300.0 + 100.0 * (f64::from(second) + 0.5);
        let since = (tick - at(u64::from(second) * 1_000 + 500)).as_secs_f64() * 1e6;
        let expected = 1_000.0 - ahead.rem_euclid(1_000.0);
        assert!(
            (since - expected).abs() < 0.2,
            "second {second}: {since} µs, expected {expected}"
        );
    }
}

#[test]
fn rate_of_a_fast_clock_is_higher() {
    let config = LinkConfig::new(Rate::mbit(8), ms(0)).queue(crate::link::QueueConfig::Packets(u32::MAX));
    let mut link = Link::new(config.clock(clock(ms(5), 1_000)), Seed(1));
    for _ in 0..1_001 {
        link.offer(at(0), vec![0], 1_000);
    }
    let last = drain(&mut link)[1_000];
    let error = last
        .saturating_duration_since(at(1_000))
        .max(at(1_000).saturating_duration_since(last));
    assert!(error < Duration::from_micros(2), "{last:?}");
}

#[test]
fn trace_begins_at_the_phase() {
    let trace = Arc::new(RateTrace::parse("10\n20\n20\n50\n").unwrap());
    let config = LinkConfig::unlimited(ms(0)).trace(trace).clock(clock(ms(15), 0));
    let mut link = Link::new(config, Seed(1));
    for _ in 0..4 {
        link.offer(at(0), vec![0], 1_500);
    }
    assert_eq!(drain(&mut link), [5, 5, 35, 45].map(at));
}

#[test]
fn links_of_different_drift_do_not_stay_in_step() {
    let arrivals = |ppm| {
        let config = LinkConfig::unlimited(ms(0)).tick(ms(1)).clock(clock(ms(0), ppm));
        let mut link = Link::new(config, Seed(1));
        let mut arrivals = Vec::new();
        for second in 0..300 {
            link.offer(at(second * 1_000), vec![0], 100);
            arrivals.extend(drain(&mut link));
        }
        arrivals
    };
    let apart: Vec<Duration> = arrivals(0)
        .into_iter()
        .zip(arrivals(50))
        .map(|(one, other)| {
            one.saturating_duration_since(other)
                .max(other.saturating_duration_since(one))
        })
        .collect();
    // Within 300 s they slide through 15 ticks, so the distance takes every part of a tick.
    for part in 0..10 {
        let range = Duration::from_micros(part * 100)..=Duration::from_micros(part * 100 + 100);
        assert!(apart.iter().any(|apart| range.contains(apart)), "{range:?}");
    }
}
