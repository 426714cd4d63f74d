//! Stream reconfiguration, the sender's part (RFC 6525 §5.1.2): messages that wait for it, and sequence numbers that restart.

use anabranch_policy::StreamScheduler;
use anabranch_types::{StreamId, Tsn, UnwrappedTsn};

use super::{HoldId, Sender};

impl Sender {
    /// Number of outbound streams.
    pub(crate) fn stream_count(&self) -> u16 {
        self.streams.count()
    }

    //= rfc6525 5.1.5-2, 5.1.6-1, 5.2.7-8
    /// Adds streams. They begin with number 0, as each stream that was never used does.
    pub(crate) fn add_streams(&mut self, more: u16) {
        self.streams.add(more);
    }

    /// Holds messages back that are queued on `streams` from now on, or on all if none is listed.
    pub(crate) fn hold(&mut self, streams: &[StreamId]) -> HoldId {
        self.streams.hold(streams)
    }

    /// Whether all messages on `streams`, or on all if none is listed, that are not held back have TSNs.
    pub(crate) fn has_sent_all_on(&self, streams: &[StreamId]) -> bool {
        let is_meant = |stream: StreamId| streams.is_empty() || streams.contains(&stream);
        let mut passed_over = self.line.iter().chain(&self.partial.ends);
        self.streams.has_begun_all_on(streams) && !passed_over.any(|chunk| is_meant(chunk.stream))
    }

    /// Whether no message was sent on `streams`, or on any if none is listed, since they began.
    pub(crate) fn is_unused(&self, streams: &[StreamId]) -> bool {
        self.streams.is_unused(streams)
    }

    /// The last TSN on `streams`, or on any if none is listed, that is not acknowledged cumulatively. Visits all records, so it is asked
    /// once for each reset.
    pub(crate) fn last_outstanding_on(&self, streams: &[StreamId]) -> Option<UnwrappedTsn> {
        let is_meant = |stream: StreamId| streams.is_empty() || streams.contains(&stream);
        self.scoreboard.last_of(|chunk| is_meant(chunk.stream))
    }

    /// Ends a hold. If the streams of `reset` were reset, or all for an empty list, they restart.
    pub(crate) fn end_hold(
        &mut self,
        hold: HoldId,
        reset: Option<&[StreamId]>,
        scheduler: &mut dyn StreamScheduler,
    ) {
        self.streams.end_hold(hold, reset, scheduler);
    }

    /// Continues with TSN `next`. Nothing may be outstanding.
    pub(crate) fn renumber(&mut self, next: Tsn) {
        self.scoreboard.renumber(next);
        self.is_renumbered = true;
    }

    /// Whether TSNs restarted, so that late SACKs may name TSNs that were never sent since.
    pub(crate) const fn is_renumbered(&self) -> bool {
        self.is_renumbered
    }
}
