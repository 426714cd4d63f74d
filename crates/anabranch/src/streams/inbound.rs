//! Receiving half of a stream. Which messages wait for the reader, and how much may the peer still send?

use std::collections::VecDeque;
use std::task::Waker;

use anabranch_proto::{Extent, ReceivedMessage};
use bytes::BytesMut;

use super::frame::{INITIAL_WINDOW, UNKNOWN, charge};

/// Largest credit of a stream, in bytes.
const LARGEST_WINDOW: u64 = 8 << 20;

/// No stream gets so far: what a peer claims beyond it cannot make sums overflow.
const MAX_POSITION: u64 = 1 << 62;

/// How the peer has ended its direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PeerEnd {
    Finished,
    Reset(u32),
}

/// The peer has sent more than it had credit for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CreditExceeded;

/// The receiving half of a stream.
#[derive(Debug)]
pub(crate) struct Inbound {
    queue: VecDeque<ReceivedMessage>,
    /// Messages that arrive in parts: an ordered one, and an unordered one.
    begun: [Option<BytesMut>; 2],
    /// Credit that all messages used which the peer has sent up to now.
    position: u64,
    /// The part of it whose messages the reader has not taken.
    unread: u64,
    /// The limit that the peer knows.
    granted: u64,
    window: u64,
    end: Option<PeerEnd>,
    unordered_received: u32,
    unordered_sent: u32,
    /// There is no reader: messages are discarded.
    pub(crate) is_stopped: bool,
    pub(crate) waker: Option<Waker>,
}

impl Inbound {
    pub(crate) fn new() -> Self {
        Self {
            queue: VecDeque::new(),
            begun: [None, None],
            position: 0,
            unread: 0,
            granted: INITIAL_WINDOW,
            window: INITIAL_WINDOW,
            end: None,
            unordered_received: 0,
            unordered_sent: 0,
            is_stopped: false,
            waker: None,
        }
    }

    /// Takes a message or a part of one.
    pub(crate) fn take(&mut self, mut message: ReceivedMessage) -> Result<(), CreditExceeded> {
        let begun = &mut self.begun[usize::from(message.unordered)];
        if matches!(message.extent, Extent::Whole | Extent::Beginning) {
            // Unordered messages that arrive after a report of the position count twice.
            if self.unread > 2 * self.window {
                return Err(CreditExceeded);
            }
            self.unordered_received = self
                .unordered_received
                .saturating_add(u32::from(message.unordered));
            self.position += charge(message.payload.len());
            self.unread += charge(message.payload.len());
        } else {
            self.position += message.payload.len() as u64;
            self.unread += message.payload.len() as u64;
        }
        match message.extent {
            Extent::Whole => {}
            Extent::Beginning | Extent::Middle => {
                begun.get_or_insert_default().extend_from_slice(&message.payload);
                return Ok(());
            }
            Extent::End => {
                let mut whole = begun.take().unwrap_or_default();
                whole.extend_from_slice(&message.payload);
                message.payload = whole.freeze();
                message.extent = Extent::Whole;
            }
            Extent::Aborted => {
                let lost = begun.take().unwrap_or_default();
                self.unread = self.unread.saturating_sub(charge(lost.len()));
                return Ok(());
            }
        }
        if self.is_stopped {
            self.unread -= charge(message.payload.len());
        } else {
            self.queue.push_back(message);
        }
        Ok(())
    }

    /// Learns where the peer is, and so what it has abandoned.
    pub(crate) fn learn_position(&mut self, position: u64) {
        self.position = position.min(MAX_POSITION).max(self.unread);
    }

    pub(crate) fn end(&mut self, end: PeerEnd, unordered: u32) {
        self.end.get_or_insert(end);
        self.unordered_sent = unordered;
    }

    /// How the stream has ended, if nothing more will arrive.
    pub(crate) fn ended(&self) -> Option<PeerEnd> {
        let is_complete = self.unordered_sent == UNKNOWN || self.unordered_received >= self.unordered_sent;
        self.end.filter(|_| is_complete)
    }

    /// Whether nothing will arrive and nothing is unread.
    pub(crate) fn is_over(&self) -> bool {
        self.ended().is_some() && self.queue.is_empty()
    }

    /// Whether messages of this life of the stream may still arrive when another one has begun.
    pub(crate) const fn leaves_stragglers(&self) -> bool {
        self.unordered_sent == UNKNOWN
    }

    pub(crate) fn next(&mut self) -> Option<ReceivedMessage> {
        let message = self.queue.pop_front()?;
        self.unread -= charge(message.payload.len());
        Some(message)
    }

    pub(crate) fn stop(&mut self) {
        self.is_stopped = true;
        self.waker = None;
        while self.next().is_some() {}
    }

    /// Credit to grant now, if it is worth a message. The window doubles, out of `spare` bytes, if the reader has taken everything.
    pub(crate) fn credit(&mut self, spare: &mut u64) -> Option<u64> {
        let limit = |inbound: &Self| inbound.position - inbound.unread + inbound.window;
        if self.end.is_some() || self.is_stopped || limit(self) < self.granted + self.window / 2 {
            return None;
        }
        if self.unread == 0 && self.window < LARGEST_WINDOW && self.window <= *spare / 8 {
            *spare -= self.window;
            self.window *= 2;
        }
        self.granted = limit(self);
        Some(self.granted)
    }

    /// Bytes beyond the initial window, which others may have after the end.
    pub(crate) fn give_back(&mut self) -> u64 {
        let more = self.window - INITIAL_WINDOW;
        self.window = INITIAL_WINDOW;
        more
    }

    /// Bytes of messages that the reader has not taken, with their overhead.
    pub(crate) const fn unread(&self) -> u64 {
        self.unread
    }
}
