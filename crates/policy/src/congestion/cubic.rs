//! CUBIC congestion control (RFC 9438), on each path separately.
//!
//! Source: RFC 9438 (CUBIC), RFC 9406 (HyStart++) for the end of slow start.
//!
//! Idea: after a loss at `peak` the cwnd is cut to 70 % and follows C·(t − K)³ + peak: fast back towards the peak, slowly
//! across it, then faster. Growth depends on time, not on the RTT, so a path with long delay is not starved; where a
//! Reno flow would be faster, the cwnd follows that.
//!
//! ```text
//! loss:    peak = cwnd, or 0.85 · cwnd if it is below the last peak;  cwnd = ssthresh = 0.7 · cwnd
//! timeout: cwnd = PMDCS; ssthresh as at a loss, unless nothing was acknowledged since the last timeout
//! epoch:   K = ∛((peak − cwnd) / C);  estimate = cwnd
//! acked:   t = time of this epoch in which the cwnd was fully used
//!          estimate += α · PMDCS · acked / cwnd,  α = 9/17, or 1 above the cwnd before the loss
//!          if C·(t − K)³ + peak < estimate:  cwnd = estimate
//!          else target = clamp(C·(t + srtt − K)³ + peak, cwnd, 1.5 · cwnd)
//!               cwnd += (target − cwnd) · acked / cwnd
//! ```
//!
//! Deviations: integers throughout (time in 2⁻²⁰ s); the cut is taken from the cwnd, not from the flight size, as
//! §4.6 allows where the cwnd grows only if fully used; the floor is SCTP's 4 · PMDCS, not 2; time in which the
//! cwnd was not fully used does not count (§5.8).

use alloc::boxed::Box;
use core::mem;
use core::time::Duration;

use anabranch_types::Instant;

use super::cmt::{GROWTH, INITIAL_PACKETS};
use super::growth::Growth;
use super::hystart::{HyStart, Pace};
use super::independent::{Acked, Independent, SinglePath};
use super::window::{IdleSsthresh, Window, quantum};
use crate::math::{cube_root, mul_div};
use crate::parameters::{Parameter, Parameters, Slot};
use crate::{CongestionControl, LossCause, LossEvent, PathFacts};

/// CUBIC on each path separately.
pub type Cubic = Independent<CubicParameters>;

/// Parameters of [`Cubic`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CubicParameters {
    /// When the cwnd may grow.
    pub growth: Growth,
    /// Whether slow start ends when the RTT rises (HyStart++).
    pub hystart: bool,
    /// How many full chunks one SACK may add in slow start; RFC 9406 recommends 8 without pacing.
    pub slow_start_limit: u16,
    /// Initial cwnd in full chunks; 0 for the formula of RFC 9260 §7.2.1.
    pub initial_packets: u16,
}

