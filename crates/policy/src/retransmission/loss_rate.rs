//! RTX-LOSSRATE retransmission policy. A lost chunk is retransmitted on the path with the lowest loss rate.
//!
//! Source: RTX-LOSSRATE of J. Iyengar et al., "Retransmission policies for concurrent multipath transfer using SCTP
//! multihoming", ICON 2004.
//!
//! Idea: a chunk lost twice costs a timeout. The recent loss rate of a path estimates how likely that is.
//!
//! ```text
//! among paths that may carry data: those that can take it first, then the lowest loss rate, then one at random
//! ```
//!
//! Deviations: the paper's sender knows the loss rates of its simulated links, this one measures them; the random choice
//! is a function of a seed and the chunk, so that a run can be repeated.

use anabranch_types::PathId;

use super::{TieParameters, best_path};
use crate::{LostChunk, PathFacts, Policy, RetransmissionPolicy};

/// The path with the lowest loss rate that can take data.
#[derive(Debug)]
pub struct LossRate {
    ties: TieParameters,
}

impl LossRate {
    /// Creates the policy.
    #[must_use]
    pub const fn new(ties: TieParameters) -> Self {
        Self { ties }
    }
}

impl Policy for LossRate {
    fn name(&self) -> &'static str {
        "lossrate"
    }
}

impl RetransmissionPolicy for LossRate {
    fn path_for(&mut self, chunk: &LostChunk, paths: &[PathFacts]) -> Option<PathId> {
        best_path(paths, |path| {
            (path.loss_per_million, self.ties.lot(chunk, path.id))
        })
    }
}
