//! Tests of rate traces: their format, and properties of the generated ones.

use super::{OPPORTUNITY_BYTES, RateTrace, TraceModel};
use crate::LineError;
use anabranch_types::{Instant, Rate, Seed};
use std::time::Duration;

fn generated(model: TraceModel, seed: u64) -> RateTrace {
    model
        .trace(Rate::mbit(60), Duration::from_secs(60), Seed(seed))
        .unwrap()
}

/// Opportunities in each millisecond; those at time `n` in the millisecond before.
fn per_millisecond(trace: &RateTrace) -> Vec<u32> {
    let mut counts = vec![0; *trace.millis.last().unwrap() as usize];
    for time in &trace.millis {
        counts[*time as usize - 1] += 1;
    }
    counts
}

#[test]
fn invalid_traces_are_refused_with_their_line() {
    let refused = |text: &str| RateTrace::parse(text).unwrap_err();
    assert_eq!(
        refused("1\n2.5\n"),
        LineError::new(2, "expected a time in whole milliseconds, found `2.5`")
    );
    assert_eq!(
        refused("5\n\n6\n").to_string(),
        "2: expected a time in whole milliseconds, found ``"
    );
    assert_eq!(
        refused("7\n3\n").to_string(),
        "2: expected a time of at least 7, found 3"
    );
    let nothing = "expected a time above 0, after which the trace repeats, found none";
    assert_eq!(refused(""), LineError::new(1, nothing));
    assert_eq!(refused("0\n0\n"), LineError::new(2, nothing));
}

#[test]
fn written_trace_is_read_again() {
    let trace = generated(TraceModel::Lte, 1);
    assert_eq!(RateTrace::parse(&trace.to_string()), Ok(trace));
}

#[test]
fn opportunities_are_numbered_through_repetitions() {
    let trace = RateTrace::parse("0\n2\n2\n5\n").unwrap();
    let at = |millis: u64| Instant::from_nanos(millis * 1_000_000);
    let times: Vec<Instant> = (0..9).map(|number| trace.time_of(number)).collect();
    assert_eq!(times, [0, 2, 2, 5, 5, 7, 7, 10, 10].map(at));
    for moment in 0..40 {
        let first = trace.first_after(at(moment));
        assert!(trace.time_of(first) > at(moment), "at {moment}");
        assert!(
            first == 0 || trace.time_of(first - 1) <= at(moment),
            "at {moment}"
        );
    }
}

#[test]
fn generated_traces_have_their_mean_rate_and_length() {
    for model in TraceModel::ALL {
        let trace = generated(model, 3);
        assert_eq!(trace.period(), Duration::from_secs(60), "{model:?}");
        assert_eq!(
            trace.opportunities() as u64,
            60_000_000 / 8 * 60 / OPPORTUNITY_BYTES,
            "{model:?}"
        );
        assert_eq!(trace.mean_rate(), Rate::mbit(60));
    }
}

#[test]
fn generated_traces_depend_on_seed_and_model_alone() {
    for model in TraceModel::ALL {
        assert_eq!(generated(model, 5), generated(model, 5));
        assert_ne!(generated(model, 5), generated(model, 6));
    }
    assert_ne!(generated(TraceModel::Lte, 5), generated(TraceModel::WiFi, 5));
}

#[test]
fn starlink_trace_is_silent_after_each_15_seconds_only() {
    for seed in 0..5 {
        let counts = per_millisecond(&generated(TraceModel::Starlink, seed));
        for slot in counts.chunks(15_000) {
            let silent = slot.iter().take_while(|count| **count == 0).count();
            assert!((20..=121).contains(&silent), "seed {seed}: {silent} ms");
            // At 5 opportunities a millisecond, no other millisecond is empty.
            let rest = &slot[silent..];
            assert!(
                rest.iter().filter(|count| **count == 0).count() < 30,
                "seed {seed}"
            );
        }
    }
}

#[test]
fn lte_rate_fades_within_tens_of_milliseconds() {
    let counts: Vec<f64> = per_millisecond(&generated(TraceModel::Lte, 2))
        .into_iter()
        .map(f64::from)
        .collect();
    let mean = counts.iter().sum::<f64>() / counts.len() as f64;
    let covariance = |lag: usize| {
        let pairs = counts.iter().zip(&counts[lag..]);
        pairs
            .map(|(one, other)| (one - mean) * (other - mean))
            .sum::<f64>()
            / (counts.len() - lag) as f64
    };
    let near = covariance(5) / covariance(1);
    let far = covariance(100) / covariance(1);
    assert!(
        near > 0.6 && far < 0.5,
        "correlation {near} at 5 ms, {far} at 100 ms"
    );
}

#[test]
fn wifi_trace_comes_in_aggregates() {
    let counts = per_millisecond(&generated(TraceModel::WiFi, 2));
    let empty = counts.iter().filter(|count| **count == 0).count();
    // Contention of 2 ms and aggregates of 2.25 ms in the mean: an aggregate ends in about a quarter of the milliseconds.
    let share = empty as f64 / counts.len() as f64;
    assert!(
        (0.7..0.85).contains(&share),
        "{share} of the milliseconds are empty"
    );
    assert!(*counts.iter().max().unwrap() > 50);
}

#[test]
fn trace_without_opportunity_is_not_generated() {
    let slow = Rate::bits_per_second(1_000);
    assert_eq!(TraceModel::Lte.trace(slow, Duration::from_secs(1), Seed(1)), None);
}
