//! Tests of BALIA: the formulas of the paper with values computed by hand.

use super::BalancedAdaptation;
use crate::congestion::coupled::testing::{Example, after_loss, assert_near, part};

#[test]
fn two_equal_paths_take_a_quarter_of_a_step_each() {
    // α = 1: (1/2)² · 1 · 1.
    let paths = [Example::new(20, 20), Example::new(20, 20)];
    assert_near(part::<BalancedAdaptation>(&paths, 0), 0.25);
}

#[test]
fn the_slower_path_takes_more_than_its_rate_says() {
    // Rates 1 : 3. Path 0: α = 3, (1/4)² · (1 + 3) / 2 · (4 + 3) / 5 = 2.8 / 16. Path 1: α = 1, (3/4)².
    let paths = [Example::new(10, 20), Example::new(30, 20)];
    assert_near(part::<BalancedAdaptation>(&paths, 0), 2.8 / 16.0);
    assert_near(part::<BalancedAdaptation>(&paths, 1), 9.0 / 16.0);
}

#[test]
fn rates_are_windows_over_round_trips() {
    // Rates 20 / 1 and 20 / 4, α = 1 and 4. Path 1: (1/5)² · 5/2 · 8/5 = 0.16.
    let paths = [Example::new(20, 10), Example::new(20, 40)];
    assert_near(part::<BalancedAdaptation>(&paths, 0), 0.64);
    assert_near(part::<BalancedAdaptation>(&paths, 1), 0.16);
}

#[test]
fn loss_cuts_half_of_best_path_up_to_three_quarters_of_others() {
    // Rates 40 : 30 : 10, α = 1, 4/3, 4: what is taken is w/2 · min(α, 3/2).
    let paths = [Example::new(40, 20), Example::new(30, 20), Example::new(10, 20)];
    assert_near(after_loss::<BalancedAdaptation>(&paths, 0), 20.0);
    assert!((after_loss::<BalancedAdaptation>(&paths, 1) - 10.0).abs() < 1e-3);
    assert!((after_loss::<BalancedAdaptation>(&paths, 2) - 2.5).abs() < 1e-3);
}
