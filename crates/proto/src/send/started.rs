//! Started messages: those of which some bytes are in chunks, and others are not or not sent.

use alloc::vec::Vec;

use anabranch_types::{Fsn, MessageId, Mid, StreamId};

use super::chunk::Chunk;
use super::streams::Streams;
use crate::on_demand::Idle;

/// A message that is being sent: the head of its stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begun {
    pub(super) stream: StreamId,
    pub(super) mid: Mid,
    /// FSN of its next fragment.
    pub(super) fsn: Fsn,
}

/// The started messages of all streams.
#[derive(Debug, Default)]
pub(super) struct Started {
    /// Those with queued bytes, in the order of streams; at most one without interleaving.
    messages: Vec<Begun>,
    /// Their queued bytes.
    bytes: u64,
    /// See [`Streams::bound`].
    bound: Option<MessageId>,
}

impl Idle for Started {
    const IDLE: &'static Self = &Self {
        messages: Vec::new(),
        bytes: 0,
        bound: None,
    };

    fn is_idle(&self) -> bool {
        self.is_empty() && self.bound.is_none()
    }
}

impl Started {
    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Queued bytes of all started messages.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Their streams, in order.
    pub(super) fn streams(&self) -> impl Iterator<Item = StreamId> {
        self.messages.iter().map(|begun| begun.stream)
    }

    pub(super) fn has(&self, stream: StreamId) -> bool {
        self.find(stream).is_ok()
    }

    /// The started message of a stream.
    pub(super) fn on(&self, stream: StreamId) -> Option<Begun> {
        self.find(stream).ok().map(|at| self.messages[at])
    }

    //= rfc8260 2.2.2-5
    /// The index of the started message of `stream`, or the index for one.
    fn find(&self, stream: StreamId) -> Result<usize, usize> {
        self.messages.binary_search_by_key(&stream, |begun| begun.stream)
    }

    /// Adds the message whose first fragment is `first`; `rest` of its bytes are queued.
    pub(super) fn add(&mut self, first: Begun, rest: u64) {
        if let Err(at) = self.find(first.stream) {
            self.messages.insert(at, first.following());
            self.bytes += rest;
        }
    }

    /// Notes a further fragment of the message, which may be its last; `sent` is its place.
    pub(super) fn advance(&mut self, sent: Begun, chunk: &Chunk) {
        if let Ok(at) = self.find(sent.stream) {
            self.bytes -= chunk.payload_bytes();
            if chunk.flags.ending {
                self.messages.remove(at);
            } else {
                self.messages[at] = sent.following();
            }
        }
    }

    /// Notes that `bytes` are added to the started message of `stream`, if there is one.
    pub(super) fn extend(&mut self, stream: StreamId, bytes: u64) {
        if self.has(stream) {
            self.bytes += bytes;
        }
    }

    /// Removes the started message of `stream`, of which `bytes` were queued.
    pub(super) fn remove(&mut self, stream: StreamId, bytes: u64) -> Option<Begun> {
        let at = self.find(stream).ok()?;
        self.bytes -= bytes;
        Some(self.messages.remove(at))
    }
}

impl Streams {
    /// The started message that must be finished before another one starts, because its chunks need consecutive TSNs.
    #[inline]
    pub(super) fn bound(&self) -> Option<MessageId> {
        self.started.active()?.bound
    }

    /// Notes that a chunk of `message` was sent, the last one if `ending`.
    #[inline]
    pub(super) fn bind(&mut self, message: MessageId, ending: bool) {
        if !ending && !self.is_interleaving() {
            self.started.make_mut().bound = Some(message);
        } else {
            self.unbind();
        }
    }

    /// Notes that no message needs the next TSN.
    #[inline]
    pub(super) fn unbind(&mut self) {
        if let Some(started) = self.started.active_mut() {
            started.bound = None;
        }
    }
}

impl Begun {
    /// The place of the next fragment.
    const fn following(self) -> Self {
        Self {
            fsn: self.fsn.next(),
            ..self
        }
    }
}
