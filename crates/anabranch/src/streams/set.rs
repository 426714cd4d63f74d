//! All streams of an association. Which are there, which ids are free, and which control messages are due?

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::mem;
use std::sync::Arc;
use std::task::Waker;

use anabranch_proto::ReceivedMessage;
use anabranch_types::StreamId;
use tokio::sync::Notify;

use super::frame::{CONTROL, Control};
use super::inbound::{CreditExceeded, Inbound, PeerEnd};
use super::limits::{StreamLimits, StreamStatistics};
use super::outbound::Outbound;

/// One life of a stream: its id may be used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Key(u64);

/// Why the streams ended without an end of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lost {
    /// With the association.
    Closed,
    /// The peer restarted, or began all streams anew.
    Restarted,
}

/// One stream, in both directions.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) id: StreamId,
    /// This end has opened it.
    is_ours: bool,
    pub(crate) outbound: Outbound,
    pub(crate) inbound: Inbound,
    /// A code with which the peer has to be told that there is no reader.
    stop_due: Option<u32>,
    /// Credit that the peer has to be told.
    credit_due: Option<u64>,
    /// The end that accepted it has told that it is over.
    is_closed: bool,
    has_sender: bool,
    has_receiver: bool,
    pub(crate) lost: Option<Lost>,
}

/// The streams of one association.
#[derive(Debug)]
pub(crate) struct StreamSet {
    /// The lowest bit of the ids that this end opens.
    parity: u16,
    /// Ids are below.
    count: u16,
    /// The next id of ours that was never used.
    next: u16,
    /// Ids of ours that may be used again.
    reusable: VecDeque<StreamId>,
    /// Ids of the peer that are not used again.
    retired: BTreeSet<StreamId>,
    keys: BTreeMap<StreamId, Key>,
    streams: BTreeMap<Key, Stream>,
    next_key: u64,
    incoming: VecDeque<Key>,
    /// Streams with control messages to send.
    due: BTreeSet<Key>,
    /// Streams whose writers wait for room in the send buffer, and how much each needs.
    blocked: VecDeque<(Key, u64)>,
    budget: u64,
    spare: u64,
    wakers: Vec<Waker>,
    notifies: Vec<Arc<Notify>>,
    /// A stream can be accepted, or none ever will be.
    pub(crate) acceptable: Arc<Notify>,
    /// An id is free, or none ever will be.
    pub(crate) openable: Arc<Notify>,
    pub(crate) is_over: bool,
}

impl StreamSet {
    pub(crate) fn new(limits: &StreamLimits) -> Self {
        Self {
            parity: 0,
            count: 0,
            next: 0,
            reusable: VecDeque::new(),
            retired: BTreeSet::new(),
            keys: BTreeMap::new(),
            streams: BTreeMap::new(),
            next_key: 0,
            incoming: VecDeque::new(),
            due: BTreeSet::new(),
            blocked: VecDeque::new(),
            budget: limits.budget,
            spare: limits.budget,
            wakers: Vec::new(),
            notifies: Vec::new(),
            acceptable: Arc::default(),
            openable: Arc::default(),
            is_over: false,
        }
    }

    /// Begins with `count` streams, of which this end opens those whose lowest bit is `parity`.
    pub(crate) fn begin(&mut self, parity: u16, count: u16) {
        (self.parity, self.count, self.next) = (parity, count, parity);
        self.notifies.push(Arc::clone(&self.openable));
    }

    /// Opens a stream; `None` if no id is free.
    pub(crate) fn open(&mut self) -> Option<Key> {
        let id = match self.reusable.pop_front() {
            Some(id) => id,
            None if self.next < self.count => {
                let id = StreamId(self.next);
                self.next = self.next.checked_add(2).unwrap_or(self.count);
                id
            }
            None => return None,
        };
        Some(self.enter(id, true))
    }

    /// The next stream that the peer has opened.
    pub(crate) fn accept(&mut self) -> Option<Key> {
        self.incoming.pop_front()
    }

    pub(crate) fn stream(&self, key: Key) -> Option<&Stream> {
        self.streams.get(&key)
    }

    pub(crate) fn stream_mut(&mut self, key: Key) -> Option<&mut Stream> {
        self.streams.get_mut(&key)
    }

    fn enter(&mut self, id: StreamId, is_ours: bool) -> Key {
        let key = Key(self.next_key);
        self.next_key += 1;
        let stream = Stream {
            id,
            is_ours,
            outbound: Outbound::new(),
            inbound: Inbound::new(),
            stop_due: None,
            credit_due: None,
            is_closed: false,
            has_sender: true,
            has_receiver: true,
            lost: None,
        };
        self.streams.insert(key, stream);
        self.keys.insert(id, key);
        key
    }

