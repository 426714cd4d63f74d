//! No chunk rescheduling.
//!
//! Source: RFC 9260, which has no such mechanism.
//!
//! Idea: a chunk changes its path when it is lost, not before.
//!
//! ```text
//! never
//! ```

use anabranch_types::Instant;

use crate::parameters::NoParameters;
use crate::{BufferFacts, PathFacts, Policy, Reschedule, ReschedulingPolicy, StuckChunk};

/// No chunk rescheduling.
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

impl ReschedulingPolicy for Never {
    fn is_never(&self) -> bool {
        true
    }

    fn reschedule(
        &mut self,
        _onto: &PathFacts,
        _stuck: &StuckChunk,
        _buffer: &BufferFacts,
        _paths: &[PathFacts],
        _now: Instant,
    ) -> Option<Reschedule> {
        None
    }
}
