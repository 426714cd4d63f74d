//! Which acknowledgements measure a round trip, if paths do not matter? All of them.
//!
//! Source: RFC 9260 §6.3.1, which speaks of the path of the chunk and not of that of the SACK.
//!
//! Idea: whichever way a SACK takes, it acknowledges. Of asymmetric paths this measures half of each.
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
    /// The policy.
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
