//! Check of the first design rule. Are two paths together as fast as the better of them alone, for several rates and delays, in
//! simulated time?
//!
//! `cargo run --release -p anabranch-sim --example first_rule -- [seconds] [profile] [NAME=VALUE…]`
//!
//! Each entry of the table is the goodput over both paths in Mbit/s, with its ratio to the goodput of the better path alone.
//! A ratio below 1 violates the rule.

use std::time::Duration;

use anabranch_netsim::LinkConfig;
use anabranch_policy::PolicyRecipe;
use anabranch_sim::Scenario;
use anabranch_sim::app::{Bulk, Conversation, Streams, Workload};
use anabranch_types::{Rate, Seed};

/// Rate of the slow path, in Mbit/s.
const SLOW: u64 = 10;
/// Rates of the fast path, in Mbit/s.
const FAST: [u64; 4] = [10, 40, 80, 160];
/// One-way delays of the slow and the fast path, in milliseconds.
const DELAYS: [(u64, u64); 6] = [(1, 1), (10, 10), (50, 50), (10, 30), (1, 50), (10, 100)];

/// A link of `rate` Mbit/s and `delay` milliseconds, with a queue of 100 packets.
fn link(rate: u64, delay: u64) -> LinkConfig {
    LinkConfig::new(Rate::mbit(rate), Duration::from_millis(delay))
}

/// Goodput of a saturated sender over `links`, in Mbit/s.
fn goodput(links: &[LinkConfig], policies: PolicyRecipe, time: Duration) -> f64 {
    let bulk = Workload::Bulk(Bulk::new(1_400, Streams::one(0)).unordered());
    let scenario = Scenario::new(Seed(1))
        .policies(policies)
        .near_app(Conversation::new([bulk]));
    let scenario = links.iter().cloned().fold(scenario, Scenario::path);
    let mut simulation = scenario.build();
    simulation.connect();
    simulation.run_for(time);
    simulation.outcome().forward.goodput.as_bits_per_second() as f64 / 1e6
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let seconds = arguments.next().map_or(Ok(20), |text| text.parse())?;
    let profile = arguments.next().unwrap_or_else(|| "default".to_owned());
    let mut policies = PolicyRecipe::profile(&profile)?;
    let settings: Vec<String> = arguments.collect();
    for setting in &settings {
        let (name, value) = setting.split_once('=').ok_or("expected NAME=VALUE")?;
        policies.set(name, value)?;
    }
    let time = Duration::from_secs(seconds);
    let chosen = [&[profile], &settings[..]].concat().join(" ");
    println!("{seconds} s, profile {chosen}; {SLOW} Mbit/s beside a faster path");
    print!("{:>14}", "delays, ms");
    FAST.iter()
        .for_each(|fast| print!("{:>18}", format!("{SLOW}+{fast}")));
    println!();
    for (slow_delay, fast_delay) in DELAYS {
        print!("{:>14}", format!("{slow_delay} and {fast_delay}"));
        for fast in FAST {
            let links = [link(SLOW, slow_delay), link(fast, fast_delay)];
            let alone = links
                .iter()
                .map(|link| goodput(std::slice::from_ref(link), policies, time));
            let best = alone.fold(0.0, f64::max);
            let both = goodput(&links, policies, time);
            print!("{:>18}", format!("{both:.1} ({:.2})", both / best));
        }
        println!();
    }
    Ok(())
}
