//! Round-robin SACK path. SACKs are sent on the paths that deliver data in turn.
//!
//! Source: `cmtSackPath = roundRobin` of the INET simulation model.
//!
//! Idea: SACKs are spread over all paths that deliver data. No reverse path carries all of them, and every path gets its
//! own RTT samples, however unevenly the data arrives.
//!
//! ```text
//! among usable paths that delivered data since the last SACK sent on them: the one with the oldest SACK
//! none: the path of the last DATA
//! ```
//!
//! Deviation: the model considers the paths that delivered data since the last SACK on any path; with one SACK for two
//! packets that is often one path only, and there is no rotation.

use anabranch_types::PathId;

use crate::parameters::NoParameters;
use crate::{PathFacts, Policy, SackPath};

use super::best_source;

/// The paths that deliver data in turn.
#[derive(Debug, Default)]
pub struct RoundRobin;

impl RoundRobin {
    /// Creates the policy.
    #[must_use]
    pub const fn new(_: NoParameters) -> Self {
        Self
    }
}

impl Policy for RoundRobin {
    fn name(&self) -> &'static str {
        "round-robin"
    }
}

impl SackPath for RoundRobin {
    fn path(&mut self, arrived_on: PathId, paths: &[PathFacts]) -> PathId {
        best_source(arrived_on, paths, |path| path.last_sack)
    }
}
