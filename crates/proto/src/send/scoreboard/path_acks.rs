//! Path acks: the effects of one SACK on each path.

use alloc::vec::Vec;

use anabranch_policy::{PathAck, SentOnce};
use anabranch_types::{Instant, PathId, UnwrappedTsn};

use super::record::{Order, Proof, Sent};
use crate::on_demand::Idle;

/// How a chunk was acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acknowledgement {
    pub(super) tsn: UnwrappedTsn,
    /// By the cumulative TSN and not by a gap ack block.
    pub(super) cumulatively: bool,
    /// Whether it was in flight and at the head of its list.
    pub(super) headed_its_list: bool,
}

/// Effects of the last SACK on each path, in the order of path ids. Their memory is reused for the next SACK.
#[derive(Debug, Default)]
pub(super) struct PathAcks {
    paths: Vec<PathAck>,
}

impl Idle for PathAcks {
    const IDLE: &'static Self = &Self { paths: Vec::new() };

    fn is_idle(&self) -> bool {
        self.paths.is_empty()
    }
}

impl PathAcks {
    pub(super) fn as_slice(&self) -> &[PathAck] {
        &self.paths
    }

    pub(super) fn clear(&mut self) {
        self.paths.clear();
    }

    /// The path ack of `path`; `in_flight` is stored if this is its first chunk of this SACK.
    pub(super) fn on(&mut self, path: PathId, in_flight: u64) -> &mut PathAck {
        // Consecutive TSNs often share a path, and paths are few, so a linear search is fastest.
        let at = self
            .paths
            .iter()
            .position(|ack| ack.path >= path)
            .unwrap_or(self.paths.len());
        if self.paths.get(at).is_none_or(|ack| ack.path != path) {
            self.paths.reserve_exact(1);
            self.paths.insert(at, PathAck::new(path, in_flight));
        }
        &mut self.paths[at]
    }

    /// Removes the paths without newly acknowledged chunks.
    pub(super) fn keep_news(&mut self) {
        self.paths.retain(|ack| ack.newly_acked_chunks > 0);
    }

    /// Adds the measurement of in-order arrival that started at `since`, if `path` has newly acknowledged chunks.
    pub(super) fn in_order_since(&mut self, path: PathId, since: Instant) {
        if let Some(ack) = self.paths.iter_mut().find(|ack| ack.path == path) {
            ack.in_order_since = Some(since);
        }
    }
}

/// Adds an acknowledged chunk.
pub(super) fn add(ack: &mut PathAck, sent: &Sent, how: Acknowledgement) {
    if sent.proof == Proof::Nothing {
        return;
    }
    match sent.order() {
        Order::First => ack.pseudo_cumulative_advanced |= how.headed_its_list,
        Order::Again => ack.retransmitted_pseudo_cumulative_advanced |= how.headed_its_list,
    }
    // RFC 9260 §7.2.4: "A newly acknowledged DATA chunk is one not previously acknowledged in a SACK chunk."
    if sent.reneged {
        return;
    }
    ack.newly_acked += sent.chunk.bytes();
    ack.newly_acked_chunks += 1;
    ack.cumulative_advanced |= how.cumulatively;
    if !sent.timed_out {
        ack.highest_newly_acked = ack.highest_newly_acked.max(Some(how.tsn));
        ack.lowest_newly_acked = Some(ack.lowest_newly_acked.map_or(how.tsn, |low| low.min(how.tsn)));
    }
    ack.latest_send_number = ack.latest_send_number.max(Some(sent.send_number));
    ack.latest_sent_at = ack.latest_sent_at.max(Some(sent.sent_at));
    if sent.is_round_trip_sample() {
        let sample = Some(SentOnce {
            sent_at: sent.sent_at,
            tsn: how.tsn,
        });
        ack.rtt_sample = ack.rtt_sample.max(sample);
        ack.sent_once_chunks += 1;
        let earliest = ack.earliest_sent_once.unwrap_or(sent.sent_at);
        ack.earliest_sent_once = Some(earliest.min(sent.sent_at));
        if sent.proof == Proof::Probe {
            ack.rtt_probe = ack.rtt_probe.max(sample);
        }
    }
}
