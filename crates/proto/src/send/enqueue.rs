//! Queueing of messages. Is a message, or a part of one, accepted now?

use anabranch_policy::StreamScheduler;
use anabranch_types::{MessageId, StreamId};

use super::{SendError, Sender};
use crate::message::{Message, MessagePart, Reliability};

impl Sender {
    /// Queues a message of the application, or a part of one.
    ///
    /// # Errors
    /// All of [`SendError`] except `Closing` and `NotConnected`, which concern the association.
    #[inline]
    pub(crate) fn enqueue(
        &mut self,
        part: MessagePart,
        scheduler: &mut dyn StreamScheduler,
    ) -> Result<MessageId, SendError> {
        match part {
            MessagePart::Whole(message) => self.enqueue_message(message, true, scheduler),
            MessagePart::Beginning(message) => self.enqueue_message(message, false, scheduler),
            MessagePart::Middle(id, payload) => self.enqueue_part(id, payload, false, scheduler),
            MessagePart::End(id, payload) => self.enqueue_part(id, payload, true, scheduler),
        }
    }

    //= rfc9260 3.3.1-5, 6.2-34
    /// Queues a message, all of it or the first part.
    fn enqueue_message(
        &mut self,
        message: Message,
        is_whole: bool,
        scheduler: &mut dyn StreamScheduler,
    ) -> Result<MessageId, SendError> {
        let length = message.payload.len() as u64;
        let max = self.buffer.max.min(self.max_message as u64);
        if length == 0 {
            return Err(SendError::Empty);
        }
        if length > max {
            return Err(SendError::TooLarge { max: max as usize });
        }
        self.check_stream(message.stream)?;
        if self.streams.open.on(message.stream).is_some() {
            return Err(SendError::Unfinished);
        }
        if length > self.free_space() {
            self.grow_for(length);
        }
        if length > self.free_space() && !self.make_room(length, message.reliability, scheduler) {
            return Err(SendError::BufferFull);
        }
        let (stream, reliability) = (message.stream, message.reliability);
        let key = message.authentication_key;
        let id = if is_whole {
            self.streams.push(message, scheduler)
        } else {
            self.streams.open(message, scheduler)
        };
        if let Some(key) = key {
            self.keyed.add(id, key, length, is_whole);
        }
        if reliability != Reliability::Reliable {
            self.add_unreliable(id, stream, reliability);
        }
        self.note_queued(stream);
        Ok(id)
    }

    /// Follows the low-water mark of a stream when data was queued.
    pub(super) fn note_queued(&mut self, stream: StreamId) {
        if self.low_water.active().is_some_and(|marks| marks.watches(stream)) {
            let queued = self.queued_on(stream);
            self.low_water.make_mut().rose_to(stream, queued);
        }
    }

    //= rfc9260 5.1.1-4, 6.5-1
    pub(super) fn check_stream(&self, stream: StreamId) -> Result<(), SendError> {
        let streams = self.streams.count();
        if stream.0 < streams {
            Ok(())
        } else {
            Err(SendError::InvalidStream { streams })
        }
    }
}
