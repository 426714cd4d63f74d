//! Timestamps option (RFC 7323): protection against old duplicates, and RTT samples from retransmissions.

use core::time::Duration;

use anabranch_types::{Instant, Serial};

use crate::sequence::Position;
use crate::wire::Timestamps;

/// Timestamp state of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimestampClock {
    /// Initial value of our clock, random so that it does not reveal the uptime.
    offset: u32,
    /// The peer's latest timestamp to echo (TS.Recent).
    recent: u32,
}

impl TimestampClock {
    pub(crate) const fn new(offset: u32, recent: u32) -> Self {
        Self { offset, recent }
    }

    /// Our clock in milliseconds.
    pub(crate) const fn value(offset: u32, now: Instant) -> u32 {
        offset.wrapping_add((now.as_nanos() / 1_000_000) as u32)
    }

    /// The timestamps option of a segment sent now.
    pub(crate) const fn now(self, now: Instant) -> Timestamps {
        Timestamps {
            value: Self::value(self.offset, now),
            echo: self.recent,
        }
    }

    /// Whether a segment is an old duplicate from before a sequence number wrap (PAWS, RFC 7323 §5.3).
    pub(crate) fn is_outdated(&self, timestamps: Timestamps) -> bool {
        timestamps.value.precedes(self.recent)
    }

    /// Processes an acceptable segment that begins at `start`; `acked` is the last position that we acknowledged. Its timestamp
    /// is stored if `start` is not beyond `acked` (RFC 7323 §4.3).
    pub(crate) fn note(&mut self, timestamps: Timestamps, start: Position, acked: Position) {
        if start <= acked && !timestamps.value.precedes(self.recent) {
            self.recent = timestamps.value;
        }
    }

    /// Send time of the segment that the peer echoes; `None` if our clock never had that value.
    pub(crate) fn sent_at(&self, timestamps: Timestamps, now: Instant) -> Option<Instant> {
        const PLAUSIBLE: u32 = 10 * 60 * 1_000;
        let age = Self::value(self.offset, now).wrapping_sub(timestamps.echo);
        (age < PLAUSIBLE).then(|| now - Duration::from_millis(u64::from(age)))
    }
}
