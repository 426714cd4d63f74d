//! RTT samples from SACKs over any path.
//!
//! Source: RFC 9260 §6.3.1, which names the path of the chunk and not that of the SACK.
//!
//! Idea: every acknowledgement is a sample, whatever path the SACK takes. Of asymmetric paths this measures half of each.
//!
//! ```text
//! the latest newly acknowledged chunk that was sent once
//! ```

use anabranch_types::{Instant, PathId};

use crate::parameters::NoParameters;
use crate::{PathAck, PathFacts, Policy, RttSampling};

/// Samples from any SACK.
#[derive(Debug, Default)]
pub struct AnyPath;

impl AnyPath {
    /// Creates the policy.
    #[must_use]
    pub const fn new(_: NoParameters) -> Self {
        Self
    }
}

impl Policy for AnyPath {
    fn name(&self) -> &'static str {
        "any-path"
    }
}

impl RttSampling for AnyPath {
    fn on_ack(
        &mut self,
        ack: &PathAck,
        _path: &PathFacts,
        _arrived_on: PathId,
        _now: Instant,
    ) -> Option<Instant> {
        ack.rtt_sample.map(|sample| sample.sent_at)
    }
}
