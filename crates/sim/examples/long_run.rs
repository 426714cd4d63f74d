//! How fast is simulated time? 300 seconds at 20 Mbit/s on one path, and the wall time they take.

use std::time::Duration;

use anabranch_netsim::LinkConfig;
use anabranch_sim::Scenario;
use anabranch_sim::app::{Bulk, Conversation, Streams, Workload};
use anabranch_types::{Rate, Seed};

const SIMULATED: Duration = Duration::from_secs(300);

fn main() {
    let link = LinkConfig::new(Rate::mbit(20), Duration::from_millis(10));
    let bulk = Workload::Bulk(Bulk::new(1_444, Streams::one(0)));
    let mut simulation = Scenario::new(Seed(1))
        .path(link)
        .near_talks(Conversation::new([bulk]))
        .build();
    let begin = std::time::Instant::now();
    simulation.connect();
    simulation.run_for(SIMULATED);
    let wall = begin.elapsed();
    let outcome = simulation.outcome();
    let tally = simulation.host(anabranch_sim::Side::Near).tally();
    println!(
        "{} simulated seconds in {:.3} s: {:.0} times as fast as real time, {:.2} million network events/s",
        SIMULATED.as_secs(),
        wall.as_secs_f64(),
        SIMULATED.as_secs_f64() / wall.as_secs_f64(),
        outcome.network_events as f64 / wall.as_secs_f64() / 1e6,
    );
    println!(
        "goodput {}, {} packets sent, {} deadlines, {} events, trace {:016x}",
        outcome.forward.goodput, tally.packets_sent, tally.deadlines, tally.events, outcome.trace_hash
    );
}
