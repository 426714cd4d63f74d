//! Share of a bottleneck. How much does a flow take whose paths share it with another one, in simulated time?
//!
//! `cargo run --release -p anabranch-sim --example shared_bottleneck -- FIRST COUNT SEEDS PATHS OTHER [NAME=VALUE…]`
//!
//! Draws COUNT cells from the numbers FIRST, FIRST + 1, and so on; `gridFIRST` takes them from a fixed grid of 24 cells, counted from 0. A
//! cell is a bottleneck of 5 to 200 Mbit/s and 10 to 100 ms round-trip time with a drop-tail queue of one to four products of both, or
//! with FQ-CoDel where OTHER ends with `+fq`. PATHS paths of an association with the default policies and the other flow cross it behind
//! links of their own without a limit; `tcp:NAME` in place of PATHS is TCP with that congestion control. OTHER is a congestion control of
//! TCP, or `none`. Policies of the association follow, and:
//!
//! - `jitter=N`: links before the bottleneck delay packets by up to the time that it takes for N, one by default. Without it, phases decide.
//! - `disjoint=N`: each path has a bottleneck of its own instead, whose rate, round-trip time and queue are larger by a factor of 1 to 1 + N.
//! - `rate=N`, `rtt=N`: cells have this rate in Mbit/s, this round-trip time in ms; `queue=N`: queues are N times as large.
//! - `access=N`: the link of the other flow before the bottleneck delays packets by N µs; ours, by 2,000 µs and 300 more for each path.
//! - `starts=N`: both flows start within N ms, 3,000 by default.
//!
//! Each cell is measured for 60 s after 30 s with SEEDS seeds, which draw the starts of both flows. A line has the mean share, the lowest
//! and the highest one, goodput relative to the rate of the bottleneck, the Jain index of the mean share, and the cell.

use std::time::Duration;

use anabranch_netsim::LinkConfig;
use anabranch_netsim::link::{FqCodelConfig, QueueConfig};
use anabranch_policy::{BufferSize, PolicyRecipe};
use anabranch_sim::app::{Bulk, Conversation, Streams, Workload};
use anabranch_sim::tcp::{TcpApp, TcpConfig, TcpScenario};
use anabranch_sim::{AssociationConfig, CrossTraffic, Scenario, Side, Simulation, Transport};
use anabranch_types::{Instant, Rate, Rng, Seed};

const WARM_UP: Duration = Duration::from_secs(30);
const MEASURED: Duration = Duration::from_secs(60);
const BUFFER: u64 = 16 << 20;

type Error = Box<dyn std::error::Error>;

/// Mbit/s, milliseconds, and products of both.
#[derive(Clone, Copy)]
struct Cell {
    rate: f64,
    rtt: f64,
    products: f64,
}

/// A number between `low` and `high`, each order of magnitude as likely as the others.
fn log_uniform(rng: &mut Rng, low: f64, high: f64) -> f64 {
    (low.ln() + rng.unit() * (high / low).ln()).exp()
}

impl Cell {
    fn draw(number: u64) -> Self {
        let mut rng = Seed(number).split("shared bottleneck").rng();
        Self {
            rate: log_uniform(&mut rng, 5.0, 200.0),
            rtt: log_uniform(&mut rng, 10.0, 100.0),
            products: log_uniform(&mut rng, 1.0, 4.0),
        }
    }

    fn grid(number: u64) -> Self {
        let of = |values: &[f64], at: u64| values[(at % values.len() as u64) as usize];
        let (rates, rtts): (&[f64], &[f64]) = if number < 12 {
            (&[10.0, 50.0], &[24.0, 80.0])
        } else {
            (&[20.0, 100.0], &[12.0, 40.0])
        };
        Self {
            rate: of(rates, number / 6),
            rtt: of(rtts, number / 3),
            products: of(&[1.0, 2.0, 4.0], number),
        }
    }

    /// A cell whose rate, round-trip time and queue are larger by a factor of up to 1 + `spread`.
    fn varied(&self, rng: &mut Rng, spread: f64) -> Self {
        let mut factor = || 1.0 + rng.unit() * spread;
        Self {
            rate: self.rate * factor(),
            rtt: self.rtt * factor(),
            products: self.products * factor(),
        }
    }

    fn packets(&self) -> u32 {
        let product = self.rate * 1e6 * self.rtt / 1e3 / 8.0 / 1_500.0;
        (product * self.products).round().max(4.0) as u32
    }

