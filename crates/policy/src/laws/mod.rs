//! What must every algorithm obey, whatever it decides?
//!
//! Each law runs over all algorithms of an extension point, as the catalog lists them, and over random facts: an
//! algorithm that is registered is tested.

mod ack;
mod buffer;
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
mod stream_scheduler;
mod tail_probe;

use alloc::boxed::Box;
use alloc::format;

use anabranch_types::{Rng, Seed};

use crate::catalog::PolicyChoice;

/// How many random worlds each algorithm has to live through.
const WORLDS: u64 = 40;
/// How many things happen in each.
const STEPS: u64 = 1_000;

/// Calls `law` for each algorithm of `C` with two equal policies and a generator of their world's randomness.
fn for_all<C: PolicyChoice>(law: impl Fn(&mut C::Policy, &mut C::Policy, &mut Rng)) {
    for algorithm in C::POINT.algorithms {
        let choice = C::named(algorithm.name).expect("the catalog's names are known");
        for world in 0..WORLDS {
            let label = format!("{} {}", C::POINT.name, algorithm.name);
            let mut rng = Seed(world).split(&label).rng();
            let (mut policy, mut twin): (Box<C::Policy>, _) = (choice.build(), choice.build());
            law(&mut policy, &mut twin, &mut rng);
        }
    }
}
