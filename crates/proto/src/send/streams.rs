//! Outbound streams. Which stream's message is sent next, and with which sequence number?

use alloc::vec::Vec;
use core::mem;
use core::num::NonZeroU16;

use anabranch_policy::{PathUse, StreamFacts, StreamScheduler};
use anabranch_types::{Fsn, MessageId, Mid, PathId, Ssn, StreamId};
use anabranch_wire::{Data, DataFlags, IData};
use bytes::Bytes;

use super::chunk::{Chunk, Place};
use super::held::Held;
use super::parts::Open;
use super::queue::{Queue, Slab, Waiting};
use super::started::{Begun, Started};
use crate::message::Message;
use crate::on_demand::OnDemand;

//= rfc9260 6.1-24
/// RFC 9260 §6.1: "For each stream, the data sender MUST NOT have more than 2^16 - 1 ordered user messages in the current
/// send window."
const MAX_ORDERED_IN_WINDOW: u16 = u16::MAX;

/// What the application has set, for the stream scheduler.
#[derive(Clone, Copy, Debug)]
pub(super) struct StreamSettings {
    /// The lowest is first (RFC 8260 §3.4).
    pub(super) priority: u16,
    pub(super) weight: NonZeroU16,
    pub(super) path_use: PathUse,
}

impl StreamSettings {
    const DEFAULT: Self = Self {
        priority: 0,
        weight: NonZeroU16::MIN,
        path_use: PathUse::All,
    };
}

/// One outbound stream.
#[derive(Clone, Copy, Debug)]
struct Stream {
    waiting: Queue,
    /// Bytes of payload that have not been sent yet.
    unsent_bytes: u64,
    settings: StreamSettings,
    /// MIDs of the next messages; an SSN is the lower half of the ordered one.
    next_ordered: Mid,
    next_unordered: Mid,
    /// Ordered messages sent completely or partly whose last chunk is not acknowledged.
    ordered_in_window: u16,
}

impl Default for Stream {
    fn default() -> Self {
        Self {
            waiting: Queue::default(),
            unsent_bytes: 0,
            settings: StreamSettings::DEFAULT,
            next_ordered: Mid(0),
            next_unordered: Mid(0),
            ordered_in_window: 0,
        }
    }
}

/// Room at the peer, in bytes of payload.
#[derive(Clone, Copy, Debug)]
pub(super) struct PeerRoom {
    /// The peer's window.
    pub(super) window: u64,
    /// The longest message that fits into one chunk.
    pub(super) whole: u64,
}

impl Stream {
    //= rfc9260 6.5-3, 6.5-4, 6.5-5, 6.5-6
    /// Takes the MID of the next message.
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

/// All outbound streams with their unsent messages; notifies the stream scheduler of ready streams.
#[derive(Debug)]
pub(super) struct Streams {
    count: u16,
    /// The streams, up to the highest one used.
    streams: Vec<Stream>,
    slab: Slab,
    /// Whether messages may be interleaved, in I-DATA chunks (RFC 8260 §2).
    interleaving: bool,
    pub(super) started: OnDemand<Started>,
    next_message: MessageId,
    unsent_bytes: u64,
    /// Messages that wait for a reconfiguration.
    pub(super) held: Held,
    /// Messages of which not all parts are queued.
    pub(super) open: Open,
}

impl Streams {
    pub(super) fn new(count: u16) -> Self {
        Self {
            count,
            streams: Vec::new(),
            slab: Slab::default(),
            interleaving: false,
            started: OnDemand::default(),
            next_message: MessageId(0),
            unsent_bytes: 0,
            held: Held::default(),
            open: Open::default(),
        }
    }

    /// The id of the next message.
    pub(super) const fn next_message(&self) -> MessageId {
        self.next_message
    }

