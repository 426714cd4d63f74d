//! Sending ahead: data is sent before other queued data (ADR 0027). Skipped data is fragmented, numbered and kept in order.
//!
//! So messages of a stream keep their order whichever is sent first: their sequence numbers determine it (RFC 9260 §6.5), and TSNs
//! show only when each chunk was sent.

use anabranch_policy::StreamScheduler;
use anabranch_types::{Instant, PathId};

use super::Sender;
use super::chunk::{self, Chunk};
use super::line::Place;
use crate::user_data::UserData;

/// Maximum number of skipped messages of the same stream with SSNs: beyond half of the number space, a receiver could not
/// distinguish early messages from repeated ones.
const FARTHEST: u16 = 1 << 15;

/// Request for the next data to send ahead of other data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ahead {
    /// The path.
    pub(crate) path: PathId,
    /// Bytes of chunks to skip.
    pub(crate) skip: u64,
    /// The largest chunk of an empty packet; see [`Sender::send_new`].
    pub(crate) fragment_at: usize,
}

impl Sender {
    /// Whether skipped chunks are queued.
    #[inline]
    pub(crate) fn has_passed_over(&self) -> bool {
        self.line.active().is_some_and(|line| !line.is_empty())
    }

    /// Length of the first skipped chunk that may be sent next, with padding.
    pub(crate) fn passed_over_size(&self) -> Option<usize> {
        let bound = self.streams.bound();
        let first = bound.map_or_else(Place::default, |message| self.line.find_message(message));
        self.line.at(first).map(|chunk| chunk.bytes() as usize)
    }

    /// If a started message needs consecutive TSNs (RFC 9260 §6.9), the bytes in front of its next chunk.
    pub(crate) fn bound(&self) -> Option<u64> {
        let message = self.streams.bound()?;
        Some(self.line.find_message(message).bytes)
    }

    /// Sends the first chunk that may be sent with at least `ahead.skip` bytes of others in front of it.
    ///
    /// `None` if there is none, if it does not fit into `max_chunk` bytes, or if the peer's window is smaller than its message and
    /// all skipped data together. Skipped data must have room at the peer, or the message that waits for it would block the window.
    pub(crate) fn send_ahead(
        &mut self,
        ahead: Ahead,
        max_chunk: usize,
        scheduler: &mut dyn StreamScheduler,
        now: Instant,
    ) -> Option<UserData<'_>> {
        if self.has_used_all_tsns() {
            return None;
        }
        let place = self.find_place(ahead, scheduler)?;
        let chunk = self.line.at(place)?;
        let is_probe = !self.has_outstanding() && (place.payload == 0 || self.streams.bound().is_some());
        let is_admitted = is_probe || self.needs(chunk, place) <= self.peer_window();
        if !is_admitted || chunk.bytes() > max_chunk as u64 || self.looks_old(chunk) {
            return None;
        }
        let message = chunk.message;
        if !self.keyed.admits(|| Some(message)) {
            return None;
        }
        // While the chunk is in the line, the ends of later messages of its stream wait for it.
        self.put_ends();
        let chunk = self.line.make_mut().take(place)?;
        Some(self.put(chunk, ahead.path, now))
    }

    /// Window that is needed to send `chunk` from `place`. A message that is started ahead of others must fit completely, and so
    /// must the skipped data, because nothing can be sent in between.
    fn needs(&self, chunk: &Chunk, place: Place) -> u64 {
        let bytes = chunk.payload_bytes();
        if self.streams.bound().is_some() || place.payload == 0 {
            return bytes;
        }
        let cut = self.line.payload_of(chunk.message);
        let rest = self.streams.rest_of(chunk);
        place.payload.saturating_add(cut).saturating_add(rest)
    }

    /// Whether a receiver would take the chunk's SSN for an old one, as long as the first skipped message of its stream is missing.
    fn looks_old(&self, chunk: &Chunk) -> bool {
        let ssn = |chunk: &Chunk| match chunk.place {
            chunk::Place::Data(ssn) if !chunk.flags.unordered => Some(ssn.0),
            chunk::Place::Data(_) | chunk::Place::IData(..) => None,
        };
        let mut of_stream = self.line.iter().filter(|other| other.stream == chunk.stream);
        let first = of_stream.find_map(ssn);
        let distance = |first: u16| Some(ssn(chunk)?.wrapping_sub(first));
        first
            .and_then(distance)
            .is_some_and(|distance| distance >= FARTHEST)
    }

    /// Whether the chunk's message may be abandoned and an earlier one of its stream is skipped. A FORWARD TSN that reports it would
    /// make the receiver take the earlier one for an old message (RFC 3758 §3.6).
    fn must_wait(&self, chunk: &Chunk) -> bool {
        self.partial.has_messages()
            && self.partial.messages.contains_key(&chunk.message)
            && self.line.has_earlier(chunk)
    }

    /// The place of the next chunk to send among the skipped ones; skips further chunks until there is one.
    fn find_place(&mut self, ahead: Ahead, scheduler: &mut dyn StreamScheduler) -> Option<Place> {
        let (bound, interleaving) = (self.streams.bound(), self.streams.is_interleaving());
        let mut place = Place::default();
        loop {
            place = self.line.find(place, |place, chunk| match bound {
                Some(message) => chunk.message == message,
                None => {
                    place.bytes >= ahead.skip
                        && (interleaving || chunk.flags.beginning)
                        && !self.must_wait(chunk)
                }
            });
            if self.line.at(place).is_some() {
                return Some(place);
            }
            // Nothing else may be sent until a message that has begun is complete, however much was skipped before.
            if bound.is_none() && place.payload > self.peer_window() {
                return None;
            }
            self.lengthen_line(ahead, scheduler)?;
        }
    }

    fn lengthen_line(&mut self, ahead: Ahead, scheduler: &mut dyn StreamScheduler) -> Option<()> {
        let room = self.room(ahead.fragment_at, ahead.fragment_at);
        let peer = || self.peer_room(room);
        let next = self.streams.next(ahead.path, scheduler, peer)?;
        let (stream, payload) = (next.message.stream, room.piece(next.message.payload.len())?);
        self.full_piece = room.cut(usize::MAX) as u32;
        let chunk = self.streams.cut(stream, payload, scheduler);
        // The packet of a skipped chunk is not known yet, so each one ends a scheduler's turn that lasts for a packet.
        scheduler.on_packet_end();
        self.line.make_mut().push(chunk);
        Some(())
    }
}
