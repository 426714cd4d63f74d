//! No buffer splitting. Any path may fill the buffers.
//!
//! Source: RFC 9260, which has one send and one receive buffer.
//!
//! Idea: no limit. A slow path can fill the buffers with chunks that block all others.
//!
//! ```text
//! no limit
//! ```

use crate::parameters::NoParameters;
use crate::{BufferFacts, BufferPolicy, PathFacts, Policy};

/// No buffer splitting.
#[derive(Debug, Default)]
pub struct Shared;

impl Shared {
    /// Creates the policy.
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
    fn is_unlimited(&self) -> bool {
        true
    }

    fn allowance(&self, _path: &PathFacts, _paths: &[PathFacts], _buffer: &BufferFacts) -> u64 {
        u64::MAX
    }
}
