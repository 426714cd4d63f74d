//! SACK handling. Implementations must differ only in processing cost.

use std::env;

use anabranch_netsim::LinkConfig;
use anabranch_policy::PolicyRecipe;
use anabranch_sim::randomized::{RandomizedTest, Report};

use crate::fixture::{Pair, mbit, ms, secs};

const HANDLINGS: [&str; 3] = ["indexed", "scan", "outstanding-array"];

/// Number of randomized simulations to compare, unless `ANABRANCH_SEEDS` is set.
const SEEDS: u64 = 300;

/// Report of a randomized simulation in which both sides handle SACKs this way, or its failure.
fn played(seed: u64, handling: &'static str) -> Result<Report, String> {
    let mut test = RandomizedTest::draw(seed);
    for side in [&mut test.shape.near, &mut test.shape.far] {
        side.policies.push(("sack-handling", handling));
        if handling == "outstanding-array" {
            // Small, so that it overflows.
            side.policies.push(("sack-handling.initial", "4"));
            side.policies.push(("sack-handling.limit", "16"));
        }
    }
    test.run().map_err(|failure| failure.to_string())
}

#[test]
fn sack_handling_does_not_change_packets() {
    let seeds = env::var("ANABRANCH_SEEDS").map_or(SEEDS, |seeds| seeds.parse().unwrap());
    for seed in 0..seeds {
        let [indexed, scan, array] = HANDLINGS.map(|handling| played(seed, handling));
        assert_eq!(indexed, scan, "seed {seed}");
        assert_eq!(indexed, array, "seed {seed}");
    }
}

/// Chunks that Alice visits per SACK, with one path far behind the other.
fn looks_per_sack(handling: &str) -> f64 {
    let mut policies = PolicyRecipe::cmt();
    policies.set("sack-handling", handling).unwrap();
    policies.set("burst", "unlimited").unwrap();
    let paths = [
        LinkConfig::new(mbit(50), ms(5)),
        LinkConfig::new(mbit(2), ms(100)),
    ];
    let mut pair = Pair::paths(paths).policies(policies).connected();
    pair.alice().send_forever();
    pair.run_for(secs(5));
    let statistics = pair.alice().statistics();
    statistics.sack_elements_visited as f64 / statistics.sacks_received as f64
}

#[test]
fn indexed_sack_handling_visits_only_changes() {
    let [indexed, scan, array] = HANDLINGS.map(looks_per_sack);
    println!("looks at chunks for each SACK: indexed {indexed:.1}, scan {scan:.1}, array {array:.1}");
    assert!(indexed < 10.0, "{indexed}");
    assert!(scan > 20.0 * indexed, "{scan}");
    assert!(array < scan / 2.0, "{array}");
}