    /// The MIDs of the next ordered and of the next unordered message of a stream.
    pub(super) fn next_mids(&self, stream: StreamId) -> [Mid; 2] {
        let stream = self.streams.get(stream.index());
        stream.map_or([Mid(0); 2], |stream| [stream.next_ordered, stream.next_unordered])
    }

    //= rfc8260 2.3.2-1
    /// Numbers the messages of a stream from 0 again.
    pub(super) fn begin_anew(&mut self, stream: StreamId) {
        if let Some(stream) = self.streams.get_mut(stream.index()) {
            stream.next_ordered = Mid(0);
            stream.next_unordered = Mid(0);
        }
    }

    /// Adds streams.
    pub(super) const fn add(&mut self, more: u16) {
        self.count = self.count.saturating_add(more);
    }

    pub(super) fn count(&self) -> u16 {
        self.count
    }

    /// Number of streams that have been used or set.
    pub(super) fn used(&self) -> u16 {
        self.streams.len() as u16
    }

    //= rfc8260 2-1
    /// Sets the negotiated chunk type. To be called before any data is sent.
    pub(super) fn interleave(&mut self, interleaving: bool) {
        debug_assert!(
            self.started.is_empty(),
            "the kind of chunk changes between messages"
        );
        self.interleaving = interleaving;
    }

    /// Whether messages may be interleaved.
    pub(super) fn is_interleaving(&self) -> bool {
        self.interleaving
    }

    /// Length of the chunk header in bytes.
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

    /// Unsent payload bytes of one stream.
    pub(super) fn queued_on(&self, stream: StreamId) -> u64 {
        self.streams
            .get(stream.index())
            .map_or(0, |stream| stream.unsent_bytes)
    }

    /// The messages with unsent data.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &Waiting> {
        self.slab.iter()
    }

    /// Queues a message on an existing stream.
    pub(super) fn push(&mut self, message: Message, scheduler: &mut dyn StreamScheduler) -> MessageId {
        let id = self.take_id();
        self.append(id, message, true, scheduler);
        id
    }

    /// The id of a new message.
    pub(super) const fn take_id(&mut self) -> MessageId {
        let id = self.next_message;
        self.next_message = MessageId(id.0 + 1);
        id
    }

    /// Queues a message on an existing stream, or a part of one, which ends it or not.
    pub(super) fn append(
        &mut self,
        id: MessageId,
        message: Message,
        ends: bool,
        scheduler: &mut dyn StreamScheduler,
    ) {
        let bytes = message.payload.len() as u64;
        self.unsent_bytes += bytes;
        let stream_id = message.stream;
        self.stream_mut(stream_id).unsent_bytes += bytes;
        let stream = &mut self.streams[stream_id.index()];
        let was_idle = stream.waiting.is_empty();
        self.slab.push(&mut stream.waiting, (id, ends), message);
        if was_idle {
            self.tell_if_ready(stream_id, scheduler);
        }
    }

    /// Notes that `bytes` are added to the started message of `stream`, if there is one.
    pub(super) fn extend_started(&mut self, stream: StreamId, bytes: u64) {
        if let Some(started) = self.started.active_mut() {
            started.extend(stream, bytes);
        }
    }

    /// Has the last message that is queued on a stream ask for a SACK at once.
    pub(super) fn hurry_last(&mut self, stream: StreamId) {
        let queue = self.streams.get(stream.index()).map(|stream| stream.waiting);
        if let Some(last) = queue.and_then(|queue| self.slab.last_mut(queue)) {
            last.message.acknowledge_at_once = true;
        }
    }

    /// Changes the settings of an existing stream.
    pub(super) fn set(
        &mut self,
        stream: StreamId,
        change: impl FnOnce(&mut StreamSettings),
        scheduler: &mut dyn StreamScheduler,
    ) {
        change(&mut self.stream_mut(stream).settings);
        self.tell_if_ready(stream, scheduler);
    }

    /// The settings of an existing stream.
    pub(super) fn settings(&self, stream: StreamId) -> StreamSettings {
        let known = self.streams.get(stream.index()).copied();
        known.unwrap_or_default().settings
    }

