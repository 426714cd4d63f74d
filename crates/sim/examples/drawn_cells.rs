//! Check of the first design rule for sets of paths that nobody chose. How often is the best path alone faster than all of them
//! together, in simulated time?
//!
//! `cargo run --release -p anabranch-sim --example drawn_cells -- FIRST COUNT SEEDS [buffer=SIZE] [NAME=VALUE…]`
//!
//! Draws COUNT cells from the numbers FIRST, FIRST + 1, and so on. A cell has two to four paths of 1 to 200 Mbit/s and 1 to 500 ms
//! one-way, and buffers of 64 KiB to 8 MiB. Queues are CoDel, or drop-tail of 10 packets to two products of rate and round-trip time. Half
//! of the cells have losses of 0.05 to 10 %, random or in bursts of 4. A quarter has normally distributed jitter, by which packets overtake
//! one another.
//!
//! With `buffer=auto` the buffers of all cells size themselves, and with `buffer=8MiB` they have this size.
//!
//! Each cell is measured for 25 s after 8 s, with SEEDS seeds. A line has the ratio to the best path alone and to the sum of all paths
//! alone. Then come the mean goodput over all paths and over the best one alone, and the cell: buffer, and RATE/DELAY/QUEUE/LOSS/JITTER
//! of each path.

use std::fmt::Write as _;
use std::time::Duration;

use anabranch_netsim::link::{CodelConfig, DelayVariation, Distribution, GilbertElliott, Loss, QueueConfig};
use anabranch_netsim::{LinkConfig, Probability};
use anabranch_policy::PolicyRecipe;
use anabranch_proto::BufferSize;
use anabranch_sim::app::{Bulk, Conversation, Streams, Workload};
use anabranch_sim::{AssociationConfig, Scenario, Simulation};
use anabranch_types::{Rate, Rng, Seed};

const WARM_UP: Duration = Duration::from_secs(8);
const MEASURED: Duration = Duration::from_secs(25);

type Error = Box<dyn std::error::Error>;

struct Cell {
    links: Vec<LinkConfig>,
    buffer: u64,
    text: String,
}

/// A number between `low` and `high`, each order of magnitude as likely as the others.
fn log_uniform(rng: &mut Rng, low: f64, high: f64) -> f64 {
    (low.ln() + rng.unit() * (high / low).ln()).exp()
}

impl Cell {
    fn draw(number: u64) -> Self {
        let mut rng = Seed(number).split("cell").rng();
        let paths = match rng.below(20) {
            0..=11 => 2,
            12..=16 => 3,
            _ => 4,
        };
        let kib = log_uniform(&mut rng, 64.0, 8_192.0) as u64;
        let (lossy, jittery) = (rng.chance(1, 2), rng.chance(1, 4));
        let mut text = format!("{kib} KiB");
        // A link with a name of its own has the same losses alone and beside others.
        let links = (0..paths).map(|path| {
            let link = draw_link(&mut rng, &mut text).named(format!("path {path}"));
            let link = if lossy {
                draw_loss(link, &mut rng, &mut text)
            } else {
                link
            };
            if jittery {
                draw_jitter(link, &mut rng, &mut text)
            } else {
                link
            }
        });
        Self {
            links: links.collect(),
            buffer: kib * 1_024,
            text,
        }
    }
}

fn draw_link(rng: &mut Rng, text: &mut String) -> LinkConfig {
    let (rate, delay) = (log_uniform(rng, 1.0, 200.0), log_uniform(rng, 1.0, 500.0));
    let product = rate * 1e6 * 2.0 * delay / 1e3 / 8.0 / 1_500.0;
    let packets = log_uniform(rng, 10.0, (2.0 * product).max(20.0)) as u32;
    let link = LinkConfig::new(
        Rate::bits_per_second((rate * 1e6) as u64),
        Duration::from_secs_f64(delay / 1e3),
    );
    if rng.chance(1, 10) {
        let _ = write!(text, "  {rate:.1}/{delay:.0}/codel");
        link.queue(QueueConfig::Codel(CodelConfig::standard(packets.max(100))))
    } else {
        let _ = write!(text, "  {rate:.1}/{delay:.0}/{packets}");
        link.queue(QueueConfig::Packets(packets))
    }
}

