//! Joins (RFC 5061 §4.2.1, ADR 0073): ASCONFs that add the source address of their packet, sent on paths without answers.
//!
//! A peer ignores packets from unknown addresses. A NAT gives the packets of a path such an address, and another one after it was
//! restarted or its public address changed. The sender only observes that its heartbeats are not acknowledged. It then sends an ASCONF
//! on that path with a request to add the wildcard address: the peer adds the source address of the packet and confirms it by a
//! heartbeat.
//!
//! ```text
//! condition:      heartbeats not acknowledged, no other path from the same local address works, the remote address is the peer's
//! first attempt:  when a heartbeat is overdue; on an unconfirmed path after 3 SRTT + 100 ms of the best path (ADR 0088)
//! further ones:   after one RTO without back-off, two, four, … 30 s, until a heartbeat is acknowledged
//! other requests: if a path works, an unacknowledged join is sent there, where it changes nothing, and the next ASCONF follows
//! ```
//!
//! One ASCONF is outstanding at a time (RFC 5061 §5.1.1 C1). While no path works, the outstanding one is sent as the join, whatever other
//! requests it has. Joins count no errors: the heartbeats of the path do, so an outage ends an association no sooner. From an
//! address that is being added no heartbeats are sent, so joins count there if they are not answered.

use alloc::vec::Vec;

use anabranch_policy::{PathFacts, Reachability};
use anabranch_types::{Instant, PathAddr, PathId, earliest};

use super::Addresses;
use super::retirement::retirement_deadline;
use crate::path::{MAX_PATHS, Path, PathSet, covers};
use crate::transfer::{Effects, Transfer};

/// Consecutive errors after which a path counts as unanswered even if it is usable, as some failover policies leave it.
const SILENT_ERRORS: u16 = 3;
/// Maximum number of joins on a path to an address that the peer listed and that is not confirmed: it may be another host's.
const MAX_UNPROVEN: u16 = 3;

impl Addresses {
    /// The time of the next call of [`Addresses::join`] and [`Addresses::retire_left`].
    pub(crate) fn join_deadline(&self, paths: &PathSet) -> Option<Instant> {
        if !paths.facts().iter().any(may_be_unanswered) {
            return None;
        }
        let join_at = self.next_join(paths).map(|(due_at, _)| due_at);
        earliest([join_at, retirement_deadline(paths)])
    }

    /// Queues the ASCONF of a join if one is due.
    pub(crate) fn join(&mut self, transfer: &mut Transfer, now: Instant) -> Effects {
        if !transfer.paths.facts().iter().any(may_be_unanswered) {
            return Effects::default();
        }
        let mut effects = self.use_pending_addresses(transfer, now);
        note_proven_remotes(&mut transfer.paths);
        if let Some((due_at, path)) = self.next_join(&transfer.paths)
            && due_at <= now
        {
            let (facts, machinery) = transfer.paths.both_mut(path);
            let timeout = facts.rtt.rto_without_back_off();
            let is_repeated = machinery.join.attempts > 0;
            machinery.join.attempt(timeout, now);
            let local = machinery.addr.local;
            // No heartbeats are sent from an address that is being added, which would count the error.
            if is_repeated && self.asconf_sender.coming().contains(&local) {
                effects.append(transfer.error_on(path, now));
            }
            let sender = &mut self.asconf_sender;
            match &mut sender.outstanding {
                Some(asconf) => asconf.join(path),
                None => sender.begin(Vec::new(), local).join(path),
            }
        }
        effects
    }

    /// The next join: its time and its path.
    fn next_join(&self, paths: &PathSet) -> Option<(Instant, PathId)> {
        let sender = &self.asconf_sender;
        let works = || paths.working(&self.former.departing).is_some();
        let is_busy = match &sender.outstanding {
            Some(asconf) => asconf.is_under_way() || (!asconf.is_join() && works()),
            None => sender.has_waiting(),
        };
        if is_busy || sender.is_vain {
            return None;
        }
        let due = |(facts, path)| Some((self.join_due_at(paths, facts, path)?, facts.id));
        paths.iter().filter_map(due).min()
    }

    /// When a join is due on `path`; `None` if it needs none, or none is permitted.
    fn join_due_at(&self, paths: &PathSet, facts: &PathFacts, path: &Path) -> Option<Instant> {
        let due_at = if is_unanswered((facts, path)) {
            self.may_join(path).then(|| path.join.due_at())
        } else if facts.reachability == Reachability::Unconfirmed && self.leads_to_peer(path) {
            path.join.early_due_at()
        } else {
            None
        };
        let is_other = |(other, known): (&PathFacts, &Path)| {
            other.id != facts.id && other.is_active() && known.addr.local == path.addr.local
        };
        due_at.filter(|_| !paths.iter().any(is_other))
    }

