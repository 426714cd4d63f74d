//! FORWARD TSN of abandoned messages (RFC 3758 §3.5). When is it sent, and when again?
//!
//! It leaves at once when the Advanced.Peer.Ack.Point moves. Until the peer's cumulative TSN has reached that point it is repeated:
//! after a SACK that does not show it, a round trip later, and otherwise when its timer expires, which counts as an error of the path.

use core::time::Duration;

use anabranch_types::{Instant, PathId, UnwrappedTsn};
use anabranch_wire::PacketBuilder;

use super::{Effects, Transfer};
use crate::on_demand::{Idle, OnDemand};
use crate::recv::Skips;
use crate::send::Forward;
use crate::violation::Violation;

/// FORWARD TSN may be delayed by at most this time (RFC 3758 §3.5 F3).
const MAX_DELAY: Duration = Duration::from_millis(200);

/// The next and the last FORWARD TSN. Idle while no abandoned TSN waits for the peer.
#[derive(Debug, Default)]
pub(super) struct Forwarding {
    is_due: bool,
    /// The last one that was sent.
    last: Option<Last>,
}

impl Idle for Forwarding {
    const IDLE: &'static Self = &Self {
        is_due: false,
        last: None,
    };

    fn is_idle(&self) -> bool {
        !self.is_due && self.last.is_none()
    }
}

#[derive(Clone, Copy, Debug)]
struct Last {
    point: UnwrappedTsn,
    sent_at: Instant,
    path: PathId,
    /// When it counts as lost; `None` if it did.
    expires: Option<Instant>,
}

impl Forwarding {
    /// If the last one counts as lost now, another one is due. Returns the path of the lost one.
    fn expire(&mut self, now: Instant) -> Option<PathId> {
        let last = self.last.as_mut()?;
        last.expires.take_if(|expires| *expires <= now)?;
        self.is_due = true;
        Some(last.path)
    }
}

impl Transfer {
    /// Whether [`Transfer::abandon`] may have anything to do.
    #[inline]
    pub(crate) fn abandons(&self) -> bool {
        self.sender.has_unreliable() || self.sender.has_stale_facts()
    }

    /// Abandons messages whose limits are reached, before anything is planned.
    #[cold]
    pub(crate) fn abandon(&mut self, now: Instant) -> Effects {
        let mut effects = Effects::default();
        let before = self.sender.free_space();
        let scheduler = &mut *self.policies.stream_scheduler;
        let mut abandoned = self.sender.take_stale_facts();
        abandoned |= self.sender.expire(scheduler, now);
        abandoned |= self.sender.abandon_lost(scheduler);
        if abandoned {
            self.forward_if_advanced();
            self.publish(now);
        }
        // The buffer has room again, as after an acknowledgement.
        effects.is_acknowledged = self.sender.free_space() > before;
        effects
    }

    /// Brings the facts up to date after sent chunks were abandoned for a new message. Timers follow at the next poll, which has a
    /// time.
    pub(crate) fn note_abandoned(&mut self) {
        for path in self.paths.ids() {
            let facts = self.paths.fact_mut(path);
            facts.in_flight = self.sender.pipe(path);
            facts.queued = self.sender.queued(path);
        }
    }

    //= rfc3758 3.5-8, 3.5-13
    /// A FORWARD TSN is due if the Advanced.Peer.Ack.Point has moved since the last one, and none if the peer has reached it.
    pub(super) fn forward_if_advanced(&mut self) {
        let Some(point) = self.sender.advanced_point() else {
            self.forwarding = OnDemand::IDLE;
            return;
        };
        let has_moved = self.forwarding.last.is_none_or(|last| last.point < point);
        if has_moved {
            self.forwarding.make_mut().is_due = true;
        }
    }

    //= rfc3758 3.5-6, 3.5-15, 3.5-16
    /// A SACK arrived. If it does not show the last FORWARD TSN a round trip after that was sent, it is sent again.
    pub(super) fn forward_after_sack(&mut self, now: Instant) {
        if self.forwarding.last.is_none() && self.sender.advanced_point().is_none() {
            return;
        }
        self.forward_if_advanced();
        let Some(last) = self.forwarding.last else {
            return;
        };
        let round_trip = self
            .paths
            .contains(last.path)
            .then(|| self.paths.fact(last.path).srtt())
            .flatten();
        if now >= last.sent_at + round_trip.unwrap_or(MAX_DELAY).min(MAX_DELAY) {
            self.forwarding.make_mut().is_due = true;
        }
    }

    /// The path of a FORWARD TSN that is due: any confirmed one (RFC 3758 §3.5 C3). A repeated one takes another path than the last one, as
    /// RFC 9260 §6.4.1 recommends for retransmitted data.
    pub(crate) fn forward_due(&self) -> Option<PathId> {
        if !self.forwarding.is_due {
            return None;
        }
        let repeated = self
            .forwarding
            .last
            .filter(|last| self.sender.advanced_point() == Some(last.point));
        let other = repeated.and_then(|last| self.paths.another_usable(last.path));
        let path = other.unwrap_or_else(|| self.paths.best());
        self.paths.is_confirmed(path).then_some(path)
    }

    //= rfc3758 3.5-11
    /// When the last FORWARD TSN counts as lost.
    pub(crate) fn forward_deadline(&self) -> Option<Instant> {
        self.forwarding.last?.expires
    }

    //= rfc3758 3.5-12
    /// The FORWARD TSN was not acknowledged in time.
    pub(super) fn forward_timer(&mut self, now: Instant) -> Effects {
        let Some(path) = self
            .forwarding
            .active_mut()
            .and_then(|forwarding| forwarding.expire(now))
        else {
            return Effects::default();
        };
        if self.paths.contains(path) {
            self.request_timed_out(path, now)
        } else {
            Effects::default()
        }
    }

    //= rfc3758 3.5-14
    /// Writes a FORWARD TSN into a packet for `path`, if one is due.
    pub(crate) fn write_forward(&mut self, path: PathId, packet: &mut PacketBuilder<'_>, now: Instant) {
        if !self.forwarding.is_due || !self.paths.is_confirmed(path) {
            return;
        }
        let Some((point, chunk)) = self.sender.forward(packet.room()) else {
            self.forward_if_advanced();
            return;
        };
        let pushed = match chunk {
            Forward::Tsn(chunk) => packet.push(&chunk),
            Forward::ITsn(chunk) => packet.push(&chunk),
        };
        debug_assert!(pushed.is_ok(), "it was made for the room");
        // Repetitions after SACKs and SHUTDOWNs do not restart the timer. Otherwise a path on which they are lost would never have an error.
        let earlier = self.forwarding.last;
        let earlier = earlier.filter(|last| (last.point, last.path) == (point, path));
        let running = earlier.and_then(|last| last.expires);
        let expires = running.or_else(|| Some(now + self.paths.fact(path).rto()));
        // If not all of it fitted, the rest follows when the peer has acknowledged this one.
        *self.forwarding.make_mut() = Forwarding {
            is_due: false,
            last: Some(Last {
                point,
                sent_at: now,
                path,
                expires,
            }),
        };
    }

    /// Handles a FORWARD TSN.
    ///
    /// # Errors
    /// See [`crate::recv::Receiver::on_forward_tsn`].
    pub(crate) fn on_forward_tsn(&mut self, skips: &Skips<'_>) -> Result<(), Violation> {
        self.receiver.on_forward_tsn(skips)
    }
}
