//! Tests of loss processes against their parameters.

use super::{GilbertElliott, Loss, LossProcess};
use crate::Probability;
use anabranch_types::Seed;

fn fates(loss: &Loss, packets: usize) -> Vec<bool> {
    let mut process = LossProcess::new(loss, Seed(11).rng());
    (0..packets).map(|_| process.drops_next()).collect()
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
    assert!(!process.drops_next());
    process.replace(&Loss::Script(vec![1]));
    assert!(!process.drops_next());
    assert!(process.drops_next());
}
