//! Chunk rescheduling: when a chunk of one path blocks the buffers, it is retransmitted on another path.
//!
//! The chunk-rescheduling policy decides; its decision is carried out here.

use anabranch_policy::{LossCause, PathFacts, Reschedule, RescheduleExtent, ReschedulePenalty, StuckChunk};
use anabranch_types::{Instant, PathId};
use anabranch_wire::PacketBuilder;

use super::Transfer;
use super::sendable::Purpose;
use super::write::push_data;

impl Transfer {
    /// The path to which the policy would move the chunk that blocks the buffers, when no new data can be sent.
    pub(super) fn wants_reschedule(&mut self, now: Instant) -> Option<PathId> {
        if self.policies.rescheduling.is_never() {
            return None;
        }
        let stuck = self.sender.oldest_outstanding()?;
        self.refresh_sendable(Purpose::Again, now);
        self.paths.ids().find(|id| {
            self.paths.fact(*id).can_take_data() && self.reschedule_onto(*id, &stuck, now).is_some()
        })
    }

    /// When the policy is to be asked again about the chunk that blocks the buffers.
    pub(super) fn overdue_at(&self) -> Option<Instant> {
        let rescheduling = &self.policies.rescheduling;
        if rescheduling.is_never() || self.window_probe.is_out() {
            return None;
        }
        let stuck = self.sender.oldest_outstanding()?;
        rescheduling.overdue_at(&stuck, &self.buffer_facts(), self.paths.facts())
    }

    /// Retransmits the oldest outstanding chunk on `path`, or marks all blocking chunks for retransmission, if the policy decides
    /// that they block the buffers. Returns the bytes written.
    pub(super) fn write_rescheduled(
        &mut self,
        path: PathId,
        packet: &mut PacketBuilder<'_>,
        now: Instant,
    ) -> u64 {
        if self.policies.rescheduling.is_never() {
            return 0;
        }
        let stuck = self.sender.oldest_outstanding();
        let Some(stuck) = stuck.filter(|stuck| stuck.bytes <= packet.room() as u64) else {
            return 0;
        };
        let Some(reschedule) = self.reschedule_onto(path, &stuck, now) else {
            return 0;
        };
        let written = match reschedule.extent {
            RescheduleExtent::Oldest => {
                // The packet has no other data yet, so it takes the chunk, whose key then is that of the packet.
                let _ = self.sender.admits_again(stuck.tsn);
                let chunk = self.sender.moved(stuck.tsn, path, now);
                push_data(packet, &chunk);
                self.paths.path_mut(path).counters.rare().rescheduled += 1;
                self.paths.fact_mut(path).sent_chunks += 1;
                stuck.bytes
            }
            RescheduleExtent::BelowFirstGap => {
                let chunks = self.sender.reschedule_below_first_gap(stuck.path);
                if chunks == 0 {
                    // All blocking chunks are being retransmitted already, so no path is penalised.
                    return 0;
                }
                self.paths.path_mut(path).counters.rare().rescheduled += u64::from(chunks);
                0
            }
        };
        if stuck.path != path && self.paths.contains(stuck.path) {
            self.release_timer(stuck.path, now);
        }
        self.penalize(&stuck, path, reschedule.penalty, now);
        self.follow_path(stuck.path, now);
        written
    }

    /// Keeps watch on `path` after its earliest chunk was moved to another path. The acknowledgement of that chunk says nothing
    /// about this path, so its T3 runs on, or a heartbeat is sent. T3 runs without outstanding data only while a heartbeat may end it.
    fn release_timer(&mut self, path: PathId, now: Instant) {
        let owed = self.sender.earliest_outstanding(path);
        let (facts, machinery) = self.paths.both(path);
        let is_silent = !machinery.answered_lately(&facts.rtt, now);
        let is_checked = owed.is_none() && is_silent && self.check(path, now);
        let sending = self.paths.path_mut(path).sending.make_mut();
        if is_checked && sending.one_at_a_time {
            sending.t3.hold();
        } else {
            sending.t3.run_on(owed);
        }
    }

    fn reschedule_onto(&mut self, onto: PathId, stuck: &StuckChunk, now: Instant) -> Option<Reschedule> {
        // If the peer has no room, rescheduling to another path does not help (RFC 9260 §6.1 A).
        if self.window_probe.is_out() {
            return None;
        }
        let buffer = self.buffer_facts();
        let facts: &[PathFacts] = self.paths.facts();
        let policy = &mut self.policies.rescheduling;
        policy.reschedule(self.paths.fact(onto), stuck, &buffer, facts, now)
    }

    /// Applies the penalty of the policy to the path of the blocking chunk, which is sent again on `onto`; a path that is paused
    /// already gets none.
    fn penalize(&mut self, stuck: &StuckChunk, onto: PathId, penalty: ReschedulePenalty, now: Instant) {
        let path = stuck.path;
        if !self.paths.contains(path) || self.paths.path(path).sending.blocked_until.is_some() {
            return;
        }
        match penalty {
            ReschedulePenalty::Nothing => {}
            ReschedulePenalty::Blocked(time) => {
                self.paths.path_mut(path).sending.make_mut().blocked_until = Some(now + time);
            }
            ReschedulePenalty::WindowCut => {
                // On another path the chunk arrives earlier, lost or not.
                let cause = if path == onto {
                    LossCause::FastRetransmit
                } else {
                    LossCause::Reschedule
                };
                self.begin_recovery(path, cause, (stuck.tsn, stuck.bytes), now);
                self.publish_windows();
            }
        }
    }
}
