//! Timers of data transfer: the earliest deadline, and the actions when timers expire.

use anabranch_types::{Instant, PathId, earliest};

use super::{Effects, Transfer};

impl Transfer {
    /// The earliest deadline.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        // Without a confirmed path these deadlines do not count.
        let can_leave = self.paths.any_confirmed();
        earliest([
            self.receiver.sack_deadline().filter(|_| can_leave),
            self.scheduler_wakes,
            self.window_probe.deadline().filter(|_| can_leave),
            self.paths.next_deadline(),
            self.probe_deadline(),
            self.sender.expiry(),
            self.forward_deadline(),
        ])
    }

    /// Handles all timers that are due, in a fixed order, up to the one that ends the association.
    pub(crate) fn on_timeout(&mut self, now: Instant) -> Effects {
        self.scheduler_wakes.take_if(|wakes| *wakes <= now);
        self.window_probe.expire(now);
        let mut effects = self.loss_timer(now);
        effects.append(self.forward_timer(now));
        if self.abandons() {
            effects.append(self.abandon(now));
        }
        for path in self.paths.ids() {
            if effects.peer_is_unreachable {
                break;
            }
            effects.append(self.path_timers(path, now));
        }
        effects
    }

    fn path_timers(&mut self, path: PathId, now: Instant) -> Effects {
        let (facts, machinery) = self.paths.both_mut(path);
        if let Some(sending) = machinery.sending.active_mut() {
            sending.blocked_until.take_if(|blocked| *blocked <= now);
            sending.tail_probe.expire(now);
            if sending.release_at.take_if(|release| *release <= now).is_some() {
                facts.pacing_limited = false;
            }
            sending.duplicates.expire(now);
            facts.duplicated_bytes = sending.duplicates.bytes();
        }
        let mut effects = self.heartbeat_timer(path, now);
        if effects.peer_is_unreachable {
            return effects;
        }
        effects.append(self.mtu_timer(path, now));
        effects.append(self.t3_timer(path, now));
        effects
    }
}
