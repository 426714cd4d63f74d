//! On which path is a SACK sent, if none is to bear them all? On the one that has waited longest for one.
//!
//! Source: `cmtSackPath = roundRobin` of the INET simulation model.
//!
//! Idea: SACKs are spread over all paths that bring data. The return direction of none of them is loaded with all,
//! and every path gets round-trip samples of its own, however unevenly the data comes.
//!
//! ```text
//! among usable paths that brought data since the last SACK that left on them: the one with the oldest SACK
//! none: the path of the last DATA
//! ```
//!
//! Deviation: the model asks which paths brought data since the last SACK on any path; with one SACK for two packets
//! that is often one path only, and the turns get lost.

use anabranch_types::PathId;

use crate::parameters::NoParameters;
use crate::{PathFacts, Policy, SackPath};

use super::best_source;

/// The paths that bring data in turn.
#[derive(Debug, Default)]
pub struct RoundRobin;

impl RoundRobin {
    /// The policy.
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