fn draw_loss(link: LinkConfig, rng: &mut Rng, text: &mut String) -> LinkConfig {
    let percent = log_uniform(rng, 0.05, 10.0);
    let loss = match rng.below(4) {
        0 => return link,
        1 => Loss::GilbertElliott(GilbertElliott::bursts(percent / 100.0, 4.0)),
        _ => Loss::Bernoulli(Probability::of(percent / 100.0)),
    };
    let bursts = matches!(loss, Loss::GilbertElliott(_));
    let _ = write!(text, "/{percent:.2}%{}", if bursts { " in bursts" } else { "" });
    link.loss(loss)
}

fn draw_jitter(link: LinkConfig, rng: &mut Rng, text: &mut String) -> LinkConfig {
    let deviation = link.delay.mul_f64(rng.unit() / 3.0);
    let _ = write!(text, "/±{:.1}", deviation.as_secs_f64() * 1e3);
    link.variation(DelayVariation {
        deviation,
        distribution: Distribution::Normal,
    })
}

/// Goodput in Mbit/s.
fn measure(links: &[LinkConfig], config: &AssociationConfig, seed: u64) -> f64 {
    let bulk = Workload::Bulk(Bulk::new(1_400, Streams::one(0)));
    let scenario = Scenario::new(Seed(seed))
        .config(config.clone())
        .near_app(Conversation::new([bulk]));
    let mut simulation: Simulation = links.iter().cloned().fold(scenario, Scenario::path).build();
    simulation.connect();
    simulation.run_for(WARM_UP);
    let before = simulation.outcome().forward.bytes;
    simulation.run_for(MEASURED);
    let bytes = simulation.outcome().forward.bytes - before;
    bytes as f64 * 8.0 / MEASURED.as_secs_f64() / 1e6
}

fn mean(links: &[LinkConfig], config: &AssociationConfig, seeds: u64) -> f64 {
    let sum: f64 = (1..=seeds).map(|seed| measure(links, config, seed)).sum();
    sum / seeds as f64
}

fn main() -> Result<(), Error> {
    let mut config = AssociationConfig {
        policies: PolicyRecipe::recommended(),
        ..AssociationConfig::default()
    };
    let (mut numbers, mut size) = (Vec::new(), None);
    for argument in std::env::args().skip(1) {
        match argument.split_once('=') {
            Some(("buffer", value)) => size = Some(value.parse::<BufferSize>()?),
            Some((name, value)) => config.policies.set(name, value)?,
            None => numbers.push(argument.parse::<u64>()?),
        }
    }
    let [first, count, seeds] = numbers[..] else {
        return Err("expected FIRST COUNT SEEDS".into());
    };
    let (mut ratios, mut of_sum) = (Vec::new(), 0);
    println!("number  ratio  to sum  all paths  best alone  cell");
    for number in first..first + count {
        let cell = Cell::draw(number);
        let buffer = size.unwrap_or(BufferSize::Fixed(cell.buffer));
        (config.send_buffer, config.receive_buffer) = (buffer, buffer);
        let alone = cell.links.iter();
        let alone = alone.map(|link| mean(std::slice::from_ref(link), &config, seeds));
        let alone: Vec<f64> = alone.collect();
        let (best, sum) = (
            alone.iter().copied().fold(0.0, f64::max),
            alone.iter().sum::<f64>(),
        );
        let all = mean(&cell.links, &config, seeds);
        println!(
            "{number:6} {:6.3} {:7.3} {all:10.2} {best:11.2}  {}",
            all / best,
            all / sum,
            cell.text
        );
        ratios.push(all / best);
        of_sum += u32::from(all >= 0.95 * sum);
    }
    ratios.sort_by(f64::total_cmp);
    let below = |limit: f64| ratios.iter().filter(|ratio| **ratio < limit).count();
    let lowest = ratios.first().copied().unwrap_or_default();
    println!(
        "of {count} cells, {} below 0.99, {} below 0.97; lowest {lowest:.2}; {of_sum} reach 0.95 of the sum",
        below(0.99),
        below(0.97)
    );
    Ok(())
}
