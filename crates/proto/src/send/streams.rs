//! Outbound streams. Whose message is next, and with which number?

use alloc::vec::Vec;
use core::mem;
use core::num::NonZeroU16;

use anabranch_policy::{StreamFacts, StreamScheduler};
use anabranch_types::{Fsn, MessageId, Mid, PathId, Ssn, StreamId};
use anabranch_wire::{Data, DataFlags, IData};

use super::chunk::{Chunk, Place};
use super::queue::{Queue, Slab, Waiting};
use crate::message::Message;

//= rfc9260 6.1-24
/// RFC 9260 §6.1: "For each stream, the data sender MUST NOT have more than 2^16 - 1 ordered user messages in the current
/// send window."
const MAX_ORDERED_IN_WINDOW: u16 = u16::MAX;

/// One outbound stream.
#[derive(Clone, Copy, Debug)]
struct Stream {
    waiting: Queue,
    /// Bytes of payload that have not been sent yet.
    unsent_bytes: u64,
    /// What the application wants of the stream scheduler.
    priority: u16,
    weight: NonZeroU16,
    /// The numbers of the next messages; a stream sequence number is the lower half of the ordered one.
    next_ordered: Mid,
    next_unordered: Mid,
    /// Ordered messages sent in whole or in part, the ends of which are not acknowledged.
    ordered_in_window: u16,
}

impl Default for Stream {
    fn default() -> Self {
        Self {
            waiting: Queue::default(),
            unsent_bytes: 0,
            priority: 0,
            weight: NonZeroU16::MIN,
            next_ordered: Mid(0),
            next_unordered: Mid(0),
            ordered_in_window: 0,
        }
    }
}

/// What the peer takes now, in bytes of payload.
#[derive(Clone, Copy, Debug)]
pub(super) struct PeerRoom {
    /// Its window.
    pub(super) window: u64,
    /// The longest message that goes in one chunk.
    pub(super) whole: u64,
}

/// A message that is being sent: the head of its stream.
#[derive(Clone, Copy, Debug)]
struct Begun {
    stream: StreamId,
    mid: Mid,
    /// The number of its next fragment.
    fsn: Fsn,
}

impl Stream {
    //= rfc9260 6.5-3, 6.5-4, 6.5-5, 6.5-6
    /// The number of the next message.
    fn begin(&mut self, unordered: bool) -> Mid {
        let counter = if unordered {
            &mut self.next_unordered
        } else {
            self.ordered_in_window += 1;
            &mut self.next_ordered
        };
        let mid = *counter;
        *counter = mid.next();
        mid
    }
}

/// All outbound streams with their unsent messages; tells the stream scheduler who is ready.
#[derive(Debug)]
pub(super) struct Streams {
    count: u16,
    /// As far as they have been used.
    streams: Vec<Stream>,
    slab: Slab,
    /// Whether messages of several streams may be under way at once, in I-DATA chunks (RFC 8260 §2).
    interleaving: bool,
    /// The messages that are begun, in the order of streams; one at most without interleaving.
    unfinished: Vec<Begun>,
    /// Bytes that their messages still have to send.
    unfinished_bytes: u64,
    next_message: MessageId,
    unsent_bytes: u64,
}

impl Streams {
    pub(super) fn new(count: u16) -> Self {
        Self {
            count,
            streams: Vec::new(),
            slab: Slab::default(),
            interleaving: false,
            unfinished: Vec::new(),
            unfinished_bytes: 0,
            next_message: MessageId(0),
            unsent_bytes: 0,
        }
    }

    pub(super) fn count(&self) -> u16 {
        self.count
    }

    /// Streams below this number have been used or set.
    pub(super) fn used(&self) -> u16 {
        self.streams.len() as u16
    }

    /// The handshake told which kind of chunk carries data. To be called before any does.
    pub(super) fn interleave(&mut self, interleaving: bool) {
        debug_assert!(
            self.unfinished.is_empty(),
            "the kind of chunk changes between messages"
        );
        self.interleaving = interleaving;
    }

    /// Whether messages of several streams may be under way at once.
    pub(super) fn is_interleaving(&self) -> bool {
        self.interleaving
    }

    /// The header of the chunks that carry data, in bytes.
    pub(super) fn header_len(&self) -> usize {
        if self.interleaving {
            IData::HEADER_LEN
        } else {
            Data::HEADER_LEN
        }
    }

    /// Bytes of payload that have not been sent yet.
    pub(super) fn unsent_bytes(&self) -> u64 {
        self.unsent_bytes
    }

    /// The same of one stream.
    pub(super) fn queued_on(&self, stream: StreamId) -> u64 {
        self.streams
            .get(stream.index())
            .map_or(0, |stream| stream.unsent_bytes)
    }

