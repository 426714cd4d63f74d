//! Generated rate traces: models of LTE, Starlink and Wi-Fi. When can such a link transmit?
//!
//! Each model gives a weight to every millisecond. The weights are scaled to the mean rate that is asked for, and an
//! opportunity follows whenever 1,500 bytes have accumulated. The parameters are round values in the range of published
//! measurements, not fitted to one network; recorded traces are the better choice where a certain network matters.
//!
//! - **LTE.** Spectral efficiency ln(1 + 10·|h|²) under Rayleigh fading with a coherence time of 20 ms, times log-normal
//!   shadowing (σ = 0.4, 2 s). Handovers come after exponentially distributed times of 30 s and silence the link for 50 ms.
//! - **Starlink.** The satellite changes at each multiple of 15 s: the link is silent for 20 to 120 ms, and the new one has
//!   another log-normal rate (σ = 0.3). In between, the rate varies log-normally (σ = 0.15, 100 ms).
//! - **Wi-Fi.** Aggregates of 0.5 to 4 ms, delivered as a whole at their end, after exponentially distributed contention of 2 ms.
//!   The modulation moves one of eight steps every 100 ms. Interference comes after exponentially distributed times of 5 s
//!   and silences the link for an exponentially distributed 50 ms.

use core::time::Duration;

use anabranch_types::{Rate, Rng, Seed};

use super::{OPPORTUNITY_BYTES, RateTrace};
use crate::random::{exp, exponential, ln, standard_normal};

/// A model of an access network.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TraceModel {
    /// Cellular: fading, shadowing, handovers.
    Lte,
    /// Satellite: a hand-over every 15 s.
    Starlink,
    /// Wireless LAN: contention, aggregation, interference.
    WiFi,
}

impl TraceModel {
    /// All models.
    pub const ALL: [Self; 3] = [Self::Lte, Self::Starlink, Self::WiFi];

    /// Name in plans and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lte => "lte",
            Self::Starlink => "starlink",
            Self::WiFi => "wifi",
        }
    }

    /// Generates a trace of this length, in whole milliseconds, with this mean rate. Equal arguments give equal traces.
    /// `None` if the trace would have no opportunity, or more than 2³² of them.
    #[must_use]
    pub fn trace(self, mean: Rate, length: Duration, seed: Seed) -> Option<RateTrace> {
        let length = u32::try_from(length.as_millis()).ok()?;
        let bytes = mean.bytes_in(Duration::from_millis(length.into()));
        let opportunities = u32::try_from(bytes / OPPORTUNITY_BYTES).ok()?;
        if opportunities == 0 {
            return None;
        }
        let mut rng = seed.split("trace").split(self.name()).rng();
        let weights = match self {
            Self::Lte => lte(length, &mut rng),
            Self::Starlink => starlink(length, &mut rng),
            Self::WiFi => wifi(length, &mut rng),
        };
        Some(placed(&weights, opportunities))
    }
}

/// Places `opportunities` where the weights accumulate. The last one is in the last millisecond, where the trace repeats.
fn placed(weights: &[f64], opportunities: u32) -> RateTrace {
    let sum: f64 = weights.iter().sum();
    let share = f64::from(opportunities) / sum;
    let mut millis = Vec::with_capacity(opportunities as usize);
    let (mut credit, mut given) = (0.0, 0);
    for (time, weight) in (1..).zip(weights) {
        credit += weight * share;
        let due = (credit as u32).min(opportunities - 1);
        millis.resize(millis.len() + (due - given) as usize, time);
        given = due;
    }
    millis.resize(opportunities as usize, weights.len() as u32);
    RateTrace { millis }
}

/// A stationary Gaussian process of mean 0 and variance 1 whose correlation falls to 1/e within `memory` steps.
struct Gaussian {
    value: f64,
    keep: f64,
    add: f64,
}

