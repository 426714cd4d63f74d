//! Loss processes against what their parameters promise.

use super::{GilbertElliott, Loss, LossProcess};
use crate::Probability;
use anabranch_types::Seed;

fn fates(loss: &Loss, packets: usize) -> Vec<bool> {
    let mut process = LossProcess::new(loss, Seed(11).rng());
    (0..packets).map(|_| process.takes_next()).collect()
}

fn fraction_lost(fates: &[bool]) -> f64 {
    fates.iter().filter(|lost| **lost).count() as f64 / fates.len() as f64
}

#[test]
fn bernoulli_loss_takes_its_share() {
    let fates = fates(&Loss::Bernoulli(Probability::of(0.03)), 200_000);
    // Standard deviation of the fraction: √(0.03 · 0.97 / 200,000) ≈ 0.0004.
    assert!((fraction_lost(&fates) - 0.03).abs() < 0.002);
}

#[test]
fn gilbert_elliott_bursts_have_their_mean_length_and_share() {
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
fn each_state_of_the_chain_has_its_own_loss() {
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
fn a_script_takes_exactly_the_packets_it_lists() {
    let fates = fates(&Loss::Script(vec![4, 0, 4, 2]), 7);
    assert_eq!(fates, [true, false, true, false, true, false, false]);
}

#[test]
fn a_replaced_script_counts_from_its_start() {
    let mut process = LossProcess::new(&Loss::None, Seed(1).rng());
    assert!(!process.takes_next());
    process.replace(&Loss::Script(vec![1]));
    assert!(!process.takes_next());
    assert!(process.takes_next());
}
