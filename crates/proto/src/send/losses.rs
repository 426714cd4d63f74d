//! Losses. Which chunks are marked as lost, and which paths are closed?

use anabranch_policy::LossThreshold;
use anabranch_types::PathId;

use super::Sender;
use super::scoreboard::Lost;

impl Sender {
    /// Prepares the search for losses; to be called before [`Sender::lose`] is called for each path with the same thresholds.
    pub(crate) fn look_for_losses(&mut self, threshold_of: impl Fn(PathId) -> LossThreshold) {
        self.scoreboard.look_for_losses(threshold_of);
    }

    /// Marks all chunks in flight on `path` below `threshold` as lost.
    pub(crate) fn lose(&mut self, path: PathId, threshold: LossThreshold) -> Lost {
        let lost = self.scoreboard.lose(path, threshold);
        self.note_losses(lost.chunks);
        self.scoreboard.debug_check();
        lost
    }

    /// Marks all chunks as moved and to be retransmitted that were sent once, are in flight on `path` and lie below the first gap
    /// ack block. Returns their number.
    pub(crate) fn reschedule_below_first_gap(&mut self, path: PathId) -> u32 {
        let chunks = self.scoreboard.reschedule_below_first_gap(path);
        self.note_losses(chunks);
        self.scoreboard.debug_check();
        chunks
    }

    /// Marks all chunks in flight on `path` as lost, as after an expiry of T3 (RFC 9260 §6.3.3 E3).
    pub(crate) fn lose_all(&mut self, path: PathId) -> Lost {
        let lost = self.scoreboard.lose_all(path);
        self.note_losses(lost.chunks);
        self.scoreboard.debug_check();
        lost
    }

    /// Closes a deleted path: chunks in flight on it are lost. Its id may be reused when [`Sender::queued`] is 0 for it.
    pub(crate) fn close_path(&mut self, path: PathId) {
        self.scoreboard.close_path(path);
        self.note_losses(1);
        self.scoreboard.debug_check();
    }

    /// Opens a path that reuses the id of a closed one.
    pub(crate) fn open_path(&mut self, path: PathId) {
        if self.scoreboard.is_closed(path) {
            self.scoreboard.open_path(path);
        }
    }
}
