//! Tests of CMT/RPv2: the formulas of the paper with values computed by hand.

use super::RateShares;
use crate::congestion::coupled::testing::{Example, after_loss, assert_near, part};

#[test]
fn two_equal_paths_take_half_a_step_each() {
    let paths = [Example::new(20, 20), Example::new(20, 20)];
    assert_near(part::<RateShares>(&paths, 0), 0.5);
}

#[test]
fn rpv2_increase_is_proportional_to_rate() {
    // Rates 40 / 10 = 4 and 40 / 40 = 1: parts 4/5 and 1/5.
    let paths = [Example::new(40, 10), Example::new(40, 40)];
    assert_near(part::<RateShares>(&paths, 0), 0.8);
    assert_near(part::<RateShares>(&paths, 1), 0.2);
    // Rates 10 / 10 = 1 and 90 / 30 = 3.
    let paths = [Example::new(10, 10), Example::new(90, 30)];
    assert_near(part::<RateShares>(&paths, 0), 0.25);
}

#[test]
fn rtts_below_a_millisecond_are_distinguished() {
    // usrsctp's quotient of bytes and milliseconds would be the same for all of these.
    let paths = [Example::new(4, 1), Example::new(4, 60_000)];
    assert_near(part::<RateShares>(&paths, 1), 1.0 / 60_001.0);
}

#[test]
fn a_loss_takes_half_of_the_sum_of_rates() {
    // Rates 80 / 10 = 8 and 40 / 20 = 2. Path 0: factor max(1/2, 5/8), 80 − 80 · 5/8 = 30.
    let paths = [Example::new(80, 10), Example::new(40, 20)];
    assert_near(after_loss::<RateShares>(&paths, 0), 30.0);
    // Path 1: factor max(1/2, 5/2): nothing is left, and the floor is for the caller.
    assert_near(after_loss::<RateShares>(&paths, 1), 0.0);
}
