//! Path of SACKs. Duplicate data suggests that SACKs are lost, and heartbeats show on which paths.
//!
//! Duplicates from a multi-homed peer may mean that the path of SACKs has failed (RFC 9260 §6.4). It is not known which path that
//! is, because the data may have been retransmitted on another one. So heartbeats are sent on all paths. Paths whose HEARTBEAT ACK is
//! late carry no SACKs while another path has one. Until it is late nothing changes: most duplicates have other causes, and
//! SACKs on a slow path would let the peer wait.

use core::time::Duration;

use anabranch_policy::{PathFacts, path_facts};
use anabranch_types::{Instant, PathId};

use super::Transfer;
use crate::recv::SackWanted;

/// Time after a HEARTBEAT ACK in which a path is not doubted again, because duplicates have other causes, too.
const PROOF_LASTS: Duration = Duration::from_secs(1);

impl Transfer {
    /// Handles duplicate data: doubts all paths and sends heartbeats.
    pub(super) fn doubt_reverse_paths(&mut self, now: Instant) {
        if self.paths.active_count() < 2 {
            return;
        }
        for id in self.paths.ids() {
            let is_active = self.paths.fact(id).is_active();
            let path = self.paths.path(id);
            let is_proved = path
                .answered_at
                .is_some_and(|answered_at| now - answered_at < PROOF_LASTS);
            if is_active && !is_proved && path.sacks_doubted.is_none() {
                let is_checked = self.check(id, now);
                self.paths.path_mut(id).sacks_doubted = is_checked.then_some(now);
            }
        }
    }

    /// Notes that a heartbeat on `path` was acknowledged, so packets sent there arrive.
    pub(super) fn reverse_path_works(&mut self, path: PathId, now: Instant) {
        let path = self.paths.path_mut(path);
        path.answered_at = Some(now);
        path.carried_packets(now);
        path.sacks_doubted = None;
    }

    /// The path of a SACK that is due: the one over which the peer has requested it by the I bit, otherwise that of the policy.
    pub(crate) fn due_sack(&mut self, now: Instant) -> Option<PathId> {
        if let Some(asked) = self.paths.sack_asked() {
            return Some(asked);
        }
        let is_due = self.receiver.sack_wanted(now) == SackWanted::Must;
        is_due.then(|| self.sack_path(now)).flatten()
    }

    /// The path of a delayed SACK, which is bundled with a packet that is sent there anyway.
    pub(crate) fn delayed_sack(&mut self, now: Instant) -> Option<PathId> {
        let is_delayed = self.receiver.sack_is_delayed(now);
        is_delayed.then(|| self.sack_path(now)).flatten()
    }

    //= rfc9260 5.4-2
    /// The path of the policy, or a better one if that is unusable. Never an unconfirmed path, which may carry only handshake
    /// chunks and heartbeats (RFC 9260 §5.4).
    fn sack_path(&mut self, now: Instant) -> Option<PathId> {
        if !self.paths.any_confirmed() {
            return None;
        }
        let arrived_on = self.receiver.last_data_path();
        let facts = self.paths.facts();
        let mut path = self.policies.sack_path.path(arrived_on, facts);
        let is_usable = |id: PathId| path_facts(facts, id).is_some_and(PathFacts::is_usable);
        if !is_usable(path) {
            let best = self.paths.best();
            if is_usable(best) || !self.paths.is_confirmed(path) {
                path = best;
            }
        }
        Some(self.undoubted(path, now))
    }

    /// Returns `wanted`, or the fastest path that is not in doubt if the heartbeat on `wanted` was not acknowledged in time.
    fn undoubted(&self, wanted: PathId, now: Instant) -> PathId {
        let doubted = self.paths.path(wanted).sacks_doubted;
        if doubted.is_none_or(|since| now - since < answer_time(self.paths.fact(wanted))) {
            return wanted;
        }
        let sound = self
            .paths
            .iter()
            .filter(|(facts, path)| facts.is_usable() && path.sacks_doubted.is_none());
        let sound = sound.map(|(facts, _)| facts);
        let best = sound.min_by_key(|facts: &&PathFacts| (facts.srtt(), facts.id));
        best.map_or(wanted, |facts| facts.id)
    }
}

/// The time in which a HEARTBEAT ACK arrives unless it was lost.
fn answer_time(path: &PathFacts) -> Duration {
    path.srtt()
        .map_or_else(|| path.rto(), |srtt| 2 * srtt + 4 * path.rttvar())
}
