//! Comparison of CoDel and RED with ns-3: the same arrivals at the same link, drop counts and mean queues side by side.
//!
//! `ns3/expected.csv` holds what ns-3 found; `scripts/ns3-queues` writes it with `bench/ns3/queues.cc`.

use crate::link::{CodelConfig, DropCause, QueueConfig, RedConfig};
use crate::{Link, LinkConfig};
use anabranch_types::{Instant, Rate, Seed};
use std::time::Duration;

/// A line of the file.
struct Expected {
    at: Instant,
    drops: f64,
    mean_queue: f64,
}

fn expected(case: &str) -> Vec<Expected> {
    let lines = include_str!("ns3/expected.csv").lines();
    let of_case = lines.filter_map(|line| line.strip_prefix(case)?.strip_prefix(','));
    let found: Vec<Expected> = of_case
        .map(|line| {
            let fields: Vec<f64> = line.split(',').map(|field| field.parse().unwrap()).collect();
            Expected {
                // Times are cut to milliseconds; they were taken 0.1 ms before the next one.
                at: Instant::ZERO + Duration::from_micros(fields[0] as u64 * 1_000 + 900),
                drops: fields[1],
                mean_queue: fields[2],
            }
        })
        .collect();
    assert_eq!(found.len(), 20, "{case}");
    found
}

/// Drops and mean queue length at each of the times, with 1,000 bytes leaving each millisecond.
fn found(
    queue: QueueConfig,
    times: &[Expected],
    mut gap: impl FnMut(Instant) -> Duration,
) -> Vec<(f64, f64)> {
    let mut link: Link<Vec<u8>> = Link::new(
        LinkConfig::new(Rate::mbit(8), Duration::ZERO).queue(queue),
        Seed(1),
    );
    let (mut arrival, mut sample) = (Instant::ZERO, Instant::ZERO + Duration::from_micros(500));
    let (mut samples, mut length) = (0_u64, 0_u64);
    let mut results = Vec::new();
    for time in times {
        loop {
            let next = arrival.min(sample);
            if next > time.at {
                break;
            }
            while link.take_due(next).is_some() {}
            if next == arrival {
                link.offer(next, vec![0], 1_000);
                arrival += gap(next);
            } else {
                samples += 1;
                length += link.waiting().packets;
                sample += Duration::from_millis(1);
            }
        }
        link.settle(time.at);
        let causes = [DropCause::Early, DropCause::QueueFull];
        let drops: u64 = causes
            .iter()
            .map(|cause| link.stats().dropped(*cause).packets)
            .sum();
        results.push((drops as f64, length as f64 / samples as f64));
    }
    results
}

/// ns-3 computes 1/√count by steps of Newton's method in 16 bits, and its clock has units of 1,024 ns: the dropping state is left
/// and entered at other times, so that queues agree only in the mean over the run, and drops within 4 % after the first `skip` of
/// 20 times.
fn codel_agrees(case: &str, skip: usize, gap: impl FnMut(Instant) -> Duration) {
    let expected = expected(case);
    let config = QueueConfig::Codel(CodelConfig::standard(100_000));
    let found = found(config, &expected, gap);
    for (expected, (drops, _)) in expected.iter().zip(&found).skip(skip) {
        assert!(
            (drops - expected.drops).abs() <= 0.04 * expected.drops + 5.0,
            "{case} at {:?}: {drops} drops, expected {}",
            expected.at,
            expected.drops
        );
    }
    let queue = found[19].1 / expected[19].mean_queue;
    assert!(
        (queue - 1.0).abs() < 0.1,
        "{case}: mean queue of {queue} times ns-3's"
    );
}

/// The generator of gaps in `bench/ns3/queues.cc`, uniformly distributed.
fn gaps(mean_nanos: u64) -> impl FnMut(Instant) -> Duration {
    let mut state = 1_u64;
    move |_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        Duration::from_nanos(((state >> 40) * 2 * mean_nanos) >> 24)
    }
}

fn red_agrees(case: &str, mean_nanos: u64, gentle: bool) {
    let expected = expected(&format!("{case}{mean_nanos}"));
    let config = RedConfig {
        min_threshold: 20.0,
        max_threshold: 60.0,
        weight: 0.02,
        gentle,
        ..RedConfig::classic(1_000)
    };
    let found = found(QueueConfig::Red(config), &expected, gaps(mean_nanos));
    let (Some(expected), Some((drops, queue))) = (expected.last(), found.last()) else {
        panic!("no line of {case}");
    };
    let is_close =
        (drops / expected.drops - 1.0).abs() < 0.01 && (queue / expected.mean_queue - 1.0).abs() < 0.015;
    assert!(
        is_close,
        "{case}{mean_nanos}: {drops} drops, expected {}; queue {queue}, expected {}",
        expected.drops, expected.mean_queue
    );
}

#[test]
fn codel_drops_as_in_ns3() {
    for gap in [950, 900, 800, 500] {
        codel_agrees(&format!("codel-{gap}"), 0, |_| Duration::from_micros(gap));
    }
    codel_agrees("codel-waves", 19, |now| {
        let is_high = now.as_nanos() / 1_000_000 % 4_000 < 3_000;
        Duration::from_micros(if is_high { 900 } else { 2_500 })
    });
}

#[test]
fn red_drops_as_in_ns3() {
    for gap in [1_020_408, 1_000_000, 990_099, 833_333] {
        red_agrees("red-", gap, false);
    }
    red_agrees("red-gentle-", 833_333, true);
}
