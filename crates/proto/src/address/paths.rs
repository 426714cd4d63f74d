//! Paths after address changes (RFC 5061). Which paths are added and removed?
//!
//! The pairing rule of the handshake does not know which addresses can reach each other, and relies on the order in which both ends
//! list theirs. Addresses that are added later have no such order. So an address without a confirmed path is probed with all
//! addresses of the other end by heartbeats (ADR 0020). When confirmed paths serve both addresses of a pair, that pair is no longer
//! needed. A path that works and carries data is never replaced by an untested one. The paths of a deleted address are removed at
//! once, and data in flight on them is retransmitted on others.

use alloc::vec::Vec;
use core::net::SocketAddr;

use anabranch_policy::{PathFacts, Reachability};
use anabranch_types::{Instant, PathAddr, PathId};

use super::Addresses;
use crate::path::{MAX_PATHS, Path, PathSet, pair_addresses};
use crate::transfer::{Effects, Transfer};

impl Addresses {
    /// Updates the paths after an address change: addresses without a confirmed path are paired with all others, those of the
    /// pairing rule first.
    pub(crate) fn follow(&mut self, transfer: &mut Transfer, now: Instant) -> Effects {
        self.is_changed = true;
        self.is_unsettled = true;
        let mut effects = Effects::default();
        for pair in self.candidates() {
            let paths = || transfer.paths.iter();
            let exists = paths().any(|(_, path)| shares_local(path, &pair) && shares_remote(path, &pair));
            if exists
                || self.is_served(&transfer.paths, &pair)
                || self.is_waiting(&pair)
                || transfer.paths.facts().len() + self.waiting_pairs() >= MAX_PATHS
            {
                continue;
            }
            if !self.has_place(&transfer.paths) && !self.knows(&transfer.paths, pair.remote) {
                self.wait_for_first_turn(pair);
            } else if let Some(added) = transfer.add_path(pair, now) {
                self.is_moved = true;
                effects.append(added);
            }
        }
        effects
    }

    /// Whether both addresses of `pair` have confirmed paths.
    pub(super) fn is_served(&self, paths: &PathSet, pair: &PathAddr) -> bool {
        let is_confirmed = |facts: &PathFacts| facts.reachability != Reachability::Unconfirmed;
        let serves = |shares: fn(&Path, &PathAddr) -> bool| {
            let mut all = paths.iter();
            all.any(|(facts, path)| is_confirmed(facts) && shares(path, pair))
        };
        serves(shares_local) && serves(shares_remote)
    }

    fn candidates(&self) -> Vec<PathAddr> {
        let (local_addrs, peer_addrs) = (&self.local_addrs, &self.peer_addrs);
        let mut pairs = pair_addresses(local_addrs, peer_addrs);
        for local in local_addrs.iter() {
            for remote in peer_addrs {
                pairs.extend(pair_addresses(&[*local], &[*remote]));
            }
        }
        pairs
    }

    /// Removes the paths that have never carried data and whose two addresses have other paths, the latest first. Not while a
    /// packet is handled, which may have arrived over one of them.
    pub(super) fn retire_superfluous(&mut self, transfer: &mut Transfer) -> Effects {
        let mut effects = Effects::default();
        while let Some(path) = superfluous(&transfer.paths) {
            effects.append(self.remove_path(transfer, path));
        }
        effects
    }

    pub(super) fn remove_path(&mut self, transfer: &mut Transfer, id: PathId) -> Effects {
        let remote = transfer.paths.path(id).addr.remote;
        self.former.make_mut().of_peer.push(remote);
        self.is_moved = true;
        self.asconf_sender.forget_path(id);
        self.asconf_receiver.forget_path(id);
        transfer.remove_path(id)
    }

    /// Removes the paths for which `is_meant` returns true; returns `None` without any change if no path would be left.
    pub(super) fn remove_paths(
        &mut self,
        transfer: &mut Transfer,
        is_meant: impl Fn(&PathAddr) -> bool,
    ) -> Option<Effects> {
        if transfer.paths.iter().all(|(_, path)| is_meant(&path.addr)) {
            return None;
        }
        let meant = transfer.paths.iter().filter(|(_, path)| is_meant(&path.addr));
        let meant: Vec<PathId> = meant.map(|(facts, _)| facts.id).collect();
        let mut effects = Effects::default();
        for id in meant {
            effects.append(self.remove_path(transfer, id));
        }
        Some(effects)
    }

    //= rfc6951 5.1-1, 5.4-1
    /// Changes the peer's encapsulation port of a path (RFC 6951 §5.4). The peer may have left another path for that, as if it had joined.
    pub(crate) fn rebind(
        &mut self,
        transfer: &mut Transfer,
        path: PathId,
        (now, remote): (Instant, SocketAddr),
    ) -> Effects {
        let (before, effects) = transfer.rebind(path, remote);
        transfer.paths.path_mut(path).join.joined(now);
        self.former.make_mut().of_peer.push(before);
        self.is_moved = true;
        for known in &mut self.peer_addrs {
            if *known == before {
                *known = remote;
            }
        }
        effects
    }
}

fn shares_local(path: &Path, pair: &PathAddr) -> bool {
    path.addr.local == pair.local
}

/// Whether the path leads to the remote IP address of `pair`. Ports are not compared, because each NAT selects another one.
fn shares_remote(path: &Path, pair: &PathAddr) -> bool {
    path.addr.remote.ip() == pair.remote.ip()
}

/// Whether both lead to the same remote IP address. From the same local address, the ports have to be equal too, because
/// two ports of one address may belong to two uplinks behind one NAT.
fn leads_alike(path: &Path, pair: &PathAddr) -> bool {
    shares_remote(path, pair) && (path.addr.remote == pair.remote || !shares_local(path, pair))
}

fn superfluous(paths: &PathSet) -> Option<PathId> {
    let is_served = |id: PathId, candidate: &Path, shares: fn(&Path, &PathAddr) -> bool| {
        // When the peer joins, it may have left the other paths, which count as usable until a heartbeat is not acknowledged.
        let works = |path: &Path| path.heard_at >= candidate.join.joined_at();
        let mut others = paths
            .iter()
            .filter(|(facts, path)| facts.id != id && facts.is_active() && works(path));
        others.any(|(_, path)| shares(path, &candidate.addr))
    };
    let candidates = paths.iter().filter(|(_, path)| path.data_sent_at.is_none());
    candidates
        .filter(|(facts, path)| {
            is_served(facts.id, path, shares_local) && is_served(facts.id, path, leads_alike)
        })
        .map(|(facts, _)| (facts.is_active(), facts.id))
        .min_by_key(|(usable, id)| (*usable, core::cmp::Reverse(*id)))
        .map(|(_, id)| id)
}
