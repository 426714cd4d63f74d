//! Where does a lost chunk go, if window, losses and delay are to be weighed? Where most arrives soonest.
//!
//! Source: our reading of Rtx-HYBRIDMETRIC of A. H. Abass, "Optimization Algorithms for Multipath Transfer over
//! Asymmetric Paths using CMT-SCTP" (UPM 2016). The text at hand says that it builds on Rtx-CWND and looks at loss
//! rate and delay of the paths; the formula is not in it.
//!
//! Idea: a window for each round trip is a rate, and of it the share arrives that is not lost. The path on which
//! that is largest brings the chunk there soonest, a few losses and a little delay being worth a large window.
//!
//! ```text
//! among paths that may carry data: those with room first,
//! then the largest  window · (1 − loss rate) / srtt,
//! then the largest window, then the lowest id
//! ```
//!
//! Deviation: a path without a round-trip time yet is taken to have one of its retransmission timeout.

use core::cmp::Reverse;

use anabranch_types::PathId;

use super::best_path;
use crate::parameters::NoParameters;
use crate::{LostChunk, PathFacts, Policy, RetransmissionPolicy};

/// The path with the largest rate of arrival that has room.
#[derive(Debug, Default)]
pub struct HybridMetric;

impl HybridMetric {
    /// The policy.
    #[must_use]
    pub const fn new(_: NoParameters) -> Self {
        Self
    }
}

/// Bytes that arrive in a second, times 2²⁰ lest small windows look alike.
fn rate_of_arrival(path: &PathFacts) -> u128 {
    let arriving = 1_000_000_u32.saturating_sub(path.loss_per_million);
    let round_trip = path.srtt.unwrap_or(path.rto).as_nanos().max(1);
    // 2⁶⁴ · 10⁶ · 10³ · 2²⁰ is below 2¹²⁸.
    ((u128::from(path.cwnd) * u128::from(arriving) * 1_000) << 20) / round_trip
}

impl Policy for HybridMetric {
    fn name(&self) -> &'static str {
        "hybrid-metric"
    }
}

impl RetransmissionPolicy for HybridMetric {
    fn path_for(&mut self, _chunk: &LostChunk, paths: &[PathFacts]) -> Option<PathId> {
        best_path(paths, |path| (Reverse(rate_of_arrival(path)), Reverse(path.cwnd)))
    }
}
