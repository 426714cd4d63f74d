//! Joins (RFC 5061 §4.2.1). How does a path come to life whose packets the peer sees from an address that it does not know?
//!
//! The peer ignores packets from addresses that it does not know. Behind a NAT, the packets of a path come from such an address;
//! so do those of a path that worked, once the NAT was restarted or its public address changed. All that shows here is that
//! heartbeats are not answered. Then an ASCONF leaves on that path which asks to add the wildcard address: the peer adds the source
//! address of the packet, whatever it is, and confirms it by a heartbeat.
//!
//! ```text
//! wanted:     heartbeats on the path unanswered, no other path from the same local address works, the peer is at the far end
//! attempt:    at once; again after one timeout, two, four, … 30 s, until the path answers
//! meanwhile:  what else is to be asked does not wait: the ASCONF leaves on a path that works, where it asks for nothing
//! ```
//!
//! There is one ASCONF at a time (RFC 5061 §5.1.1 C1). While no path works, the outstanding one is the join, whatever else it asks.
//! Attempts count no errors: the heartbeats of the path do, so that an outage ends an association no sooner.

use alloc::vec::Vec;

use anabranch_policy::{PathFacts, Reachability};
use anabranch_types::{Instant, PathAddr, PathId};

use super::Addresses;
use crate::path::{MAX_PATHS, Path, PathSet, covers};
use crate::transfer::{Effects, Transfer};

/// Errors in a row of a path that count as silence without heartbeats: failover policies may leave such a path in use.
const SILENT_ERRORS: u16 = 3;
/// Attempts on one path towards an address that the peer listed and that is not confirmed: it may be another host's.
const MAX_UNPROVEN: u16 = 3;

impl Addresses {
    /// When [`Addresses::join`] has something to do.
    pub(crate) fn join_deadline(&self, paths: &PathSet) -> Option<Instant> {
        if !paths.facts().iter().any(is_suspect) {
            return None;
        }
        self.next_join(paths).map(|(due_at, _)| due_at)
    }

    /// Lets an ASCONF leave on a path that the peer does not seem to hear of, if one is due.
    pub(crate) fn join(&mut self, transfer: &mut Transfer, now: Instant) -> Effects {
        if !transfer.paths.facts().iter().any(is_suspect) {
            return Effects::default();
        }
        let effects = self.try_coming_addresses(transfer, now);
        note_far_ends(&mut transfer.paths);
        if let Some((due_at, path)) = self.next_join(&transfer.paths)
            && due_at <= now
        {
            let machinery = transfer.paths.path_mut(path);
            let timeout = machinery.rtt.rto_without_back_off();
            machinery.join.attempt(timeout, now);
            let local = machinery.addr.local;
            let sender = &mut self.asconf_sender;
            match &mut sender.outstanding {
                Some(asconf) => asconf.join(path),
                None => sender.begin(Vec::new(), local).join(path),
            }
        }
        effects
    }

    /// The next path that wants a join, and when.
    fn next_join(&self, paths: &PathSet) -> Option<(Instant, PathId)> {
        let sender = &self.asconf_sender;
        let works = || paths.working().is_some();
        let is_busy = match &sender.outstanding {
            Some(asconf) => asconf.is_under_way() || (!asconf.is_join() && works()),
            None => !sender.waiting.is_empty(),
        };
        if is_busy || sender.is_vain {
            return None;
        }
        let due = |(facts, path)| Some((self.join_due_at(paths, facts, path)?, facts.id));
        paths.iter().filter_map(due).min()
    }

    /// When a join is due on `path`; `None` if it needs none, or none is permitted.
    fn join_due_at(&self, paths: &PathSet, facts: &PathFacts, path: &Path) -> Option<Instant> {
        let due_at = if is_unheard((facts, path)) {
            self.may_join(path).then(|| path.join.due_at())
        } else if facts.reachability == Reachability::Unconfirmed && self.leads_to_peer(path) {
            path.join.early_due_at()
        } else {
            None
        };
        let is_other = |(other, known): (&PathFacts, &Path)| {
            other.id != facts.id && other.is_usable() && known.addr.local == path.addr.local
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
        path.join.far_end_is_proven || self.initiated_to.contains(&path.addr.remote.ip())
    }

    //= rfc5061 5.3-3
    /// While no path answers, addresses that the peer is being asked to add are tried at once: the request itself may leave from
    /// there, and nothing else (RFC 5061 §5.3 F1).
    fn try_coming_addresses(&mut self, transfer: &mut Transfer, now: Instant) -> Effects {
        let mut effects = Effects::default();
        if !transfer.paths.iter().all(is_unheard) {
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
        }
        effects
    }

    /// A genuine request to add the source address of its packet came from where no path leads: a path leads there from now on.
    /// It takes the place of one to the same host that does not work: the NAT that both pass has another binding then.
    /// `None` if there is no room.
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
            let effects = self.rebind(transfer, id, pair.remote);
            transfer.probe_rebound(id, now);
            return Some((id, effects));
        }
        let mut effects = Effects::default();
        if transfer.paths.facts().len() >= MAX_PATHS {
            let id = longest_silent(&transfer.paths, |path| path.is_joined)?;
            effects.append(self.remove_path(transfer, id));
        }
        effects.append(transfer.add_path(pair, now)?);
        self.note_moved();
        let id = transfer.paths.between(pair)?;
        transfer.paths.path_mut(id).is_joined = true;
        // One of the others may be where the peer was until now.
        for other in transfer.paths.ids().filter(|other| *other != id) {
            if transfer.paths.fact(other).is_usable() {
                transfer.ask(other, now);
            }
        }
        Some((id, effects))
    }
}

/// The path out of use that was silent the longest.
fn longest_silent(paths: &PathSet, is_meant: impl Fn(&Path) -> bool) -> Option<PathId> {
    let idle = paths
        .iter()
        .filter(|(facts, path)| !facts.is_usable() && is_meant(path));
    idle.min_by_key(|(_, path)| path.heard_at)
        .map(|(facts, _)| facts.id)
}

/// Whether the peer does not seem to hear what leaves on a path.
const fn is_unheard((facts, path): (&PathFacts, &Path)) -> bool {
    facts.errors >= SILENT_ERRORS || (!facts.is_usable() && path.join.is_wanted())
}

const fn is_suspect(facts: &PathFacts) -> bool {
    !facts.is_usable() || facts.errors >= SILENT_ERRORS
}

/// Which paths lead to an address where the peer was found, on whichever path.
fn note_far_ends(paths: &mut PathSet) {
    let is_proven = |paths: &PathSet, path: &Path| {
        let leads_there = |(facts, known): (&PathFacts, &Path)| {
            facts.reachability != Reachability::Unconfirmed && known.addr.remote == path.addr.remote
        };
        paths.iter().any(leads_there)
    };
    for id in paths.ids() {
        if is_proven(paths, paths.path(id)) {
            paths.path_mut(id).join.far_end_is_proven = true;
        }
    }
}
