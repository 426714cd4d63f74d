//! Quick-response DAC (QR-DAC). When is a SACK sent, if gaps are normal but losses are not?
//!
//! Source: our reading of QR-DAC (Quick Response DAC) of A. H. Abass, "Optimization Algorithms for Multipath Transfer
//! over Asymmetric Paths using CMT-SCTP" (UPM 2016). The available text states the problem: with DAC a real loss is
//! detected after six more packets, with RFC 9260 after three. It does not contain the algorithm.
//!
//! Idea: most gaps come from scheduling: the missing TSN is in flight on a slower path. But a path keeps its order. So a
//! TSN is lost, not late, once every path that delivers has delivered a later one; from then on the sender needs SACKs
//! as miss indications, and gets one for each packet until the gap is closed.
//!
//! ```text
//! path of this packet: newest = max(newest, highest new TSN of the packet), delivered = now
//! lost = the lowest missing TSN is below newest of every path that delivered within the delay
//! lost:  immediately
//! else:  as dac
//! ```
//!
//! The lowest missing TSN suffices: if any missing TSN is below all of `newest`, so is the lowest.
//!
//! Deviation: none known, as there is no listing. A path counts as delivering if it did so within the delay of DAC's
//! timer; an error costs SACKs, not retransmissions, for the sender counts miss indications on each path separately.

use core::time::Duration;

use anabranch_types::{Instant, PathId, UnwrappedTsn};

use super::delay::{Delay, DelayParameters, is_urgent};
use crate::path_table::PathTable;
use crate::{AckPolicy, AckWhen, Arrival, Policy};

/// Quick-response delayed acknowledgement for CMT.
#[derive(Debug)]
pub struct QrDac {
    delay: Delay,
    /// How long a path counts as delivering after its last packet.
    patience: Duration,
    sources: PathTable<Source>,
}

/// Data delivered by one path.
#[derive(Clone, Copy, Debug)]
struct Source {
    /// The highest new TSN that arrived over it.
    newest: UnwrappedTsn,
    /// When its last packet arrived.
    delivered: Instant,
}

impl QrDac {
    /// Creates the policy.
    #[must_use]
    pub fn new(parameters: DelayParameters) -> Self {
        Self {
            delay: Delay::new(parameters),
            patience: parameters.delay,
            sources: PathTable::default(),
        }
    }

    fn note(&mut self, path: PathId, newest: Option<UnwrappedTsn>, now: Instant) {
        match (self.sources.of_mut(path), newest) {
            (Some(source), newest) => {
                source.newest = source.newest.max(newest.unwrap_or(source.newest));
                source.delivered = now;
            }
            (None, Some(newest)) => self.sources.insert(
                path,
                Source {
                    newest,
                    delivered: now,
                },
            ),
            (None, None) => {}
        }
    }

    /// Whether every path that delivers has delivered a later TSN than `missing`.
    fn is_lost(&self, missing: UnwrappedTsn, now: Instant) -> bool {
        let mut delivering = self
            .sources
            .iter()
            .filter(|source| now - source.delivered <= self.patience);
        delivering.all(|source| source.newest > missing)
    }
}

impl Policy for QrDac {
    fn name(&self) -> &'static str {
        "qr-dac"
    }
}

impl AckPolicy for QrDac {
    fn on_packet(&mut self, arrival: &Arrival, now: Instant) -> AckWhen {
        self.note(arrival.path, arrival.highest_new, now);
        let delayed = self.delay.on_packet(arrival, now);
        let lost = || {
            let missing = arrival.lowest_missing;
            missing.is_some_and(|missing| self.is_lost(missing, now))
        };
        if is_urgent(arrival) || lost() {
            AckWhen::Now
        } else {
            delayed
        }
    }

    fn reports_packet_count(&self) -> bool {
        true
    }
}