impl Gaussian {
    fn new(memory: f64, rng: &mut Rng) -> Self {
        let keep = exp(-1.0 / memory);
        Self {
            value: standard_normal(rng),
            keep,
            add: (1.0 - keep * keep).sqrt(),
        }
    }

    fn step(&mut self, rng: &mut Rng) -> f64 {
        self.value = self.keep * self.value + self.add * standard_normal(rng);
        self.value
    }
}

/// Whole milliseconds until the next of events that come after exponentially distributed times.
fn millis_until_next(mean: Duration, rng: &mut Rng) -> u32 {
    u32::try_from(exponential(mean, rng).as_millis()).unwrap_or(u32::MAX)
}

fn lte(length: u32, rng: &mut Rng) -> Vec<f64> {
    const BETWEEN_HANDOVERS: Duration = Duration::from_secs(30);
    const SILENT: u32 = 50;
    let mut fading = [Gaussian::new(20.0, rng), Gaussian::new(20.0, rng)];
    let mut shadowing = Gaussian::new(2_000.0, rng);
    let mut handover = millis_until_next(BETWEEN_HANDOVERS, rng);
    let mut back = 0;
    let mut weights = Vec::with_capacity(length as usize);
    for now in 0..length {
        let power: f64 = fading
            .iter_mut()
            .map(|part| part.step(rng))
            .map(|part| part * part / 2.0)
            .sum();
        let weight = ln(1.0 + 10.0 * power) * exp(0.4 * shadowing.step(rng));
        if now == handover {
            back = now.saturating_add(SILENT);
            handover = back.saturating_add(millis_until_next(BETWEEN_HANDOVERS, rng));
        }
        weights.push(if now < back { 0.0 } else { weight });
    }
    weights
}

fn starlink(length: u32, rng: &mut Rng) -> Vec<f64> {
    const BETWEEN_HANDOVERS: u32 = 15_000;
    let mut within = Gaussian::new(100.0, rng);
    let (mut satellite, mut silent) = (0.0, 0);
    let mut weights = Vec::with_capacity(length as usize);
    for now in 0..length {
        if now % BETWEEN_HANDOVERS == 0 {
            satellite = exp(0.3 * standard_normal(rng));
            silent = 20 + rng.below(101) as u32;
        }
        let weight = satellite * exp(0.15 * within.step(rng));
        weights.push(if now % BETWEEN_HANDOVERS < silent {
            0.0
        } else {
            weight
        });
    }
    weights
}

fn wifi(length: u32, rng: &mut Rng) -> Vec<f64> {
    /// Bits for each symbol and subcarrier, relative to the lowest modulation.
    const STEPS: [f64; 8] = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 9.0, 10.0];
    const EVERY: Duration = Duration::from_millis(100);
    const CONTENTION: Duration = Duration::from_millis(2);
    const BETWEEN_INTERFERENCE: Duration = Duration::from_secs(5);
    const INTERFERENCE: Duration = Duration::from_millis(50);
    let mut weights = vec![0.0; length as usize];
    let mut step = rng.below(STEPS.len() as u64) as usize;
    let (mut now, mut next_step) = (Duration::ZERO, EVERY);
    let mut interference = exponential(BETWEEN_INTERFERENCE, rng);
    loop {
        now += exponential(CONTENTION, rng);
        if now >= interference {
            now += exponential(INTERFERENCE, rng);
            interference = now + exponential(BETWEEN_INTERFERENCE, rng);
        }
        while now >= next_step {
            step = if rng.chance(1, 2) {
                (step + 1).min(STEPS.len() - 1)
            } else {
                step.saturating_sub(1)
            };
            next_step += EVERY;
        }
        let air = Duration::from_nanos(500_000 + rng.below(3_500_001));
        now += air;
        let Some(weight) = usize::try_from(now.as_millis())
            .ok()
            .and_then(|end| weights.get_mut(end))
        else {
            break;
        };
        *weight += air.as_secs_f64() * STEPS[step];
    }
    if weights.iter().all(|weight| *weight == 0.0) {
        weights.fill(1.0);
    }
    weights
}