    /// Takes over settings, and goes on with message ids.
    pub(super) fn keep_settings(&mut self, before: &Self) {
        let settings = before.streams.iter().map(|stream| Stream {
            settings: stream.settings,
            ..Stream::default()
        });
        self.streams = settings.collect();
        // A part for a message of before must not be taken for one of another message.
        self.next_message = before.next_message;
    }

    fn stream_mut(&mut self, stream: StreamId) -> &mut Stream {
        if self.streams.len() <= stream.index() {
            self.streams.resize(stream.index() + 1, Stream::default());
        }
        &mut self.streams[stream.index()]
    }

    /// The next message for `path`. Without interleaving, a started message comes first on any path, because its fragments need
    /// consecutive TSNs (RFC 9260 §6.9). Otherwise it is the head of the stream that the scheduler selects, or a started message
    /// for this path if that head may not start now. `peer` is called only if the room at the peer matters.
    pub(super) fn next(
        &self,
        path: PathId,
        scheduler: &dyn StreamScheduler,
        peer: impl FnOnce() -> PeerRoom,
    ) -> Option<&Waiting> {
        if let Some(stream) = self.started.streams().next().filter(|_| !self.interleaving) {
            return self.head(stream);
        }
        let id = scheduler.next(path)?;
        let named = self.ready_head(id).filter(|head| self.may_go_on(id, head, peer));
        named.or_else(|| {
            let streams = self.started.streams();
            let mut admitted = streams.filter(|stream| scheduler.admits(*stream, path));
            // One that waits for its next part has no head.
            admitted.find_map(|stream| self.head(stream))
        })
    }

    //= rfc8260 2.2.2-6
    /// Whether the next fragment of `head`, the head message of `stream`, may be sent.
    pub(super) fn may_go_on(
        &self,
        stream: StreamId,
        head: &Waiting,
        peer: impl FnOnce() -> PeerRoom,
    ) -> bool {
        if self.started.has(stream) {
            return true;
        }
        // Fragments fill the peer's buffer until their message is complete. So all started messages together must fit, or none
        // might ever be completed (ADR 0031). A message in a single chunk is deliverable at once and needs no such room.
        let fits = |peer: PeerRoom| {
            let is_deliverable = head.ends && head.bytes() <= peer.whole;
            is_deliverable || self.queued_of_head(head).saturating_add(self.started.bytes()) <= peer.window
        };
        self.started.is_empty() || fits(peer())
    }

    /// Queued bytes of the message `head`, which is the first of its stream.
    fn queued_of_head(&self, head: &Waiting) -> u64 {
        if head.ends {
            head.bytes()
        } else {
            self.slab
                .queued_of_head(self.streams[head.message.stream.index()].waiting)
        }
    }

    //= rfc9260 3.3.1-4, 3.3.1-6, 3.3.1-7, 3.3.1-11, 6.9-13, 6.9-14
    //= rfc8260 2.1-8, 2.2.2-1, 2.2.2-2, 2.2.2-3
    /// Takes the first `payload` bytes of the head message of `stream`.
    pub(super) fn cut(
        &mut self,
        stream: StreamId,
        payload: usize,
        scheduler: &mut dyn StreamScheduler,
    ) -> Chunk {
        let known = self.started.on(stream);
        let queue = self.streams[stream.index()].waiting;
        let head = self
            .slab
            .first_mut(queue)
            .expect("the stream of the next message has a head");
        let is_taken = payload == head.message.payload.len();
        let piece = if is_taken {
            mem::take(&mut head.message.payload)
        } else {
            head.message.payload.split_to(payload)
        };
        let Waiting {
            id, message, ends, ..
        } = head;
        let unordered = message.unordered;
        let ending = is_taken && *ends;
        let begun = known.unwrap_or_else(|| Begun {
            stream,
            mid: self.streams[stream.index()].begin(unordered),
            fsn: Fsn(0),
        });
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
        self.follow(begun, &chunk);
        self.taken(&chunk, is_taken, scheduler);
        chunk
    }

