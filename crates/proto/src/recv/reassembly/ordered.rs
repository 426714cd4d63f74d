//! Ordered delivery. In each stream, messages are delivered by their number: Stream Sequence Number (RFC 9260 §6.6) or Message
//! Identifier (RFC 8260 §2.2.3).

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;
use alloc::vec::Vec;
use core::cmp::Ordering;

use anabranch_types::{Mid, Serial, Ssn, StreamId};

use super::super::delivery::Delivery;
use crate::message::ReceivedMessage;
use crate::violation::Violation;

/// Number of streams whose expected SSNs are allocated together: two bytes per stream if all are used, 128 for a single one. MIDs
/// take twice that.
const PAGE: usize = 64;

/// The number of ordered messages: SSN or MID, from 0.
pub(super) trait Count: Serial + Default {
    /// Violation for a repeated number. RFC 9260 §6.5: the number MUST increase by 1 with each ordered message, so none repeats
    /// before it wraps. The RFC does not say what to do then; dropping an acknowledged message would hide the loss, so the
    /// association ends.
    const USED_TWICE: Violation;

    /// The next number, wrapping.
    fn following(self) -> Self;

    /// The number without its type, as a key.
    fn raw(self) -> u32;
}

impl Count for Ssn {
    const USED_TWICE: Violation = Violation::Protocol("stream sequence number was used before");

    //= rfc9260 1.6-5, 6.5-5
    fn following(self) -> Self {
        self.next()
    }

    fn raw(self) -> u32 {
        self.0.into()
    }
}

impl Count for Mid {
    const USED_TWICE: Violation = Violation::Protocol("message identifier was used before");

    fn following(self) -> Self {
        self.next()
    }

    fn raw(self) -> u32 {
        self.0
    }
}

/// Position of a number relative to the expected one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    Now,
    Later,
    /// Before the expected number, by serial arithmetic.
    Past,
}

/// The expected number of every stream, and the messages that arrived early.
#[derive(Debug, Default)]
pub(super) struct StreamOrder<N> {
    /// Expected numbers. A page without a used stream is not allocated and stands for zeros.
    pages: Vec<Option<Box<[N; PAGE]>>>,
    /// Early messages by stream and number, see [`key`].
    waiting: BTreeMap<u64, ReceivedMessage>,
}

/// Stream and number as one sort key.
fn key(stream: StreamId, number: impl Count) -> u64 {
    u64::from(stream.0) << 32 | u64::from(number.raw())
}

impl<N: Count> StreamOrder<N> {
    /// The first message of each stream is expected.
    pub(super) const FIRST: Self = Self {
        pages: Vec::new(),
        waiting: BTreeMap::new(),
    };

    /// Whether the first message of each stream is expected, and none waits.
    pub(super) fn is_first(&self) -> bool {
        self.pages.is_empty() && self.waiting.is_empty()
    }

    pub(super) fn turn(&self, stream: StreamId, number: N) -> Turn {
        let expected = self.expected(stream);
        if number == expected {
            Turn::Now
        } else if expected.precedes(number) {
            Turn::Later
        } else {
            Turn::Past
        }
    }

    /// Whether a complete message with this number waits.
    pub(super) fn has(&self, stream: StreamId, number: N) -> bool {
        self.waiting.contains_key(&key(stream, number))
    }

    //= rfc9260 6.6-1, 6.6-2
    /// Delivers the message and all that waited for it, or keeps it until the earlier ones have arrived.
    pub(super) fn deliver(
        &mut self,
        number: N,
        message: ReceivedMessage,
        delivery: &mut Delivery,
    ) -> Result<(), Violation> {
        let stream = message.stream;
        match self.turn(stream, number) {
            Turn::Now => {
                delivery.push(message);
                if self.waiting.is_empty() {
                    self.expect(stream, number.following());
                } else {
                    self.follow_up(stream, number.following(), delivery);
                }
                Ok(())
            }
            Turn::Later => match self.waiting.entry(key(stream, number)) {
                Entry::Occupied(_) => Err(N::USED_TWICE),
                Entry::Vacant(place) => {
                    place.insert(message);
                    Ok(())
                }
            },
            Turn::Past => Err(N::USED_TWICE),
        }
    }