    /// The links before it take 4 ms of the round-trip time.
    fn bottleneck(&self, fair_queueing: bool) -> LinkConfig {
        let queue = if fair_queueing {
            QueueConfig::FqCodel(FqCodelConfig::standard())
        } else {
            QueueConfig::Packets(self.packets())
        };
        let delay = Duration::from_secs_f64((self.rtt - 4.0) / 2e3);
        LinkConfig::new(Rate::bits_per_second((self.rate * 1e6) as u64), delay).queue(queue)
    }
}

/// The flows at the bottleneck.
struct Flows {
    config: AssociationConfig,
    /// Paths, or `tcp:` and a congestion control.
    ours: String,
    other: String,
    fair_queueing: bool,
    packets_of_jitter: f64,
    disjoint: Option<f64>,
    /// Delay of the other flow's link before the bottleneck.
    access: Duration,
    /// Latest start of a flow in microseconds.
    starts: u64,
}

fn tcp(congestion_control: &str) -> Result<TcpConfig, Error> {
    let mut policies = PolicyRecipe::tcp();
    policies.set("cc", congestion_control)?;
    Ok(TcpConfig {
        policies,
        send_buffer: BUFFER,
        receive_buffer: BUFFER,
        ..TcpConfig::default()
    })
}

impl Flows {
    /// Up to the time that the bottleneck takes for some packets.
    fn jitter(&self, cell: &Cell) -> Duration {
        Duration::from_secs_f64(self.packets_of_jitter * 1_500.0 * 8.0 / (cell.rate * 1e6))
    }

    fn on_network<T: Transport>(
        &self,
        mut scenario: Scenario<T>,
        paths: usize,
        cell: &Cell,
        seed: u64,
    ) -> Result<Scenario<T>, Error> {
        let mut rng = Seed(seed).split("links").rng();
        let jitter = self.jitter(cell);
        for path in 0..paths {
            scenario = scenario.path(match self.disjoint {
                Some(spread) => cell
                    .varied(&mut rng, spread)
                    .bottleneck(self.fair_queueing)
                    .jitter(jitter),
                None => {
                    LinkConfig::unlimited(Duration::from_micros(2_000 + 300 * path as u64)).jitter(jitter)
                }
            });
        }
        if self.disjoint.is_none() {
            scenario = scenario.bottleneck(cell.bottleneck(self.fair_queueing));
        }
        if self.other != "none" {
            let access = LinkConfig::unlimited(self.access).jitter(jitter);
            let other = CrossTraffic::tcp(access, tcp(&self.other)?, TcpApp::bulk());
            scenario = scenario.cross_traffic(other);
        }
        Ok(scenario)
    }

    /// Bytes of our flow and of the other one.
    fn measure(&self, cell: &Cell, seed: u64) -> Result<[u64; 2], Error> {
        if let Some(name) = self.ours.strip_prefix("tcp:") {
            let scenario = TcpScenario::tcp(Seed(seed))
                .config(tcp(name)?)
                .near_app(TcpApp::bulk());
            let scenario = self.on_network(scenario, 1, cell, seed)?;
            return Ok(self.run(scenario.build(), seed, |simulation| {
                simulation.app(Side::Far, 0).map_or(0, TcpApp::bytes_read)
            }));
        }
        let scenario = Scenario::new(Seed(seed))
            .untraced()
            .offload_checksums()
            .config(self.config.clone())
            .near_app(Conversation::new([Workload::Bulk(Bulk::new(
                1_400,
                Streams::one(0),
            ))]));
        let scenario = self.on_network(scenario, self.ours.parse()?, cell, seed)?;
        Ok(self.run(scenario.build(), seed, |simulation| {
            simulation.outcome().forward.bytes
        }))
    }

    fn run<T: Transport>(
        &self,
        mut simulation: Simulation<T>,
        seed: u64,
        read: impl Fn(&Simulation<T>) -> u64,
    ) -> [u64; 2] {
        let mut rng = Seed(seed).split("starts").rng();
        let mut starts = || Duration::from_micros(rng.below(self.starts + 1));
        let (ours, theirs) = (starts(), starts());
        let has_other = self.other != "none";
        if has_other {
            simulation.schedule_cross_traffic(0, Instant::ZERO + theirs);
        }
        simulation.run_for(ours);
        simulation.connect();
        simulation.run_for(WARM_UP.saturating_sub(ours));
        let delivered = |simulation: &Simulation<T>| {
            let theirs = has_other.then(|| simulation.delivered_by_cross_traffic(0));
            [read(simulation), theirs.unwrap_or_default()]
        };
        let before = delivered(&simulation);
        simulation.run_for(MEASURED);
        let after = delivered(&simulation);
        [after[0] - before[0], after[1] - before[1]]
    }
}

