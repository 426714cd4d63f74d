//! No burst limit. Only the cwnd limits what is sent at once.
//!
//! Source: none; for comparison, and where the network interface paces.
//!
//! Idea: no limit.
//!
//! ```text
//! unlimited
//! ```

use anabranch_types::{Instant, PathId};

use crate::parameters::NoParameters;
use crate::path_table::PathTable;
use crate::{BurstPolicy, PathFacts, Policy, SendAllowance};

/// No burst limit.
#[derive(Debug, Default)]
pub struct Unlimited {
    known: PathTable<()>,
}

impl Unlimited {
    /// Creates the policy.
    #[must_use]
    pub fn new(_: NoParameters) -> Self {
        Self::default()
    }
}

impl Policy for Unlimited {
    fn name(&self) -> &'static str {
        "unlimited"
    }
}

impl BurstPolicy for Unlimited {
    fn add_path(&mut self, path: PathId) {
        self.known.insert(path, ());
    }

    fn remove_path(&mut self, path: PathId) {
        self.known.remove(path);
    }

    fn allowance(&mut self, path: &PathFacts, _now: Instant) -> SendAllowance {
        match self.known.of(path.id) {
            Some(()) => SendAllowance::UNLIMITED,
            None => SendAllowance::NONE,
        }
    }
}
