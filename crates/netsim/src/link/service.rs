//! Service of a link: constant rate, or the opportunities of a trace. When does the last byte of a packet leave?

use core::time::Duration;
use std::sync::Arc;

use anabranch_types::Instant;

use super::LinkConfig;
use crate::RateTrace;
use crate::trace::OPPORTUNITY_BYTES;

/// State of the service: with a constant rate there is none.
#[derive(Debug)]
pub(super) struct Service {
    trace: Option<Cursor>,
    /// The cursor as the packet in transmission found it.
    before: Position,
}

#[derive(Debug)]
struct Cursor {
    trace: Arc<RateTrace>,
    position: Position,
}

/// The next unused opportunity, and what is left of the one before.
#[derive(Clone, Copy, Debug, Default)]
struct Position {
    next: u64,
    bytes_left: u64,
}

impl Service {
    pub(super) fn new(config: &LinkConfig) -> Self {
        Self {
            trace: config.trace.clone().map(|trace| Cursor {
                trace,
                position: Position::default(),
            }),
            before: Position::default(),
        }
    }

    /// Starts the transmission of `wire_bytes` at `now` and returns its end. Opportunities that passed while the transmitter
    /// `was_idle` are lost.
    pub(super) fn start(
        &mut self,
        now: Instant,
        wire_bytes: u64,
        was_idle: bool,
        config: &LinkConfig,
    ) -> Instant {
        let Some(cursor) = &mut self.trace else {
            return now + config.time_for(wire_bytes);
        };
        if was_idle {
            cursor.position = Position {
                next: cursor.trace.first_after(config.clock.reading(now)),
                bytes_left: 0,
            };
        }
        self.before = cursor.position;
        config.clock.moment(cursor.take(wire_bytes)).max(now)
    }

    /// Bytes of the packet in transmission that have left by `now`; it started at `since`.
    pub(super) fn sent_by(&self, now: Instant, since: Instant, config: &LinkConfig) -> Option<u64> {
        let Some(cursor) = &self.trace else {
            return config
                .rate
                .map(|rate| rate.bytes_in(config.clock.advance(now - since)));
        };
        let first = cursor.trace.first_after(config.clock.reading(now));
        let passed = first.saturating_sub(self.before.next);
        Some(self.before.bytes_left + passed * OPPORTUNITY_BYTES)
    }

    /// Time that further `wire_bytes` take after the packet in transmission.
    pub(super) fn time_after(&self, done: Instant, wire_bytes: u64, config: &LinkConfig) -> Duration {
        let Some(cursor) = &self.trace else {
            return config.time_for(wire_bytes);
        };
        let mut ahead = Cursor {
            trace: Arc::clone(&cursor.trace),
            position: cursor.position,
        };
        config
            .clock
            .moment(ahead.take(wire_bytes))
            .saturating_duration_since(done)
    }
}

impl Cursor {
    /// Uses opportunities for `bytes` and returns the time of the last one.
    fn take(&mut self, bytes: u64) -> Instant {
        let Position { next, bytes_left } = self.position;
        let missing = bytes.saturating_sub(bytes_left);
        let further = missing.div_ceil(OPPORTUNITY_BYTES);
        self.position = Position {
            next: next + further,
            bytes_left: bytes_left + further * OPPORTUNITY_BYTES - bytes,
        };
        self.trace.time_of(self.position.next.saturating_sub(1))
    }
}

#[cfg(test)]
mod tests;
