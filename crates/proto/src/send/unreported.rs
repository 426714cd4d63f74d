//! Unreported chunks. Which chunks may have arrived without any SACK having room for their gap ack block?

use anabranch_types::{Instant, PathId};
use anabranch_wire::ValidSack;

use super::Sender;
use super::window::PeerWindow;

/// The window before a SACK that may be truncated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MaybeTruncated(PeerWindow);

impl Sender {
    /// Looks whether `sack`, which is not applied yet, may have been sent for packets that it has no room to report: chunks of `path`
    /// above its last block were sent by `until`. A SACK for duplicates lists these, and one for a window that opens has a larger a_rwnd.
    pub(crate) fn may_be_truncated(
        &self,
        sack: &ValidSack,
        path: PathId,
        until: Instant,
    ) -> Option<MaybeTruncated> {
        let last = sack.blocks.max()?;
        let (first, sent_at) = self.scoreboard.first_in_flight(path)?;
        let is_awaited = first.0 > last && sent_at <= until;
        let is_for_arrivals = sack.duplicates == 0 && self.window.may_shrink_to(sack.a_rwnd);
        (is_awaited && is_for_arrivals).then_some(MaybeTruncated(self.window))
    }

    /// Notes that `bytes` in flight on `path` have arrived that a SACK had no room to report. It acknowledged nothing new.
    pub(crate) fn arrived_unreported(&mut self, path: PathId, bytes: u64, before: MaybeTruncated) {
        self.scoreboard.add_unreported(path, bytes);
        self.window.at_least(before.0);
    }

    /// Chunk bytes on their way on `path`: in flight, without those that have arrived unreported (pipe in RFC 6675).
    pub(crate) fn pipe(&self, path: PathId) -> u64 {
        self.scoreboard.in_flight(path) - self.scoreboard.unreported(path)
    }
}
