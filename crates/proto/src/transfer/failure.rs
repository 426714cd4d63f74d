//! Failure detection for paths and the peer (RFC 9260 §8.1, §8.2; RFC 7829). Does the peer still answer, and on which paths?
//!
//! Errors are counted for each path and for the peer. The failover policy decides what the errors of a path mean for its
//! reachability. When a path becomes inactive, its data in flight is retransmitted on others at once, because its own T3 has backed
//! off, up to RTO.Max.

use anabranch_policy::{Reachability, SentOnce};
use anabranch_types::{Instant, PathId};

use super::{Effects, Transfer};
use crate::on_demand::OnDemand;
use crate::path::PathChange;

impl Transfer {
    //= rfc9260 8.1-1, 8.1-3
    /// Counts an error: T3 expired on `path`, or a HEARTBEAT or ASCONF was not acknowledged in time (RFC 9260 §8.1, §8.2).
    pub(crate) fn error_on(&mut self, path: PathId, now: Instant) -> Effects {
        let was_confirmed = self.paths.is_confirmed(path);
        let mut effects = self.path_error(path, now);
        // Errors of an unconfirmed address do not count against the peer, because the address may not be the peer's (RFC 9260 §5.4).
        // They do count if no confirmed address is left: both ends may have deleted addresses at the same time, and the association
        // must end if the remaining pair does not work.
        let failover = &self.policies.failover;
        let counts = failover.counts_against_peer(self.paths.fact(path), self.paths.facts());
        if was_confirmed && counts || !self.paths.any_confirmed() {
            self.errors = self.errors.saturating_add(1);
            effects.peer_is_unreachable = self.errors > self.config.max_retransmits;
        }
        effects
    }

    /// T4 expired for an ASCONF that was sent on `path` (RFC 5061 §5.1 B1).
    pub(crate) fn request_timed_out(&mut self, path: PathId, now: Instant) -> Effects {
        self.paths.fact_mut(path).rtt.back_off();
        self.error_on(path, now)
    }

    //= rfc9260 8.2-1
    //= rfc7829 3.2-14
    /// Counts one more consecutive error of `path`, and applies the reachability that the failover policy derives from it.
    pub(super) fn path_error(&mut self, path: PathId, now: Instant) -> Effects {
        let (facts, machinery) = self.paths.both_mut(path);
        facts.errors = facts.errors.saturating_add(1);
        machinery.failed_at = Some(now);
        let reachability = self.policies.failover.on_error(self.paths.fact(path));
        let Some(effects) = self.set_reachability(path, reachability) else {
            return Effects::default();
        };
        // A path whose retransmission was lost works all the same, so a probe that is due asks at once (ADR 0145).
        if reachability == Reachability::Inactive {
            self.paths.path_mut(path).probes.asked(now);
        }
        // The heartbeat period depends on the reachability: a potentially failed path is probed once per RTO (RFC 7829 §3.2).
        self.schedule_heartbeat(path, now);
        if reachability == Reachability::Inactive && self.sender.in_flight(path) > 0 {
            self.send_again(path, now);
        }
        effects
    }

    /// Clears the error counter of the peer: the handshake is complete, or a packet arrived during the shutdown (RFC 9260 §9.2).
    pub(crate) const fn forget_errors(&mut self) {
        self.errors = 0;
    }

    /// Clears both error counters, because the peer answered something that was sent on `path` (RFC 9260 §8.1, §8.2). An
    /// unconfirmed address stays as it is: only a HEARTBEAT ACK with the right nonce confirms that it is the peer's (RFC 9260 §5.4).
    fn sign_of_life_on(&mut self, path: PathId, now: Instant) -> Effects {
        if self.paths.is_confirmed(path) {
            self.proved_alive(path, now)
        } else {
            Effects::default()
        }
    }

