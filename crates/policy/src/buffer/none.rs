//! How much of the buffers may a path hold, if nothing is reserved? All of them.
//!
//! Source: RFC 9260, which knows one send and one receive buffer.
//!
//! Idea: no split. A slow path can fill the buffers with chunks that hold up all others.
//!
//! ```text
//! no limit
//! ```

use crate::parameters::NoParameters;
use crate::{BufferFacts, BufferPolicy, PathFacts, Policy};

/// No split.
#[derive(Debug, Default)]
pub struct Shared;

impl Shared {
    /// The policy.
    #[must_use]
    pub const fn new(_: NoParameters) -> Self {
        Self
    }
}

impl Policy for Shared {
    fn name(&self) -> &'static str {
        "none"
    }
}

impl BufferPolicy for Shared {
    fn allowance(&self, _path: &PathFacts, _paths: &[PathFacts], _buffer: &BufferFacts) -> u64 {
        u64::MAX
    }
}
