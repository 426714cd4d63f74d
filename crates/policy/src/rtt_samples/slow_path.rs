//! RTT samples from SACKs over the path of the chunk, overtaken ones included.
//!
//! Source: `cmtSlowPathRTTUpdate` of the INET simulation model; T. Dreibholz, "Evaluation and Optimisation of
//! Multi-Path Transport using the Stream Control Transmission Protocol" (Habilitation, Essen 2012).
//!
//! Idea: what is sent on a slow path is often acknowledged first over a fast one. The SACK that arrives over the slow
//! path afterwards brings nothing new otherwise, but it alone measures the RTT of that path.
//!
//! ```text
//! chunk sent once, newly acknowledged over its own path:  sample
//! over another path:                                      remember it, unless one is remembered
//! any SACK, an outdated one too, over the own path, that reports the remembered one:  sample, forget it
//! ```
//!
//! Deviation: a remembered chunk is forgotten after an RTO, for a SACK that arrives later answers another chunk.

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
    /// Creates the policy.
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
