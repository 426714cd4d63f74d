//! Heartbeats (RFC 9260 §5.4, §8.3). When does one leave on a path, and what do its answer and its loss mean?
//!
//! The timer of one path is [`crate::path::Heartbeat`]; here is what moves it.

use core::time::Duration;

use anabranch_policy::{PathFacts, Reachability};
use anabranch_types::{Instant, PathId};
use anabranch_wire::PacketBuilder;

use super::{Effects, Transfer};
use crate::path::{Heartbeat, HeartbeatInfo};

/// Bytes of a HEARTBEAT of ours: two headers and what we want back, padded.
pub(crate) const HEARTBEAT_LEN: usize = (4 + 4 + HeartbeatInfo::LEN).next_multiple_of(4);

impl Transfer {
    /// The handshake is complete: unconfirmed paths are probed at once (RFC 9260 §5.4), the others in due time.
    pub(crate) fn start_heartbeats(&mut self, now: Instant) {
        for id in self.paths.ids() {
            self.schedule_heartbeat(id, now);
        }
    }

    /// SHUTDOWN or SHUTDOWN ACK leaves, with which heartbeats end (RFC 9260 §8.3): a peer that has finished already would answer
    /// them with an ABORT. Unless there is no path yet on which these chunks could leave.
    pub(crate) fn stop_heartbeats(&mut self) {
        self.is_finishing = true;
        if !self.paths.any_confirmed() {
            return;
        }
        for id in self.paths.ids() {
            let path = self.paths.path_mut(id);
            path.heartbeat = Heartbeat::default();
            path.mtu.end();
        }
    }

    /// Not where the peer came from while we finish: SHUTDOWN may go there only when that is confirmed.
    fn heartbeats_are_over(&self, path: PathId) -> bool {
        self.is_finishing && self.paths.is_confirmed(path)
    }

    /// A heartbeat leaves on `path` at once, unless the answer to one may still come.
    pub(super) fn ask(&mut self, path: PathId, now: Instant) {
        if !self.heartbeats_are_over(path) {
            let path = self.paths.path_mut(path);
            path.heartbeat.hurry(path.rtt.rto_without_back_off(), now);
        }
    }

    /// The application asks for a heartbeat on `path` (REQUESTHEARTBEAT, RFC 9260 §11.1.10). Addresses that are not confirmed are
    /// asked at their own pace (RFC 9260 §5.4).
    pub(crate) fn request_heartbeat(&mut self, path: PathId) {
        if self.paths.is_confirmed(path) && !self.heartbeats_are_over(path) {
            self.paths.path_mut(path).heartbeat.request();
        }
    }

    /// A heartbeat leaves on the unconfirmed `path` at once, to go with a COOKIE ACK; `false` if one may still be answered.
    pub(crate) fn hurry_heartbeat(&mut self, path: PathId, now: Instant) -> bool {
        let path = self.paths.path_mut(path);
        path.heartbeat.hurry(path.rtt.rto(), now)
    }

    /// The heartbeat that is under way on `path`, if there is one, went where nobody is. Another one leaves: at once, or to an
    /// address that is not confirmed as soon as the budget allows.
    fn restart_heartbeat(&mut self, path: PathId, now: Instant) {
        self.paths.path_mut(path).heartbeat = Heartbeat::default();
        if !self.paths.is_confirmed(path) {
            self.schedule_heartbeat(path, now);
        } else if !self.heartbeats_are_over(path) {
            self.paths.path_mut(path).heartbeat.schedule(Some(now));
        }
    }

    /// The far end of `path` moved to another port: if it is out of use, it is asked there at once.
    pub(crate) fn probe_rebound(&mut self, path: PathId, now: Instant) {
        if self.paths.fact(path).reachability != Reachability::Active {
            self.restart_heartbeat(path, now);
        }
    }

    //= rfc9260 3.3.5-1, 8.3-1, 8.3-15
    /// Sets the next heartbeat of `path`, counted from `begin`: after HB.interval and a retransmission timeout, give or take half
    /// of the latter, in which nothing that was sent on an active path was acknowledged (RFC 9260 §8.3 asks whether it is idle,
    /// but what is sent on a dead path proves nothing); as soon as the budget allows while the path is unconfirmed and was not
    /// given up (RFC 9260 §5.4).
    pub(super) fn schedule_heartbeat(&mut self, path: PathId, begin: Instant) {
        if self.heartbeats_are_over(path) {
            return;
        }
        let facts = self.paths.fact(path);
        let (reachability, rto) = (facts.reachability, facts.rto);
        let Some(every) = self.policies.failover.heartbeat_interval(facts) else {
            self.paths.path_mut(path).heartbeat.schedule(None);
            return;
        };
        if reachability == Reachability::Unconfirmed && every == Duration::ZERO {
            let period = self.paths.fact(self.paths.best()).rto;
            let next = self.probe_budget.reserve(begin, period);
            self.paths.path_mut(path).heartbeat.schedule(Some(next));
            return;
        }
        let period = every + jittered(rto, self.secrets.number());
        let machinery = self.paths.path_mut(path);
        // Whether SACKs arrive there a heartbeat finds out, not the data.
        if reachability == Reachability::Active && !machinery.sacks_doubted {
            machinery.heartbeat.schedule_when_unproved(period, begin);
        } else {
            machinery.heartbeat.schedule(Some(begin + period));
        }
    }

