//! How fast is simulated time? 300 seconds of two networks, and the processor time that they take.

use std::time::Duration;

use anabranch_netsim::LinkConfig;
use anabranch_netsim::link::QueueConfig;
use anabranch_policy::PolicyRecipe;
use anabranch_sim::app::{Bulk, Conversation, Streams, Workload};
use anabranch_sim::{AssociationConfig, Scenario, Side};
use anabranch_types::{Rate, Seed};

const SIMULATED: Duration = Duration::from_secs(300);

fn main() {
    run("one path, 20 Mbit/s", one_path());
    run(
        "two paths, 10 and 100 Mbit/s, as in experiments/sar-1.toml",
        two_paths(),
    );
}

fn one_path() -> Scenario {
    let link = LinkConfig::new(Rate::mbit(20), Duration::from_millis(10));
    Scenario::new(Seed(1)).path(link).near_talks(bulk(1_444))
}

fn two_paths() -> Scenario {
    let link = |mbit| {
        LinkConfig::new(Rate::mbit(mbit), Duration::from_millis(1))
            .queue(QueueConfig::Packets(100))
            .framing(26)
    };
    let mut policies = PolicyRecipe::profile("freebsd-2017").expect("a name of the catalogue");
    policies
        .set("sack-handling", "indexed")
        .expect("a name of the catalogue");
    let buffer = 1_864_135;
    Scenario::new(Seed(1))
        .path(link(10))
        .path(link(100))
        .config(AssociationConfig {
            send_buffer: buffer,
            receive_buffer: buffer,
            policies,
            ..AssociationConfig::default()
        })
        .near_talks(bulk(1_452))
}

fn bulk(message: usize) -> Conversation {
    Conversation::new([Workload::Bulk(Bulk::new(message, Streams::one(0)))])
}

fn run(name: &str, scenario: Scenario) {
    let mut simulation = scenario.build();
    let begin = std::time::Instant::now();
    simulation.connect();
    simulation.run_for(SIMULATED);
    let wall = begin.elapsed().as_secs_f64();
    let outcome = simulation.outcome();
    let tallies = Side::BOTH.map(|side| *simulation.host(side).tally());
    let packets: u64 = tallies.iter().map(|tally| tally.packets_sent).sum();
    println!("{name}");
    println!(
        "  {} simulated seconds in {wall:.3} s: {:.0} times as fast as real time, {:.0} thousand packets a second",
        SIMULATED.as_secs(),
        SIMULATED.as_secs_f64() / wall,
        packets as f64 / wall / 1e3,
    );
    println!(
        "  goodput {}, {packets} packets, {} network events, trace {:016x}",
        outcome.forward.goodput, outcome.network_events, outcome.trace_hash
    );
}
