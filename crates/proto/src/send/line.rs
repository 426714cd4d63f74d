//! Skipped chunks, in the order in which the stream scheduler selected them, so that later data could be sent before them.
//!
//! A chunk gets its sequence number when it is added, as if it had been sent, so its message keeps its place in the stream. The
//! list is empty unless a path scheduler sends ahead.

use alloc::collections::VecDeque;

use anabranch_types::MessageId;

use super::chunk::Chunk;
use crate::on_demand::Idle;

/// Chunks that have been fragmented and not sent.
#[derive(Debug, Default)]
pub(super) struct Line {
    chunks: VecDeque<Chunk>,
    payload: u64,
}

impl Idle for Line {
    const IDLE: &'static Self = &Self {
        chunks: VecDeque::new(),
        payload: 0,
    };

    fn is_idle(&self) -> bool {
        self.is_empty()
    }
}

/// A place in the list, and the size of what is in front of it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Place {
    at: usize,
    /// Bytes of the chunks in front, with headers.
    pub(super) bytes: u64,
    /// Bytes of user data in front.
    pub(super) payload: u64,
}

impl Line {
    pub(super) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// User data of all chunks.
    pub(super) fn payload(&self) -> u64 {
        self.payload
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Chunk> {
        self.chunks.iter()
    }

    pub(super) fn push(&mut self, chunk: Chunk) {
        self.payload += chunk.payload_bytes();
        self.chunks.push_back(chunk);
    }

    pub(super) fn at(&self, place: Place) -> Option<&Chunk> {
        self.chunks.get(place.at)
    }

    /// The first place from `from` on for which `is_meant` returns true; the end of the list if there is none.
    pub(super) fn find(&self, from: Place, is_meant: impl Fn(Place, &Chunk) -> bool) -> Place {
        let mut place = from;
        for chunk in self.chunks.range(from.at..) {
            if is_meant(place, chunk) {
                break;
            }
            place.at += 1;
            place.bytes += chunk.bytes();
            place.payload += chunk.payload_bytes();
        }
        place
    }

    /// The first chunk of `message`; the end of the list if there is none.
    pub(super) fn find_message(&self, message: MessageId) -> Place {
        self.find(Place::default(), |_, chunk| chunk.message == message)
    }

    /// Whether the list has a chunk of an earlier message of the chunk's stream, numbered in the same sequence.
    pub(super) fn has_earlier(&self, chunk: &Chunk) -> bool {
        let sequence = |chunk: &Chunk| (chunk.stream, chunk.flags.unordered);
        let is_earlier = |other: &Chunk| other.message < chunk.message && sequence(other) == sequence(chunk);
        self.chunks.iter().any(is_earlier)
    }

    /// User data of the chunks of `message` in the list.
    pub(super) fn payload_of(&self, message: MessageId) -> u64 {
        let of_message = self.chunks.iter().filter(|chunk| chunk.message == message);
        of_message.map(Chunk::payload_bytes).sum()
    }

    pub(super) fn take(&mut self, place: Place) -> Option<Chunk> {
        let chunk = self.chunks.remove(place.at)?;
        self.payload -= chunk.payload_bytes();
        Some(chunk)
    }
}
