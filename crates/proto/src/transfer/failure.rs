//! Path failure detection (RFC 9260 §8.1, §8.2; RFC 7829). Does the peer still answer, and on which paths?
//!
//! Errors are counted for each path and for the peer. What they mean for a path is the failover policy's to say; what is in
//! flight on a path that goes out of use leaves on others at once, for its own timer has backed off, up to RTO.Max.

use anabranch_policy::{Reachability, SentOnce};
use anabranch_types::{Instant, PathId};

use super::{Effects, Transfer};
use crate::path::PathChange;

impl Transfer {
    //= rfc9260 8.1-1, 8.1-3
    /// Something sent on `path` was not answered in time (RFC 9260 §8.1, §8.2).
    pub(crate) fn error_on(&mut self, path: PathId, now: Instant) -> Effects {
        let was_confirmed = self.paths.is_confirmed(path);
        let mut effects = self.path_error(path, now);
        // An address that was never confirmed says nothing about the peer, unless it is all that is left: both ends may have
        // removed addresses at once, and what remains need not be connected.
        let failover = &self.policies.failover;
        let counts = failover.counts_against_peer(self.paths.fact(path), self.paths.facts());
        if was_confirmed && counts || !self.paths.any_confirmed() {
            self.errors = self.errors.saturating_add(1);
            effects.peer_is_unreachable = self.errors > self.limits.max_retransmits;
        }
        effects
    }

    /// An ASCONF that left on `path` was not answered in time (RFC 5061 §5.1 B1).
    pub(crate) fn request_timed_out(&mut self, path: PathId, now: Instant) -> Effects {
        self.paths.path_mut(path).rtt.back_off();
        self.paths.publish_rtt(path);
        self.error_on(path, now)
    }

    //= rfc9260 8.2-1
    /// One more error in a row on `path`, and what the failover policy makes of it.
    pub(super) fn path_error(&mut self, path: PathId, now: Instant) -> Effects {
        let (facts, machinery) = self.paths.both_mut(path);
        facts.errors = facts.errors.saturating_add(1);
        machinery.failed_at = Some(now);
        let reachability = self.policies.failover.on_error(self.paths.fact(path));
        let Some(effects) = self.set_reachability(path, reachability) else {
            return Effects::default();
        };
        // A suspected path is probed sooner than a working one, an inactive one later (RFC 7829 §3.2).
        self.schedule_heartbeat(path, now);
        if reachability == Reachability::Inactive && self.sender.in_flight(path) > 0 {
            self.send_again(path, now);
        }
        effects
    }

    /// The handshake is complete, or a packet came while we finish: no error counts any more.
    pub(crate) const fn forget_errors(&mut self) {
        self.errors = 0;
    }