    /// Whether the remote address of `path` is known to be the peer's, or we initiated the association and the peer lists it. In the
    /// second case the number of attempts is limited.
    fn may_join(&self, path: &Path) -> bool {
        let may_guess = !self.initiated_to.is_empty() && path.join.attempts < MAX_UNPROVEN;
        may_guess || self.leads_to_peer(path)
    }

    /// Whether the remote address of `path` is known to be the peer's: it was confirmed, or the application gave it to connect.
    pub(crate) fn leads_to_peer(&self, path: &Path) -> bool {
        path.join.remote_is_proven || self.initiated_to.contains(&path.addr.remote.ip())
    }

    //= rfc5061 5.3-3
    /// If no path answers, or those that do are from departing addresses, makes paths from the addresses that the peer has been requested to add.
    /// Until it acknowledges that, only the ASCONF with the request is sent from there (RFC 5061 §5.3 F1).
    pub(super) fn use_pending_addresses(&mut self, transfer: &mut Transfer, now: Instant) -> Effects {
        let mut effects = Effects::default();
        let departing = &self.former.departing;
        let stays = |(facts, path): (&PathFacts, &Path)| {
            if departing.is_empty() {
                !is_unanswered((facts, path))
            } else {
                facts.is_active() && !departing.contains(&path.addr.local)
            }
        };
        if transfer.paths.iter().any(stays) {
            return effects;
        }
        for local in self.asconf_sender.coming() {
            if self.local_addrs.contains(&local) {
                continue;
            }
            self.local_addrs = self.local_addrs.iter().copied().chain([local]).collect();
            effects.append(self.follow(transfer, now));
            for id in transfer.paths.ids() {
                let path = transfer.paths.path_mut(id);
                if path.addr.local == local {
                    path.heartbeat.schedule(None);
                    path.join.want();
                }
            }
            note_proven_remotes(&mut transfer.paths);
        }
        effects
    }

    /// Handles an authenticated request to add the source address of its packet, to which no path leads: adds a path, or changes the
    /// remote port of an unusable path between the same IP addresses, as the NAT has a new binding. Returns `None` if the number of paths
    /// is at its limit.
    pub(super) fn join_path(
        &mut self,
        transfer: &mut Transfer,
        now: Instant,
        arrival: PathAddr,
    ) -> Option<(PathId, Effects)> {
        let mut ours = self.local_addrs.iter();
        let local = *ours.find(|local| covers(**local, arrival.local))?;
        let pair = PathAddr {
            local,
            remote: arrival.remote,
        };
        let shares_ends = |path: &Path| path.addr.local == local && path.addr.remote.ip() == pair.remote.ip();
        if let Some(id) = longest_silent(&transfer.paths, shares_ends) {
            let effects = self.rebind(transfer, id, (now, pair.remote));
            transfer.probe_rebound(id, now);
            return Some((id, effects));
        }
        let mut effects = Effects::default();
        if transfer.paths.facts().len() >= MAX_PATHS {
            let id = longest_silent(&transfer.paths, |path| path.join.joined_at().is_some())?;
            effects.append(self.remove_path(transfer, id));
        }
        effects.append(transfer.add_path(pair, now)?);
        self.is_changed = true;
        self.note_moved();
        let id = transfer.paths.between(pair)?;
        transfer.paths.path_mut(id).join.joined(now);
        // The peer may have moved away from one of the other addresses.
        for other in transfer.paths.ids().filter(|other| *other != id) {
            if transfer.paths.fact(other).is_active() {
                transfer.send_heartbeat(other, now);
            }
        }
        Some((id, effects))
    }
}

/// Of the unusable paths for which `matches` returns true, the one on which nothing was received for the longest time.
fn longest_silent(paths: &PathSet, matches: impl Fn(&Path) -> bool) -> Option<PathId> {
    let idle = paths
        .iter()
        .filter(|(facts, path)| !facts.is_active() && matches(path));
    idle.min_by_key(|(_, path)| path.heard_at)
        .map(|(facts, _)| facts.id)
}

/// Whether a heartbeat on the path was overdue since it was last acknowledged.
const fn is_unanswered((facts, path): (&PathFacts, &Path)) -> bool {
    facts.errors >= SILENT_ERRORS || (!facts.is_active() && path.join.is_wanted())
}

const fn may_be_unanswered(facts: &PathFacts) -> bool {
    !facts.is_active() || facts.errors >= SILENT_ERRORS
}

/// Marks the paths to remote addresses that are confirmed on any path.
fn note_proven_remotes(paths: &mut PathSet) {
    let is_proven = |paths: &PathSet, path: &Path| {
        let leads_there = |(facts, known): (&PathFacts, &Path)| {
            facts.reachability != Reachability::Unconfirmed && known.addr.remote == path.addr.remote
        };
        paths.iter().any(leads_there)
    };
    for id in paths.ids() {
        if is_proven(paths, paths.path(id)) {
            paths.path_mut(id).join.remote_is_proven = true;
        }
    }
}
