//! SCTP congestion control (RFC 9260 §7.2), on each path separately.
//!
//! Source: RFC 9260 §7.2, with the growth rule of CMT ([`Growth`]).
//!
//! Idea: slow start adds what was acknowledged, at most L full chunks per SACK; congestion avoidance adds one full
//! chunk per cwnd acknowledged; a loss halves the cwnd, a timeout leaves one chunk.
//!
//! ```text
//! acked, cwnd fully used, growth allowed:
//!   cwnd ≤ ssthresh:  cwnd += min(acked, L · PMDCS)
//!   else:                partial += acked;  if partial ≥ cwnd: partial −= cwnd, cwnd += PMDCS
//! everything acked:      partial = 0
//! loss:                  ssthresh = max(cwnd / 2, 4 · PMDCS);  cwnd = ssthresh or, on timeout, PMDCS
//! ```
//!
//! Deviations: a cwnd counts as fully used for the rest of its flight, and a loss never raises a cwnd below 4 · PMDCS. A
//! cwnd that is no whole number of chunks counts as acknowledged when the flight that it allowed is. Bytes of duplicate
//! TSNs that the peer reports do not count towards `partial`.

use core::time::Duration;

use anabranch_types::Instant;

use super::growth::Growth;
use super::independent::{Acked, Independent, SinglePath};
use super::partial::PartialBytes;
use super::window::{IdleSsthresh, Window, quantum};
use crate::parameters::{Parameter, Parameters, Slot};
use crate::{LossEvent, PathFacts};

/// RFC 9260 §7.2 on each path separately.
pub type Cmt = Independent<CmtParameters>;

/// Parameters of [`Cmt`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CmtParameters {
    /// When the cwnd may grow.
    pub growth: Growth,
    /// L: how many full chunks one SACK may add in slow start (RFC 9260 §7.2.1, RFC 3465).
    pub slow_start_limit: u16,
    /// Initial cwnd in full chunks; 0 for the formula of RFC 9260 §7.2.1.
    pub initial_packets: u16,
}

impl CmtParameters {
    //= rfc9260 7.2.1-8
    /// The default values.
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

/// The state of one path.
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
        state.window.decay(path, idle, IdleSsthresh::Lowered);
    }

    fn on_burst_limit(state: &mut CmtState, limit: u64) {
        state.window.limit(limit);
    }

    fn cwnd(state: &CmtState) -> u64 {
        state.window.bytes
    }

    fn ssthresh(state: &CmtState) -> u64 {
        state.window.ssthresh
    }

    fn continued(_before: &CmtState, bytes: u64) -> CmtState {
        CmtState {
            window: Window::avoiding(bytes),
            partial: PartialBytes::default(),
        }
    }
}

#[cfg(test)]
mod tests;
