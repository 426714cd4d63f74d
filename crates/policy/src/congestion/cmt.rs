//! How much may be in flight, as the SCTP standard says, on each path alone?
//!
//! Source: RFC 9260 §7.2, with the growth rule of CMT ([`Growth`]).
//!
//! Idea: slow start adds what was acknowledged, at most L full chunks per SACK; congestion avoidance adds one
//! full chunk per window acknowledged; a loss halves the window, a timeout leaves one chunk.
//!
//! ```text
//! acked, window fully used, growth allowed:
//!   window ≤ threshold:  window += min(acked, L · PMDCS)
//!   else:                partial += acked;  if partial ≥ window: partial −= window, window += PMDCS
//! everything acked:      partial = 0
//! loss:                  threshold = max(window / 2, 4 · PMDCS);  window = threshold or, on timeout, PMDCS
//! ```
//!
//! Deviations: "fully used" is remembered for one flight, and a loss never raises a window below 4 · PMDCS. A
//! window that holds no whole number of chunks counts as acknowledged when the flight it allowed is.
//! Bytes of duplicates that the peer reports are not counted towards `partial`.

use core::time::Duration;

use anabranch_types::Instant;

use super::growth::Growth;
use super::independent::{Acked, Independent, SinglePath};
use super::partial::PartialBytes;
use super::window::{IdleThreshold, Window, quantum};
use crate::parameters::{Parameter, Parameters, Slot};
use crate::{LossEvent, PathFacts};

/// RFC 9260 §7.2 on each path alone.
pub type Cmt = Independent<CmtParameters>;

/// Parameters of [`Cmt`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CmtParameters {
    /// When a window may grow.
    pub growth: Growth,
    /// L: how many full chunks one SACK may add in slow start (RFC 9260 §7.2.1, RFC 3465).
    pub slow_start_limit: u16,
    /// Initial window in full chunks; 0 for the formula of RFC 9260 §7.2.1.
    pub initial_packets: u16,
}

impl CmtParameters {
    //= rfc9260 7.2.1-8
    /// The values unless set.
    pub const DEFAULT: Self = Self {
        growth: Growth::CucV2,
        slow_start_limit: 1,
        initial_packets: 0,
    };
}

impl Default for CmtParameters {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Parameters for CmtParameters {
    const LIST: &'static [Parameter] = &[
        GROWTH,
        Parameter {
            name: "slow-start-limit",
            default: "1",
            meaning: "full chunks that one SACK may add in slow start (L of RFC 9260 §7.2.1), 1 to 1000",
        },
        INITIAL_PACKETS,
    ];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        Some(match name {
            "growth" => Slot::text(&mut self.growth),
            "slow-start-limit" => Slot::number(&mut self.slow_start_limit, 1..=1_000),
            "initial-packets" => Slot::number(&mut self.initial_packets, 0..=1_000),
            _ => return None,
        })
    }
}

pub(super) const GROWTH: Parameter = Parameter {
    name: "growth",
    default: "cuc-v2",
    meaning: "when the cwnd may grow: cumack, cuc-v1 or cuc-v2",
};

pub(super) const INITIAL_PACKETS: Parameter = Parameter {
    name: "initial-packets",
    default: "0",
    meaning: "initial cwnd in full chunks, 0 (the formula of RFC 9260 §7.2.1) to 1000",
};

/// What is remembered of one path.
#[derive(Debug)]
pub struct CmtState {
    window: Window,
    partial: PartialBytes,
}

impl SinglePath for CmtParameters {
    const NAME: &'static str = "cmt";
    type State = CmtState;

    fn growth(&self) -> Growth {
        self.growth
    }

    fn start(&self, path: &PathFacts, _now: Instant) -> CmtState {
        CmtState {
            window: Window::first(path, self.initial_packets),
            partial: PartialBytes::default(),
        }
    }

    //= rfc9260 7.2-1, 7.2.1-7
    fn on_ack(&self, state: &mut CmtState, acked: &Acked<'_>) {
        let quantum = quantum(acked.path);
        state.window.raise_to(quantum);
        let full = acked.was_full(&mut state.window);
        if !state.window.in_slow_start() {
            if state.partial.fills(state.window.bytes, acked, full) {
                state.window.grow(quantum);
            }
        } else if full && acked.may_grow {
            let limit = quantum * u64::from(self.slow_start_limit);
            state.window.grow(acked.ack.newly_acked.min(limit));
        }
    }

    //= rfc9260 7.2.3-1, 7.2.3-2
    fn on_loss(&self, state: &mut CmtState, loss: &LossEvent, path: &PathFacts) {
        state.window.cut(loss.cause, 5, path);
        state.partial = PartialBytes::default();
    }

    fn on_idle(&self, state: &mut CmtState, path: &PathFacts, idle: Duration) {
        state.window.decay(path, idle, IdleThreshold::Lowered);
    }

    fn on_burst_limit(state: &mut CmtState, limit: u64) {
        state.window.limit(limit);
    }

    fn cwnd(state: &CmtState) -> u64 {
        state.window.bytes
    }

    fn ssthresh(state: &CmtState) -> u64 {
        state.window.threshold
    }
}

#[cfg(test)]
mod tests;
