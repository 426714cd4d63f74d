//! No tail loss probe.
//!
//! Source: RFC 9260, which has no such mechanism.
//!
//! Idea: a lost tail is detected by the T3-rtx timer.
//!
//! ```text
//! never
//! ```

use core::time::Duration;

use crate::parameters::NoParameters;
use crate::{PathFacts, Policy, TailProbe};

/// No tail loss probe.
#[derive(Debug, Default)]
pub struct Never;

impl Never {
    /// Creates the policy.
    #[must_use]
    pub const fn new(_: NoParameters) -> Self {
        Self
    }
}

impl Policy for Never {
    fn name(&self) -> &'static str {
        "none"
    }
}

impl TailProbe for Never {
    fn probe_after(&self, _path: &PathFacts) -> Option<Duration> {
        None
    }
}
