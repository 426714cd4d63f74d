//! SACK path by data source. A SACK is sent on the path that the last data arrived over.
//!
//! Source: RFC 9260 §6.4, which leaves the choice open but asks not to vary it while data comes from one address.
//!
//! Idea: that path has just proved to work, and its RTT samples measure it alone.
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
    /// Creates the policy.
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
