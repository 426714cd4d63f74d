//! RTX-ASAP retransmission policy. A lost chunk is retransmitted on any path that can take it.
//!
//! Source: RTX-ASAP of J. Iyengar et al., "Retransmission policies for concurrent multipath transfer using SCTP
//! multihoming", ICON 2004.
//!
//! Idea: a retransmission blocks everything behind it, so it is sent as soon as any path can take it. The path is chosen
//! at random: nothing is assumed about the paths.
//!
//! ```text
//! among paths that may carry data: those that can take it; of these one at random
//! ```
//!
//! Deviation: the random choice is a function of a seed, the TSN and the number of transmissions, so that a run can be
//! repeated.

use anabranch_types::PathId;

use super::{SeedParameters, best_path};
use crate::{LostChunk, PathFacts, Policy, RetransmissionPolicy};

/// Any path that can take data.
#[derive(Debug)]
pub struct Asap {
    seed: SeedParameters,
}

impl Asap {
    /// Creates the policy.
    #[must_use]
    pub const fn new(seed: SeedParameters) -> Self {
        Self { seed }
    }
}

impl Policy for Asap {
    fn name(&self) -> &'static str {
        "asap"
    }
}

impl RetransmissionPolicy for Asap {
    fn path_for(&mut self, chunk: &LostChunk, paths: &[PathFacts]) -> Option<PathId> {
        best_path(paths, |path| self.seed.lot(chunk, path.id))
    }
}