    //= rfc9260 8.2-4, 8.3-11
    fn proved_alive(&mut self, path: PathId, now: Instant) -> Effects {
        self.errors = 0;
        let facts = self.paths.fact_mut(path);
        if facts.errors == 0 && facts.reachability == Reachability::Active {
            return Effects::default();
        }
        facts.errors = 0;
        self.paths.path_mut(path).join.settle();
        let reachability = self.policies.failover.on_reachable(self.paths.fact(path));
        let Some(effects) = self.set_reachability(path, reachability) else {
            return Effects::default();
        };
        if reachability == Reachability::Active {
            self.paths.path_mut(path).damping.make_mut().returned();
            self.take_over(now);
        }
        effects
    }

    //= rfc9260 8.1-6
    //= rfc7829 3.2-20, 3.2-21
    /// Processes the acknowledgement of chunks that were last sent on `path`; `sent_once` is the latest of those that were sent only
    /// once.
    ///
    /// RFC 9260 §8.2 leaves open which address is credited with the acknowledgement of a chunk that was sent more than once. After
    /// an outage the first acknowledgement may also be for a chunk that arrived before it. So neither makes an unusable path active
    /// again; a heartbeat is sent there at once instead.
    pub(super) fn acknowledged(
        &mut self,
        path: PathId,
        sent_once: Option<SentOnce>,
        now: Instant,
    ) -> Effects {
        if let Some(chunk) = sent_once {
            let machinery = self.paths.path_mut(path);
            machinery.damping = OnDemand::IDLE;
            // The SACK may have arrived over another path, so it does not show that the reverse direction of this one works.
            if machinery.sacks_doubted.is_none() {
                machinery.heartbeat.path_is_proved(chunk.sent_at, now);
            }
        }
        let failed_at = self.paths.path(path).failed_at;
        let is_proof = |chunk: SentOnce| failed_at.is_none_or(|failed_at| chunk.sent_at >= failed_at);
        if self.paths.fact(path).is_active() || sent_once.is_some_and(is_proof) {
            return self.sign_of_life_on(path, now);
        }
        self.errors = 0;
        self.send_heartbeat(path, now);
        Effects::default()
    }

    /// Processes the answer to a control chunk that was sent on `path` several times, so that its send time is ambiguous. If data is
    /// in flight there and T3 has backed off, a heartbeat shows within a round trip whether the path delivers.
    pub(crate) fn answered_at_some_time(&mut self, path: PathId, now: Instant) -> Effects {
        let is_in_doubt = self.is_in_doubt(path);
        let effects = self.sign_of_life_on(path, now);
        if is_in_doubt && self.sender.in_flight(path) > 0 {
            self.send_heartbeat(path, now);
        }
        effects
    }

    /// Whether it is not known that `path` works: it is unusable, or waits for the one packet after a timeout (RFC 9260 §7.2.3). A zero
    /// window probe does not count, because its missing acknowledgement says nothing about the path (RFC 9260 §6.1 A).
    fn is_in_doubt(&self, path: PathId) -> bool {
        let waits = self.paths.path(path).waits_for_answer() && !self.window_probe.is_out();
        waits || !self.paths.fact(path).is_active()
    }

    //= rfc9260 8.1-7, 8.3-13
    //= rfc7829 3.2-17
    /// Processes a HEARTBEAT ACK for a heartbeat sent on `path` at `sent_at`. Data that was sent earlier on a path in doubt, and is
    /// not acknowledged yet, was lost: it is retransmitted now and not when T3, which has backed off, expires.
    pub(super) fn heartbeat_proved(&mut self, path: PathId, sent_at: Instant, now: Instant) -> Effects {
        let was_in_doubt = self.is_in_doubt(path);
        let effects = self.proved_alive(path, now);
        if let Some(sending) = self.paths.path_mut(path).sending.active_mut() {
            sending.t3.release();
        }
        let tried = self.sender.earliest_outstanding(path);
        if was_in_doubt && tried.is_some_and(|(_, tried_at)| tried_at < sent_at) {
            self.send_again(path, now);
        }
        effects
    }

    /// Retransmits data in flight on unusable paths, because a path has become active that can carry it now.
    fn take_over(&mut self, now: Instant) {
        for path in self.paths.ids() {
            if !self.paths.fact(path).is_active() && self.sender.in_flight(path) > 0 {
                self.send_again(path, now);
            }
        }
    }

