//! On which path is a SACK sent, if all are to take the same? On the primary one.
//!
//! Source: `cmtSackPath = primary` of the INET simulation model.
//!
//! Idea: all SACKs keep their order, and a path with much delay does not hold back the others' news.
//!
//! ```text
//! primary if usable, else the path of the last DATA
//! ```

use anabranch_types::PathId;

use crate::parameters::NoParameters;
use crate::{PathFacts, Policy, SackPath};

/// Always the primary path.
#[derive(Debug, Default)]
pub struct Primary;

impl Primary {
    /// The policy.
    #[must_use]
    pub const fn new(_: NoParameters) -> Self {
        Self
    }
}

impl Policy for Primary {
    fn name(&self) -> &'static str {
        "primary"
    }
}

impl SackPath for Primary {
    fn path(&mut self, arrived_on: PathId, paths: &[PathFacts]) -> PathId {
        paths
            .iter()
            .find(|path| path.primary && path.is_usable())
            .map_or(arrived_on, |path| path.id)
    }
}
