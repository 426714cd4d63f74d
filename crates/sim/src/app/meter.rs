//! Message delay meter. Each message carries the time at which it was sent, and no message is recorded.
//!
//! Compared with the records that [`super::Outbox`] and [`super::Inbox`] keep otherwise: memory does not grow with the length of
//! a run and the number of messages is not limited, but received messages are not compared with those sent.

use std::collections::BTreeMap;

use anabranch_proto::ReceivedMessage;
use anabranch_types::{Instant, Ppid, StreamId};

use crate::Histogram;

/// Messages received on one stream.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StreamMeter {
    /// Messages read.
    pub messages: u64,
    /// Total bytes of these messages.
    pub bytes: u64,
    /// Delay from sending to reading each message in microseconds, modulo 2³²: more than an hour.
    pub delays: Histogram,
    /// When the last one was read.
    pub last_at: Option<Instant>,
}

/// Messages received, by stream.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Meter {
    streams: BTreeMap<StreamId, StreamMeter>,
}

impl Meter {
    /// Each stream on which messages were received.
    #[must_use]
    pub const fn streams(&self) -> &BTreeMap<StreamId, StreamMeter> {
        &self.streams
    }

    pub(super) fn take(&mut self, now: Instant, message: &ReceivedMessage) {
        let stream = self.streams.entry(message.stream).or_default();
        stream.messages += 1;
        stream.bytes += message.payload.len() as u64;
        stream.last_at = Some(now);
        let delay = stamp(now).0.wrapping_sub(message.ppid.0);
        stream.delays.note(u64::from(delay));
    }
}

/// Payload protocol identifier of a message sent now: the time in microseconds.
pub(super) const fn stamp(now: Instant) -> Ppid {
    Ppid((now.as_nanos() / 1_000) as u32)
}
