//! RTX-SAME retransmission policy. A lost chunk is retransmitted on the same path.
//!
//! Source: RTX-SAME of J. Iyengar et al., "Retransmission policies for concurrent multipath transfer using SCTP
//! multihoming", ICON 2004.
//!
//! Idea: a path repairs its own losses; another one is used only if the path may not carry data any more.
//!
//! ```text
//! own path if it may carry data, else the fastest other one that can take data
//! ```

use anabranch_types::PathId;

use super::{other_path, own_path};
use crate::parameters::NoParameters;
use crate::{LostChunk, PathFacts, Policy, RetransmissionPolicy};

/// The same path while it may carry data.
#[derive(Debug, Default)]
pub struct Same;

impl Same {
    /// Creates the policy.
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
