//! Whose message is next, and with which stream sequence number?

use alloc::vec::Vec;
use core::mem;
use core::num::NonZeroU16;

use anabranch_policy::{StreamFacts, StreamScheduler};
use anabranch_types::{MessageId, PathId, Ssn, StreamId};
use anabranch_wire::DataFlags;

use super::chunk::Chunk;
use super::queue::{Queue, Slab, Waiting};
use crate::Message;

/// One outbound stream.
#[derive(Clone, Copy, Debug)]
struct Stream {
    waiting: Queue,
    /// Bytes of payload that have not been sent yet.
    unsent_bytes: u64,
    /// What the application wants of the stream scheduler.
    priority: u16,
    weight: NonZeroU16,
    next_ssn: Ssn,
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
            next_ssn: Ssn(0),
            ordered_in_window: 0,
        }
    }
}

/// The message that is being sent and has to be finished before another one begins.
#[derive(Clone, Copy, Debug)]
struct Begun {
    stream: StreamId,
    ssn: Ssn,
}

/// All outbound streams with their unsent messages; tells the stream scheduler who is ready.
#[derive(Debug)]
pub(super) struct Streams {
    count: u16,
    /// As far as they have been used.
    streams: Vec<Stream>,
    slab: Slab,
    begun: Option<Begun>,
    next_message: MessageId,
    unsent_bytes: u64,
}

impl Streams {
    pub(super) fn new(count: u16) -> Self {
        Self {
            count,
            streams: Vec::new(),
            slab: Slab::default(),
            begun: None,
            next_message: MessageId(0),
            unsent_bytes: 0,
        }
    }

    pub(super) fn count(&self) -> u16 {
        self.count
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
            self.tell(stream_id, scheduler);
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

    fn tell_if_ready(&self, stream: StreamId, scheduler: &mut dyn StreamScheduler) {
        if self.head(stream).is_some() {
            self.tell(stream, scheduler);
        }
    }

    fn stream_mut(&mut self, stream: StreamId) -> &mut Stream {
        if self.streams.len() <= stream.index() {
            self.streams.resize(stream.index() + 1, Stream::default());
        }
        &mut self.streams[stream.index()]
    }

    /// The message to go on with on `path`: the one begun, whatever its path so far, for its fragments need
    /// consecutive TSNs (RFC 9260 §6.9); else the head of the stream that the scheduler names.
    pub(super) fn next(&self, path: PathId, scheduler: &dyn StreamScheduler) -> Option<&Waiting> {
        if let Some(begun) = self.begun {
            return self.head(begun.stream);
        }
        let stream = scheduler.next(path)?;
        let head = self.head(stream)?;
        // RFC 9260 §6.1: "For each stream, the data sender MUST NOT have more than 2^16 - 1 ordered user
        // messages in the current send window."
        let may_begin = head.message.unordered || self.streams[stream.index()].ordered_in_window < u16::MAX;
        may_begin.then_some(head)
    }

    /// Cuts `payload` bytes off the head message of `stream`.
    pub(super) fn cut(
        &mut self,
        stream: StreamId,
        payload: usize,
        scheduler: &mut dyn StreamScheduler,
    ) -> Chunk {
        let beginning = self.begun.is_none();
        let Begun { ssn, .. } = self.begin(stream);
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
        let flags = DataFlags {
            beginning,
            ending,
            unordered: head.message.unordered,
            immediate: ending && head.message.acknowledge_at_once,
        };
        let chunk = Chunk {
            message: head.id,
            stream,
            ssn,
            ppid: head.message.ppid,
            flags,
            payload: piece,
        };
        self.unsent_bytes -= chunk.payload_bytes();
        self.streams[stream.index()].unsent_bytes -= chunk.payload_bytes();
        scheduler.on_taken(stream, chunk.payload.len() as u32, ending);
        if ending {
            self.begun = None;
            self.slab.pop(&mut self.streams[stream.index()].waiting);
            self.tell(stream, scheduler);
        }
        chunk
    }

    /// A chunk was acknowledged for good.
    pub(super) fn acknowledged(&mut self, chunk: &Chunk) {
        if chunk.flags.ending && !chunk.flags.unordered {
            self.streams[chunk.stream.index()].ordered_in_window -= 1;
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
    }

    #[cfg(test)]
    pub(super) fn capacity_in_bytes(&self) -> usize {
        self.streams.capacity() * size_of::<Stream>() + self.slab.capacity_in_bytes()
    }

    fn head(&self, stream: StreamId) -> Option<&Waiting> {
        let stream = self.streams.get(stream.index())?;
        self.slab.first(stream.waiting)
    }

    fn begin(&mut self, id: StreamId) -> Begun {
        if let Some(begun) = self.begun {
            return begun;
        }
        let stream = &mut self.streams[id.index()];
        let head = self.slab.first(stream.waiting);
        let mut ssn = Ssn(0);
        if head.is_some_and(|head| !head.message.unordered) {
            ssn = stream.next_ssn;
            stream.next_ssn = ssn.next();
            stream.ordered_in_window += 1;
        }
        *self.begun.insert(Begun { stream: id, ssn })
    }

    /// Tells the scheduler about the new head of a stream.
    fn tell(&self, id: StreamId, scheduler: &mut dyn StreamScheduler) {
        match self.head(id) {
            Some(head) => {
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
            None => scheduler.on_idle(id),
        }
    }
}
