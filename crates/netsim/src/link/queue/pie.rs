//! Proportional integral controller enhanced (PIE, RFC 8033). Which arriving packets are dropped or marked?
//!
//! At each update the probability moves with the distance of the waiting time from its target and with its trend:
//!
//! ```text
//! probability += (alpha · (delay − target) + beta · (delay − delay before)) / scale
//! scale = 2048, 512, 128, 32, 8, 2, 1    for a probability below 10⁻⁶, 10⁻⁵, 10⁻⁴, 10⁻³, 10⁻², 10⁻¹, and from there
//! ```
//!
//! The algorithm is that of RFC 8033 §4, with the burst allowance, marking (§5.1), de-randomization (§5.4) and the cap on
//! increases (§5.5). The waiting time is that of the last packet that left (§4.3 allows it in place of an estimate from the
//! departure rate). It is 0 while the queue is empty.

use core::time::Duration;

use anabranch_types::{Instant, Rng};

use super::{Admission, Arrival, Clock};
use crate::link::{Count, DropCause};

/// Parameters of PIE.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PieConfig {
    /// Maximum queue length in packets.
    pub limit: u32,
    /// Target of the waiting time (`QDELAY_REF`).
    pub target: Duration,
    /// Time between updates of the probability (`T_UPDATE`).
    pub update: Duration,
    /// Weight of the distance from the target, in 1/s.
    pub alpha: f64,
    /// Weight of the trend, in 1/s.
    pub beta: f64,
    /// Time in which a burst after an idle period is not dropped (`MAX_BURST`).
    pub max_burst: Duration,
    /// Whether ECN-capable packets are marked instead of dropped, while the probability is below `mark_below`.
    pub mark: bool,
    /// Probability from which packets are dropped even if they could be marked (`mark_ecnth`).
    pub mark_below: f64,
}

impl PieConfig {
    /// RFC 8033's parameters: target and update 15 ms, 0.125 and 1.25, 150 ms, 0.1; no marking.
    #[must_use]
    pub const fn standard(limit: u32) -> Self {
        Self {
            limit,
            target: Duration::from_millis(15),
            update: Duration::from_millis(15),
            alpha: 0.125,
            beta: 1.25,
            max_burst: Duration::from_millis(150),
            mark: false,
            mark_below: 0.1,
        }
    }
}

/// State of PIE.
#[derive(Debug)]
pub(super) struct Pie {
    config: PieConfig,
    mtu: u32,
    probability: f64,
    /// Sum of the probabilities of packets accepted since the last drop.
    accumulated: f64,
    /// Waiting time of the last packet that left; 0 if the queue is empty.
    delay: Duration,
    /// `delay` at the last update.
    delay_before: Duration,
    burst_allowance: Duration,
    /// What the link's clock shows at the next update.
    next_update: Instant,
    clock: Clock,
    rng: Rng,
}

impl Pie {
    pub(super) fn new(config: PieConfig, mtu: u32, clock: Clock, rng: Rng) -> Self {
        let update = config.update.as_nanos().max(1);
        let passed = clock.phase.as_nanos() / update;
        Self {
            config,
            mtu,
            probability: 0.0,
            accumulated: 0.0,
            delay: Duration::ZERO,
            delay_before: Duration::ZERO,
            burst_allowance: config.max_burst,
            next_update: Instant::ZERO + config.update * u32::try_from(passed + 1).unwrap_or(u32::MAX),
            clock,
            rng,
        }
    }

    /// Decides about an arriving packet at a queue of this length.
    pub(super) fn decide(&mut self, now: Instant, length: Count, arrival: Arrival) -> Admission {
        self.catch_up(now);
        if arrival.idle.is_none() && length.packets >= u64::from(self.config.limit) {
            self.accumulated = 0.0;
            return Admission::Drop(DropCause::QueueFull);
        }
        if !self.draws_drop(length) {
            return Admission::Accept;
        }
        self.accumulated = 0.0;
        if self.config.mark && self.probability < self.config.mark_below {
            Admission::Mark
        } else {
            Admission::Drop(DropCause::Early)
        }
    }

    /// Notes that a packet left after this waiting time, and whether the queue is empty now.
    pub(super) fn note_departure(&mut self, now: Instant, waited: Duration, is_empty: bool) {
        self.catch_up(now);
        self.delay = if is_empty { Duration::ZERO } else { waited };
    }

    fn draws_drop(&mut self, length: Count) -> bool {
        let is_mild = self.delay_before < self.config.target / 2 && self.probability < 0.2;
        let is_short = length.bytes <= 2 * u64::from(self.mtu);
        if is_mild || is_short || !self.burst_allowance.is_zero() {
            return false;
        }
        if self.probability == 0.0 {
            self.accumulated = 0.0;
        }
        self.accumulated += self.probability;
        // Neither too soon after the last drop nor too late.
        match self.accumulated {
            ..0.85 => false,
            8.5.. => true,
            _ => self.rng.unit() < self.probability,
        }
    }

    /// Makes all updates up to `now`. Between two calls the queue does not change.
    fn catch_up(&mut self, now: Instant) {
        let now = self.clock.reading(now);
        while self.next_update <= now {
            let before = (self.probability, self.delay_before, self.burst_allowance);
            self.update();
            self.next_update += self.config.update;
            if before == (self.probability, self.delay_before, self.burst_allowance) {
                // Nothing will change until a packet comes or goes: skip the other updates.
                let missed = now.saturating_duration_since(self.next_update);
                let updates = missed.as_nanos() / self.config.update.as_nanos().max(1);
                self.next_update += self.config.update * u32::try_from(updates).unwrap_or(u32::MAX);
            }
        }
    }

    fn update(&mut self) {
        let seconds = |delay: Duration| delay.as_secs_f64();
        let (delay, before) = (self.delay, self.delay_before);
        let PieConfig {
            target, alpha, beta, ..
        } = self.config;
        let change = alpha * (seconds(delay) - seconds(target)) + beta * (seconds(delay) - seconds(before));
        let change = change / scale(self.probability);
        let change = if self.probability >= 0.1 {
            change.min(0.02)
        } else {
            change
        };
        self.probability += change;
        if delay.is_zero() && before.is_zero() {
            self.probability *= 0.98;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.delay_before = delay;
        self.burst_allowance = self.burst_allowance.saturating_sub(self.config.update);
        if self.probability == 0.0 && delay < target / 2 && before < target / 2 {
            self.burst_allowance = self.config.max_burst;
        }
    }
}

/// How much smaller changes are while the probability is low.
fn scale(probability: f64) -> f64 {
    match probability {
        ..0.000_001 => 2_048.0,
        ..0.000_01 => 512.0,
        ..0.000_1 => 128.0,
        ..0.001 => 32.0,
        ..0.01 => 8.0,
        ..0.1 => 2.0,
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests;
