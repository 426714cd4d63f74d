//! RTX-SSTHRESH retransmission policy. A lost chunk is retransmitted on the path with the largest ssthresh.
//!
//! Source: RTX-SSTHRESH of J. Iyengar et al., "Retransmission policies for concurrent multipath transfer using SCTP
//! multihoming", ICON 2004.
//!
//! Idea: ssthresh is half of what the path carried when it last lost something. It changes with losses only, so it
//! remembers them longer than the cwnd does.
//!
//! ```text
//! among paths that may carry data: those that can take it first, then the largest ssthresh, then one at random
//! ```
//!
//! Deviation: the random choice is a function of a seed and the chunk, so that a run can be repeated. A path that never
//! lost anything has no ssthresh, which counts as the largest.

use core::cmp::Reverse;

use anabranch_types::PathId;

use super::{TieParameters, best_path};
use crate::{LostChunk, PathFacts, Policy, RetransmissionPolicy};

/// The path with the largest ssthresh that can take data.
#[derive(Debug)]
pub struct Ssthresh {
    ties: TieParameters,
}

impl Ssthresh {
    /// Creates the policy.
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
