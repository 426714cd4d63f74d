//! Where does a lost chunk go, if its path is not to blame? Back to the same path.
//!
//! Source: RTX-SAME of J. Iyengar et al., "Retransmission policies for concurrent multipath transfer using SCTP
//! multihoming", ICON 2004.
//!
//! Idea: the path of the loss pays for it, and only a path that must not carry data any more is left.
//!
//! ```text
//! own path if it may carry data, else the fastest other one with room
//! ```

use anabranch_types::PathId;

use super::{other_path, own_path};
use crate::parameters::NoParameters;
use crate::{LostChunk, PathFacts, Policy, RetransmissionPolicy};

/// The same path while it lives.
#[derive(Debug, Default)]
pub struct Same;

impl Same {
    /// The policy.
    #[must_use]
    pub const fn new(_: NoParameters) -> Self {
        Self
    }
}

impl Policy for Same {
    fn name(&self) -> &'static str {
        "same"
    }
}

impl RetransmissionPolicy for Same {
    fn path_for(&mut self, chunk: &LostChunk, paths: &[PathFacts]) -> Option<PathId> {
        own_path(chunk.lost_on, paths).or_else(|| other_path(chunk.lost_on, paths))
    }
}
