//! RTX-CWND retransmission policy. A lost chunk is retransmitted on the path with the largest cwnd.
//!
//! Source: RTX-CWND of J. Iyengar et al., "Retransmission policies for concurrent multipath transfer using SCTP
//! multihoming", ICON 2004; what FreeBSD's CMT does.
//!
//! Idea: a large cwnd indicates few losses. A path that just timed out has a cwnd of one chunk, so its chunks move to
//! other paths.
//!
//! ```text
//! among paths that may carry data: those that can take it first, then the largest cwnd, then one at random
//! ```
//!
//! Deviation: the random choice is a function of a seed and the chunk, so that a run can be repeated.

use core::cmp::Reverse;

use anabranch_types::PathId;

use super::{TieParameters, best_path};
use crate::{LostChunk, PathFacts, Policy, RetransmissionPolicy};

/// The path with the largest cwnd that can take data.
#[derive(Debug)]
pub struct Cwnd {
    ties: TieParameters,
}

impl Cwnd {
    /// Creates the policy.
    #[must_use]
    pub const fn new(ties: TieParameters) -> Self {
        Self { ties }
    }
}

impl Policy for Cwnd {
    fn name(&self) -> &'static str {
        "cwnd"
    }
}

impl RetransmissionPolicy for Cwnd {
    fn path_for(&mut self, chunk: &LostChunk, paths: &[PathFacts]) -> Option<PathId> {
        best_path(paths, |path| (Reverse(path.cwnd), self.ties.lot(chunk, path.id)))
    }
}