    /// Handles a message, or a part of one, that arrived on a stream.
    pub(crate) fn handle_message(&mut self, message: ReceivedMessage) -> Result<(), CreditExceeded> {
        let id = message.stream;
        if message.ppid == CONTROL {
            // What this version does not know is ignored.
            if let Some(control) = Control::decode(&message.payload) {
                self.handle_control(id, control);
            }
            return Ok(());
        }
        let Some(key) = self.key_or_open(id) else {
            return Ok(());
        };
        if let Some(stream) = self.streams.get_mut(&key) {
            stream.inbound.take(message)?;
            self.wakers.extend(stream.inbound.waker.take());
        }
        // Credit for what nobody will read, and the end if this was a straggler.
        self.settle(key);
        Ok(())
    }

    /// The stream with this id, which its first message opens; `None` if it is over.
    fn key_or_open(&mut self, id: StreamId) -> Option<Key> {
        if let Some(key) = self.keys.get(&id) {
            return Some(*key);
        }
        if id.0 & 1 == self.parity || self.retired.contains(&id) {
            return None;
        }
        let key = self.enter(id, false);
        self.incoming.push_back(key);
        self.notifies.push(Arc::clone(&self.acceptable));
        Some(key)
    }

    fn handle_control(&mut self, id: StreamId, control: Control) {
        let opens = matches!(control, Control::Finished { .. } | Control::Reset { .. });
        let key = if opens {
            self.key_or_open(id)
        } else {
            self.keys.get(&id).copied()
        };
        let Some(stream) = key.and_then(|key| self.streams.get_mut(&key)) else {
            return;
        };
        let Stream {
            inbound, outbound, ..
        } = stream;
        match control {
            Control::Credit(limit) => {
                if outbound.grant(limit) {
                    self.wakers.extend(outbound.waker.take());
                }
            }
            Control::Position(position) => inbound.learn_position(position),
            Control::Finished { position, unordered } => {
                inbound.learn_position(position);
                inbound.end(PeerEnd::Finished, unordered);
                self.wakers.extend(inbound.waker.take());
            }
            Control::Reset {
                position,
                code,
                unordered,
            } => {
                inbound.learn_position(position);
                inbound.end(PeerEnd::Reset(code), unordered);
                self.wakers.extend(inbound.waker.take());
            }
            Control::Stop(code) => {
                outbound.stop(code);
                self.wakers.extend(outbound.waker.take());
            }
            Control::Closed => stream.is_closed |= stream.is_ours,
        }
        if let Some(key) = key {
            self.settle(key);
        }
    }

    /// Takes the next message of a stream.
    pub(crate) fn receive(&mut self, key: Key) -> Option<ReceivedMessage> {
        let message = self.streams.get_mut(&key)?.inbound.next();
        self.settle(key);
        message
    }

    /// Stops receiving on a stream. The peer is told, unless it has ended the stream.
    pub(crate) fn stop(&mut self, key: Key, code: u32) {
        if let Some(stream) = self.streams.get_mut(&key)
            && !stream.inbound.is_stopped
        {
            let has_ended = stream.inbound.ended().is_some();
            stream.inbound.stop();
            stream.stop_due = Some(code).filter(|_| !has_ended && stream.lost.is_none());
        }
        self.settle(key);
    }

    /// Ends the direction of this end in order.
    pub(crate) fn finish(&mut self, key: Key) -> bool {
        let finished = self.streams.get_mut(&key).is_some_and(|s| s.outbound.finish());
        self.settle(key);
        finished
    }

    /// Gives the direction of this end up.
    pub(crate) fn reset(&mut self, key: Key, code: u32) -> bool {
        let reset = self.streams.get_mut(&key).is_some_and(|s| s.outbound.reset(code));
        self.settle(key);
        reset
    }

    /// The handle that sends was dropped: the stream ends in order.
    pub(crate) fn drop_sender(&mut self, key: Key) {
        if let Some(stream) = self.streams.get_mut(&key) {
            stream.has_sender = false;
            stream.outbound.waker = None;
        }
        self.finish(key);
    }

    /// The handle that receives was dropped: what arrives is discarded.
    pub(crate) fn drop_receiver(&mut self, key: Key) {
        if let Some(stream) = self.streams.get_mut(&key) {
            stream.has_receiver = false;
        }
        self.stop(key, 0);
    }

    /// A writer of the stream waits for room of `bytes` in the send buffer.
    pub(crate) fn block(&mut self, key: Key, bytes: u64, waker: Waker) {
        if let Some(stream) = self.streams.get_mut(&key) {
            stream.outbound.waker = Some(waker);
            self.blocked.push_back((key, bytes));
        }
    }

