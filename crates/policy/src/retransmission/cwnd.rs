//! Where does a lost chunk go, if the path that does best shall take it? To the largest window.
//!
//! Source: RTX-CWND of J. Iyengar et al., "Retransmission policies for concurrent multipath transfer using SCTP
//! multihoming", ICON 2004; what FreeBSD's CMT does.
//!
//! Idea: a large window is the sign of few losses. A path that just timed out has one of a single chunk, so its
//! chunks leave it by themselves.
//!
//! ```text
//! among paths that may carry data: those with room first, then the largest window, then one at random
//! ```
//!
//! Deviation: the draw is a function of a seed and the chunk, so that a run can be repeated.

use core::cmp::Reverse;

use anabranch_types::PathId;

use super::{TieParameters, best_path};
use crate::{LostChunk, PathFacts, Policy, RetransmissionPolicy};

/// The path with the largest window that has room.
#[derive(Debug)]
pub struct Cwnd {
    ties: TieParameters,
}

impl Cwnd {
    /// The policy.
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
