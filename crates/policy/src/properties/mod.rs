//! Property tests: what must hold for every algorithm, whatever it decides?
//!
//! Each property is checked for all algorithms of an extension point, as the catalog lists them, with random facts: a
//! registered algorithm is tested.

mod ack;
mod buffer;
mod buffer_size;
mod burst;
mod catalog;
mod congestion;
mod failover;
mod loss;
mod path_scheduler;
mod rescheduling;
mod retransmission;
mod rtt_samples;
mod sack_path;
mod shared_bottleneck;
mod stream_scheduler;
mod tail_probe;

use alloc::boxed::Box;
use alloc::format;

use anabranch_types::{Rng, Seed};

use crate::catalog::PolicyChoice;

/// Number of random runs for each algorithm.
const WORLDS: u64 = 40;
/// Number of random events in each run.
const STEPS: u64 = 1_000;

/// Calls `property` for each algorithm of `C` with two equal policies and a random generator.
fn for_all<C: PolicyChoice>(property: impl Fn(&mut C::Policy, &mut C::Policy, &mut Rng)) {
    for algorithm in C::POINT.algorithms {
        let choice = C::named(algorithm.name).expect("the catalog's names are known");
        for_one(&choice, algorithm.name, &property);
    }
}

/// Checks a property of one choice.
fn for_one<C: PolicyChoice>(
    choice: &C,
    name: &str,
    property: impl Fn(&mut C::Policy, &mut C::Policy, &mut Rng),
) {
    for world in 0..WORLDS {
        let label = format!("{} {name}", C::POINT.name);
        let mut rng = Seed(world).split(&label).rng();
        let (mut policy, mut twin): (Box<C::Policy>, _) = (choice.build(), choice.build());
        property(&mut policy, &mut twin, &mut rng);
    }
}
