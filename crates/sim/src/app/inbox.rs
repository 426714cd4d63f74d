//! Received messages. Each is checked on arrival, and all are compared with the sent messages at the end.

use core::time::Duration;
use std::collections::BTreeMap;

use anabranch_proto::{Extent, ReceivedMessage};
use anabranch_types::{Instant, MessageId, StreamId};
use thiserror::Error;

use super::outbox::{FIRST_PPID, first_of_life, life_of};
use super::{Meter, Outbox, pattern};

/// Resolution of the recorded reception over time.
const BUCKET: Duration = Duration::from_millis(100);

/// A message that was not delivered as it was sent. Fields hold message numbers.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum DeliveryError {
    /// The content does not match number and length.
    #[error("message {0} is corrupt")]
    Corrupt(u32),
    /// It was received before.
    #[error("message {0} arrived twice")]
    Twice(u32),
    /// A later message of its stream was received before it.
    #[error("message {number} arrived after {before} of the same stream")]
    OutOfOrder {
        /// The message.
        number: u32,
        /// The message received before it.
        before: u32,
    },
    /// It was never sent.
    #[error("message {0} was never sent")]
    NeverSent(u32),
    /// It differs from the sent message in stream, length or ordering.
    #[error("message {0} is not what was sent")]
    NotAsSent(u32),
    /// It is missing although later messages of its stream were received.
    #[error("message {0} was skipped on its stream")]
    Skipped(u32),
    /// It was not received.
    #[error("message {0} did not arrive")]
    Missing(u32),
    /// The sender abandoned a reliable message, or one message twice.
    #[error("{0:?} was abandoned without a cause")]
    AbandonedWithoutCause(MessageId),
    /// It was received although the sender abandoned it before any part was sent.
    #[error("message {0} arrived without being sent")]
    Unsent(u32),
}

/// Messages received.
#[derive(Clone, Debug, Default)]
pub struct Inbox {
    /// The sender's life, taken from the first message.
    life: Option<u32>,
    /// Received messages by index in this life; `None` for missing ones.
    arrived: Vec<Option<Arrived>>,
    last_of_stream: BTreeMap<StreamId, u32>,
    messages: u64,
    bytes: u64,
    course: Vec<u64>,
    first_error: Option<DeliveryError>,
    last_at: Option<Instant>,
    /// Measurements, where messages are not checked.
    meter: Option<Meter>,
    /// What was received of messages that are delivered in parts, by stream and ordering.
    parts: BTreeMap<(StreamId, bool), Vec<u8>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Arrived {
    at: Instant,
    stream: StreamId,
    unordered: bool,
    bytes: u32,
}

impl Inbox {
    /// An empty inbox that measures instead of checking: see [`super::Conversation::metered`].
    pub(super) fn metered() -> Self {
        Self {
            meter: Some(Meter::default()),
            ..Self::default()
        }
    }

    /// Joins the parts of a message; returns a message that is complete.
    pub(super) fn join(&mut self, received: ReceivedMessage) -> Option<ReceivedMessage> {
        if received.extent == Extent::Whole {
            return Some(received);
        }
        let key = (received.stream, received.unordered);
        if received.extent == Extent::Beginning {
            self.parts.insert(key, Vec::new());
        }
        self.parts.entry(key).or_default().extend(&received.payload);
        if received.extent.has_more() {
            return None;
        }
        let payload = self.parts.remove(&key).filter(|_| received.extent.completes())?;
        Some(ReceivedMessage {
            extent: Extent::Whole,
            payload: payload.into(),
            ..received
        })
    }

    /// Records a message and checks what can be checked without the sent messages.
    pub(super) fn take(&mut self, now: Instant, message: &ReceivedMessage) {
        self.messages += 1;
        self.bytes += message.payload.len() as u64;
        self.last_at = Some(now);
        if let Some(meter) = &mut self.meter {
            meter.take(now, message);
            return;
        }
        let number = message.ppid.0.wrapping_sub(FIRST_PPID);
        self.note_course(now, message.payload.len() as u64);
        let delivery_error = self.check(now, number, message).err();
        self.first_error = self.first_error.take().or(delivery_error);
    }

    /// Drops the received messages, but keeps the errors found.
    pub(super) fn begin_anew(&mut self) {
        *self = Self {
            first_error: self.first_error.take(),
            meter: self.meter.take(),
            ..Self::default()
        };
    }

    fn check(&mut self, now: Instant, number: u32, message: &ReceivedMessage) -> Result<(), DeliveryError> {
        if message.payload != pattern(number, message.payload.len()) {
            return Err(DeliveryError::Corrupt(number));
        }
        let (life, index) = life_of(number);
        if *self.life.get_or_insert(life) != life {
            return Err(DeliveryError::NeverSent(number));
        }
        if self.arrived.len() <= index {
            self.arrived.resize(index + 1, None);
        }
        let arrived = Arrived {
            at: now,
            stream: message.stream,
            unordered: message.unordered,
            bytes: message.payload.len() as u32,
        };
        if self.arrived[index].replace(arrived).is_some() {
            return Err(DeliveryError::Twice(number));
        }
        if message.unordered {
            return Ok(());
        }
        match self.last_of_stream.insert(message.stream, number) {
            Some(before) if before > number => Err(DeliveryError::OutOfOrder { number, before }),
            _ => Ok(()),
        }
    }

