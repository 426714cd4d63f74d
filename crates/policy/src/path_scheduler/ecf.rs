//! ECF path scheduler. Which path is next, if the last byte is to arrive as early as possible?
//!
//! Source: Y.-s. Lim, E. Nahum, D. Towsley, R. Gibbens, "ECF: An MPTCP Path Scheduler to Manage Heterogeneous Paths",
//! ACM CoNEXT 2017.
//!
//! Idea: a slow path that can take data is used only if the fast path cannot deliver all queued data before the slow path
//! delivers its part.
//!
//! ```text
//! f = path with the smallest srtt, sendable or not;  f can take data: On(f)
//! s = path with the smallest srtt among those that can take data
//! k_d = unsent bytes, at least cwnd_d;  δ = max(rttvar_f, rttvar_s)
//! (1 + k_f / cwnd_f) · srtt_f < (1 + β if waiting) · (srtt_s + δ):   the fast path would finish sooner
//!     k_s / cwnd_s · srtt_s ≥ 2 · srtt_f + δ: waiting = yes, Wait    and the slow one would not help
//! else: waiting = no
//! On(s)
//! ```
//!
//! The lower bound of k, one cwnd, is from the authors' code for Linux, not from the paper: even the last packet takes a
//! whole round trip.
//!
//! Deviations: bytes where the paper counts packets. A path without an RTT sample is tried first, to get one. A full
//! path with nothing in flight is not waited for: no acknowledgement would end the wait.

use core::time::Duration;

use anabranch_types::Instant;

use super::{fastest_of, full, open, times};
use crate::parameters::{Parameter, Parameters, Slot};
use crate::{Backlog, PathFacts, PathScheduler, Pick, Policy};

/// Parameters of [`Ecf`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EcfParameters {
    /// Hysteresis: how much more patient it is once it waits (β), in thousandths.
    pub beta_per_mille: u32,
}

impl Default for EcfParameters {
    fn default() -> Self {
        Self { beta_per_mille: 250 }
    }
}

impl Parameters for EcfParameters {
    const LIST: &'static [Parameter] = &[Parameter {
        name: "beta",
        default: "0.25",
        meaning: "hysteresis: how much more patient it is once it waits, 0.0 to 10.0",
    }];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        Some(match name {
            "beta" => Slot::thousandths(&mut self.beta_per_mille, 0..=10_000),
            _ => return None,
        })
    }
}

/// Earliest completion first path scheduler.
#[derive(Debug)]
pub struct Ecf {
    parameters: EcfParameters,
    /// The last decision was to wait.
    waiting: bool,
}

impl Ecf {
    /// Creates the scheduler.
    #[must_use]
    pub const fn new(parameters: EcfParameters) -> Self {
        Self {
            parameters,
            waiting: false,
        }
    }

    /// Whether all of `backlog` is delivered sooner if none of it is sent on `slow`.
    fn is_worth_waiting(&mut self, fast: &PathFacts, slow: &PathFacts, backlog: &Backlog) -> bool {
        let (Some(srtt_fast), Some(srtt_slow)) = (fast.srtt(), slow.srtt()) else {
            return false;
        };
        let margin = fast.rttvar().max(slow.rttvar());
        let rounds = |srtt: Duration, path: &PathFacts| {
            let needed = backlog.unsent_bytes.max(path.cwnd);
            times(srtt, needed, path.cwnd)
        };
        let alone = srtt_fast.saturating_add(rounds(srtt_fast, fast));
        let patience = 1_000 + u64::from(self.waiting) * u64::from(self.parameters.beta_per_mille);
        if alone >= times(srtt_slow.saturating_add(margin), patience, 1_000) {
            self.waiting = false;
            return false;
        }
        let spared = srtt_fast.saturating_mul(2).saturating_add(margin);
        let waits = rounds(srtt_slow, slow) >= spared;
        self.waiting |= waits;
        waits
    }
}

impl Policy for Ecf {
    fn name(&self) -> &'static str {
        "ecf"
    }
}

impl PathScheduler for Ecf {
    fn pick(&mut self, paths: &[PathFacts], backlog: &Backlog, _now: Instant) -> Pick {
        let Some(best) = fastest_of(open(paths)) else {
            return Pick::Wait { until: None };
        };
        match fastest_of(full(paths)) {
            Some(fast) if fast.srtt() < best.srtt() && self.is_worth_waiting(fast, best, backlog) => {
                Pick::Wait { until: None }
            }
            _ => Pick::On(best.id),
        }
    }
}
