//! Tests of the filters of BBR.

use alloc::vec::Vec;

use anabranch_types::Seed;

use super::{Aggregation, FullPipe, WindowedMax};
use crate::testing::at;

#[test]
fn windowed_max_is_a_recent_value_at_least_the_last() {
    for seed in 0..50 {
        let mut rng = Seed(seed).rng();
        let (mut filter, mut all) = (WindowedMax::default(), Vec::new());
        for time in 0..300 {
            let value = rng.below(1_000);
            all.push(value);
            filter.add(value, time, 10);
            let window = &all[all.len().saturating_sub(11)..];
            assert!(window.contains(&filter.get()), "{filter:?} at {time}");
            assert!(filter.get() >= value);
        }
    }
}

#[test]
fn windowed_max_falls_when_its_maximum_is_too_old() {
    let mut filter = WindowedMax::default();
    filter.add(100, 0, 10);
    for time in 1..=10 {
        filter.add(50, time, 10);
        assert_eq!(filter.get(), 100);
    }
    filter.add(50, 11, 10);
    assert_eq!(filter.get(), 50);
}

#[test]
fn full_pipe_is_found_after_three_rounds_of_little_growth() {
    let mut pipe = FullPipe::default();
    for rate in [100, 125, 157] {
        pipe.observe(rate);
    }
    for rate in [180, 190] {
        pipe.observe(rate);
        assert!(!pipe.now, "{rate}");
    }
    pipe.observe(195);
    assert!(pipe.now && pipe.reached);
    pipe.reset(100);
    assert!(!pipe.now && pipe.reached);
}

/// 1,000 bytes per millisecond arrive in bursts of ten.
#[test]
fn aggregation_is_the_size_of_a_burst() {
    let mut aggregation = Aggregation::new(at(0));
    for burst in 1..20 {
        aggregation.on_ack(10_000, 1_000_000, 1 << 20, (burst, 10), at(10 * burst));
    }
    assert_eq!(aggregation.extra(), 10_000);
}
