//! Sent messages by number, for comparison with those received.

use std::collections::{BTreeMap, BTreeSet};

use anabranch_proto::{Association, Message, MessagePart, Reliability, SendError};
use anabranch_types::{Instant, MessageId, Ppid, StreamId};

use super::meter::stamp;
use super::{DeliveryError, pattern};

/// A message to be created: all its properties except number and content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Draft {
    /// Its stream.
    pub stream: StreamId,
    /// Its length, from 1 to [`super::LONGEST_MESSAGE`].
    pub bytes: usize,
    /// Whether it is unordered, and so may overtake others of its stream.
    pub unordered: bool,
}

impl Draft {
    /// An ordered message.
    #[must_use]
    pub const fn new(stream: u16, bytes: usize) -> Self {
        Self {
            stream: StreamId(stream),
            bytes,
            unordered: false,
        }
    }

    /// Makes the message unordered.
    #[must_use]
    pub const fn unordered(self) -> Self {
        Self {
            unordered: true,
            ..self
        }
    }
}

/// Payload protocol identifier of message number 0; the others follow. It is far from the assigned values, so that dissectors do
/// not misinterpret the payload.
pub(super) const FIRST_PPID: u32 = 1 << 24;

/// Messages accepted by an association, by number. The number is sent as the payload protocol identifier, so that even a message
/// of one byte has one.
#[derive(Clone, Debug, Default)]
pub struct Outbox {
    life: u32,
    sent: Vec<Draft>,
    /// When each message was accepted.
    times: Vec<Instant>,
    bytes: u64,
    unreliable: Unreliable,
    /// Whether messages carry the time instead of a number and are not recorded.
    metered: bool,
}

/// Messages that may be abandoned, by index in this life.
#[derive(Clone, Debug, Default)]
struct Unreliable {
    ids: BTreeMap<MessageId, usize>,
    indices: BTreeSet<usize>,
    /// The abandoned ones, and whether a part of each had been sent.
    abandoned: BTreeMap<usize, bool>,
}

/// Number of message numbers per life (the time between two restarts of a host).
const NUMBERS_OF_A_LIFE: u32 = 1 << 22;

impl Outbox {
    /// An empty outbox for life number `life`. Each restart of a host starts a new life, whose messages have their own numbers.
    #[must_use]
    pub fn of_life(life: u32) -> Self {
        Self {
            life,
            ..Self::default()
        }
    }

    /// An empty outbox for the next life, with the same recording mode.
    pub(super) fn next_life(&self) -> Self {
        Self {
            life: self.life + 1,
            metered: self.metered,
            ..Self::default()
        }
    }

    /// An empty outbox that records nothing: see [`super::Conversation::metered`].
    pub(super) fn metered() -> Self {
        Self {
            metered: true,
            ..Self::default()
        }
    }

    /// Records these messages as accepted.
    #[cfg(test)]
    pub(super) fn of_sent(sent: Vec<Draft>) -> Self {
        Self {
            times: vec![Instant::ZERO; sent.len()],
            sent,
            ..Self::default()
        }
    }

    /// Number of this life.
    #[must_use]
    pub const fn life(&self) -> u32 {
        self.life
    }

    /// Sends a message and records it unless it is refused. Returns its number; 0 if messages are not numbered.
    ///
    /// # Errors
    ///
    /// The errors of [`Association::send`].
    pub fn send(
        &mut self,
        association: &mut Association,
        draft: Draft,
        now: Instant,
    ) -> Result<u32, SendError> {
        self.send_limited(association, draft, Reliability::Reliable, now)
    }

    /// Sends a message that may be abandoned. As [`Outbox::send`] otherwise.
    ///
    /// # Errors
    ///
    /// The errors of [`Association::send`].
    pub fn send_limited(
        &mut self,
        association: &mut Association,
        draft: Draft,
        reliability: Reliability,
        now: Instant,
    ) -> Result<u32, SendError> {
        self.begin(association, (draft, reliability), draft.bytes, now)
            .map(|(_, number)| number)
    }

    /// Sends the first `first` bytes of a message and records all of it. Returns its id and number.
    pub(super) fn begin(
        &mut self,
        association: &mut Association,
        (draft, reliability): (Draft, Reliability),
        first: usize,
        now: Instant,
    ) -> Result<(MessageId, u32), SendError> {
        let (number, ppid) = if self.metered {
            (0, stamp(now))
        } else {
            let number = self.next_number();
            (number, Ppid(FIRST_PPID.wrapping_add(number)))
        };
        let message = Message {
            unordered: draft.unordered,
            ..Message::new(draft.stream, pattern(number, first))
        };
        let message = message.with_ppid(ppid).with_reliability(reliability);
        let id = association.send(if first < draft.bytes {
            MessagePart::Beginning(message)
        } else {
            MessagePart::Whole(message)
        })?;
        if reliability != Reliability::Reliable {
            self.unreliable.ids.insert(id, self.sent.len());
            self.unreliable.indices.insert(self.sent.len());
        }
        if !self.metered {
            self.sent.push(draft);
            self.times.push(now);
        }
        self.bytes += draft.bytes as u64;
        Ok((id, number))
    }

    /// Messages accepted so far, by number.
    #[must_use]
    pub fn sent(&self) -> &[Draft] {
        &self.sent
    }

    /// Records that the association abandoned a message; `sent` tells whether a part of it had been sent.
    ///
    /// # Errors
    ///
    /// It may not be abandoned, or was abandoned before.
    pub(super) fn note_abandoned(&mut self, message: MessageId, sent: bool) -> Result<(), DeliveryError> {
        let index = self.unreliable.ids.get(&message);
        let index = *index.ok_or(DeliveryError::AbandonedWithoutCause(message))?;
        match self.unreliable.abandoned.insert(index, sent) {
            Some(_) => Err(DeliveryError::AbandonedWithoutCause(message)),
            None => Ok(()),
        }
    }

    /// Whether message `index` of this life may be abandoned.
    pub(super) fn is_optional(&self, index: usize) -> bool {
        self.unreliable.indices.contains(&index)
    }

    /// The abandoned messages, by index in this life, and whether a part of each had been sent.
    pub fn abandoned(&self) -> impl Iterator<Item = (usize, bool)> {
        self.unreliable
            .abandoned
            .iter()
            .map(|(index, sent)| (*index, *sent))
    }

    /// Whether message `index` of this life was abandoned.
    pub(super) fn has_abandoned(&self, index: usize) -> bool {
        self.unreliable.abandoned.contains_key(&index)
    }

    /// When message `number` of this life was accepted; `None` if there is none.
    #[must_use]
    pub fn sent_at(&self, number: u32) -> Option<Instant> {
        let (life, index) = life_of(number);
        (life == self.life)
            .then(|| self.times.get(index).copied())
            .flatten()
    }

    /// Total bytes of these messages.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    fn next_number(&self) -> u32 {
        let number = u32::try_from(self.sent.len()).unwrap_or(u32::MAX);
        assert!(number < NUMBERS_OF_A_LIFE, "too many messages for one life");
        first_of_life(self.life) + number
    }
}

/// Life of message number `number`, and its index within that life.
pub(super) const fn life_of(number: u32) -> (u32, usize) {
    (number / NUMBERS_OF_A_LIFE, (number % NUMBERS_OF_A_LIFE) as usize)
}

/// Number of the first message of a life.
pub(super) const fn first_of_life(life: u32) -> u32 {
    life * NUMBERS_OF_A_LIFE
}
