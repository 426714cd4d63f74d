//! Progress. Does data get through to a peer that answers heartbeats?
//!
//! A peer that answers is not unreachable, so the error counters of RFC 9260 §8.1 never end the association while no chunk of
//! data arrives: a network may carry nothing but small packets. Only answers count, and only those that follow each other
//! closely: an outage is the affair of the error counters.

use core::time::Duration;

use anabranch_types::Instant;

use super::{Effects, Transfer};

/// Heartbeats are answered and nothing is acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stall {
    since: Instant,
    /// When a heartbeat was last answered.
    answered_at: Instant,
}

impl Transfer {
    /// Data was acknowledged, or there is none to be acknowledged.
    pub(super) const fn note_progress(&mut self) {
        self.stall = None;
    }

    /// A heartbeat was answered: if that goes on for too long and nothing else happens, the association is to end.
    pub(super) fn answered_without_progress(&mut self, now: Instant) -> Effects {
        let mut effects = Effects::default();
        let Some(timeout) = self.limits.progress_timeout else {
            return effects;
        };
        // A peer without room acknowledges nothing either (RFC 9260 §6.1 A).
        if !self.sender.has_outstanding() || self.window_probe.is_out() || self.sender.window_is_shut() {
            self.note_progress();
            return effects;
        }
        self.stall = match self.stall {
            Some(stall) if now - stall.answered_at <= timeout / 2 => Some(Stall {
                answered_at: now,
                ..stall
            }),
            _ => Some(Stall {
                since: now,
                answered_at: now,
            }),
        };
        effects.is_stalled = self.stall_lasted(now) >= timeout;
        effects
    }

    fn stall_lasted(&self, now: Instant) -> Duration {
        self.stall.map_or(Duration::ZERO, |stall| now - stall.since)
    }
}
