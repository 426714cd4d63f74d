//! Tests of loss processes against their parameters.

use super::{BatchLoss, GilbertElliott, Loss, LossProcess};
use crate::Probability;
use anabranch_types::{Instant, Seed};
use std::time::Duration;

fn fates(loss: &Loss, packets: usize) -> Vec<bool> {
    let mut process = LossProcess::new(loss, Seed(11).rng());
    (0..packets).map(|_| process.drops_next(Instant::ZERO)).collect()
}

fn fraction_lost(fates: &[bool]) -> f64 {
    fates.iter().filter(|lost| **lost).count() as f64 / fates.len() as f64
}

#[test]
fn bernoulli_loss_rate_is_as_configured() {
    let fates = fates(&Loss::Bernoulli(Probability::of(0.03)), 200_000);
    // Standard deviation of the fraction: √(0.03 · 0.97 / 200,000) ≈ 0.0004.
    assert!((fraction_lost(&fates) - 0.03).abs() < 0.002);
}

#[test]
fn gilbert_elliott_burst_length_and_rate_are_as_configured() {
    let fates = fates(
        &Loss::GilbertElliott(GilbertElliott::bursts(0.02, 5.0)),
        1_000_000,
    );
    let bursts = fates.windows(2).filter(|pair| !pair[0] && pair[1]).count();
    let mean = fates.iter().filter(|lost| **lost).count() as f64 / bursts as f64;
    assert!((mean - 5.0).abs() < 0.3, "mean burst {mean}");
    assert!(
        (fraction_lost(&fates) - 0.02).abs() < 0.002,
        "share {}",
        fraction_lost(&fates)
    );
}

#[test]
fn gilbert_elliott_bad_state_uses_its_loss_rate() {
    let always_bad = GilbertElliott {
        to_bad: Probability::ALWAYS,
        to_good: Probability::NEVER,
        loss_in_good: Probability::NEVER,
        loss_in_bad: Probability::of(0.5),
    };
    let share = fraction_lost(&fates(&Loss::GilbertElliott(always_bad), 100_000));
    assert!((share - 0.5).abs() < 0.01, "share {share}");
}

#[test]
fn loss_script_drops_exactly_the_listed_packets() {
    let fates = fates(&Loss::Script(vec![4, 0, 4, 2]), 7);
    assert_eq!(fates, [true, false, true, false, true, false, false]);
}

#[test]
fn replaced_loss_script_counts_from_zero() {
    let mut process = LossProcess::new(&Loss::None, Seed(1).rng());
    assert!(!process.drops_next(Instant::ZERO));
    process.replace(&Loss::Script(vec![1]));
    assert!(!process.drops_next(Instant::ZERO));
    assert!(process.drops_next(Instant::ZERO));
}

/// Fates of batches of `sizes` packets in turn, each offered at one moment.
fn fates_of_batches(loss: BatchLoss, sizes: &[usize], batches: usize) -> Vec<Vec<bool>> {
    let mut process = LossProcess::new(&Loss::Batches(loss), Seed(12).rng());
    let batch = |number: usize| {
        let offered = Instant::ZERO + Duration::from_millis(number as u64);
        (0..sizes[number % sizes.len()])
            .map(|_| process.drops_next(offered))
            .collect()
    };
    (0..batches).map(batch).collect()
}

#[test]
fn batch_is_lost_as_a_whole_with_its_probability() {
    let loss = BatchLoss {
        chance: Probability::of(0.03),
        packets: 45,
    };
    let fates = fates_of_batches(loss, &[1, 10, 45], 60_000);
    let is_uniform = |batch: &Vec<bool>| batch.iter().all(|lost| *lost == batch[0]);
    assert!(fates.iter().all(is_uniform));
    let lost = fates.iter().filter(|batch| batch[0]).count();
    // Standard deviation: √(60,000 · 0.03 · 0.97) = 42.
    assert!((1_600..2_000).contains(&lost), "{lost}");
    let packets: Vec<bool> = fates.concat();
    // Each packet is lost with the same probability, but the deviation is that of batches.
    assert!((fraction_lost(&packets) - 0.03).abs() < 0.004);
}

#[test]
fn packets_beyond_the_size_of_a_batch_begin_another_one() {
    let loss = BatchLoss {
        chance: Probability::of(0.5),
        packets: 4,
    };
    let fates = fates_of_batches(loss, &[10], 1_000);
    for batch in &fates {
        for part in batch.chunks(4) {
            assert!(part.iter().all(|lost| *lost == part[0]), "{batch:?}");
        }
    }
    let differ = fates.iter().filter(|batch| batch[0] != batch[4]).count();
    assert!((430..570).contains(&differ), "{differ}");
}
