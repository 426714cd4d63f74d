//! Check of the first design rule for one set of paths. Is any subset of these paths faster than all of them together, in simulated
//! time?
//!
//! `cargo run --release -p anabranch-sim --example subsets -- KIB PATH… [NAME=VALUE…]`
//!
//! KIB is the size of the send and of the receive buffer. A path is `RATE/DELAY`, or `RATE/DELAY/LOSS` for random loss, or
//! `RATE/DELAY/LOSS/LENGTH` for loss in bursts: in Mbit/s, milliseconds one-way, per cent and packets. Queues hold 100 packets. Each
//! line is a subset: its goodput after 2 s and over 20 s, the ratio to the best subset above it, and what each path sent.

use std::time::Duration;

use anabranch_netsim::link::{GilbertElliott, Loss};
use anabranch_netsim::{LinkConfig, Probability};
use anabranch_policy::PolicyRecipe;
use anabranch_proto::BufferSize;
use anabranch_sim::app::{Bulk, Conversation, Streams, Workload};
use anabranch_sim::{AssociationConfig, Scenario, Simulation};
use anabranch_types::{Rate, Seed};

const WARM_UP: Duration = Duration::from_secs(2);
const MEASURED: Duration = Duration::from_secs(20);

type Error = Box<dyn std::error::Error>;

fn link(text: &str) -> Result<LinkConfig, Error> {
    let mut fields = text.split('/');
    let mut field = |default| fields.next().map_or(Ok(default), str::parse::<f64>);
    let (rate, delay, loss, length) = (field(10.0)?, field(10.0)?, field(0.0)?, field(1.0)?);
    let rate = Rate::bits_per_second((rate * 1e6) as u64);
    let link = LinkConfig::new(rate, Duration::from_secs_f64(delay / 1e3));
    Ok(link.loss(if length > 1.0 {
        Loss::GilbertElliott(GilbertElliott::bursts(loss / 100.0, length))
    } else if loss > 0.0 {
        Loss::Bernoulli(Probability::of(loss / 100.0))
    } else {
        Loss::None
    }))
}

fn bytes(simulation: &Simulation) -> u64 {
    simulation.outcome().forward.bytes
}

/// Goodput in Mbit/s, and the megabytes that each path carried.
fn measure(links: &[&LinkConfig], config: &AssociationConfig) -> (f64, String) {
    let bulk = Workload::Bulk(Bulk::new(1_400, Streams::one(0)));
    let scenario = Scenario::new(Seed(1))
        .config(config.clone())
        .near_app(Conversation::new([bulk]));
    let scenario = links.iter().copied().cloned().fold(scenario, Scenario::path);
    let mut simulation = scenario.build();
    simulation.connect();
    simulation.run_for(WARM_UP);
    let before = bytes(&simulation);
    simulation.run_for(MEASURED);
    let goodput = (bytes(&simulation) - before) as f64 * 8.0 / MEASURED.as_secs_f64() / 1e6;
    let near = simulation.outcome().near;
    let paths = near.map(|near| near.paths).unwrap_or_default();
    let carried = paths.iter();
    let carried = carried.map(|path| format!("{:9.1}", path.counters.bytes_sent as f64 / 1e6));
    (goodput, carried.collect())
}

fn main() -> Result<(), Error> {
    let mut config = AssociationConfig {
        policies: PolicyRecipe::recommended(),
        ..AssociationConfig::default()
    };
    let mut links = Vec::new();
    let mut arguments = std::env::args().skip(1);
    let kib: u64 = arguments.next().ok_or("expected KIB")?.parse()?;
    (config.send_buffer, config.receive_buffer) =
        (BufferSize::Fixed(kib * 1024), BufferSize::Fixed(kib * 1024));
    for argument in arguments {
        match argument.split_once('=') {
            Some((name, value)) => config.policies.set(name, value)?,
            None => links.push(link(&argument)?),
        }
    }
    let mut best: f64 = 0.0;
    println!("paths      Mbit/s  ratio  MB sent on each path");
    for subset in 1..1_u32 << links.len() {
        let numbers = 0..links.len();
        let chosen = numbers.filter(|number| subset >> number & 1 == 1);
        let chosen: Vec<usize> = chosen.collect();
        let paths: Vec<&LinkConfig> = chosen.iter().map(|number| &links[*number]).collect();
        let (goodput, carried) = measure(&paths, &config);
        let ratio = if best > 0.0 { goodput / best } else { 1.0 };
        let name: Vec<String> = chosen.iter().map(|number| (number + 1).to_string()).collect();
        println!("{:8} {goodput:8.1} {ratio:6.2} {carried}", name.join("+"));
        best = best.max(goodput);
    }
    Ok(())
}
