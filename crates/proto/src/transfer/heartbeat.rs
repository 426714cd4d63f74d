//! Heartbeats (RFC 9260 §5.4, §8.3). When is one sent on a path, and what follows from its acknowledgement or loss?
//!
//! [`crate::path::Heartbeat`] is the timer of one path, which is set here.

use core::time::Duration;

use anabranch_policy::{PathFacts, Reachability};
use anabranch_types::{Instant, PathId};
use anabranch_wire::PacketBuilder;

use super::{Effects, Transfer};
use crate::path::{Check, Heartbeat, HeartbeatInfo};

/// Time until an unconfirmed path without answer is taken for one that the peer does not know: a number of round-trip times of the best
/// path, as another path may be slower, and a margin, as the peer may be slow to answer.
const JOIN_SRTTS: u32 = 3;
const JOIN_MARGIN: Duration = Duration::from_millis(100);

/// Length of our HEARTBEAT: two headers and the Heartbeat Information, padded.
pub(crate) const HEARTBEAT_LEN: usize = (4 + 4 + HeartbeatInfo::LEN).next_multiple_of(4);

impl Transfer {
    /// Starts heartbeats after the handshake: unconfirmed paths are probed at once (RFC 9260 §5.4), others after a period.
    pub(crate) fn start_heartbeats(&mut self, now: Instant) {
        for id in self.paths.ids() {
            self.schedule_heartbeat(id, now);
        }
        self.tell_preferences();
    }

    /// Stops heartbeats when SHUTDOWN or SHUTDOWN ACK is sent (RFC 9260 §8.3): a peer that has removed the association would answer
    /// with an ABORT. They continue while there is no confirmed path on which these chunks could be sent.
    pub(crate) fn stop_heartbeats(&mut self) {
        self.is_finishing = true;
        if !self.paths.any_confirmed() {
            return;
        }
        for id in self.paths.ids() {
            let is_confirmed = self.paths.is_confirmed(id);
            let path = self.paths.path_mut(id);
            // The peer has moved to a path that has joined: what ends the association has to be sent there.
            if is_confirmed || path.join.joined_at().is_none() {
                path.heartbeat = Heartbeat::default();
            }
            path.mtu = None;
        }
    }

    /// Whether heartbeats on `path` have ended. Not if the peer moved to this path during the shutdown: SHUTDOWN may be sent there
    /// only after it is confirmed.
    fn heartbeats_are_over(&self, path: PathId) -> bool {
        self.is_finishing && self.paths.is_confirmed(path)
    }

    /// Sends a heartbeat on `path` at once, unless an outstanding one may still be acknowledged.
    pub(crate) fn send_heartbeat(&mut self, path: PathId, now: Instant) {
        if !self.heartbeats_are_over(path) {
            let (facts, path) = self.paths.both_mut(path);
            path.heartbeat.hurry(facts.rtt.rto_without_back_off(), now);
        }
    }

    /// Like [`Transfer::send_heartbeat`], as a check of a path about which nothing bad is known: one lost heartbeat does not count.
    /// Returns `false` if no heartbeats are sent on the path any more.
    pub(super) fn check(&mut self, path: PathId, now: Instant) -> bool {
        if self.heartbeats_are_over(path) || self.paths.path(path).heartbeats_disabled {
            return false;
        }
        let (facts, path) = self.paths.both_mut(path);
        path.heartbeat.check(facts.rtt.rto_without_back_off(), now);
        true
    }

    /// Enables or disables the heartbeats on `path` (RFC 9260 §11.1.6; `SPP_HB_DISABLE` of RFC 6458 §8.1.12). Confirming an address and
    /// finding out whether a failed path works again need them in any case.
    pub(crate) fn set_heartbeats(&mut self, path: PathId, enabled: bool) {
        let is_active = self.paths.fact(path).reachability == Reachability::Active;
        let machinery = self.paths.path_mut(path);
        machinery.heartbeats_disabled = !enabled;
        if enabled {
            self.request_heartbeat(path);
        } else if is_active {
            machinery.heartbeat = Heartbeat::default();
            machinery.sacks_doubted = None;
        }
    }

    /// Sends a heartbeat on `path` by request of the application (REQUESTHEARTBEAT, RFC 9260 §11.1.10). Unconfirmed addresses are
    /// probed at their own rate (RFC 9260 §5.4).
    pub(crate) fn request_heartbeat(&mut self, path: PathId) {
        if self.paths.is_confirmed(path) && !self.heartbeats_are_over(path) {
            self.paths.path_mut(path).heartbeat.request();
        }
    }

    /// Sends a heartbeat on `path` at once, although one is outstanding: the peer has ignored that one.
    pub(crate) fn send_another_heartbeat(&mut self, path: PathId, now: Instant) {
        if !self.heartbeats_are_over(path) {
            let path = self.paths.path_mut(path);
            path.heartbeat = Heartbeat::default();
            path.heartbeat.schedule(Some(now));
        }
    }

