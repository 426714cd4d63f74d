//! How much may be in flight, as TCP's standard says, on each path alone?
//!
//! Source: RFC 5681, with the byte counting of RFC 3465 and the initial window of RFC 6928.
//!
//! Idea: slow start adds what was acknowledged, at most L full segments per acknowledgement; congestion avoidance adds
//! one full segment per window acknowledged; a loss halves the window, a timeout leaves one segment.
//!
//! ```text
//! acked, window fully used, growth allowed:
//!   window < threshold:  window += min(acked, L · segment)
//!   else:                partial += acked;  if partial ≥ window: partial −= window, window += segment
//! loss:                  threshold = max(window / 2, 2 · segment);  window = threshold or, on timeout, one segment
//! further timeouts before anything is acknowledged: the threshold stays
//! idle for an RTO:       window = min(window, initial window)
//! ```
//!
//! It differs from `cmt` in the floor of two segments in place of four, and in that partly acknowledged windows are not
//! forgotten when everything is acknowledged.
//!
//! Deviation: the threshold follows from the window and not from the flight. A window grows only while it is fully used,
//! so the two differ little.

use core::time::Duration;

use anabranch_types::Instant;

use super::growth::Growth;
use super::independent::{Acked, Independent, SinglePath};
use super::window::{Window, quantum};
use crate::parameters::{Parameter, Parameters, Slot};
use crate::{LossCause, LossEvent, PathFacts};

/// RFC 5681 on each path alone.
pub type Reno = Independent<RenoParameters>;

/// Parameters of [`Reno`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RenoParameters {
    /// When a window may grow.
    pub growth: Growth,
    /// L: how many full segments one acknowledgement may add in slow start (RFC 3465).
    pub slow_start_limit: u16,
    /// Initial window in full segments.
    pub initial_packets: u16,
}

impl RenoParameters {
    /// L = 1 (RFC 5681), ten segments to begin with (RFC 6928).
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

/// Window of one path and the bytes acknowledged towards its next step.
#[derive(Debug)]
pub struct RenoState {
    window: Window,
    partial: u64,
    /// A timeout cut the window, and nothing was acknowledged since.
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
        if state.window.bytes < state.window.threshold {
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
        // RFC 5681 §3.1: a segment that the timer retransmitted before leaves ssthresh constant when the timer expires again.
        let threshold = if is_timeout && state.timed_out {
            state.window.threshold
        } else {
            (state.window.bytes / 2).max(2 * quantum(path))
        };
        state.timed_out = is_timeout;
        state.window.cut_to(threshold, loss.cause, path);
        state.partial = 0;
    }

    fn on_idle(&self, state: &mut RenoState, path: &PathFacts, idle: Duration) {
        if idle >= path.rto {
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
        state.window.threshold
    }
}

#[cfg(test)]
mod tests;
