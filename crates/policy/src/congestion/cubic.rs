//! How much may be in flight, if the window follows a cubic function of time?
//!
//! Source: RFC 9438 (CUBIC), RFC 9406 (HyStart++) for the end of slow start.
//!
//! Idea: after a loss at `peak` the window is cut to 70 % and follows C·(t − K)³ + peak: fast back towards the
//! peak, slowly across it, then faster. Growth depends on time, not on the round-trip time, so a path with long
//! delay is not starved; where a Reno flow would be faster, the window follows that one.
//!
//! ```text
//! loss:    peak = window, or 0.85 · window if it is below the last peak;  window = threshold = 0.7 · window
//! timeout: window = PMDCS; the threshold falls as at a loss, unless nothing was acknowledged since the last timeout
//! epoch:   K = ∛((peak − window) / C);  estimate = window
//! acked:   t = time of this epoch in which the window was full
//!          estimate += α · PMDCS · acked / window,  α = 9/17, or 1 above the window before the loss
//!          if C·(t − K)³ + peak < estimate:  window = estimate
//!          else target = clamp(C·(t + srtt − K)³ + peak, window, 1.5 · window)
//!               window += (target − window) · acked / window
//! ```
//!
//! Deviations: integers throughout (time in 2⁻²⁰ s); the cut is taken from the window, not from the flight, as
//! §4.6 allows where windows grow only if fully used; the floor is SCTP's 4 · PMDCS, not 2; time in which the
//! window was not full does not count (§5.8).

use core::mem;
use core::time::Duration;

use anabranch_types::Instant;

use super::cmt::{GROWTH, INITIAL_PACKETS};
use super::growth::Growth;
use super::hystart::{HyStart, Pace};
use super::independent::{Acked, Independent, SinglePath};
use super::window::{IdleThreshold, Window, quantum};
use crate::math::{cube_root, mul_div};
use crate::parameters::{Parameter, Parameters, Slot};
use crate::{LossCause, LossEvent, PathFacts};

/// CUBIC on each path alone.
pub type Cubic = Independent<CubicParameters>;

/// Parameters of [`Cubic`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CubicParameters {
    /// When a window may grow.
    pub growth: Growth,
    /// Whether slow start ends when the round-trip time rises (HyStart++).
    pub hystart: bool,
    /// How many full chunks one SACK may add in slow start; RFC 9406 recommends 8 without pacing.
    pub slow_start_limit: u16,
    /// Initial window in full chunks; 0 for the formula of RFC 9260 §7.2.1.
    pub initial_packets: u16,
}

impl CubicParameters {
    /// The values unless set.
    pub const DEFAULT: Self = Self {
        growth: Growth::CucV2,
        hystart: true,
        slow_start_limit: 8,
        initial_packets: 0,
    };
}

impl Default for CubicParameters {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Parameters for CubicParameters {
    const LIST: &'static [Parameter] = &[
        GROWTH,
        Parameter {
            name: "hystart",
            default: "on",
            meaning: "leave slow start when the round-trip time rises (RFC 9406): on or off",
        },
        Parameter {
            name: "slow-start-limit",
            default: "8",
            meaning: "full chunks that one SACK may add in slow start (L of RFC 9406), 1 to 1000",
        },
        INITIAL_PACKETS,
    ];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        Some(match name {
            "growth" => Slot::text(&mut self.growth),
            "hystart" => Slot::text(&mut self.hystart),
            "slow-start-limit" => Slot::number(&mut self.slow_start_limit, 1..=1_000),
            "initial-packets" => Slot::number(&mut self.initial_packets, 0..=1_000),
            _ => return None,
        })
    }
}

/// Units of time per second: 2²⁰, so that a cube of time is scaled back by a shift.
const TICK_BITS: u32 = 20;
/// Longest time that the curve is computed for, about 68 minutes: its cube times a chunk fits 128 bits.
const LONGEST: u64 = 1 << 32;
/// The Reno-friendly estimate has ten bits below the byte.
const ESTIMATE_BITS: u32 = 10;

fn ticks(time: Duration) -> u64 {
    let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    mul_div(nanos, 1 << TICK_BITS, 1_000_000_000)
}

/// One stay in congestion avoidance.
#[derive(Debug)]
struct Epoch {
    /// Where the curve is flat, in bytes.
    plateau: u64,
    /// K in ticks.
    to_plateau: u64,
    /// Time in which the window was full.
    elapsed: Duration,
    /// What a Reno flow would have, in bytes · 2^[`ESTIMATE_BITS`].
    estimate: u64,
}

impl Epoch {
    fn begin(window: u64, peak: Option<u64>, quantum: u64) -> Self {
        // Without a loss to come back from, K is 0 and the plateau is the window: after slow start that ended
        // by itself (RFC 9438 §4.2) and after a timeout (§4.8).
        let plateau = peak.unwrap_or(window).max(window);
        // K = ∛((plateau − window) / (0.4 · PMDCS)) seconds; ticks³ are 2⁶⁰ times seconds³.
        let cubed = ((u128::from(plateau - window) * 5) << (3 * TICK_BITS)) / (2 * u128::from(quantum));
        Self {
            plateau,
            to_plateau: cube_root(cubed),
            elapsed: Duration::ZERO,
            estimate: window << ESTIMATE_BITS,
        }
    }

