//! Timestamps option (RFC 7323): protection against old duplicates, and RTT samples from retransmissions.

use core::time::Duration;

use anabranch_types::{Instant, Serial};

use crate::sequence::Position;
use crate::wire::Timestamps;

/// Both clocks of a connection that uses timestamps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimestampClock {
    /// Our clock began with this value, so that it tells nobody how long we run.
    offset: u32,
    /// The peer's latest value worth echoing (TS.Recent).
    recent: u32,
}

impl TimestampClock {
    pub(crate) const fn new(offset: u32, recent: u32) -> Self {
        Self { offset, recent }
    }

    /// Our clock: milliseconds.
    pub(crate) const fn value(offset: u32, now: Instant) -> u32 {
        offset.wrapping_add((now.as_nanos() / 1_000_000) as u32)
    }

    /// What a segment that leaves now carries.
    pub(crate) const fn now(self, now: Instant) -> Timestamps {
        Timestamps {
            value: Self::value(self.offset, now),
            echo: self.recent,
        }
    }

    /// Whether a segment is a duplicate from an earlier turn of the sequence numbers (PAWS, RFC 7323 §5.3).
    pub(crate) fn is_outdated(&self, timestamps: Timestamps) -> bool {
        timestamps.value.precedes(self.recent)
    }

    /// A segment that begins at `start` is acceptable; `acked` is what we last acknowledged. The timestamp of one
    /// that begins no later than that is remembered (RFC 7323 §4.3).
    pub(crate) fn note(&mut self, timestamps: Timestamps, start: Position, acked: Position) {
        if start <= acked && !timestamps.value.precedes(self.recent) {
            self.recent = timestamps.value;
        }
    }

    /// When the segment left that the peer echoes; `None` if our clock never showed that.
    pub(crate) fn sent_at(&self, timestamps: Timestamps, now: Instant) -> Option<Instant> {
        const PLAUSIBLE: u32 = 10 * 60 * 1_000;
        let age = Self::value(self.offset, now).wrapping_sub(timestamps.echo);
        (age < PLAUSIBLE).then(|| now - Duration::from_millis(u64::from(age)))
    }
}
