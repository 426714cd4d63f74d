//! TCP congestion control (RFC 5681), on each path separately.
//!
//! Source: RFC 5681, with the byte counting of RFC 3465 and the initial cwnd of RFC 6928.
//!
//! Idea: slow start adds what was acknowledged, at most L full segments per acknowledgement; congestion avoidance adds
//! one full segment per cwnd acknowledged; a loss halves the cwnd, a timeout leaves one segment.
//!
//! ```text
//! acked, cwnd fully used, growth allowed:
//!   cwnd < ssthresh:  cwnd += min(acked, L · segment)
//!   else:                partial += acked;  if partial ≥ cwnd: partial −= cwnd, cwnd += segment
//! loss:                  ssthresh = max(cwnd / 2, 2 · segment);  cwnd = ssthresh or, on timeout, one segment
//! further timeouts before anything is acknowledged: ssthresh is unchanged
//! idle for an RTO:       cwnd = min(cwnd, initial cwnd)
//! ```
//!
//! It differs from `cmt` in the floor of two segments instead of four, and in that `partial` is kept when everything is
//! acknowledged.
//!
//! Deviation: ssthresh is derived from the cwnd and not from the flight size. A cwnd grows only while it is fully used,
//! so the two differ little.

use core::time::Duration;

use anabranch_types::Instant;

use super::growth::Growth;
use super::independent::{Acked, Independent, SinglePath};
use super::window::{Window, quantum};
use crate::parameters::{Parameter, Parameters, Slot};
use crate::{LossCause, LossEvent, PathFacts};

/// RFC 5681 on each path separately.
pub type Reno = Independent<RenoParameters>;

/// Parameters of [`Reno`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RenoParameters {
    /// When the cwnd may grow.
    pub growth: Growth,
    /// L: how many full segments one acknowledgement may add in slow start (RFC 3465).
    pub slow_start_limit: u16,
    /// Initial cwnd in full segments.
    pub initial_packets: u16,
}

impl RenoParameters {
    /// L = 1 (RFC 5681), an initial cwnd of ten segments (RFC 6928).
    pub const DEFAULT: Self = Self {
        growth: Growth::CucV2,
        slow_start_limit: 1,
        initial_packets: 10,
    };
}

impl Default for RenoParameters {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Parameters for RenoParameters {
    const LIST: &'static [Parameter] = &[
        Parameter {
            name: "growth",
            default: "cuc-v2",
            meaning: "when the cwnd may grow: cumack, cuc-v1 or cuc-v2",
        },
        Parameter {
            name: "slow-start-limit",
            default: "1",
            meaning: "full segments that one acknowledgement may add in slow start, 1 to 1000",
        },
        Parameter {
            name: "initial-packets",
            default: "10",
            meaning: "initial cwnd in full segments, 1 to 1000",
        },
    ];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        Some(match name {
            "growth" => Slot::text(&mut self.growth),
            "slow-start-limit" => Slot::number(&mut self.slow_start_limit, 1..=1_000),
            "initial-packets" => Slot::number(&mut self.initial_packets, 1..=1_000),
            _ => return None,
        })
    }
}

/// The cwnd of one path and the bytes acknowledged towards its next increase.
#[derive(Debug)]
pub struct RenoState {
    window: Window,
    partial: u64,
    /// A timeout cut the cwnd, and nothing has been acknowledged since.
    timed_out: bool,
}

impl SinglePath for RenoParameters {
    const NAME: &'static str = "reno";
    type State = RenoState;

    fn growth(&self) -> Growth {
        self.growth
    }

    fn start(&self, path: &PathFacts, _now: Instant) -> RenoState {
        RenoState {
            window: Window::first(path, self.initial_packets),
            partial: 0,
            timed_out: false,
        }
    }

    fn on_ack(&self, state: &mut RenoState, acked: &Acked<'_>) {
        state.timed_out = false;
        let segment = quantum(acked.path);
        state.window.raise_to(segment);
        let full = acked.was_full(&mut state.window);
        if !full || !acked.may_grow {
            return;
        }
        let newly_acked = acked.ack.newly_acked;
        if state.window.bytes < state.window.ssthresh {
            let limit = segment * u64::from(self.slow_start_limit);
            state.window.grow(newly_acked.min(limit));
            return;
        }
        state.partial = state.partial.saturating_add(newly_acked);
        if state.partial >= state.window.bytes {
            state.partial -= state.window.bytes;
            state.window.grow(segment);
        }
    }

    fn on_loss(&self, state: &mut RenoState, loss: &LossEvent, path: &PathFacts) {
        let is_timeout = loss.cause == LossCause::Timeout;
        // RFC 5681 §3.1: ssthresh is held constant when the timer expires for a segment that it has already
        // retransmitted.
        let ssthresh = if is_timeout && state.timed_out {
            state.window.ssthresh
        } else {
            (state.window.bytes / 2).max(2 * quantum(path))
        };
        state.timed_out = is_timeout;
        state.window.cut_to(ssthresh, loss.cause, path);
        state.partial = 0;
    }

    fn on_idle(&self, state: &mut RenoState, path: &PathFacts, idle: Duration) {
        if idle >= path.rto() {
            let initial = Window::initial(path, self.initial_packets);
            state.window.bytes = state.window.bytes.min(initial.bytes);
        }
    }

    fn on_burst_limit(state: &mut RenoState, limit: u64) {
        state.window.limit(limit);
    }

    fn cwnd(state: &RenoState) -> u64 {
        state.window.bytes
    }

    fn ssthresh(state: &RenoState) -> u64 {
        state.window.ssthresh
    }

    fn continued(_before: &RenoState, bytes: u64) -> RenoState {
        RenoState {
            window: Window::avoiding(bytes),
            partial: 0,
            timed_out: false,
        }
    }
}

#[cfg(test)]
mod tests;
