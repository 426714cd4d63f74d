//! Where does a lost chunk go, if a window is too fickle a measure? To the largest slow-start threshold.
//!
//! Source: RTX-SSTHRESH of J. Iyengar et al., "Retransmission policies for concurrent multipath transfer using SCTP
//! multihoming", ICON 2004.
//!
//! Idea: the threshold is half of what the path carried when it last lost something. It changes with losses only,
//! so it remembers them longer than the window does.
//!
//! ```text
//! among paths that may carry data: those with room first, then the largest threshold, then one at random
//! ```
//!
//! Deviation: the draw is a function of a seed and the chunk, so that a run can be repeated. A path that never lost
//! anything has no threshold, which counts as the largest.

use core::cmp::Reverse;

use anabranch_types::PathId;

use super::{TieParameters, best_path};
use crate::{LostChunk, PathFacts, Policy, RetransmissionPolicy};

/// The path with the largest slow-start threshold that has room.
#[derive(Debug)]
pub struct Ssthresh {
    ties: TieParameters,
}

impl Ssthresh {
    /// The policy.
    #[must_use]
    pub const fn new(ties: TieParameters) -> Self {
        Self { ties }
    }
}

impl Policy for Ssthresh {
    fn name(&self) -> &'static str {
        "ssthresh"
    }
}

impl RetransmissionPolicy for Ssthresh {
    fn path_for(&mut self, chunk: &LostChunk, paths: &[PathFacts]) -> Option<PathId> {
        best_path(paths, |path| {
            let threshold = Reverse(path.ssthresh);
            (threshold, self.ties.lot(chunk, path.id))
        })
    }
}