    /// The peer answered something that was sent on `path`: both counters are cleared (RFC 9260 §8.1, §8.2). An answer over an
    /// address that is not confirmed does not count: only an answered heartbeat proves whose it is (RFC 9260 §5.4).
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
        let reachability = self.policies.failover.on_reachable(self.paths.fact(path));
        let Some(effects) = self.set_reachability(path, reachability) else {
            return Effects::default();
        };
        if reachability == Reachability::Active {
            self.take_over(now);
        }
        effects
    }

    //= rfc9260 8.1-6
    /// Chunks were acknowledged that were last sent on `path`; the latest of those that were sent only once is `sent_once`.
    ///
    /// RFC 9260 §8.2 leaves open which address an acknowledgement speaks for if its chunk was sent more than once, and after an
    /// outage what is acknowledged first may have arrived before it. So a path that is out of use does not come back by that,
    /// but is asked at once.
    pub(super) fn acknowledged(
        &mut self,
        path: PathId,
        sent_once: Option<SentOnce>,
        now: Instant,
    ) -> Effects {
        if let Some(chunk) = sent_once {
            let machinery = self.paths.path_mut(path);
            // Whether the reverse path is alive, only an answer over it tells.
            if !machinery.sacks_doubted {
                machinery.heartbeat.path_is_proved(chunk.sent_at, now);
            }
        }
        let failed_at = self.paths.path(path).failed_at;
        let is_proof = |chunk: SentOnce| failed_at.is_none_or(|failed_at| chunk.sent_at >= failed_at);
        if self.paths.fact(path).is_usable() || sent_once.is_some_and(is_proof) {
            return self.sign_of_life_on(path, now);
        }
        self.errors = 0;
        self.ask(path, now);
        Effects::default()
    }

    /// Something was answered that had left on `path`, nobody knows when, for it left several times. If data waits there for a
    /// timer that has backed off, a heartbeat tells at once whether it arrived.
    pub(crate) fn answered_at_some_time(&mut self, path: PathId, now: Instant) -> Effects {
        let is_in_doubt = self.is_in_doubt(path);
        let effects = self.sign_of_life_on(path, now);
        if is_in_doubt && self.sender.in_flight(path) > 0 {
            self.ask(path, now);
        }
        effects
    }

    /// Whether `path` is out of use, or what was tried on it after a timeout is all that may leave. What finds the window shut
    /// waits for more than an answer.
    fn is_in_doubt(&self, path: PathId) -> bool {
        let waits = self.paths.path(path).waits_for_answer() && !self.window_probe.is_out();
        waits || !self.paths.fact(path).is_usable()
    }

    //= rfc9260 8.1-7, 8.3-13
    /// A heartbeat that left on `path` at `sent_at` was answered. What was tried there before is not acknowledged yet, so it did
    /// not arrive.
    pub(super) fn heartbeat_proved(&mut self, path: PathId, sent_at: Instant, now: Instant) -> Effects {
        let was_in_doubt = self.is_in_doubt(path);
        let effects = self.proved_alive(path, now);
        self.paths.path_mut(path).t3.release();
        let tried = self.sender.earliest_outstanding(path);
        if was_in_doubt && tried.is_some_and(|(_, tried_at)| tried_at < sent_at) {
            self.send_again(path, now);
        }
        effects
    }

    /// A path answers again. What was tried on others, which do not, leaves on it at once.
    fn take_over(&mut self, now: Instant) {
        for path in self.paths.ids() {
            if !self.paths.fact(path).is_usable() && self.sender.in_flight(path) > 0 {
                self.send_again(path, now);
            }
        }
    }

    /// What is in flight on `path` counts as lost, without any fault of the network: the congestion control is not told.
    pub(super) fn send_again(&mut self, path: PathId, now: Instant) {
        self.sender.lose_all(path);
        self.policies.loss.on_timeout(path);
        self.follow_path(path, now);
    }

    /// A SACK came over `arrived_on`. It speaks of all paths: one with data in flight of which it and those before it
    /// said nothing for too long is suspected, if there is another one to take over.
    pub(super) fn suspect_the_silent(&mut self, arrived_on: PathId, now: Instant) -> Effects {
        let mut effects = Effects::default();
        // What finds the window shut is not acknowledged on any path.
        if self.paths.usable_count() < 2 || self.window_probe.is_out() {
            return effects;
        }
        // What a SACK says was true when it left, which is no longer ago than a round trip.
        let age = self.paths.fact(arrived_on).srtt.unwrap_or_default();
        for path in self.paths.ids() {
            if self.is_silent(path, now - age) && self.paths.usable_count() > 1 {
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
        facts.is_usable() && since + patience < until
    }

    /// Others take over what is in flight on `path`, and a heartbeat asks it at once. Nothing was lost yet as far as is
    /// known, so neither its window nor its timeout changes: if it answers, it goes on as before.
    fn suspect(&mut self, path: PathId, now: Instant) -> Effects {
        self.send_again(path, now);
        self.paths.path_mut(path).counters.suspicions += 1;
        self.ask(path, now);
        self.set_reachability(path, Reachability::PotentiallyFailed)
            .unwrap_or_default()
    }

    /// The handshake proved that the peer is at the far end of `path`. It is the primary one if nothing is known of the one
    /// that was.
    pub(crate) fn confirm(&mut self, path: PathId) -> Effects {
        let effects = self.set_reachability(path, Reachability::Active);
        let mut effects = effects.unwrap_or_default();
        if !self.paths.is_confirmed(self.paths.primary()) {
            effects.append(self.make_primary(path));
        }
        effects
    }

    //= rfc9260 8.2-3, 8.2-5, 8.3-5, 8.3-12
    /// `None` if it was so before.
    fn set_reachability(&mut self, path: PathId, reachability: Reachability) -> Option<Effects> {
        let facts = self.paths.fact_mut(path);
        if facts.reachability == reachability {
            return None;
        }
        let was_unconfirmed = facts.reachability == Reachability::Unconfirmed;
        facts.reachability = reachability;
        let mut effects = self.changed(path, PathChange::Reachability(reachability));
        match reachability {
            Reachability::Active => {
                self.paths.note_usable();
                effects.is_confirmed = was_unconfirmed;
            }
            // When it comes back it may lead elsewhere.
            Reachability::Inactive => effects.append(self.forget_mtu(path)),
            Reachability::PotentiallyFailed | Reachability::Unconfirmed => {}
        }
        Some(effects)
    }
}
