//! Lowest-RTT SACK path. SACKs are sent on the fastest path that delivers data.
//!
//! Source: `cmtSackPath = smallestSRTT` of the INET simulation model.
//!
//! Idea: what a slow path delivered is reported over a fast one, so windows open and losses are detected earlier. The
//! cost is RTT samples that mix two paths (see `rtt-samples`).
//!
//! ```text
//! among usable paths that delivered data since the last SACK sent on them: the smallest srtt
//! none: the path of the last DATA
//! ```
//!
//! Deviation: the model considers the paths that delivered data since the last SACK on any path. A path without an RTT
//! sample comes last.

use anabranch_types::PathId;

use crate::parameters::NoParameters;
use crate::{PathFacts, Policy, SackPath};

use super::best_source;

/// The fastest path that delivers data.
#[derive(Debug, Default)]
pub struct SmallestSrtt;

impl SmallestSrtt {
    /// Creates the policy.
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
        best_source(arrived_on, paths, |path| (path.srtt().is_none(), path.srtt()))
    }
}