    /// Sends a heartbeat on the unconfirmed `path` at once, bundled with a COOKIE ACK; returns `false` if an outstanding one may
    /// still be acknowledged.
    pub(crate) fn hurry_heartbeat(&mut self, path: PathId, now: Instant) -> bool {
        let (facts, path) = self.paths.both_mut(path);
        path.heartbeat.hurry(facts.rto(), now)
    }

    /// Replaces an outstanding heartbeat that was sent to the old port of `path`: at once, or to an unconfirmed address as soon as
    /// the probe budget allows.
    fn restart_heartbeat(&mut self, path: PathId, now: Instant) {
        self.paths.path_mut(path).heartbeat = Heartbeat::default();
        if !self.paths.is_confirmed(path) {
            self.schedule_heartbeat(path, now);
        } else if !self.heartbeats_are_over(path) {
            self.paths.path_mut(path).heartbeat.schedule(Some(now));
        }
    }

    /// Sends a heartbeat at once after the peer's port of `path` has changed, if the path is unusable.
    pub(crate) fn probe_rebound(&mut self, path: PathId, now: Instant) {
        if self.paths.fact(path).reachability != Reachability::Active {
            self.restart_heartbeat(path, now);
        }
    }

    //= rfc9260 3.3.5-1, 8.3-1, 8.3-15
    /// Schedules the next heartbeat of `path`, from `begin` on.
    ///
    /// Normally it is sent after HB.interval plus RTO with a jitter of half the RTO, if no data of the active path was
    /// acknowledged in that time. RFC 9260 §8.3 requires an idle path instead, but data sent on a failed path proves
    /// nothing. On an unconfirmed path that has not failed, it is sent as soon as the probe budget allows (RFC 9260 §5.4).
    pub(super) fn schedule_heartbeat(&mut self, path: PathId, begin: Instant) {
        if self.heartbeats_are_over(path) {
            return;
        }
        let facts = self.paths.fact(path);
        let (reachability, rto) = (facts.reachability, facts.rto());
        let Some(every) = self.policies.failover.heartbeat_interval(facts) else {
            self.paths.path_mut(path).heartbeat.schedule(None);
            return;
        };
        if reachability == Reachability::Unconfirmed && every == Duration::ZERO {
            let period = self.paths.fact(self.paths.best()).rto();
            let next = self.probe_budget.make_mut().reserve(begin, period);
            self.paths.path_mut(path).heartbeat.schedule(Some(next));
            return;
        }
        let period = every + jittered(rto, self.secrets.number());
        let machinery = self.paths.path_mut(path);
        if machinery.heartbeats_disabled && reachability == Reachability::Active {
            machinery.heartbeat.schedule(None);
            return;
        }
        // Acknowledged data does not show whether SACKs arrive over this path; only a heartbeat does.
        if reachability == Reachability::Active && machinery.sacks_doubted.is_none() {
            machinery.heartbeat.schedule_when_unproved(period, begin);
        } else {
            machinery.heartbeat.schedule(Some(begin + period));
        }
    }

    //= rfc9260 3.3.5-3
    /// Writes a HEARTBEAT into a packet for `path`, if it fits. Its nonce proves that the HEARTBEAT ACK is genuine (RFC 9260 §5.4).
    pub(crate) fn write_heartbeat(&mut self, path: PathId, packet: &mut PacketBuilder<'_>, now: Instant) {
        let nonce = self.secrets.number();
        let info = HeartbeatInfo { path, nonce }.encode();
        if self.push_heartbeat(path, &info, packet) {
            let rto = self.paths.fact(path).rto();
            let answer_due = self.answer_due(path, now);
            let machinery = self.paths.path_mut(path);
            machinery.heartbeat.sent(nonce, rto, now);
            machinery.probes.asked(now);
            if let Some(answer_due) = answer_due {
                machinery.join.expect_answer(answer_due);
            }
        }
    }

    /// When the answer to a heartbeat that is sent now on the unconfirmed `path` is due, judging by the best path, or earlier if the
    /// RTO of `path` is shorter; `None` if the round-trip time of the best path is not known.
    fn answer_due(&self, path: PathId, now: Instant) -> Option<Instant> {
        let best = self.paths.best();
        if self.paths.is_confirmed(path) || !self.paths.is_confirmed(best) {
            return None;
        }
        let patience = JOIN_SRTTS * self.paths.fact(best).srtt()? + JOIN_MARGIN;
        Some(now + patience.min(self.paths.fact(path).rto()))
    }

