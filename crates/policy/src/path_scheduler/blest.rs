//! BLEST path scheduler. Which path is next, if a slow path must not block the others?
//!
//! Source: S. Ferlin, Ö. Alay, O. Mehani, R. Boreli, "BLEST: Blocking estimation-based MPTCP scheduler for
//! heterogeneous networks", IFIP Networking 2016; bounds and steps of λ as in the authors' code for Linux.
//!
//! Idea: a packet on a slow path occupies the send window for one RTT of that path. If the fast path could use up the
//! rest of the window in that time, it would be blocked: then it is better to wait for the fast path now.
//!
//! ```text
//! f = path with the smallest srtt, sendable or not;  f can take data: On(f)
//! s = path with the smallest srtt among those that can take data
//! r = srtt_s / srtt_f                            round trips of f during one of s
//! X = (cwnd_f + (r − 1) / 2 · PMDCS_f) · r       what f could send meanwhile, growing by one chunk per round trip
//! M = send window: what may be outstanding above the cumulative TSN
//! X · λ > M − (in flight on s + PMDCS_s): Wait, else On(s)
//!
//! λ, once per srtt_s: + 0.04 if sending was blocked by the window since, else − 0.01; between 1.0 and 1.3
//! ```
//!
//! Deviations: where the congestion control sets a pacing rate, f sends no more than that meanwhile. The authors take retransmissions as the sign of a blocked window; here the core reports it. A path
//! without an RTT sample is tried first, to get one. A full path with nothing in flight is not waited for.

use core::num::NonZeroU64;

use anabranch_types::Instant;

use super::{fastest_of, full, nanos, open};
use crate::math::mul_div;
use crate::parameters::{Parameter, Parameters, Slot};
use crate::{Backlog, PathFacts, PathScheduler, Pick, Policy};

/// Bounds of λ and the steps by which it changes, in thousandths.
const MIN: u32 = 1_000;
const MAX: u32 = 1_300;
const GAIN: u32 = 40;
const LOSS: u32 = 10;

/// Parameters of [`Blest`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlestParameters {
    /// Initial correction factor for what the fast path would send (λ), in thousandths.
    pub lambda_per_mille: u32,
}

impl BlestParameters {
    /// The values of the paper.
    pub const DEFAULT: Self = Self {
        lambda_per_mille: 1_200,
    };
}

impl Default for BlestParameters {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Parameters for BlestParameters {
    const LIST: &'static [Parameter] = &[Parameter {
        name: "lambda",
        default: "1.2",
        meaning: "initial correction factor for what the fast path would send, 1.0 to 1.3",
    }];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        Some(match name {
            "lambda" => Slot::thousandths(&mut self.lambda_per_mille, MIN..=MAX),
            _ => return None,
        })
    }
}

/// Blocking estimation-based path scheduler.
#[derive(Debug)]
pub struct Blest {
    lambda_per_mille: u32,
    adapted_at: Instant,
    /// Whether sending was blocked by the window since then.
    blocked: bool,
}

impl Blest {
    /// Creates the scheduler.
    #[must_use]
    pub const fn new(parameters: BlestParameters) -> Self {
        Self {
            lambda_per_mille: parameters.lambda_per_mille,
            adapted_at: Instant::ZERO,
            blocked: false,
        }
    }

    fn adapt(&mut self, slow: &PathFacts, now: Instant) {
        let period = slow.srtt().unwrap_or_else(|| slow.rto());
        if now - self.adapted_at < period {
            return;
        }
        self.adapted_at = now;
        self.lambda_per_mille = if core::mem::take(&mut self.blocked) {
            (self.lambda_per_mille + GAIN).min(MAX)
        } else {
            (self.lambda_per_mille - LOSS).max(MIN)
        };
    }

    /// Whether a packet on `slow` would block `fast`.
    fn would_block(&self, fast: &PathFacts, slow: &PathFacts, backlog: &Backlog) -> bool {
        let (Some(srtt_fast), Some(srtt_slow)) = (fast.srtt(), slow.srtt()) else {
            return false;
        };
        let rounds_per_mille = mul_div(nanos(srtt_slow), 1_000, nanos(srtt_fast)).max(1_000);
        let growth = mul_div(u64::from(fast.max_data_chunk), rounds_per_mille - 1_000, 2_000);
        let needs = mul_div(fast.cwnd.saturating_add(growth), rounds_per_mille, 1_000);
        let paced = |rate: NonZeroU64| mul_div(rate.get(), nanos(srtt_slow), 1_000_000_000);
        let needs = needs.min(fast.pacing_rate.map_or(u64::MAX, paced));
        let needs = mul_div(needs, u64::from(self.lambda_per_mille), 1_000);
        let taken = slow.in_flight.saturating_add(u64::from(slow.max_data_chunk));
        needs > backlog.send_window.saturating_sub(taken)
    }
}

impl Policy for Blest {
    fn name(&self) -> &'static str {
        "blest"
    }
}

impl PathScheduler for Blest {
    fn pick(&mut self, paths: &[PathFacts], backlog: &Backlog, now: Instant) -> Pick {
        let Some(best) = fastest_of(open(paths)) else {
            return Pick::Wait { until: None };
        };
        let faster = fastest_of(full(paths)).filter(|fast| fast.srtt() < best.srtt());
        let Some(fast) = faster else {
            return Pick::On(best.id);
        };
        self.adapt(best, now);
        if self.would_block(fast, best, backlog) {
            Pick::Wait { until: None }
        } else {
            Pick::On(best.id)
        }
    }

    fn on_blocked(&mut self) {
        self.blocked = true;
    }
}
