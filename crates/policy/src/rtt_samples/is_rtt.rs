//! Immediate SACK RTT samples (IS-RTT). Only acknowledgements of probes are samples.
//!
//! Source: our reading of IS-RTT (Immediate SACK RTT Samples) of A. H. Abass, "Optimization Algorithms for Multipath
//! Transfer over Asymmetric Paths using CMT-SCTP" (UPM 2016). The available text states the problem: delayed
//! acknowledgements make RTTs on asymmetric paths too long. It does not contain the algorithm.
//!
//! Idea: a delayed SACK measures its delay too, and one that returns over another path measures that path. A chunk with
//! the I bit (RFC 9260 §3.3.1) is acknowledged at once, by this core over the same path. So one chunk per round trip is
//! a probe, and nothing else is a sample.
//!
//! ```text
//! new chunk, and no probe outstanding on the path:   it is the probe, I bit set
//! probe acknowledged over its own path:              sample, the next probe may be sent
//! over another path:                                 wait for the SACK of its own, even if it is outdated
//! probe lost, or no such SACK within an RTO:         the next probe may be sent
//! ```
//!
//! Deviation: none known, as there is no listing. A peer that answers an I bit over another path yields no samples but
//! those of heartbeats.

use anabranch_types::{Instant, PathId, UnwrappedTsn};

use super::overtaken::Overtaken;
use crate::parameters::NoParameters;
use crate::path_table::PathTable;
use crate::{PathAck, PathFacts, Policy, RttSampling};

/// Samples from probes that are acknowledged at once.
#[derive(Debug, Default)]
pub struct IsRtt {
    /// When the outstanding probe of each path was sent.
    probes: PathTable<Instant>,
    overtaken: Overtaken,
}

impl IsRtt {
    /// Creates the policy.
    #[must_use]
    pub fn new(_: NoParameters) -> Self {
        Self::default()
    }
}

impl Policy for IsRtt {
    fn name(&self) -> &'static str {
        "is-rtt"
    }
}

impl RttSampling for IsRtt {
    fn remove_path(&mut self, path: PathId) {
        self.probes.remove(path);
        self.overtaken.forget(path);
    }

    fn wants_probe(&self, path: &PathFacts, now: Instant) -> bool {
        let under_way = self.probes.of(path.id);
        under_way.is_none_or(|sent_at| now - *sent_at > path.rto())
    }

    fn on_probe_sent(&mut self, path: &PathFacts, now: Instant) {
        self.overtaken.forget(path.id);
        self.probes.insert(path.id, now);
    }

    fn on_sack(
        &mut self,
        path: &PathFacts,
        reports: &dyn Fn(UnwrappedTsn) -> bool,
        now: Instant,
    ) -> Option<Instant> {
        let sample = self.overtaken.reported(path, reports, now)?;
        self.probes.clear(path.id);
        Some(sample)
    }

    fn on_ack(
        &mut self,
        ack: &PathAck,
        path: &PathFacts,
        arrived_on: PathId,
        now: Instant,
    ) -> Option<Instant> {
        let probe = ack.rtt_probe?;
        let sample = self.overtaken.acknowledged(path, probe, arrived_on, now)?;
        self.probes.clear(path.id);
        Some(sample)
    }
}
