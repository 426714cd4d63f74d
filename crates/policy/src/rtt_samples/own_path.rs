//! RTT samples from SACKs over the path of the chunk.
//!
//! Source: ours, after the INET simulation model, which takes no samples from SACKs of other paths either.
//!
//! Idea: a SACK that returned over another path measured half of each. It is accepted while there is nothing better: as
//! long as the path has no sample at all, or if for a whole RTO all acknowledgements returned over other paths, as with
//! peers that send SACKs on one path only.
//!
//! ```text
//! SACK arrived over the path of the chunks, or the path has no RTT sample yet,
//! or (`others`) more than an RTO has passed since the first sample was rejected after the last SACK over the path:
//!     the newly acknowledged chunk sent last among those sent once
//! ```

use anabranch_types::{Instant, PathId};

use crate::parameters::{Parameter, Parameters, Slot};
use crate::path_table::PathTable;
use crate::{PathAck, PathFacts, Policy, RttSampling};

/// Parameters of [`OwnPath`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OwnPathParameters {
    /// Whether SACKs of other paths are accepted if none has arrived over the own one for an RTO.
    pub others: bool,
}

impl OwnPathParameters {
    /// The default values.
    pub const DEFAULT: Self = Self { others: true };
    /// Other paths are accepted for the first sample only, as in the INET simulation model.
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
    /// When the first possible sample was rejected since the last SACK over the own path.
    passed_over_since: PathTable<Instant>,
}

impl OwnPath {
    /// Creates the policy.
    #[must_use]
    pub fn new(parameters: OwnPathParameters) -> Self {
        Self {
            parameters,
            passed_over_since: PathTable::default(),
        }
    }

    /// Whether a SACK of another path is to be accepted.
    fn has_nothing_better(&mut self, path: &PathFacts, now: Instant) -> bool {
        let Some(since) = self.passed_over_since.of(path.id) else {
            self.passed_over_since.insert(path.id, now);
            return path.srtt().is_none();
        };
        path.srtt().is_none() || self.parameters.others && now - *since > path.rto()
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
            self.passed_over_since.clear(path.id);
            return Some(sample.sent_at);
        }
        self.has_nothing_better(path, now).then_some(sample.sent_at)
    }
}
