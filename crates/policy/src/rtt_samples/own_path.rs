//! Which acknowledgements measure a round trip, if a path is to be measured there and back? Those that came over it.
//!
//! Source: ours, after the INET simulation model, which takes no samples from SACKs of other paths either.
//!
//! Idea: a SACK that came home over another path measured half of each. It is better than nothing, though, so it
//! counts as long as there is nothing.
//!
//! ```text
//! SACK came over the path of the chunks, or the path has no round-trip time yet:
//!     the latest newly acknowledged chunk that was sent once
//! ```

use anabranch_types::{Instant, PathId};

use crate::parameters::NoParameters;
use crate::{PathAck, PathFacts, Policy, RttSampling};

/// Samples from SACKs of the same path.
#[derive(Debug, Default)]
pub struct OwnPath;

impl OwnPath {
    /// The policy.
    #[must_use]
    pub const fn new(_: NoParameters) -> Self {
        Self
    }
}

impl Policy for OwnPath {
    fn name(&self) -> &'static str {
        "own-path"
    }
}

impl RttSampling for OwnPath {
    fn on_ack(
        &mut self,
        ack: &PathAck,
        path: &PathFacts,
        arrived_on: PathId,
        _now: Instant,
    ) -> Option<Instant> {
        let fit = arrived_on == ack.path || path.srtt.is_none();
        ack.rtt_sample.filter(|_| fit).map(|sample| sample.sent_at)
    }
}
