//! On which path is a SACK sent, if the sender is to know soon? On the fastest that brings data.
//!
//! Source: `cmtSackPath = smallestSRTT` of the INET simulation model.
//!
//! Idea: what a slow path delivered is reported over a fast one, so windows open and losses show earlier. The price
//! is round-trip samples that mix two paths (see `rtt-samples`).
//!
//! ```text
//! among usable paths that brought data since the last SACK that left on them: the smallest srtt
//! none: the path of the last DATA
//! ```
//!
//! Deviation: the model asks which paths brought data since the last SACK on any path. A path without a round-trip
//! time comes last.

use anabranch_types::PathId;

use crate::parameters::NoParameters;
use crate::{PathFacts, Policy, SackPath};

use super::best_source;

/// The fastest path that brings data.
#[derive(Debug, Default)]
pub struct SmallestSrtt;

impl SmallestSrtt {
    /// The policy.
    #[must_use]
    pub const fn new(_: NoParameters) -> Self {
        Self
    }
}

impl Policy for SmallestSrtt {
    fn name(&self) -> &'static str {
        "smallest-srtt"
    }
}

impl SackPath for SmallestSrtt {
    fn path(&mut self, arrived_on: PathId, paths: &[PathFacts]) -> PathId {
        best_source(arrived_on, paths, |path| (path.srtt.is_none(), path.srtt))
    }
}