/// What a cell of our share and the goodput of both flows tells.
#[derive(Default)]
struct Summary {
    cells: u32,
    outside: u32,
    unfair: u32,
    shares: f64,
}

impl Summary {
    fn add(&mut self, flows: &Flows, cell: &Cell, seeds: u64) -> Result<(), Error> {
        let mut shares = Vec::new();
        let mut total = 0;
        for seed in 1..=seeds {
            let [ours, theirs] = flows.measure(cell, seed)?;
            shares.push(ours as f64 / (ours + theirs).max(1) as f64);
            total += ours + theirs;
        }
        let share = shares.iter().sum::<f64>() / seeds as f64;
        let jain = 1.0 / (2.0 * (share * share + (1.0 - share) * (1.0 - share)));
        let used = total as f64 * 8.0 / seeds as f64 / MEASURED.as_secs_f64() / 1e6 / cell.rate;
        println!(
            "{share:5.2} {:7.2} {:8.2} {used:8.3} {jain:5.2}  {:.1} Mbit/s {:.0} ms {} packets ({:.1})",
            shares.iter().copied().fold(1.0, f64::min),
            shares.iter().copied().fold(0.0, f64::max),
            cell.rate,
            cell.rtt,
            cell.packets(),
            cell.products
        );
        self.cells += 1;
        self.outside += u32::from(!(0.35..=0.65).contains(&share));
        self.unfair += u32::from(jain < 0.8);
        self.shares += share;
        Ok(())
    }
}

fn main() -> Result<(), Error> {
    let mut config = AssociationConfig {
        policies: PolicyRecipe::recommended(),
        send_buffer: BufferSize::Fixed(BUFFER),
        receive_buffer: BufferSize::Fixed(BUFFER),
        ..AssociationConfig::default()
    };
    let (mut packets_of_jitter, mut disjoint, mut queue, mut starts) = (1.0, None, 1.0, 3_000_000);
    let (mut rate, mut rtt, mut access) = (None, None, Duration::from_millis(2));
    let mut plain = Vec::new();
    for argument in std::env::args().skip(1) {
        match argument.split_once('=') {
            Some(("access", value)) => access = Duration::from_micros(value.parse()?),
            Some(("disjoint", value)) => disjoint = Some(value.parse()?),
            Some(("jitter", value)) => packets_of_jitter = value.parse()?,
            Some(("rate", value)) => rate = Some(value.parse()?),
            Some(("rtt", value)) => rtt = Some(value.parse()?),
            Some(("queue", value)) => queue = value.parse()?,
            Some(("starts", value)) => starts = 1_000 * value.parse::<u64>()?,
            Some((name, value)) => config.policies.set(name, value)?,
            None => plain.push(argument),
        }
    }
    let [first, count, seeds, ours, other] = &plain[..] else {
        return Err("expected FIRST COUNT SEEDS PATHS OTHER".into());
    };
    let flows = Flows {
        config,
        ours: ours.clone(),
        other: other.trim_end_matches("+fq").to_owned(),
        fair_queueing: other.ends_with("+fq"),
        packets_of_jitter,
        disjoint,
        access,
        starts,
    };
    let (draw, first): (fn(u64) -> Cell, u64) = match first.strip_prefix("grid") {
        Some(first) => (Cell::grid, first.parse()?),
        None => (Cell::draw, first.parse()?),
    };
    let mut summary = Summary::default();
    println!("share  lowest  highest  goodput  Jain  cell");
    for number in first..first + count.parse::<u64>()? {
        let mut cell = draw(number);
        cell.products *= queue;
        cell.rate = rate.unwrap_or(cell.rate);
        cell.rtt = rtt.unwrap_or(cell.rtt);
        summary.add(&flows, &cell, seeds.parse()?)?;
    }
    println!(
        "of {} cells, {} outside 0.35 to 0.65, {} with Jain below 0.8; mean share {:.3}",
        summary.cells,
        summary.outside,
        summary.unfair,
        summary.shares / f64::from(summary.cells.max(1))
    );
    Ok(())
}