    /// Updates the started messages after the fragment `chunk`, whose place is `sent`.
    fn follow(&mut self, sent: Begun, chunk: &Chunk) {
        if !chunk.flags.beginning {
            self.started.make_mut().advance(sent, chunk);
        } else if !chunk.flags.ending {
            let rest = self
                .head(chunk.stream)
                .map_or(0, |head| self.queued_of_head(head));
            self.started.make_mut().add(sent, rest);
        }
    }

    /// Updates queue and scheduler after a fragment, with which the head is taken completely or not.
    fn taken(&mut self, chunk: &Chunk, is_taken: bool, scheduler: &mut dyn StreamScheduler) {
        let stream = chunk.stream;
        self.unsent_bytes -= chunk.payload_bytes();
        self.streams[stream.index()].unsent_bytes -= chunk.payload_bytes();
        scheduler.on_taken(stream, chunk.payload.len() as u32, chunk.flags.ending);
        if is_taken {
            self.slab.pop(&mut self.streams[stream.index()].waiting);
            match self.ready_head(stream) {
                Some(head) => self.tell(stream, head, scheduler),
                None => scheduler.on_idle(stream),
            }
        }
    }

    /// Whether all of `message` has been cut, which has begun on `stream`.
    pub(super) fn has_cut(&self, stream: StreamId, message: MessageId) -> bool {
        self.head(stream).is_none_or(|head| head.id != message) && !self.open.has(message)
    }

    /// Whether messages have begun, and nothing of them is queued.
    pub(super) fn lacks_parts(&self) -> bool {
        !self.started.is_empty() && self.started.bytes() == 0
    }

    /// Whether a part of `message` is queued on `stream`.
    pub(super) fn has_waiting(&self, stream: StreamId, message: MessageId) -> bool {
        let queue = self.streams.get(stream.index()).map(|stream| stream.waiting);
        queue.is_some_and(|queue| self.slab.has(queue, message))
    }

    /// Removes what is queued of a message. If a part of it had been taken before, returns a chunk without data for the rest.
    pub(super) fn abandon(
        &mut self,
        stream: StreamId,
        message: MessageId,
        scheduler: &mut dyn StreamScheduler,
    ) -> Option<Chunk> {
        let was_ready = self.ready_head(stream).is_some();
        let queue = &mut self.streams[stream.index()].waiting;
        let was_head = self.slab.first(*queue).is_none_or(|head| head.id == message);
        let (mut removed, mut bytes) = (self.open.remove(message), 0);
        while let Some(part) = self.slab.remove(queue, message) {
            bytes += part.bytes();
            removed = Some(part.message);
        }
        let removed = removed?;
        self.unsent_bytes -= bytes;
        self.streams[stream.index()].unsent_bytes -= bytes;
        if !was_head {
            return None;
        }
        let started = self.started.active_mut();
        let begun = started.and_then(|started| started.remove(stream, bytes));
        if was_ready {
            scheduler.on_idle(stream);
        }
        self.tell_if_ready(stream, scheduler);
        let unordered = removed.unordered;
        begun.map(|begun| Chunk {
            message,
            stream,
            place: place(self.interleaving, unordered, begun),
            ppid: removed.ppid,
            flags: DataFlags {
                beginning: false,
                ending: true,
                unordered,
                immediate: false,
            },
            payload: Bytes::new(),
        })
    }

    /// Bytes of the message of `chunk` that are not in chunks yet.
    pub(super) fn rest_of(&self, chunk: &Chunk) -> u64 {
        let head = self.head(chunk.stream).filter(|head| head.id == chunk.message);
        head.map_or(0, Waiting::bytes)
    }