    /// The messages of which something has not been sent yet.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &Waiting> {
        self.slab.iter()
    }

    /// Queues a message on a stream that exists.
    pub(super) fn push(&mut self, message: Message, scheduler: &mut dyn StreamScheduler) -> MessageId {
        let id = self.next_message;
        self.next_message = MessageId(id.0 + 1);
        let bytes = message.payload.len() as u64;
        self.unsent_bytes += bytes;
        let stream_id = message.stream;
        self.stream_mut(stream_id).unsent_bytes += bytes;
        let stream = &mut self.streams[stream_id.index()];
        let was_idle = stream.waiting.is_empty();
        self.slab.push(&mut stream.waiting, id, message);
        if was_idle {
            self.tell_if_ready(stream_id, scheduler);
        }
        id
    }

    /// How urgent a stream that exists is: lower is served first, if the scheduler knows priorities (RFC 8260 §3.4).
    pub(super) fn set_priority(
        &mut self,
        stream: StreamId,
        priority: u16,
        scheduler: &mut dyn StreamScheduler,
    ) {
        self.stream_mut(stream).priority = priority;
        self.tell_if_ready(stream, scheduler);
    }

    /// What a stream that exists gets in proportion to others, if the scheduler knows weights (RFC 8260 §3.6).
    pub(super) fn set_weight(
        &mut self,
        stream: StreamId,
        weight: NonZeroU16,
        scheduler: &mut dyn StreamScheduler,
    ) {
        self.stream_mut(stream).weight = weight;
        self.tell_if_ready(stream, scheduler);
    }

    /// Takes over priorities and weights.
    pub(super) fn keep_settings(&mut self, before: &Self) {
        let settings = before.streams.iter().map(|stream| Stream {
            priority: stream.priority,
            weight: stream.weight,
            ..Stream::default()
        });
        self.streams = settings.collect();
    }

    fn stream_mut(&mut self, stream: StreamId) -> &mut Stream {
        if self.streams.len() <= stream.index() {
            self.streams.resize(stream.index() + 1, Stream::default());
        }
        &mut self.streams[stream.index()]
    }

    /// The message to go on with on `path`. Without interleaving it is the one begun, whatever its path so far, for its
    /// fragments need consecutive TSNs (RFC 9260 §6.9); else the head of the stream that the scheduler names, or a
    /// message begun that may go there if that one may not begin now, whatever the scheduler was told. What the `peer` takes is
    /// asked only where it matters.
    pub(super) fn next(
        &self,
        path: PathId,
        scheduler: &dyn StreamScheduler,
        peer: impl FnOnce() -> PeerRoom,
    ) -> Option<&Waiting> {
        if let Some(begun) = self.unfinished.first().filter(|_| !self.interleaving) {
            return self.head(begun.stream);
        }
        let id = scheduler.next(path)?;
        let named = self.ready_head(id).filter(|head| self.may_go_on(id, head, peer));
        named.or_else(|| {
            let mut begun = self.unfinished.iter().map(|begun| begun.stream);
            self.head(begun.find(|stream| scheduler.admits(*stream, path))?)
        })
    }

    /// Whether the next piece of `head`, the head message of `stream`, may be sent.
    fn may_go_on(&self, stream: StreamId, head: &Waiting, peer: impl FnOnce() -> PeerRoom) -> bool {
        if self.find_unfinished(stream).is_ok() {
            return true;
        }
        // Parts of messages fill the peer's buffer until one of them is whole. So all that are begun must fit, or none
        // might ever be; what is whole at once is in nobody's way.
        let fits = |peer: PeerRoom| {
            head.bytes() <= peer.whole || head.bytes().saturating_add(self.unfinished_bytes) <= peer.window
        };
        self.unfinished.is_empty() || fits(peer())
    }

    //= rfc9260 3.3.1-4, 3.3.1-6, 3.3.1-7, 3.3.1-11, 6.9-13, 6.9-14
    /// Cuts `payload` bytes off the head message of `stream`.
    pub(super) fn cut(
        &mut self,
        stream: StreamId,
        payload: usize,
        scheduler: &mut dyn StreamScheduler,
    ) -> Chunk {
        let found = self.find_unfinished(stream);
        let queue = self.streams[stream.index()].waiting;
        let head = self
            .slab
            .first_mut(queue)
            .expect("the stream of the next message has a head");
        let ending = payload == head.message.payload.len();
        let piece = if ending {
            mem::take(&mut head.message.payload)
        } else {
            head.message.payload.split_to(payload)
        };
        let Waiting { id, message, .. } = head;
        let unordered = message.unordered;
        let rest = message.payload.len() as u64;
        let begun = found.map_or_else(
            |_| Begun {
                stream,
                mid: self.streams[stream.index()].begin(unordered),
                fsn: Fsn(0),
            },
            |at| self.unfinished[at],
        );
        let chunk = Chunk {
            message: *id,
            stream,
            place: place(self.interleaving, unordered, begun),
            ppid: message.ppid,
            flags: DataFlags {
                beginning: begun.fsn == Fsn(0),
                ending,
                unordered,
                immediate: ending && message.acknowledge_at_once,
            },
            payload: piece,
        };
        self.follow(found, begun, chunk.payload_bytes(), rest);
        self.taken(&chunk, scheduler);
        chunk
    }

    /// The place of the message that is begun on `stream`, or the place for one.
    fn find_unfinished(&self, stream: StreamId) -> Result<usize, usize> {
        self.unfinished
            .binary_search_by_key(&stream, |begun| begun.stream)
    }

    /// The piece `sent` of a message left, whose place was `found`; `rest` bytes of the message did not.
    fn follow(&mut self, found: Result<usize, usize>, sent: Begun, bytes: u64, rest: u64) {
        let following = Begun {
            fsn: sent.fsn.next(),
            ..sent
        };
        match found {
            Ok(at) if rest == 0 => {
                self.unfinished.remove(at);
            }
            Ok(at) => self.unfinished[at] = following,
            Err(at) if rest > 0 => self.unfinished.insert(at, following),
            Err(_) => {}
        }
        if found.is_ok() {
            self.unfinished_bytes -= bytes;
        } else {
            self.unfinished_bytes += rest;
        }
    }

    fn taken(&mut self, chunk: &Chunk, scheduler: &mut dyn StreamScheduler) {
        let (stream, ending) = (chunk.stream, chunk.flags.ending);
        self.unsent_bytes -= chunk.payload_bytes();
        self.streams[stream.index()].unsent_bytes -= chunk.payload_bytes();
        scheduler.on_taken(stream, chunk.payload.len() as u32, ending);
        if ending {
            self.slab.pop(&mut self.streams[stream.index()].waiting);
            match self.ready_head(stream) {
                Some(head) => self.tell(stream, head, scheduler),
                None => scheduler.on_idle(stream),
            }
        }
    }

    /// Bytes of the message of `chunk` that have not been cut.
    pub(super) fn rest_of(&self, chunk: &Chunk) -> u64 {
        let head = self.head(chunk.stream).filter(|head| head.id == chunk.message);
        head.map_or(0, Waiting::bytes)
    }

    /// A chunk was acknowledged for good.
    pub(super) fn acknowledged(&mut self, chunk: &Chunk, scheduler: &mut dyn StreamScheduler) {
        if chunk.flags.ending && !chunk.flags.unordered {
            let stream = &mut self.streams[chunk.stream.index()];
            let had_to_wait = stream.ordered_in_window == MAX_ORDERED_IN_WINDOW;
            stream.ordered_in_window -= 1;
            if had_to_wait {
                self.tell_if_ready(chunk.stream, scheduler);
            }
        }
    }

    /// The peer takes only `count` streams: the messages on others come back.
    pub(super) fn limit(
        &mut self,
        count: u16,
        scheduler: &mut dyn StreamScheduler,
    ) -> Vec<(MessageId, Message)> {
        self.count = count;
        let mut refused = Vec::new();
        for index in usize::from(count)..self.streams.len() {
            let mut queue = mem::take(&mut self.streams[index]).waiting;
            if !queue.is_empty() {
                scheduler.on_idle(StreamId(index as u16));
            }
            while let Some(waiting) = self.slab.pop(&mut queue) {
                self.unsent_bytes -= waiting.bytes();
                refused.push((waiting.id, waiting.message));
            }
        }
        self.streams.truncate(usize::from(count));
        refused
    }

    /// Gives memory back. To be called when nothing waits.
    pub(super) fn shrink(&mut self, keep: usize) {
        self.slab.shrink(keep);
        self.unfinished = Vec::new();
    }

    #[cfg(test)]
    pub(super) fn capacity_in_bytes(&self) -> usize {
        self.streams.capacity() * size_of::<Stream>() + self.slab.capacity_in_bytes()
    }

    fn head(&self, stream: StreamId) -> Option<&Waiting> {
        let stream = self.streams.get(stream.index())?;
        self.slab.first(stream.waiting)
    }

    /// The head of a stream, unless it may not begin before another one is acknowledged.
    fn ready_head(&self, id: StreamId) -> Option<&Waiting> {
        let may_begin = |head: &Waiting| {
            let stream = &self.streams[id.index()];
            head.message.unordered || stream.ordered_in_window < MAX_ORDERED_IN_WINDOW
        };
        let head = self.head(id)?;
        (may_begin(head) || self.find_unfinished(id).is_ok()).then_some(head)
    }

    fn tell_if_ready(&self, id: StreamId, scheduler: &mut dyn StreamScheduler) {
        if let Some(head) = self.ready_head(id) {
            self.tell(id, head, scheduler);
        }
    }

    /// Tells the scheduler about the head of a stream.
    fn tell(&self, id: StreamId, head: &Waiting, scheduler: &mut dyn StreamScheduler) {
        let stream = &self.streams[id.index()];
        scheduler.on_ready(&StreamFacts {
            id,
            head: head.id,
            head_bytes: head.bytes(),
            queued_bytes: stream.unsent_bytes,
            priority: stream.priority,
            weight: stream.weight.get(),
        });
    }
}

/// How the kind of chunk in use numbers a fragment.
const fn place(interleaving: bool, unordered: bool, piece: Begun) -> Place {
    match (interleaving, unordered) {
        (true, _) => Place::IData(piece.mid, piece.fsn),
        (false, true) => Place::Data(Ssn(0)),
        (false, false) => Place::Data(Ssn(piece.mid.0 as u16)),
    }
}
