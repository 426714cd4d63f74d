//! Where does a lost chunk go, if it must not be lost again? To the path that loses least.
//!
//! Source: RTX-LOSSRATE of J. Iyengar et al., "Retransmission policies for concurrent multipath transfer using SCTP
//! multihoming", ICON 2004.
//!
//! Idea: a chunk lost twice costs a timeout. The share of chunks that a path lost lately says how likely that is.
//!
//! ```text
//! among paths that may carry data: those with room first, then the lowest loss rate, then one at random
//! ```
//!
//! Deviations: the paper's sender knows the loss rates of its simulated links, this one measures them; the draw is a
//! function of a seed and the chunk, so that a run can be repeated.

use anabranch_types::PathId;

use super::{TieParameters, best_path};
use crate::{LostChunk, PathFacts, Policy, RetransmissionPolicy};

/// The path with the lowest loss rate that has room.
#[derive(Debug)]
pub struct LossRate {
    ties: TieParameters,
}

impl LossRate {
    /// The policy.
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
