//! Message delay meter. How long did messages take? Each carries the time at which it was handed over, and nothing is kept of it.
//!
//! Held against the books that [`super::Outbox`] and [`super::Inbox`] keep otherwise: memory does not grow with the
//! length of a run, there is no limit to the number of messages, and what arrived is not compared with what was sent.

use std::collections::BTreeMap;

use anabranch_proto::ReceivedMessage;
use anabranch_types::{Instant, Ppid, StreamId};

use crate::Histogram;

/// What arrived on one stream.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StreamMeter {
    /// Messages read.
    pub messages: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Microseconds from each message's handing over to its reading, modulo 2³²: more than an hour.
    pub delays: Histogram,
    /// When the last one was read.
    pub last_at: Option<Instant>,
}

/// What arrived, by stream.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Meter {
    streams: BTreeMap<StreamId, StreamMeter>,
}

impl Meter {
    /// Each stream on which something arrived.
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

/// The payload protocol identifier of a message that is handed over now: the time in microseconds.
pub(super) const fn stamp(now: Instant) -> Ppid {
    Ppid((now.as_nanos() / 1_000) as u32)
}
