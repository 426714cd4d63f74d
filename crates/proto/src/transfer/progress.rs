//! Progress timeout (ADR 0074): ends an association whose peer acknowledges heartbeats but no data.
//!
//! Each HEARTBEAT ACK clears the error counter of the association, so RFC 9260 §8.1 never ends it, even if the network forwards small
//! packets only and no data arrives. The time is counted from the first to the latest of a series of HEARTBEAT ACKs without
//! acknowledged data. A pause of more than half the timeout begins a new series: outages are detected by the error counters.

use alloc::boxed::Box;
use core::time::Duration;

use anabranch_types::Instant;

use super::{Effects, Transfer};

/// A series of HEARTBEAT ACKs during which no data was acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stall {
    /// Time of the first HEARTBEAT ACK.
    since: Instant,
    /// Time of the latest one.
    answered_at: Instant,
}

impl Transfer {
    /// Ends the series: data was acknowledged, or none is outstanding.
    pub(super) fn note_progress(&mut self) {
        self.stall = None;
    }

    /// Handles a HEARTBEAT ACK: the association ends if the series has reached the progress timeout.
    pub(super) fn answered_without_progress(&mut self, now: Instant) -> Effects {
        let mut effects = Effects::default();
        let Some(timeout) = self.config.progress_timeout else {
            return effects;
        };
        // A peer whose receive buffer is full acknowledges no data either (RFC 9260 §6.1 A).
        if !self.sender.has_outstanding() || self.window_probe.is_out() || self.sender.window_is_shut() {
            self.note_progress();
            return effects;
        }
        let before = self.stall.as_ref();
        let goes_on = before.filter(|stall| now - stall.answered_at <= timeout / 2);
        self.stall = Some(Box::new(Stall {
            since: goes_on.map_or(now, |stall| stall.since),
            answered_at: now,
        }));
        effects.is_stalled = self.stall_lasted(now) >= timeout;
        effects
    }

    fn stall_lasted(&self, now: Instant) -> Duration {
        self.stall
            .as_ref()
            .map_or(Duration::ZERO, |stall| now - stall.since)
    }
}
