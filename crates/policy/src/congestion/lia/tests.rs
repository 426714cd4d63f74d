//! Tests of LIA: the formulas of RFC 6356 with values computed by hand.

use super::LinkedIncreases;
use crate::congestion::coupled::testing::{Example, after_loss, assert_near, part};

#[test]
fn two_equal_paths_take_a_quarter_of_a_step_each() {
    // α = 2w · (w / r²) / (2w / r)² = 1/2, and α · w / 2w = 1/4.
    let paths = [Example::new(20, 20), Example::new(20, 20)];
    assert_near(part::<LinkedIncreases>(&paths, 0), 0.25);
    assert_near(part::<LinkedIncreases>(&paths, 1), 0.25);
}

#[test]
fn on_equal_round_trips_the_larger_window_takes_more() {
    // α = 40 · 30 / 40² = 3/4; parts α · 10 / 40 = 3/16 and α · 30 / 40 = 9/16.
    let paths = [Example::new(10, 20), Example::new(30, 20)];
    assert_near(part::<LinkedIncreases>(&paths, 0), 3.0 / 16.0);
    assert_near(part::<LinkedIncreases>(&paths, 1), 9.0 / 16.0);
}

#[test]
fn on_unequal_rtts_the_formula_of_the_rfc_holds() {
    // Units of 10 ms: α = 40 · max(20 / 1, 20 / 16) / (20 / 1 + 20 / 4)² = 800 / 625; part α · 20 / 40 = 16/25 of both,
    // as the windows are equal.
    let paths = [Example::new(20, 10), Example::new(20, 40)];
    assert_near(part::<LinkedIncreases>(&paths, 0), 16.0 / 25.0);
    assert_near(part::<LinkedIncreases>(&paths, 1), 16.0 / 25.0);
}

#[test]
fn no_path_takes_more_than_it_would_alone() {
    // α = 202 · max(2 / 1, 200 / 500²) / (2 + 0.4)² = 70.1; 70.1 · 200 / 202 is far above 1.
    let paths = [Example::new(2, 1), Example::new(200, 500)];
    assert_near(part::<LinkedIncreases>(&paths, 1), 1.0);
}

#[test]
fn a_loss_halves() {
    let paths = [Example::new(60, 10), Example::new(20, 40)];
    assert_near(after_loss::<LinkedIncreases>(&paths, 0), 30.0);
    assert_near(after_loss::<LinkedIncreases>(&paths, 1), 10.0);
}
