//! Other-path retransmission policy. A lost chunk is never retransmitted on its own path if there is another one.
//!
//! Source: F. Yang, "Non-Renegable Selective Acknowledgments and Scheduling for TCP and Multipath TCP" (Delaware
//! 2015) §4.3: a retransmission never goes to the path of its original.
//!
//! Idea: a path that loses a chunk is congested or broken. Another path gets the chunk, and the path gets a rest.
//!
//! ```text
//! fastest other path that can take data, else the fastest other one, else the own one
//! ```

use anabranch_types::PathId;

use super::{other_path, own_path};
use crate::parameters::NoParameters;
use crate::{LostChunk, PathFacts, Policy, RetransmissionPolicy};

/// Another path while there is one that may carry data.
#[derive(Debug, Default)]
pub struct Other;

impl Other {
    /// Creates the policy.
    #[must_use]
    pub const fn new(_: NoParameters) -> Self {
        Self
    }
}

impl Policy for Other {
    fn name(&self) -> &'static str {
        "other"
    }
}

impl RetransmissionPolicy for Other {
    fn path_for(&mut self, chunk: &LostChunk, paths: &[PathFacts]) -> Option<PathId> {
        other_path(chunk.lost_on, paths).or_else(|| own_path(chunk.lost_on, paths))
    }
}
