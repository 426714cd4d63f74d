//! Which acknowledgements measure a round trip, if delayed ones inflate it? Those that were asked for.
//!
//! Source: our reading of IS-RTT (Immediate SACK RTT Samples) of A. H. Abass, "Optimization Algorithms for Multipath
//! Transfer over Asymmetric Paths using CMT-SCTP" (UPM 2016). The text at hand states the problem: delayed
//! acknowledgements make round-trip times on asymmetric paths too long. The algorithm is not in it.
//!
//! Idea: a delayed SACK measures the delay too, and one that comes home over another path measures that. A chunk with
//! the I bit (RFC 9260 §3.3.1) is acknowledged at once, and this core answers it over its own path. So one chunk in
//! each round trip is a probe, and nothing else is a sample.
//!
//! ```text
//! new chunk, and no probe under way on the path:  it is the probe, I bit set
//! probe acknowledged over its own path:           sample, the next probe may leave
//! over another path:                              wait for the SACK of its own, even if it is outdated
//! probe lost, or no such SACK within an RTO:      the next probe may leave
//! ```
//!
//! Deviation: none from a listing, for there is none. A peer that answers an I bit over another path yields no samples
//! but those of heartbeats.

use anabranch_types::{Instant, PathId, UnwrappedTsn};

use super::overtaken::Overtaken;
use crate::parameters::NoParameters;
use crate::path_table::PathTable;
use crate::{PathAck, PathFacts, Policy, RttSampling};

/// Samples from probes that are acknowledged at once.
#[derive(Debug, Default)]
pub struct IsRtt {
    /// When the probe under way left on each path.
    probes: PathTable<Instant>,
    overtaken: Overtaken,
}

impl IsRtt {
    /// The policy.
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
        under_way.is_none_or(|sent_at| now - *sent_at > path.rto)
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
        self.probes.remove(path.id);
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
        self.probes.remove(path.id);
        Some(sample)
    }
}
