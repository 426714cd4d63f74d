//! SACKs on the primary path.
//!
//! Source: `cmtSackPath = primary` of the INET simulation model.
//!
//! Idea: all SACKs stay in order, and a path with a long delay does not hold back news of the others.
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
    /// Creates the policy.
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
