//! Tests of OLIA: the formulas and sets of the draft with values computed by hand.

use super::OpportunisticIncreases;
use crate::congestion::coupled::testing::{Example, after_loss, assert_near, part};

#[test]
fn two_equal_paths_take_a_quarter_of_a_step_each() {
    // (1/2)², and both have the largest window, so none is collected: α = 0.
    let paths = [
        Example::new(20, 20).delivered(100),
        Example::new(20, 20).delivered(100),
    ];
    assert_near(part::<OpportunisticIncreases>(&paths, 0), 0.25);
    assert_near(part::<OpportunisticIncreases>(&paths, 1), 0.25);
}

#[test]
fn a_better_path_with_smaller_cwnd_gains_from_the_largest() {
    // Rates 1 : 3, so 1/16 and 9/16. Path 0 is the best one and not the largest: α = ±1 / (2 · 1).
    let paths = [
        Example::new(10, 20).delivered(500),
        Example::new(30, 20).delivered(100),
    ];
    assert_near(part::<OpportunisticIncreases>(&paths, 0), 1.0 / 16.0 + 0.5);
    assert_near(part::<OpportunisticIncreases>(&paths, 1), 9.0 / 16.0 - 0.5);
}

#[test]
fn largest_cwnd_may_shrink_while_a_better_path_grows() {
    // Rates 2 : 3, so 4/25 and 9/25, with α = ±1/2.
    let paths = [
        Example::new(20, 20).delivered(500),
        Example::new(30, 20).delivered(100),
    ];
    assert_near(part::<OpportunisticIncreases>(&paths, 1), 0.36 - 0.5);
}

#[test]
fn nothing_shifts_while_the_best_path_has_the_largest_cwnd() {
    let paths = [
        Example::new(10, 20).delivered(100),
        Example::new(30, 20).delivered(500),
    ];
    assert_near(part::<OpportunisticIncreases>(&paths, 0), 1.0 / 16.0);
    assert_near(part::<OpportunisticIncreases>(&paths, 1), 9.0 / 16.0);
}

#[test]
fn best_path_depends_on_rtt_squared() {
    // 100 / 1² = 100 against 300 / 2² = 75: path 0 is better, and smaller. Rates 1 / 1 and 4 / 2: shares 1/3, 2/3.
    let paths = [
        Example::new(10, 10).delivered(100),
        Example::new(40, 20).delivered(300),
    ];
    assert_near(part::<OpportunisticIncreases>(&paths, 0), 1.0 / 9.0 + 0.5);
    // 100 against 500 / 4 = 125: now path 1 is better, and has the largest window anyway.
    let paths = [
        Example::new(10, 10).delivered(100),
        Example::new(40, 20).delivered(500),
    ];
    assert_near(part::<OpportunisticIncreases>(&paths, 0), 1.0 / 9.0);
}

#[test]
fn olia_alpha_follows_the_sizes_of_its_path_sets() {
    // Four equal round trips: two collected, two largest. Rates 1 : 1 : 3 : 3, α = ±1 / (4 · 2).
    let paths = [
        Example::new(10, 20).delivered(500),
        Example::new(10, 20).delivered(500),
        Example::new(30, 20).delivered(100),
        Example::new(30, 20).delivered(100),
    ];
    assert_near(part::<OpportunisticIncreases>(&paths, 1), 1.0 / 64.0 + 0.125);
    assert_near(part::<OpportunisticIncreases>(&paths, 2), 9.0 / 64.0 - 0.125);
    // A fifth path in neither set only makes n larger. Rates 1 : 1 : 3 : 3 : 2.
    let paths = [&paths[..], &[Example::new(20, 20).delivered(100)]].concat();
    assert_near(part::<OpportunisticIncreases>(&paths, 0), 0.01 + 0.1);
    assert_near(part::<OpportunisticIncreases>(&paths, 4), 0.04);
}

#[test]
fn a_loss_halves() {
    let paths = [Example::new(60, 10), Example::new(20, 40)];
    assert_near(after_loss::<OpportunisticIncreases>(&paths, 0), 30.0);
}