    /// Writes a HEARTBEAT or a reachability probe into a packet for `path` if one is due.
    pub(crate) fn write_due_heartbeat(&mut self, path: PathId, packet: &mut PacketBuilder<'_>, now: Instant) {
        if self.paths.path(path).heartbeat.is_due(now) {
            self.write_heartbeat(path, packet, now);
        } else if self.probe_due(now) == Some(path) {
            self.write_probe(path, packet, now);
        }
    }

    //= rfc9260 8.3-14
    /// Handles a HEARTBEAT ACK with the information `info`. It confirms the path on which the heartbeat was sent, whichever path
    /// the HEARTBEAT ACK took (RFC 9260 §5.4, §8.3).
    pub(crate) fn on_heartbeat_ack(&mut self, info: &[u8], now: Instant) -> Effects {
        let known = |info: &HeartbeatInfo| self.paths.contains(info.path);
        let Some(info) = HeartbeatInfo::decode(info).filter(known) else {
            return Effects::default();
        };
        let path = info.path;
        let (is_mtu_probe, effects) = self.mtu_probe_answered(path, info.nonce, now);
        if is_mtu_probe {
            self.reverse_path_works(path, now);
            if self.damped_until(path, now).is_some() {
                return effects;
            }
            return effects.then(self.answered_at_some_time(path, now));
        }
        let machinery = self.paths.path_mut(path);
        let Some(sent_at) = machinery.heartbeat_answered(&info) else {
            return effects;
        };
        if let Some(preferred) = &mut machinery.preferred {
            preferred.is_told = true;
        }
        if let Some(until) = self.damped_until(path, now) {
            // The peer is reachable, but the path carries no data. The path therefore stays out of use, and its timeout
            // stays backed off. RFC 9260 §8.3 recommends clearing its errors.
            self.forget_errors();
            self.reverse_path_works(path, now);
            self.schedule_heartbeat(path, until);
            return effects.then(self.answered_without_progress(now));
        }
        self.paths.rtt_sample(path, sent_at, now);
        self.reverse_path_works(path, now);
        let effects = effects.then(self.heartbeat_proved(path, sent_at, now));
        self.schedule_heartbeat(path, now);
        effects.then(self.answered_without_progress(now))
    }

    //= rfc9260 8.3-3, 8.3-6
    /// Handles the heartbeat timer of `path`: an overdue heartbeat counts as an error, and the next one is scheduled.
    pub(super) fn heartbeat_timer(&mut self, path: PathId, now: Instant) -> Effects {
        let Some(overdue) = self.paths.path_mut(path).heartbeat.take_overdue(now) else {
            return Effects::default();
        };
        if overdue.excused {
            self.schedule_heartbeat(path, now);
            return Effects::default();
        }
        let is_active = self.paths.fact(path).reachability == Reachability::Active;
        match overdue.check.filter(|_| is_active) {
            Some(Check::First) => {
                self.paths.path_mut(path).heartbeat.check_again(now);
                return Effects::default();
            }
            // Data shows how long the path takes, and its T3 backs off if it is lost.
            Some(Check::Second) => {}
            None => self.paths.fact_mut(path).rtt.back_off(),
        }
        self.paths.path_mut(path).join.want();
        let effects = self.heartbeat_missed(path, now);
        if effects.peer_is_unreachable {
            return effects;
        }
        let is_dead = self.paths.fact(path).reachability == Reachability::Inactive;
        // RFC 9260 §8.3 recommends one heartbeat per RTO plus HB.interval. On an inactive path the period starts when the last one
        // was sent, so that its recovery is detected earlier. Elsewhere it starts now: more frequent errors would end the
        // association earlier in an outage.
        self.schedule_heartbeat(path, if is_dead { overdue.sent_at } else { now });
        if !is_dead && self.paths.path(path).has_untold_preference() {
            self.request_heartbeat(path);
        }
        effects
    }

    //= rfc9260 8.1-2, 8.3-4, 8.3-7
    /// Counts a heartbeat on `path` that was not acknowledged in time.
    ///
    /// It counts against the peer only if no other path is usable (RFC 9260 §8.1): otherwise several failed paths would end an idle
    /// association that works over another one.
    fn heartbeat_missed(&mut self, path: PathId, now: Instant) -> Effects {
        let is_other = |facts: &PathFacts| facts.id != path && facts.is_active();
        if !self.paths.facts().iter().any(is_other) {
            self.error_on(path, now)
        } else if self.paths.fact(path).reachability != Reachability::Inactive {
            // The error counter of an inactive path does not increase (RFC 9260 §8.3).
            self.path_error(path, now)
        } else {
            Effects::default()
        }
    }
}

/// A random time between 0.5 and 1.5 times `rto`.
fn jittered(rto: Duration, random: u64) -> Duration {
    let per_mille = 500 + (random % 1_001) as u32;
    rto * per_mille / 1_000
}