impl CubicParameters {
    /// The default values.
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
/// Longest time for which the curve is computed, about 68 minutes: its cube times a chunk fits 128 bits.
const LONGEST: u64 = 1 << 32;
/// The Reno-friendly estimate has ten fractional bits.
const ESTIMATE_BITS: u32 = 10;

fn ticks(time: Duration) -> u64 {
    let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    mul_div(nanos, 1 << TICK_BITS, 1_000_000_000)
}

/// One congestion avoidance epoch.
#[derive(Debug)]
struct Epoch {
    /// The plateau of the curve, in bytes.
    plateau: u64,
    /// K in ticks.
    to_plateau: u64,
    /// Time in which the cwnd was fully used.
    elapsed: Duration,
    /// The cwnd that a Reno flow would have, in bytes · 2^[`ESTIMATE_BITS`].
    estimate: u64,
}

impl Epoch {
    fn begin(window: u64, peak: Option<u64>, quantum: u64) -> Self {
        // Without a loss to recover from, K is 0 and the plateau is the cwnd: after slow start that ended
        // without a loss (RFC 9438 §4.2) and after a timeout (§4.8).
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
        // 2/5 of a chunk with ten fractional bits.
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

/// The state of one path.
#[derive(Debug)]
pub struct CubicState {
    window: Window,
    /// When the path was added.
    began: Instant,
    /// `None` until something was acknowledged or lost: most associations are idle.
    progress: Option<Box<Progress>>,
}

/// What is known from acknowledgements and losses.
#[derive(Debug)]
struct Progress {
    hystart: HyStart,
    epoch: Option<Epoch>,
    /// W_max: the cwnd at the last loss, lowered if that was below the one before (fast convergence).
    peak: Option<u64>,
    /// The cwnd before the last loss.
    before_loss: u64,
    /// A timer expired, and nothing has been acknowledged since.
    timed_out: bool,
    /// `None` after idleness, which does not count as time in which the cwnd was fully used.
    last_ack: Option<Instant>,
    /// Remainder of the growth that has not made a whole byte yet.
    carry: u64,
}

impl Cubic {
    /// Adds `path`, which another congestion control has used: congestion avoidance begins with its cwnd, but no more than is in
    /// flight.
    pub(super) fn take_over(&mut self, path: &PathFacts, now: Instant) {
        self.add_path(path, now);
        if let Some(state) = self.state_mut(path.id) {
            state.window.continue_with(path.cwnd.min(path.in_flight), path);
        }
    }
}

impl CubicState {
    fn known(&mut self) -> (&mut Window, &mut Progress) {
        let began = self.began;
        let progress = self
            .progress
            .get_or_insert_with(|| Box::new(Progress::new(began)));
        (&mut self.window, progress)
    }
}

impl Progress {
    const fn new(began: Instant) -> Self {
        Self {
            hystart: HyStart::new(began),
            epoch: None,
            peak: None,
            before_loss: 0,
            timed_out: false,
            last_ack: None,
            carry: 0,
        }
    }

    fn slow_start(&mut self, window: &mut Window, parameters: &CubicParameters, acked: &Acked<'_>) {
        let limit = quantum(acked.path) * u64::from(parameters.slow_start_limit);
        let growth = acked.ack.newly_acked.min(limit);
        let growth = growth.min(window.ssthresh - window.bytes);
        let pace = match acked.ack.rtt_sample {
            // For the initial slow start only (RFC 9406): later ones end at a known ssthresh.
            Some(sample) if parameters.hystart && window.ssthresh == u64::MAX => {
                self.hystart.on_ack(sample.sent_at, acked.now)
            }
            _ => Pace::Full,
        };
        match pace {
            Pace::Full => window.grow(growth),
            Pace::Quarter => window.grow(growth / 4),
            Pace::Leave => window.ssthresh = window.bytes,
        }
    }

    fn avoid_congestion(&mut self, cwnd: &mut Window, acked: &Acked<'_>) {
        let quantum = quantum(acked.path);
        let window = cwnd.bytes;
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
            cwnd.grow(estimate.saturating_sub(window));
            return;
        }
        let round_trip = acked.path.srtt().unwrap_or_default();
        let target = epoch
            .curve(epoch.elapsed + round_trip, quantum)
            .clamp(window, window + window / 2);
        let grown = (target - window)
            .saturating_mul(newly_acked)
            .saturating_add(self.carry);
        self.carry = grown % window;
        cwnd.grow(grown / window);
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
            began: now,
            progress: None,
        }
    }

    fn on_ack(&self, state: &mut CubicState, acked: &Acked<'_>) {
        let (window, progress) = state.known();
        window.raise_to(quantum(acked.path));
        let full = acked.was_full(window);
        if full && acked.may_grow {
            if window.bytes < window.ssthresh {
                progress.slow_start(window, self, acked);
            } else {
                progress.avoid_congestion(window, acked);
            }
        }
        progress.last_ack = Some(acked.now);
        progress.timed_out = false;
    }

    fn on_loss(&self, state: &mut CubicState, loss: &LossEvent, path: &PathFacts) {
        let (cwnd, progress) = state.known();
        let window = cwnd.bytes;
        // A timeout after a timeout says nothing about the capacity of the path: ssthresh stays (RFC 5681 §3.1, which
        // RFC 9438 §4.8 follows).
        let repeats = mem::replace(&mut progress.timed_out, loss.cause == LossCause::Timeout);
        if repeats && progress.timed_out {
            cwnd.cut_to(cwnd.ssthresh, loss.cause, path);
            return;
        }
        // Fast convergence (RFC 9438 §4.7): a loss below the last peak indicates that another flow needs bandwidth.
        let lower_than_before = progress.peak.is_some_and(|peak| window < peak);
        progress.peak = match loss.cause {
            LossCause::Timeout => None,
            _ if lower_than_before => Some(window * 17 / 20),
            LossCause::FastRetransmit | LossCause::Mark | LossCause::Reschedule => Some(window),
        };
        progress.before_loss = window;
        progress.epoch = None;
        progress.carry = 0;
        cwnd.cut(loss.cause, 7, path);
    }

    fn on_idle(&self, state: &mut CubicState, path: &PathFacts, idle: Duration) {
        state.window.decay(path, idle, IdleSsthresh::Kept);
        let Some(progress) = &mut state.progress else {
            return;
        };
        progress.last_ack = None;
        if idle >= path.rto() {
            progress.epoch = None;
        }
    }

    fn on_burst_limit(state: &mut CubicState, limit: u64) {
        state.window.limit(limit);
    }

    fn cwnd(state: &CubicState) -> u64 {
        state.window.bytes
    }

    fn ssthresh(state: &CubicState) -> u64 {
        state.window.ssthresh
    }

    fn continued(before: &CubicState, bytes: u64) -> CubicState {
        CubicState {
            window: Window::avoiding(bytes),
            began: before.began,
            progress: None,
        }
    }
}

#[cfg(test)]
mod tests;