    /// 0.4 · PMDCS · (t − K)³ + plateau.
    fn curve(&self, after: Duration, quantum: u64) -> u64 {
        let at = ticks(after);
        let distance = u128::from(at.abs_diff(self.to_plateau).min(LONGEST));
        // 2/5 of a chunk with ten bits below the byte.
        let slope = u128::from((quantum << 11) / 5);
        let height = (distance * distance * distance * slope) >> (3 * TICK_BITS + 10);
        let height = u64::try_from(height).unwrap_or(u64::MAX);
        if at < self.to_plateau {
            self.plateau.saturating_sub(height)
        } else {
            self.plateau.saturating_add(height)
        }
    }
}

/// What is remembered of one path.
#[derive(Debug)]
pub struct CubicState {
    window: Window,
    hystart: HyStart,
    epoch: Option<Epoch>,
    /// W_max: where the last loss came, made smaller if it came earlier than the one before.
    peak: Option<u64>,
    /// The window before the last loss.
    before_loss: u64,
    /// A timer expired, and nothing was acknowledged since.
    timed_out: bool,
    /// `None` after idleness, which is not time in which the window was full.
    last_ack: Option<Instant>,
    /// Numerator of the growth that did not make a whole byte yet.
    carry: u64,
}

impl CubicState {
    fn slow_start(&mut self, parameters: &CubicParameters, acked: &Acked<'_>) {
        let limit = quantum(acked.path) * u64::from(parameters.slow_start_limit);
        let growth = acked.ack.newly_acked.min(limit);
        let growth = growth.min(self.window.threshold - self.window.bytes);
        let pace = match acked.ack.rtt_sample {
            // For the initial slow start only (RFC 9406): later ones end at a known threshold.
            Some(sample) if parameters.hystart && self.window.threshold == u64::MAX => {
                self.hystart.on_ack(sample.sent_at, acked.now)
            }
            _ => Pace::Full,
        };
        match pace {
            Pace::Full => self.window.grow(growth),
            Pace::Quarter => self.window.grow(growth / 4),
            Pace::Leave => self.window.threshold = self.window.bytes,
        }
    }

    fn avoid_congestion(&mut self, acked: &Acked<'_>) {
        let quantum = quantum(acked.path);
        let window = self.window.bytes;
        let peak = self.peak;
        let epoch = self
            .epoch
            .get_or_insert_with(|| Epoch::begin(window, peak, quantum));
        epoch.elapsed += acked.now - self.last_ack.unwrap_or(acked.now);

        let newly_acked = acked.ack.newly_acked;
        let reno = mul_div(quantum << ESTIMATE_BITS, newly_acked, window);
        let unproven = epoch.estimate >> ESTIMATE_BITS < self.before_loss;
        epoch.estimate += if unproven { reno * 9 / 17 } else { reno };

        let estimate = epoch.estimate >> ESTIMATE_BITS;
        if epoch.curve(epoch.elapsed, quantum) < estimate {
            self.window.grow(estimate.saturating_sub(window));
            return;
        }
        let round_trip = acked.path.srtt.unwrap_or_default();
        let target = epoch
            .curve(epoch.elapsed + round_trip, quantum)
            .clamp(window, window + window / 2);
        let grown = (target - window)
            .saturating_mul(newly_acked)
            .saturating_add(self.carry);
        self.carry = grown % window;
        self.window.grow(grown / window);
    }
}

impl SinglePath for CubicParameters {
    const NAME: &'static str = "cubic";
    type State = CubicState;

    fn growth(&self) -> Growth {
        self.growth
    }

    fn start(&self, path: &PathFacts, now: Instant) -> CubicState {
        CubicState {
            window: Window::first(path, self.initial_packets),
            hystart: HyStart::new(now),
            epoch: None,
            peak: None,
            before_loss: 0,
            timed_out: false,
            last_ack: None,
            carry: 0,
        }
    }

    fn on_ack(&self, state: &mut CubicState, acked: &Acked<'_>) {
        state.window.raise_to(quantum(acked.path));
        let full = acked.was_full(&mut state.window);
        if full && acked.may_grow {
            if state.window.bytes < state.window.threshold {
                state.slow_start(self, acked);
            } else {
                state.avoid_congestion(acked);
            }
        }
        state.last_ack = Some(acked.now);
        state.timed_out = false;
    }

    fn on_loss(&self, state: &mut CubicState, loss: &LossEvent, path: &PathFacts) {
        let window = state.window.bytes;
        // A timeout after a timeout says nothing of what the path can carry: "the value of ssthresh is held constant" (RFC
        // 5681 §3.1, which RFC 9438 §4.8 follows).
        let repeats = mem::replace(&mut state.timed_out, loss.cause == LossCause::Timeout);
        if repeats && state.timed_out {
            state.window.cut_to(state.window.threshold, loss.cause, path);
            return;
        }
        // Fast convergence (RFC 9438 §4.7): a loss below the last peak says that another flow wants room.
        let lower_than_before = state.peak.is_some_and(|peak| window < peak);
        state.peak = match loss.cause {
            LossCause::Timeout => None,
            LossCause::FastRetransmit if lower_than_before => Some(window * 17 / 20),
            LossCause::FastRetransmit => Some(window),
        };
        state.before_loss = window;
        state.epoch = None;
        state.carry = 0;
        state.window.cut(loss.cause, 7, path);
    }

    fn on_idle(&self, state: &mut CubicState, path: &PathFacts, idle: Duration) {
        state.window.decay(path, idle, IdleThreshold::Kept);
        state.last_ack = None;
        if idle >= path.rto {
            state.epoch = None;
        }
    }

    fn on_burst_limit(state: &mut CubicState, limit: u64) {
        state.window.limit(limit);
    }

    fn cwnd(state: &CubicState) -> u64 {
        state.window.bytes
    }

    fn ssthresh(state: &CubicState) -> u64 {
        state.window.threshold
    }
}

#[cfg(test)]
mod tests;