    fn note_course(&mut self, now: Instant, bytes: u64) {
        let bucket = bucket(now);
        if self.course.len() <= bucket {
            self.course.resize(bucket + 1, 0);
        }
        self.course[bucket] += bytes;
    }

    /// Compares received with sent messages: no unknown messages, no duplicates, each stream in order and without gaps, apart from
    /// messages that may be abandoned. The tail may still be missing. Messages from an earlier life do not count.
    ///
    /// # Errors
    ///
    /// The first delivery error.
    pub fn agrees_with(&self, outbox: &Outbox) -> Result<(), DeliveryError> {
        if let Some(delivery_error) = &self.first_error {
            return Err(delivery_error.clone());
        }
        if !self.is_of(outbox) {
            return Ok(());
        }
        if let Some(number) =
            (outbox.sent().len()..self.arrived.len()).find(|index| self.arrived[*index].is_some())
        {
            return Err(DeliveryError::NeverSent(number as u32));
        }
        let mut ended: BTreeMap<StreamId, u32> = BTreeMap::new();
        for (number, sent) in (0..).zip(outbox.sent()) {
            let Some(arrived) = self.arrived.get(number as usize).copied().flatten() else {
                if !sent.unordered && !outbox.is_optional(number as usize) {
                    ended.entry(sent.stream).or_insert(number);
                }
                continue;
            };
            let as_sent = (arrived.stream, arrived.unordered, arrived.bytes as usize)
                == (sent.stream, sent.unordered, sent.bytes);
            if !as_sent {
                return Err(DeliveryError::NotAsSent(number));
            }
            if let Some(missing) = ended.get(&sent.stream).filter(|_| !sent.unordered) {
                return Err(DeliveryError::Skipped(*missing));
            }
        }
        let has = |index: usize| self.arrived.get(index).is_some_and(Option::is_some);
        let unsent = outbox
            .abandoned()
            .find(|(index, was_sent)| !was_sent && has(*index));
        unsent.map_or(Ok(()), |(index, _)| Err(DeliveryError::Unsent(index as u32)))
    }

    /// Like [`Self::agrees_with`], and no message may be missing unless it was abandoned.
    ///
    /// # Errors
    ///
    /// The first delivery error.
    pub fn equals(&self, outbox: &Outbox) -> Result<(), DeliveryError> {
        self.agrees_with(outbox)?;
        let missing = (0..outbox.sent().len())
            .find(|index| !self.has_index(outbox, *index) && !outbox.has_abandoned(*index));
        missing.map_or(Ok(()), |number| Err(DeliveryError::Missing(number as u32)))
    }

    /// Whether each sent message was received or abandoned.
    #[must_use]
    pub fn is_complete(&self, outbox: &Outbox) -> bool {
        let gone = outbox
            .abandoned()
            .filter(|(index, _)| !self.has_index(outbox, *index));
        self.messages + gone.count() as u64 == outbox.sent().len() as u64
    }

    fn has_index(&self, outbox: &Outbox, index: usize) -> bool {
        self.is_of(outbox) && self.arrived.get(index).is_some_and(Option::is_some)
    }

    fn is_of(&self, outbox: &Outbox) -> bool {
        self.life == Some(outbox.life())
    }

    /// The first error found on arrival, if any.
    #[must_use]
    pub const fn delivery_error(&self) -> Option<&DeliveryError> {
        self.first_error.as_ref()
    }

    /// Whether message `number` was received.
    #[must_use]
    pub fn has(&self, number: u32) -> bool {
        self.arrived.get(number as usize).is_some_and(Option::is_some)
    }

    /// Messages received on `stream`, in sending order: numbers, lengths in bytes, and when each was read.
    pub fn on_stream(&self, stream: StreamId) -> impl Iterator<Item = (u32, u64, Instant)> {
        let base = self.life.map_or(0, first_of_life);
        let all = (base..).zip(&self.arrived);
        all.filter_map(move |(number, arrived)| {
            let arrived = arrived.filter(|arrived| arrived.stream == stream)?;
            Some((number, u64::from(arrived.bytes), arrived.at))
        })
    }

    /// Number of messages received.
    #[must_use]
    pub const fn messages(&self) -> u64 {
        self.messages
    }

    /// Total bytes of these messages.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// When the last one was read.
    #[must_use]
    pub const fn last_at(&self) -> Option<Instant> {
        self.last_at
    }

    /// Measurements, if the conversation is [metered](super::Conversation::metered).
    #[must_use]
    pub const fn meter(&self) -> Option<&Meter> {
        self.meter.as_ref()
    }

    /// Bytes read from `from` up to `until`, both rounded down to tenths of a second.
    #[must_use]
    pub fn bytes_between(&self, from: Instant, until: Instant) -> u64 {
        let end = bucket(until).min(self.course.len());
        self.course
            .get(bucket(from)..end)
            .map_or(0, |course| course.iter().sum())
    }
}

fn bucket(at: Instant) -> usize {
    (at.as_nanos() / BUCKET.as_nanos() as u64) as usize
}

#[cfg(test)]
mod tests;
