//! Paths of sent chunks: on which one a chunk is, and which chunks can also be sent on another one. What do redundant streams have for it?

use core::mem;

use anabranch_policy::{ChunkInFlight, StreamScheduler};
use anabranch_types::{Instant, PathId, StreamId, UnwrappedTsn};

use super::fragment::Room;
use super::queue::Waiting;
use super::streams::{PeerRoom, Streams};
use super::{SendError, Sender};
use crate::path::PathIds;
use crate::user_data::UserData;

/// Gap ack blocks of a SACK above which lost chunks come before new ones of redundant streams: a packet of 1,200 bytes has room for some
/// 290, and what it does not report cannot be acknowledged.
const MAX_GAPS: usize = 128;

impl Sender {
    /// The path on which the chunk `tsn` was sent last; `None` if it is acknowledged cumulatively or was never sent.
    pub(crate) fn path_of(&self, tsn: UnwrappedTsn) -> Option<PathId> {
        self.scoreboard.path_of(tsn)
    }

    /// The lowest TSN from `from` on that is in flight on another path than `path`, or the next new TSN. Visits all records in
    /// between.
    pub(crate) fn in_flight_elsewhere(&self, from: Option<UnwrappedTsn>, path: PathId) -> UnwrappedTsn {
        self.scoreboard.in_flight_elsewhere(from, path)
    }

    /// The chunk `tsn`, if it is in flight.
    pub(crate) fn in_flight_chunk(&self, tsn: UnwrappedTsn) -> Option<ChunkInFlight> {
        self.scoreboard
            .in_flight_chunk(tsn, |stream| self.redundant.has(stream))
    }

    /// Makes a duplicate of the chunk `tsn`, which stays in flight on its path. Its acknowledgement no longer says anything about
    /// any path, because it does not tell which copy arrived.
    pub(crate) fn duplicate(&mut self, tsn: UnwrappedTsn) -> UserData<'_> {
        self.scoreboard.duplicate(tsn)
    }
}

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
    /// Sets whether a stream is redundant; see [`crate::Association::set_stream_redundancy`].
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

    /// Whether there are redundant streams, and SACKs have room for their chunks above many others that are missing.
    #[inline]
    pub(crate) fn may_be_urgent(&self) -> bool {
        self.redundant.is_active() && self.scoreboard.reported_gaps() < MAX_GAPS
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

    /// Whether chunks of redundant streams may be missing on a path.
    #[inline]
    pub(crate) fn has_redundant(&self) -> bool {
        let redundancy = self.redundant.active();
        redundancy.is_some_and(|redundancy| !redundancy.chunks.is_empty())
    }

    /// Whether such a chunk is missing on one of the paths `usable`. Forgets the others.
    pub(crate) fn misses_duplicates(&mut self, usable: &PathIds) -> bool {
        let mut redundant = mem::take(&mut self.redundant);
        if let Some(redundancy) = redundant.active_mut() {
            redundancy
                .chunks
                .retain(|(tsn, had)| self.is_missing(*tsn, had, usable));
        }
        self.redundant = redundant;
        self.has_redundant()
    }

    /// Whether the chunk `tsn`, of which the paths `had` need no duplicate, may be missing on one of the paths `usable`. A lost one is
    /// sent again; then it is decided.
    fn is_missing(&self, tsn: UnwrappedTsn, had: &PathIds, usable: &PathIds) -> bool {
        if self.partial.has_messages() && self.gives_up(tsn) {
            return false;
        }
        match self.in_flight_chunk(tsn) {
            Some(chunk) => usable
                .clone()
                .any(|path| path != chunk.path && !had.contains(path)),
            None => self.lost_chunk(tsn).is_some(),
        }
    }

    /// The first chunk in flight of a redundant stream that is missing on `path`.
    pub(crate) fn missing_on(&self, path: PathId) -> Option<ChunkInFlight> {
        let chunks = &self.redundant.active()?.chunks;
        let missing = chunks.iter().filter(|(_, had)| !had.contains(path));
        let mut in_flight = missing.filter_map(|(tsn, _)| self.in_flight_chunk(*tsn));
        in_flight.find(|chunk| chunk.path != path)
    }

    /// Notes that `path` needs no duplicate of the chunk `tsn` any more.
    pub(crate) fn settle_duplicate(&mut self, tsn: UnwrappedTsn, path: PathId) {
        if let Some(redundancy) = self.redundant.active_mut()
            && let Ok(place) = redundancy.chunks.binary_search_by_key(&tsn, |(known, _)| *known)
        {
            redundancy.chunks[place].1.insert(path);
        }
    }
}
