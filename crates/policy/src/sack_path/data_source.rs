//! On which path is a SACK sent, as most stacks do? Back to where the data came from.
//!
//! Source: RFC 9260 §6.4, which leaves the choice open but asks not to vary it while data comes from one address.
//!
//! Idea: that path has just proved to work, and its round-trip times stay its own.
//!
//! ```text
//! the path of the last DATA
//! ```

use anabranch_types::PathId;

use crate::parameters::NoParameters;
use crate::{PathFacts, Policy, SackPath};

/// Back to the source of the last data.
#[derive(Debug, Default)]
pub struct DataSource;

impl DataSource {
    /// The policy.
    #[must_use]
    pub const fn new(_: NoParameters) -> Self {
        Self
    }
}

impl Policy for DataSource {
    fn name(&self) -> &'static str {
        "data-source"
    }
}

impl SackPath for DataSource {
    //= rfc9260 6.4-3, 6.7-2
    fn path(&mut self, arrived_on: PathId, _paths: &[PathFacts]) -> PathId {
        arrived_on
    }
}
