//! Redundant streams of a sender. Which of their new data is sent before lost chunks? (ADR 0198)

use anabranch_policy::StreamScheduler;
use anabranch_types::{Instant, PathId, StreamId, UnwrappedTsn};

use super::fragment::Room;
use super::queue::Waiting;
use super::redundant::Redundancy;
use super::streams::{PeerRoom, Streams};
use super::{SendError, Sender};
use crate::user_data::UserData;

/// Gap ack blocks of a SACK above which lost chunks come before new ones of redundant streams: a packet of 1,200 bytes has room for some
/// 290, and what it does not report cannot be acknowledged.
const MAX_GAPS_WHILE_URGENT: usize = 128;

impl Streams {
    /// The next message of `stream` for `path`, whichever stream the scheduler would select; `None` if another one must come first.
    fn next_of(
        &self,
        stream: StreamId,
        path: PathId,
        scheduler: &dyn StreamScheduler,
        peer: impl FnOnce() -> PeerRoom,
    ) -> Option<&Waiting> {
        if self.bound().is_some() {
            return None;
        }
        let head = self.ready_head(stream)?;
        (scheduler.admits(stream, path) && self.may_go_on(stream, head, peer)).then_some(head)
    }
}

impl Sender {
    /// Sets whether a stream is redundant; see [`crate::DeliverySettings::set_stream_redundancy`].
    ///
    /// # Errors
    /// [`SendError::InvalidStream`].
    pub(crate) fn set_redundancy(&mut self, stream: StreamId, redundant: bool) -> Result<(), SendError> {
        self.check_stream(stream)?;
        if redundant {
            self.redundant.make_mut().streams.insert(stream);
        } else if let Some(redundancy) = self.redundant.active_mut() {
            redundancy.streams.remove(&stream);
            self.redundant.release_if_idle();
        }
        Ok(())
    }

    /// Whether a stream is redundant.
    ///
    /// # Errors
    /// [`SendError::InvalidStream`].
    pub(crate) fn redundancy(&self, stream: StreamId) -> Result<bool, SendError> {
        self.check_stream(stream)?;
        Ok(self.redundant.has(stream))
    }

    /// Whether new data of redundant streams may be sent before a lost chunk: not twice in a row, and not if SACKs have hardly room for its
    /// chunks above many others that are missing.
    #[inline]
    pub(crate) fn may_be_urgent(&self) -> bool {
        let may_go_first = |redundancy: &Redundancy| !redundancy.went_first;
        self.redundant.active().is_some_and(may_go_first)
            && self.scoreboard.reported_gaps() < MAX_GAPS_WHILE_URGENT
    }

    /// Notes whether the data that is sent now is new data of redundant streams, while chunks are lost.
    #[inline]
    pub(crate) fn set_went_first(&mut self, is_urgent: bool) {
        if let Some(redundancy) = self.redundant.active_mut() {
            redundancy.went_first = is_urgent;
        }
    }

    /// Whether a redundant stream has new data for `path`, and no other data must come first. See [`Sender::send_new`] for `fragment_at`.
    pub(crate) fn has_urgent_for(
        &self,
        path: PathId,
        fragment_at: usize,
        scheduler: &dyn StreamScheduler,
    ) -> bool {
        let room = self.room(fragment_at, fragment_at);
        self.next_urgent(path, room, scheduler).is_some()
    }

    /// Sends the next fragment of a message of a redundant stream, as [`Sender::send_new`] does for all streams.
    pub(crate) fn send_urgent(
        &mut self,
        path: PathId,
        max_chunk: usize,
        fragment_at: usize,
        scheduler: &mut dyn StreamScheduler,
        now: Instant,
    ) -> Option<UserData<'_>> {
        let room = self.room(max_chunk, fragment_at);
        let piece = self.piece_of(self.next_urgent(path, room, scheduler)?, room)?;
        self.send_piece(piece, (path, room), scheduler, now)
    }

    /// The next message of a redundant stream for `path`; `None` if chunks that were passed over must come first.
    fn next_urgent(&self, path: PathId, room: Room, scheduler: &dyn StreamScheduler) -> Option<&Waiting> {
        let redundancy = self.redundant.active().filter(|_| !self.has_passed_over())?;
        let peer = || self.peer_room(room);
        let mut streams = redundancy.streams.iter();
        streams.find_map(|stream| self.streams.next_of(*stream, path, scheduler, peer))
    }

    /// The first listed chunk of redundant streams from `from` on.
    pub(crate) fn next_redundant(&self, from: Option<UnwrappedTsn>) -> Option<UnwrappedTsn> {
        self.redundant.first_from(from)
    }

    /// Whether there are redundant streams.
    #[inline]
    pub(crate) fn has_redundant(&self) -> bool {
        self.redundant.is_active()
    }
}
