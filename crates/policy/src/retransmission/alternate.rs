//! RFC 9260 retransmission policy (§6.4.1). A chunk lost by timeout is retransmitted on another path.
//!
//! Source: RFC 9260 §6.4.1.
//!
//! Idea: a timeout suggests that the path has failed, three miss indications show that it works.
//!
//! ```text
//! lost by timeout: fastest other path that can take data, else the own one
//! else:            own path if it may carry data, else another one
//! ```
//!
//! Deviation: how divergent two paths are is not known here; whether a path can take data and its RTT decide.

use anabranch_types::PathId;

use super::{other_path, own_path};
use crate::parameters::NoParameters;
use crate::{LossCause, LostChunk, PathFacts, Policy, RetransmissionPolicy};

/// Another path after a timeout.
#[derive(Debug, Default)]
pub struct Alternate;

impl Alternate {
    /// Creates the policy.
    #[must_use]
    pub const fn new(_: NoParameters) -> Self {
        Self
    }
}

impl Policy for Alternate {
    fn name(&self) -> &'static str {
        "alternate"
    }
}

impl RetransmissionPolicy for Alternate {
    //= rfc9260 6.4-4, 6.4-5
    fn path_for(&mut self, chunk: &LostChunk, paths: &[PathFacts]) -> Option<PathId> {
        let own = own_path(chunk.lost_on, paths);
        let other = other_path(chunk.lost_on, paths);
        match chunk.cause {
            LossCause::Timeout => other.or(own),
            LossCause::FastRetransmit | LossCause::Mark | LossCause::Reschedule => own.or(other),
        }
    }
}