    /// Handles the cumulative acknowledgement of a chunk.
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

    /// Puts `chunks`, which are all that were ever made, back into the queues. Their messages will be numbered again.
    #[cold]
    pub(super) fn take_back(
        &mut self,
        chunks: impl DoubleEndedIterator<Item = Chunk>,
        scheduler: &mut dyn StreamScheduler,
    ) {
        self.started = OnDemand::default();
        for stream in &mut self.streams {
            (stream.next_ordered, stream.next_unordered) = (Mid(0), Mid(0));
            stream.ordered_in_window = 0;
        }
        for chunk in chunks.rev() {
            let stream = &mut self.streams[chunk.stream.index()];
            stream.unsent_bytes += chunk.payload_bytes();
            self.unsent_bytes += chunk.payload_bytes();
            let part = (chunk.message, chunk.flags.ending);
            self.slab
                .push_front(&mut stream.waiting, part, chunk.to_message());
            self.tell_if_ready(chunk.stream, scheduler);
        }
    }

    /// Limits the streams to `count`; returns the messages queued on others.
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
                let last: Option<&(MessageId, Message)> = refused.last();
                if last.is_none_or(|(id, _)| *id != waiting.id) {
                    refused.push((waiting.id, waiting.message));
                }
            }
        }
        self.streams.truncate(usize::from(count));
        self.open.limit(count);
        refused
    }

    /// Releases memory. To be called when nothing is queued.
    pub(super) fn shrink(&mut self, keep: usize) {
        self.slab.shrink(keep);
        self.started.release_if_idle();
    }

    #[cfg(test)]
    pub(super) fn capacity_in_bytes(&self) -> usize {
        self.streams.capacity() * size_of::<Stream>() + self.slab.capacity_in_bytes()
    }

    pub(super) fn head(&self, stream: StreamId) -> Option<&Waiting> {
        let stream = self.streams.get(stream.index())?;
        self.slab.first(stream.waiting)
    }

    /// The head of a stream, unless it may not start before another message is acknowledged.
    pub(super) fn ready_head(&self, id: StreamId) -> Option<&Waiting> {
        let may_begin = |head: &Waiting| {
            let stream = &self.streams[id.index()];
            head.message.unordered || stream.ordered_in_window < MAX_ORDERED_IN_WINDOW
        };
        let head = self.head(id).filter(|head| !self.held.has(id, head.id))?;
        (may_begin(head) || self.started.has(id)).then_some(head)
    }

    pub(super) fn tell_if_ready(&self, id: StreamId, scheduler: &mut dyn StreamScheduler) {
        if let Some(head) = self.ready_head(id) {
            self.tell(id, head, scheduler);
        }
    }

    /// Tells a new scheduler of all streams that are ready.
    pub(super) fn tell_all_ready(&self, scheduler: &mut dyn StreamScheduler) {
        let ids = (0..=u16::MAX).map(StreamId).take(self.streams.len());
        ids.for_each(|id| self.tell_if_ready(id, scheduler));
    }

    /// Notifies the scheduler of the head of a stream.
    fn tell(&self, id: StreamId, head: &Waiting, scheduler: &mut dyn StreamScheduler) {
        let stream = &self.streams[id.index()];
        scheduler.on_ready(&StreamFacts {
            id,
            head: head.id,
            head_bytes: head.bytes(),
            queued_bytes: stream.unsent_bytes,
            priority: stream.settings.priority,
            weight: stream.settings.weight.get(),
            path_use: stream.settings.path_use,
        });
    }
}

/// The sequence numbers of a fragment, by chunk type.
const fn place(interleaving: bool, unordered: bool, piece: Begun) -> Place {
    match (interleaving, unordered) {
        (true, _) => Place::IData(piece.mid, piece.fsn),
        (false, true) => Place::Data(Ssn(0)),
        (false, false) => Place::Data(Ssn(piece.mid.0 as u16)),
    }
}
