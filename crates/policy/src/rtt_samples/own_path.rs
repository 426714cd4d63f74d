//! Which acknowledgements measure a round trip, if a path is to be measured there and back? Those that came over it.
//!
//! Source: ours, after the INET simulation model, which takes no samples from SACKs of other paths either.
//!
//! Idea: a SACK that came home over another path measured half of each. It is better than nothing, though, and better
//! than what was true long ago: it counts while there is nothing else, be it that there never was, or that for a whole
//! retransmission timeout all acknowledgements took another way home, as they will with peers that send SACKs on one
//! path.
//!
//! ```text
//! SACK came over the path of the chunks, or the path has no round-trip time yet,
//! or (`others`) it is more than an RTO since the first one was passed over after the last that came over the path:
//!     the latest newly acknowledged chunk that was sent once
//! ```

use anabranch_types::{Instant, PathId};

use crate::parameters::{Parameter, Parameters, Slot};
use crate::path_table::PathTable;
use crate::{PathAck, PathFacts, Policy, RttSampling};

/// Parameters of [`OwnPath`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OwnPathParameters {
    /// Whether SACKs of other paths count while those of the own one have been missing for a retransmission timeout.
    pub others: bool,
}

impl OwnPathParameters {
    /// The values unless set.
    pub const DEFAULT: Self = Self { others: true };
    /// Other paths only help to begin, as in the INET simulation model.
    pub const STRICT: Self = Self { others: false };
}

impl Default for OwnPathParameters {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Parameters for OwnPathParameters {
    const LIST: &'static [Parameter] = &[Parameter {
        name: "others",
        default: "on",
        meaning: "accept SACKs of other paths too if none has arrived over the own one for an RTO: on or off",
    }];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        Some(match name {
            "others" => Slot::text(&mut self.others),
            _ => return None,
        })
    }
}

/// Samples from SACKs of the same path.
#[derive(Debug)]
pub struct OwnPath {
    parameters: OwnPathParameters,
    /// Since when what could have been a sample was passed over, with nothing better.
    passed_over_since: PathTable<Instant>,
}

impl OwnPath {
    /// The policy.
    #[must_use]
    pub fn new(parameters: OwnPathParameters) -> Self {
        Self {
            parameters,
            passed_over_since: PathTable::default(),
        }
    }

    /// Whether there is nothing better than the SACK of another path.
    fn has_nothing_better(&mut self, path: &PathFacts, now: Instant) -> bool {
        let Some(since) = self.passed_over_since.of(path.id) else {
            self.passed_over_since.insert(path.id, now);
            return path.srtt.is_none();
        };
        path.srtt.is_none() || self.parameters.others && now - *since > path.rto
    }
}

impl Policy for OwnPath {
    fn name(&self) -> &'static str {
        "own-path"
    }
}

impl RttSampling for OwnPath {
    fn remove_path(&mut self, path: PathId) {
        self.passed_over_since.remove(path);
    }

    fn on_ack(
        &mut self,
        ack: &PathAck,
        path: &PathFacts,
        arrived_on: PathId,
        now: Instant,
    ) -> Option<Instant> {
        let sample = ack.rtt_sample?;
        if arrived_on == ack.path {
            self.passed_over_since.remove(path.id);
            return Some(sample.sent_at);
        }
        self.has_nothing_better(path, now).then_some(sample.sent_at)
    }
}