    /// Delivers the messages up to `number` that wait, and those that follow them: the missing ones were abandoned.
    pub(super) fn skip(&mut self, stream: StreamId, number: N, delivery: &mut Delivery) {
        let expected = self.expected(stream);
        if self.turn(stream, number) == Turn::Past {
            return;
        }
        let (first, last) = (key(stream, expected), key(stream, number));
        // Numbers wrap, so those up to the highest come before those from zero on.
        let top = u64::from(stream.0) << 32 | u64::from(u32::MAX);
        let bottom = u64::from(stream.0) << 32;
        let ranges = if first <= last {
            [Some(first..=last), None]
        } else {
            [Some(first..=top), Some(bottom..=last)]
        };
        for range in ranges.into_iter().flatten() {
            let keys: Vec<u64> = self.waiting.range(range).map(|(key, _)| *key).collect();
            for key in keys {
                if let Some(message) = self.waiting.remove(&key) {
                    delivery.push(message);
                }
            }
        }
        self.follow_up(stream, number.following(), delivery);
    }

    /// Delivers all messages that wait on `streams`, or on all if none is listed, and expects number 0 there.
    pub(super) fn reset(&mut self, streams: &[StreamId], delivery: &mut Delivery) {
        if streams.is_empty() {
            while let Some((key, _)) = self.waiting.first_key_value() {
                let stream = StreamId((key >> 32) as u16);
                self.deliver_all(stream, delivery);
            }
            self.pages = Vec::new();
        }
        for stream in streams {
            self.deliver_all(*stream, delivery);
            if self.expected(*stream) != N::default() {
                self.expect(*stream, N::default());
            }
        }
    }

    /// Delivers all messages that wait on `stream`, in the order of their numbers.
    fn deliver_all(&mut self, stream: StreamId, delivery: &mut Delivery) {
        let expected = key(stream, self.expected(stream));
        let bottom = u64::from(stream.0) << 32;
        let top = bottom | u64::from(u32::MAX);
        for range in [expected..=top, bottom..=expected] {
            let keys: Vec<u64> = self.waiting.range(range).map(|(key, _)| *key).collect();
            let messages = keys.iter().filter_map(|key| self.waiting.remove(key));
            messages.for_each(|message| delivery.push(message));
        }
    }

    /// Delivers the messages from `number` on that wait, and expects the first that does not.
    fn follow_up(&mut self, stream: StreamId, mut number: N, delivery: &mut Delivery) {
        while let Some(message) = self.take_waiting(key(stream, number)) {
            delivery.push(message);
            number = number.following();
        }
        self.expect(stream, number);
    }

    /// Takes the message with key `wanted`. If only one stream is used, it is the first that waits, or none is.
    fn take_waiting(&mut self, wanted: u64) -> Option<ReceivedMessage> {
        let first = self.waiting.first_entry()?;
        match first.key().cmp(&wanted) {
            Ordering::Equal => Some(first.remove()),
            Ordering::Greater => None,
            Ordering::Less => self.waiting.remove(&wanted),
        }
    }

    /// The number of the next message to deliver.
    pub(super) fn expected(&self, stream: StreamId) -> N {
        match self.pages.get(stream.index() / PAGE) {
            Some(Some(page)) => page[stream.index() % PAGE],
            // RFC 9260 §6.5: SSNs "MUST start from 0"; so do MIDs (RFC 8260 §2.2.2).
            Some(None) | None => N::default(),
        }
    }

    #[inline(always)] // once for each message
    fn expect(&mut self, stream: StreamId, number: N) {
        let (at, place) = (stream.index() / PAGE, stream.index() % PAGE);
        match self.pages.get_mut(at) {
            Some(Some(page)) => page[place] = number,
            Some(None) | None => self.add_page(at)[place] = number,
        }
    }

    #[cold]
    fn add_page(&mut self, at: usize) -> &mut [N; PAGE] {
        if at >= self.pages.len() {
            self.pages.resize_with(at + 1, || None);
        }
        self.pages[at].get_or_insert_with(|| Box::new([N::default(); PAGE]))
    }
}
