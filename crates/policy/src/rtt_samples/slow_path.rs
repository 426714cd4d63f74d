//! Which acknowledgements measure a round trip, if SACKs overtake each other? Those of the same path, however old.
//!
//! Source: `cmtSlowPathRTTUpdate` of the INET simulation model; T. Dreibholz, "Evaluation and Optimisation of
//! Multi-Path Transport using the Stream Control Transmission Protocol" (Habilitation, Essen 2012).
//!
//! Idea: what travels over a slow path is often acknowledged first over a fast one. The SACK that the slow path
//! brings afterwards is old news for everything else, and it alone tells the path's round trip.
//!
//! ```text
//! chunk sent once, newly acknowledged over its own path:  sample
//! over another path:                                      remember it, unless one is remembered
//! any SACK, an outdated one too, over the own path, that reports the remembered one:  sample, forget it
//! ```
//!
//! Deviation: a remembered chunk is forgotten after an RTO, for the SACK that comes then answers something else.

use anabranch_types::{Instant, PathId, UnwrappedTsn};

use super::overtaken::Overtaken;
use crate::parameters::NoParameters;
use crate::{PathAck, PathFacts, Policy, RttSampling};

/// Samples from SACKs of the same path, overtaken ones included.
#[derive(Debug, Default)]
pub struct SlowPathRtt {
    overtaken: Overtaken,
}

impl SlowPathRtt {
    /// The policy.
    #[must_use]
    pub fn new(_: NoParameters) -> Self {
        Self::default()
    }
}

impl Policy for SlowPathRtt {
    fn name(&self) -> &'static str {
        "slow-path-rtt"
    }
}

impl RttSampling for SlowPathRtt {
    fn remove_path(&mut self, path: PathId) {
        self.overtaken.forget(path);
    }

    fn on_sack(
        &mut self,
        path: &PathFacts,
        reports: &dyn Fn(UnwrappedTsn) -> bool,
        now: Instant,
    ) -> Option<Instant> {
        self.overtaken.reported(path, reports, now)
    }

    fn on_ack(
        &mut self,
        ack: &PathAck,
        path: &PathFacts,
        arrived_on: PathId,
        now: Instant,
    ) -> Option<Instant> {
        self.overtaken
            .acknowledged(path, ack.rtt_sample?, arrived_on, now)
    }
}
