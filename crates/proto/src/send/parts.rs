//! Messages that the application sends in parts. Which are unfinished, and what may be added to them?
//!
//! A stream has one unfinished message at most, and no further message until its end. So the parts of a message are neighbours in the
//! queue of their stream. Each part is fragmented for itself.

use alloc::vec::Vec;

use anabranch_policy::StreamScheduler;
use anabranch_types::{MessageId, StreamId};
use bytes::Bytes;

use super::streams::Streams;
use super::{SendError, Sender};
use crate::message::Message;
use crate::on_demand::{Idle, OnDemand};

/// The unfinished messages.
#[derive(Debug, Default)]
pub(super) struct OpenMessages {
    messages: Vec<OpenMessage>,
}

impl Idle for OpenMessages {
    const IDLE: &'static Self = &Self { messages: Vec::new() };

    fn is_idle(&self) -> bool {
        self.messages.is_empty()
    }
}

/// The unfinished messages, which take no memory while there are none.
pub(super) type Open = OnDemand<OpenMessages>;

/// A message of which not all parts are queued.
#[derive(Debug)]
pub(super) struct OpenMessage {
    id: MessageId,
    /// The message, without data.
    template: Message,
    /// Bytes of its parts so far.
    length: u64,
}

impl OpenMessages {
    fn find(&self, id: MessageId) -> Option<&OpenMessage> {
        self.messages.iter().find(|open| open.id == id)
    }

    /// The unfinished message of a stream.
    pub(super) fn on(&self, stream: StreamId) -> Option<MessageId> {
        let mut open = self.messages.iter();
        open.find(|open| open.template.stream == stream)
            .map(|open| open.id)
    }

    pub(super) fn has(&self, id: MessageId) -> bool {
        self.find(id).is_some()
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = (MessageId, StreamId)> {
        let messages = self.messages.iter();
        messages.map(|open| (open.id, open.template.stream))
    }
}

impl Open {
    /// Adds a message of which `first` is the first part.
    fn add(&mut self, id: MessageId, first: &Message) {
        let length = first.payload.len() as u64;
        let template = Message {
            payload: Bytes::new(),
            ..first.clone()
        };
        let open = OpenMessage { id, template, length };
        self.make_mut().messages.push(open);
    }

    /// The message of a further part, which ends the message if `ends`.
    fn part(&mut self, id: MessageId, payload: Bytes, ends: bool) -> Option<Message> {
        let messages = &mut self.active_mut()?.messages;
        let open = messages.iter_mut().find(|open| open.id == id)?;
        open.length += payload.len() as u64;
        let part = Message {
            payload,
            ..open.template.clone()
        };
        if ends {
            self.remove(id);
        }
        Some(part)
    }

    /// Removes a message; returns it without data.
    pub(super) fn remove(&mut self, id: MessageId) -> Option<Message> {
        let messages = &mut self.active_mut()?.messages;
        let at = messages.iter().position(|open| open.id == id)?;
        let open = messages.remove(at);
        self.release_if_idle();
        Some(open.template)
    }

    /// Removes the messages of streams from `count` on.
    pub(super) fn limit(&mut self, count: u16) {
        if let Some(list) = self.active_mut() {
            list.messages.retain(|open| open.template.stream.0 < count);
            self.release_if_idle();
        }
    }
}

impl Streams {
    /// Queues the first part of a message.
    #[cold]
    pub(super) fn open(&mut self, first: Message, scheduler: &mut dyn StreamScheduler) -> MessageId {
        let id = self.take_id();
        self.open.add(id, &first);
        self.append(id, first, false, scheduler);
        id
    }

    /// Queues a further part of an unfinished message.
    #[cold]
    fn add_part(&mut self, id: MessageId, payload: Bytes, ends: bool, scheduler: &mut dyn StreamScheduler) {
        let Some(part) = self.open.part(id, payload, ends) else {
            return;
        };
        // Earlier messages of the stream have left its queue if this one has begun.
        if self.head(part.stream).is_none_or(|head| head.id == id) {
            self.extend_started(part.stream, part.payload.len() as u64);
        }
        self.append(id, part, ends, scheduler);
    }
}

impl Sender {
    /// Whether a message is unfinished.
    pub(crate) fn has_unfinished(&self) -> bool {
        self.streams.open.is_active()
    }

    /// Whether all messages are complete and acknowledged.
    pub(crate) fn is_finished(&self) -> bool {
        self.is_drained() && !self.has_unfinished()
    }

    /// Queues a further part of an unfinished message.
    #[cold]
    pub(super) fn enqueue_part(
        &mut self,
        id: MessageId,
        payload: Bytes,
        ends: bool,
        scheduler: &mut dyn StreamScheduler,
    ) -> Result<MessageId, SendError> {
        let open = self.streams.open.find(id).ok_or(SendError::NoSuchMessage)?;
        let length = payload.len() as u64;
        if length == 0 {
            return Err(SendError::Empty);
        }
        if open.length.saturating_add(length) > self.max_message as u64 {
            return Err(SendError::TooLarge {
                max: self.max_message,
            });
        }
        if length > self.buffer.max {
            return Err(SendError::TooLarge {
                max: self.buffer.max as usize,
            });
        }
        let (stream, reliability) = (open.template.stream, open.template.reliability);
        if length > self.free_space() {
            self.grow_for(length);
        }
        if length > self.free_space()
            && !self.make_room(length, reliability, scheduler)
            && !self.waits_for_part(stream, id)
        {
            return Err(SendError::BufferFull);
        }
        self.streams.add_part(id, payload, ends, scheduler);
        self.keyed.extend(id, length, ends);
        self.note_queued(stream);
        Ok(id)
    }

    /// Whether the next part of this message is accepted although the buffer is full.
    fn waits_for_part(&self, stream: StreamId, id: MessageId) -> bool {
        self.may_wait_for_part() && !self.streams.has_waiting(stream, id)
    }

    /// Whether all that is in the buffer may wait for parts of messages that have begun, so that no acknowledgement would free any of it:
    /// what is queued, and without interleaving also the skipped chunks of other messages. It may exceed the buffer, which was made
    /// smaller.
    pub(crate) fn may_wait_for_part(&self) -> bool {
        self.streams.lacks_parts() && !self.has_outstanding() && self.passed_over_size().is_none()
    }
}