    //= rfc9260 3.3.5-3
    /// Puts a HEARTBEAT into a packet for `path`, if it fits. Its nonce is what proves the answer (RFC 9260 §5.4).
    pub(crate) fn write_heartbeat(&mut self, path: PathId, packet: &mut PacketBuilder<'_>, now: Instant) {
        let nonce = self.secrets.number();
        let info = HeartbeatInfo { path, nonce }.encode();
        if packet.push(&anabranch_wire::Heartbeat { info: &info }).is_ok() {
            let rto = self.paths.fact(path).rto;
            self.paths.path_mut(path).heartbeat.sent(nonce, rto, now);
        }
    }

    /// Puts a HEARTBEAT into a packet for `path` if one is due there.
    pub(crate) fn write_due_heartbeat(&mut self, path: PathId, packet: &mut PacketBuilder<'_>, now: Instant) {
        if self.paths.path(path).heartbeat.is_due(now) {
            self.write_heartbeat(path, packet, now);
        }
    }

    //= rfc9260 8.3-14
    /// A HEARTBEAT ACK with our `info` came. It proves that the peer is at the far end of the path that the heartbeat was sent
    /// on, whichever path the answer took (RFC 9260 §5.4, §8.3).
    pub(crate) fn on_heartbeat_ack(&mut self, info: &[u8], now: Instant) -> Effects {
        let known = |info: &HeartbeatInfo| self.paths.contains(info.path);
        let Some(info) = HeartbeatInfo::decode(info).filter(known) else {
            return Effects::default();
        };
        let path = info.path;
        let (is_mtu_probe, effects) = self.mtu_probe_answered(path, info.nonce, now);
        if is_mtu_probe {
            self.reverse_path_works(path, now);
            return effects.then(self.answered_at_some_time(path, now));
        }
        let Some(round_trip) = self.paths.path_mut(path).heartbeat.answered(&info, now) else {
            return effects;
        };
        let sent_at = now - round_trip;
        self.paths.rtt_sample(path, sent_at, now);
        self.reverse_path_works(path, now);
        let effects = effects.then(self.heartbeat_proved(path, sent_at, now));
        self.schedule_heartbeat(path, now);
        effects
    }

    //= rfc9260 8.3-3, 8.3-6
    /// The last heartbeat on `path` may be overdue: an error, and the next one is scheduled.
    pub(super) fn heartbeat_timer(&mut self, path: PathId, now: Instant) -> Effects {
        let Some(overdue) = self.paths.path_mut(path).heartbeat.take_overdue(now) else {
            return Effects::default();
        };
        if overdue.excused {
            self.schedule_heartbeat(path, now);
            return Effects::default();
        }
        self.paths.path_mut(path).rtt.back_off();
        self.paths.publish_rtt(path);
        let effects = self.heartbeat_missed(path, now);
        if effects.peer_is_unreachable {
            return effects;
        }
        let is_dead = self.paths.fact(path).reachability == Reachability::Inactive;
        // RFC 9260 §8.3 recommends one heartbeat for each RTO and HB.interval: counted from the last one, a dead path is found
        // well the sooner. Where errors still count, an outage should end no association the sooner.
        self.schedule_heartbeat(path, if is_dead { overdue.sent_at } else { now });
        effects
    }

    //= rfc9260 8.1-2, 8.3-4, 8.3-7
    /// A heartbeat on `path` was not answered in time.
    ///
    /// It counts against the peer only if no other path is usable (RFC 9260 §8.1): several dead paths would end an association
    /// that works over another one and is only idle. Once no other path is usable, this one is as good as any, and counts.
    fn heartbeat_missed(&mut self, path: PathId, now: Instant) -> Effects {
        let is_other = |facts: &PathFacts| facts.id != path && facts.is_usable();
        if !self.paths.facts().iter().any(is_other) {
            self.error_on(path, now)
        } else if self.paths.fact(path).reachability != Reachability::Inactive {
            // The counter of an inactive path stands still (RFC 9260 §8.3).
            self.path_error(path, now)
        } else {
            Effects::default()
        }
    }
}

/// Between half of `rto` and one and a half.
fn jittered(rto: Duration, random: u64) -> Duration {
    let per_mille = 500 + (random % 1_001) as u32;
    rto * per_mille / 1_000
}