    /// The send buffer has `room` bytes: wakes the writers that wait for it, in their order, as far as it goes. `true` if others
    /// still wait, for which the woken ones may leave some.
    pub(crate) fn unblock(&mut self, mut room: u64) -> bool {
        while room > 0
            && let Some((key, bytes)) = self.blocked.pop_front()
        {
            room = room.saturating_sub(bytes);
            let stream = self.streams.get_mut(&key);
            self.wakers
                .extend(stream.and_then(|stream| stream.outbound.waker.take()));
        }
        !self.blocked.is_empty()
    }

    /// A writer of the stream waits for credit.
    pub(crate) fn await_credit(&mut self, key: Key, waker: Waker) {
        if let Some(stream) = self.streams.get_mut(&key) {
            stream.outbound.waker = Some(waker);
            self.settle(key);
        }
    }

    /// The next control message to send.
    pub(crate) fn control(&mut self) -> Option<(Key, StreamId, Control)> {
        while let Some(key) = self.due.first().copied() {
            if let Some((id, control)) = self.control_of(key) {
                return Some((key, id, control));
            }
            self.due.remove(&key);
            self.tidy(key);
        }
        None
    }

    fn control_of(&mut self, key: Key) -> Option<(StreamId, Control)> {
        let stream = self.streams.get_mut(&key)?;
        if stream.lost.is_some() || self.is_over {
            return None;
        }
        if let Some(control) = stream.outbound.control() {
            return Some((stream.id, control));
        }
        if let Some(code) = stream.stop_due {
            return Some((stream.id, Control::Stop(code)));
        }
        stream.credit_due = stream.inbound.credit(&mut self.spare).or(stream.credit_due);
        if let Some(limit) = stream.credit_due {
            return Some((stream.id, Control::Credit(limit)));
        }
        let is_over = !stream.is_ours && !stream.is_closed && stream.has_ended();
        is_over.then_some((stream.id, Control::Closed))
    }

    /// A control message was sent, or cannot be.
    pub(crate) fn on_control_sent(&mut self, key: Key, control: Control) {
        let Some(stream) = self.streams.get_mut(&key) else {
            return;
        };
        stream.outbound.on_told(control);
        match control {
            Control::Stop(_) => stream.stop_due = None,
            Control::Credit(_) => stream.credit_due = None,
            Control::Closed => stream.is_closed = true,
            _ => {}
        }
    }

    /// Notes what is due after a change.
    fn settle(&mut self, key: Key) {
        self.due.insert(key);
    }

    /// Frees the id of a stream that is over, and forgets it if it has no handle.
    fn tidy(&mut self, key: Key) {
        let Some(stream) = self.streams.get_mut(&key) else {
            return;
        };
        let id = stream.id;
        let is_over = stream.is_closed && stream.has_ended();
        if is_over && self.keys.get(&id) == Some(&key) {
            self.keys.remove(&id);
            self.spare += stream.inbound.give_back();
            let has_stragglers = stream.inbound.leaves_stragglers() || stream.outbound.leaves_stragglers();
            match (stream.is_ours, has_stragglers) {
                (true, false) => {
                    self.reusable.push_back(id);
                    self.notifies.push(Arc::clone(&self.openable));
                }
                (false, true) => drop(self.retired.insert(id)),
                (true, true) | (false, false) => {}
            }
        }
        let is_done = is_over || stream.lost.is_some();
        if is_done && !stream.has_sender && !stream.has_receiver {
            self.streams.remove(&key);
        }
    }

    /// All streams end. After a restart others may follow.
    pub(crate) fn lose_all(&mut self, lost: Lost) {
        for stream in self.streams.values_mut() {
            stream.lost.get_or_insert(lost);
            self.wakers.extend(stream.inbound.waker.take());
            self.wakers.extend(stream.outbound.waker.take());
        }
        let keys: Vec<Key> = self.streams.keys().copied().collect();
        self.due.extend(keys);
        self.blocked.clear();
        self.notifies.push(Arc::clone(&self.openable));
        self.notifies.push(Arc::clone(&self.acceptable));
        if lost == Lost::Restarted {
            self.keys.clear();
            self.retired.clear();
            self.reusable.clear();
            self.incoming.clear();
            self.spare = self.budget;
        } else {
            self.is_over = true;
        }
    }

    pub(crate) fn take_wakes(&mut self) -> (Vec<Waker>, Vec<Arc<Notify>>) {
        (mem::take(&mut self.wakers), mem::take(&mut self.notifies))
    }

    pub(crate) fn statistics(&self) -> StreamStatistics {
        StreamStatistics {
            open: self.keys.len(),
            unread: self.streams.values().map(|stream| stream.inbound.unread()).sum(),
            spare: self.spare,
        }
    }
}

impl Stream {
    /// Whether both directions have ended and nothing is unread.
    fn has_ended(&self) -> bool {
        self.outbound.is_told && self.inbound.is_over()
    }
}

#[cfg(test)]
mod tests;
