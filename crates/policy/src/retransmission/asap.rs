//! Where does a lost chunk go, if it must not wait? To any path with room.
//!
//! Source: RTX-ASAP of J. Iyengar et al., "Retransmission policies for concurrent multipath transfer using SCTP
//! multihoming", ICON 2004.
//!
//! Idea: a retransmission holds up everything behind it, so it leaves as soon as anything can take it. Which path
//! that is, chance decides: nothing is believed about the paths.
//!
//! ```text
//! among paths that may carry data: those with room; of these one at random
//! ```
//!
//! Deviation: the draw is a function of a seed, the TSN and the number of transmissions, so that a run can be
//! repeated.

use anabranch_types::PathId;

use super::{SeedParameters, best_path};
use crate::{LostChunk, PathFacts, Policy, RetransmissionPolicy};

/// Any path with room.
#[derive(Debug)]
pub struct Asap {
    seed: SeedParameters,
}

impl Asap {
    /// The policy.
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
