//! Tests of CMT/RPv1: the formulas of the paper with values computed by hand.

use super::ThresholdShares;
use crate::congestion::coupled::testing::{Example, after_loss, assert_near, part};

#[test]
fn two_equal_paths_take_half_a_step_each() {
    // 20 / (20 + 20)
    let paths = [Example::new(20, 20), Example::new(20, 20)];
    assert_near(part::<ThresholdShares>(&paths, 0), 0.5);
    assert_near(part::<ThresholdShares>(&paths, 1), 0.5);
}

#[test]
fn rpv1_increase_is_proportional_to_ssthresh() {
    // 10 / (10 + 30), 30 / (10 + 30)
    let paths = [
        Example::new(25, 10).ssthresh(Some(10)),
        Example::new(80, 200).ssthresh(Some(30)),
    ];
    assert_near(part::<ThresholdShares>(&paths, 0), 0.25);
    assert_near(part::<ThresholdShares>(&paths, 1), 0.75);
}

#[test]
fn a_loss_takes_half_of_the_sum_of_windows() {
    // 100 − (100 + 20) / 2 = 40
    let paths = [Example::new(100, 20), Example::new(20, 20)];
    assert_near(after_loss::<ThresholdShares>(&paths, 0), 40.0);
}

#[test]
fn loss_on_the_smaller_path_leaves_its_part_of_four_chunks() {
    // 20 − (60 + 20) / 2 < 0, and 4 · 20 / (60 + 20) = 1
    let paths = [Example::new(60, 20), Example::new(20, 20)];
    assert_near(after_loss::<ThresholdShares>(&paths, 1), 1.0);
    // Two equal ones: 20 − 40 / 2 = 0, and 4 · 1/2 = 2.
    let paths = [Example::new(20, 20), Example::new(20, 20)];
    assert_near(after_loss::<ThresholdShares>(&paths, 1), 2.0);
}

#[test]
fn unset_ssthresh_counts_as_cwnd() {
    // 30 / (30 + 10)
    let paths = [
        Example::new(30, 20).ssthresh(None),
        Example::new(40, 20).ssthresh(Some(10)),
    ];
    assert_near(part::<ThresholdShares>(&paths, 0), 0.75);
    assert_near(part::<ThresholdShares>(&paths, 1), 0.25);
}