    /// Marks all data in flight on `path` as lost. The congestion control is not told: the path failed, which says nothing about
    /// congestion.
    pub(super) fn send_again(&mut self, path: PathId, now: Instant) {
        self.sender.lose_all(path);
        self.policies.loss.on_timeout(path);
        self.follow_path(path, now);
    }

    /// Looks for failed paths after a SACK that arrived over `arrived_on`. SACKs acknowledge the data of all paths. So a path is
    /// suspected if it has data in flight, SACKs have acknowledged none of it for too long, and another path is usable (ADR 0026).
    pub(super) fn suspect_the_silent(&mut self, arrived_on: PathId, now: Instant) -> Effects {
        let mut effects = Effects::default();
        // A zero window probe that finds the window closed is not acknowledged, on whatever path it was sent.
        if self.paths.active_count() < 2 || self.window_probe.is_out() {
            return effects;
        }
        // The SACK describes the receiver at the time when it was sent. On its way it did not wait in the queues that data of this side
        // fills, and what it waited in others is within the patience.
        let age = self.paths.fact(arrived_on).min_rtt().unwrap_or_default();
        for path in self.paths.ids() {
            if self.is_silent(path, now - age) && self.paths.active_count() > 1 {
                effects.append(self.suspect(path, now));
            }
        }
        effects
    }

    fn is_silent(&self, path: PathId, until: Instant) -> bool {
        let facts = self.paths.fact(path);
        let Some(patience) = self.policies.failover.suspect_after(facts) else {
            return false;
        };
        let Some((_, sent_at)) = self.sender.earliest_outstanding(path) else {
            return false;
        };
        let acked_at = self.paths.path(path).acked_at;
        let since = acked_at.map_or(sent_at, |acked_at| acked_at.max(sent_at));
        facts.is_active() && since + patience < until
    }

    /// Moves the data in flight on `path` to other paths, and sends a heartbeat there at once. No loss is known, so window and RTO of
    /// the path do not change: if the suspicion was wrong, the path continues as before.
    fn suspect(&mut self, path: PathId, now: Instant) -> Effects {
        self.send_again(path, now);
        let machinery = self.paths.path_mut(path);
        machinery.counters.rare().suspicions += 1;
        machinery.probes.asked(now);
        self.send_heartbeat(path, now);
        // As after T3: heartbeats may pass that are smaller than the data.
        self.damp(path, now);
        let effects = self.doubt_mtu_after_timeout(path, now);
        let failed = self.set_reachability(path, Reachability::PotentiallyFailed);
        effects.then(failed.unwrap_or_default())
    }

    /// Confirms `path`, as the handshake has shown that the peer receives there (RFC 9260 §5.4). It becomes the primary path if that
    /// one is not confirmed, since unconfirmed addresses carry no data.
    pub(crate) fn confirm(&mut self, path: PathId) -> Effects {
        let effects = self.set_reachability(path, Reachability::Active);
        let mut effects = effects.unwrap_or_default();
        if !self.paths.is_confirmed(self.paths.primary()) {
            effects.append(self.make_primary(path));
        }
        effects
    }

    //= rfc9260 8.2-3, 8.2-5, 8.3-5, 8.3-12
    //= rfc7829 3.2-19, 3.2-24
    /// Sets the reachability of `path`; `None` if it does not change.
    fn set_reachability(&mut self, path: PathId, reachability: Reachability) -> Option<Effects> {
        let before = self.paths.fact(path).reachability;
        if before == reachability {
            return None;
        }
        self.paths.set_reachability(path, reachability);
        let mut effects = self.changed(path, PathChange::Reachability(reachability));
        match reachability {
            Reachability::Active => {
                self.paths.note_usable();
                effects.is_usable_again = true;
            }
            // When the path works again, its route and so its MTU may be another.
            Reachability::Inactive => effects.append(self.forget_mtu(path)),
            Reachability::PotentiallyFailed | Reachability::Unconfirmed => {}
        }
        Some(effects)
    }
}
