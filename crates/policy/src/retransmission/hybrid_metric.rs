//! Rtx-HYBRIDMETRIC retransmission policy. Cwnd, loss rate and RTT together choose the path of a lost chunk.
//!
//! Source: our reading of Rtx-HYBRIDMETRIC of A. H. Abass, "Optimization Algorithms for Multipath Transfer over
//! Asymmetric Paths using CMT-SCTP" (UPM 2016). The available text says that it builds on Rtx-CWND and considers loss
//! rate and delay of the paths; it does not contain the formula.
//!
//! Idea: cwnd per RTT is a rate, and the fraction that is not lost of it arrives. The path with the largest such rate
//! delivers the chunk soonest, trading a larger cwnd against losses and delay.
//!
//! ```text
//! among paths that may carry data: those that can take it first,
//! then the largest  cwnd · (1 − loss rate) / srtt,
//! then the largest cwnd, then the lowest id
//! ```
//!
//! Deviation: the RTT of a path without a sample counts as its RTO.

use core::cmp::Reverse;

use anabranch_types::PathId;

use super::best_path;
use crate::parameters::NoParameters;
use crate::{LostChunk, PathFacts, Policy, RetransmissionPolicy};

/// The path with the largest rate of delivery that can take data.
#[derive(Debug, Default)]
pub struct HybridMetric;

impl HybridMetric {
    /// Creates the policy.
    #[must_use]
    pub const fn new(_: NoParameters) -> Self {
        Self
    }
}

/// Rate of delivery in bytes per second, times 2²⁰ to distinguish small cwnds.
fn rate_of_arrival(path: &PathFacts) -> u128 {
    let arriving = 1_000_000_u32.saturating_sub(path.loss_per_million);
    let round_trip = path.srtt().unwrap_or_else(|| path.rto()).as_nanos().max(1);
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
