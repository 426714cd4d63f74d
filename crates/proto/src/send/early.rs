//! Early data, the sender's part: what is sent with the COOKIE ECHO may have to be taken back.

use alloc::vec::Vec;

use anabranch_policy::StreamScheduler;
use anabranch_types::Tsn;

use super::Sender;

impl Sender {
    /// Whether there is data that may be sent with the COOKIE ECHO. Not while any message may be abandoned, because the TSNs of abandoned
    /// chunks could not be taken back.
    pub(crate) fn may_send_early(&self) -> bool {
        (self.has_unsent() || self.has_outstanding()) && !self.partial.has_messages()
    }

    /// Takes back all that was sent, as if it had not been sent. None of it may be acknowledged.
    #[cold]
    pub(crate) fn take_back(&mut self, scheduler: &mut dyn StreamScheduler) {
        let chunks: Vec<_> = self.scoreboard.take_all_back().collect();
        let mut streams: Vec<_> = chunks.iter().map(|chunk| chunk.stream).collect();
        self.streams.take_back(chunks.into_iter(), scheduler);
        streams.sort_unstable();
        streams.dedup();
        for stream in streams {
            self.note_queued(stream);
        }
        self.scoreboard.debug_check();
    }

    /// Continues with TSN `initial` in a handshake that starts again, after all that was sent has been taken back.
    #[cold]
    pub(crate) fn begin_again_at(&mut self, initial: Tsn) {
        self.scoreboard.renumber(initial);
    }
}
