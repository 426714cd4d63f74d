//! Sets of paths that share a buffer. Are all paths together at least as fast as the best of them alone?
//!
//! Each test is a set with which `blest` gives a slow or lossy path more than it brings.

use anabranch_netsim::link::Loss;
use anabranch_netsim::{LinkConfig, Probability};
use anabranch_policy::PolicyRecipe;
use anabranch_types::Rate;

use crate::fixture::{Pair, mbit, ms, secs};

fn path(rate: u64, delay: u64) -> LinkConfig {
    LinkConfig::new(mbit(rate), ms(delay))
}

fn lossy(rate: u64, delay: u64, loss: f64) -> LinkConfig {
    path(rate, delay).loss(Loss::Bernoulli(Probability::of(loss)))
}

/// The default profile with the policies for sets of paths.
fn policies() -> PolicyRecipe {
    let mut policies = PolicyRecipe::recommended();
    policies.set("path-scheduler", "within-window").unwrap();
    policies.set("rtx-policy", "fastest").unwrap();
    policies
}

/// Goodput over `paths`, after the start.
fn goodput(paths: &[LinkConfig], buffer: u64) -> Rate {
    let mut pair = Pair::paths(paths.iter().cloned())
        .policies(policies())
        .with(|config| {
            config.send_buffer = buffer;
            config.receive_buffer = buffer;
        })
        .connected();
    pair.alice().send_forever();
    pair.run_for(secs(12));
    assert_eq!(pair.bob().inbox().delivery_error(), None);
    pair.bob().goodput_in_last(secs(8))
}

/// Checks that all of `paths` carry at least 99 % of what the best of them carries alone.
#[track_caller]
fn never_slower(paths: &[LinkConfig], buffer: u64) {
    let alone = paths
        .iter()
        .map(|path| goodput(std::slice::from_ref(path), buffer));
    let best = alone.max().unwrap();
    let all = goodput(paths, buffer);
    println!("{all} over all, {best} over the best");
    assert!(
        all.as_bits_per_second() * 100 >= best.as_bits_per_second() * 99,
        "{all} over all, {best} over the best"
    );
}

#[test]
fn four_paths_with_a_buffer_below_their_needs() {
    let paths = [path(10, 10), path(30, 60), path(5, 20), path(150, 20)];
    never_slower(&paths, 700 << 10);
}

#[test]
fn four_paths_of_which_the_slowest_loses_packets() {
    let paths = [path(10, 10), path(30, 60), lossy(5, 20, 0.08), path(150, 20)];
    never_slower(&paths, 700 << 10);
}

#[test]
fn a_long_fat_path_beside_a_short_thin_one() {
    never_slower(&[path(10, 70), path(130, 270)], 4 << 20);
}
