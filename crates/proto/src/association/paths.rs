//! How do paths come and go while the association lives? They follow the addresses that there are.
//!
//! The braid of the handshake knows nothing of who reaches whom, and need not: both ends bring their addresses in an order
//! that they have thought about. Addresses that come one by one have no such order. So an address that no confirmed path
//! serves is tried with all addresses of the other end, by heartbeats alone; as soon as confirmed paths serve both ends
//! of a pair, it is needed no more. What works and carries data is never given up for what may work. The paths of an
//! address that is deleted go at once, and what is in flight on them is sent again elsewhere.

use alloc::vec::Vec;
use core::net::SocketAddr;

use anabranch_policy::{PathFacts, Reachability};
use anabranch_types::{Instant, PathAddr, PathId};

use super::{PathChange, liveness};
use crate::Association;
use crate::path::{MAX_PATHS, Path, braid};

/// The addresses are others than before: those that no confirmed path serves are tried in all ways, the braid's first.
pub(crate) fn follow_addresses(association: &mut Association, now: Instant) {
    association.addresses.changed = true;
    association.addresses.unsettled = true;
    let (here, there) = (association.here.clone(), association.there.clone());
    let each = here
        .iter()
        .flat_map(|local| there.iter().flat_map(|remote| braid(&[*local], &[*remote])));
    for pair in braid(&here, &there).into_iter().chain(each) {
        let paths = || association.paths.iter();
        let exists = paths().any(|(_, path)| shares_local(path, &pair) && shares_remote(path, &pair));
        let is_confirmed = |facts: &PathFacts| facts.reachability != Reachability::Unconfirmed;
        let serves = |shares: fn(&Path, &PathAddr) -> bool| {
            paths().any(|(facts, path)| is_confirmed(facts) && shares(path, &pair))
        };
        let is_served = serves(shares_local) && serves(shares_remote);
        if !exists && !is_served && association.paths.facts().len() < MAX_PATHS {
            add(association, pair, now);
        }
    }
}

fn shares_local(path: &Path, pair: &PathAddr) -> bool {
    path.addr.local == pair.local
}

/// The encapsulation port of the remote end is the path's own affair: each translator on the way chooses another.
fn shares_remote(path: &Path, pair: &PathAddr) -> bool {
    path.addr.remote.ip() == pair.remote.ip()
}

/// Ends the paths that never carried data and whose two addresses are served by others, the latest first. Not while a
/// packet is looked at, which may have come over one of them.
pub(crate) fn retire_superfluous(association: &mut Association) {
    while let Some(path) = superfluous(association) {
        remove(association, path);
    }
}

fn superfluous(association: &Association) -> Option<PathId> {
    let is_served = |id: PathId, pair: &PathAddr, shares: fn(&Path, &PathAddr) -> bool| {
        let mut others = association
            .paths
            .iter()
            .filter(|(facts, _)| facts.id != id && facts.is_usable());
        others.any(|(_, path)| shares(path, pair))
    };
    let candidates = association
        .paths
        .iter()
        .filter(|(_, path)| path.data_sent_at.is_none());
    candidates
        .filter(|(facts, path)| {
            is_served(facts.id, &path.addr, shares_local) && is_served(facts.id, &path.addr, shares_remote)
        })
        .map(|(facts, _)| (facts.is_usable(), facts.id))
        .min_by_key(|(usable, id)| (*usable, core::cmp::Reverse(*id)))
        .map(|(_, id)| id)
}

/// Adds a path to be confirmed; `None` if there are no more numbers for paths.
pub(crate) fn add(association: &mut Association, addr: PathAddr, now: Instant) -> Option<PathId> {
    let sizes = association.sizes();
    let Association { paths, sender, .. } = association;
    let id = paths.vacant(|id| sender.queued(id) == 0)?;
    sender.open_path(id);
    paths.insert(id, addr, sizes, association.config.rto());
    association.policies.add_path(association.paths.fact(id), now);
    association.publish_windows();
    association.owed.moved = true;
    liveness::tell(association, id, PathChange::Added);
    if association.state.is_connected() {
        liveness::schedule_heartbeat(association, id, now);
    }
    Some(id)
}

/// Data that has no path of its own takes `id` from now on, while it works.
pub(crate) fn make_primary(association: &mut Association, id: PathId) {
    if id != association.paths.primary() {
        association.paths.set_primary(id);
        liveness::tell(association, id, PathChange::Primary);
    }
}

/// Ends a path. What is in flight on it waits to be sent again, on another one.
pub(crate) fn remove(association: &mut Association, id: PathId) {
    liveness::tell(association, id, PathChange::Removed);
    let primary = association.paths.primary();
    let remote = association.paths.path(id).addr.remote;
    association.owed.left.push(remote);
    association.owed.moved = true;
    association.sender.close_path(id);
    association.policies.remove_path(id);
    association.control.forget_path(id);
    association.addresses.forget_path(id);
    association.paths.remove(id);
    association.publish_windows();
    if primary == id {
        liveness::tell(association, association.paths.primary(), PathChange::Primary);
    }
}

/// Ends the paths that `is_meant` says yes to, unless there would be none left. Tells whether it did.
pub(crate) fn remove_where(association: &mut Association, is_meant: impl Fn(&PathAddr) -> bool) -> bool {
    if association.paths.iter().all(|(_, path)| is_meant(&path.addr)) {
        return false;
    }
    let meant = association.paths.iter().filter(|(_, path)| is_meant(&path.addr));
    let meant: Vec<PathId> = meant.map(|(facts, _)| facts.id).collect();
    meant.into_iter().for_each(|id| remove(association, id));
    true
}

/// The remote end of a path has another encapsulation port from now on. If the path is out of use, the port was why, and it is
/// probed again at once: that of an added address is a guess, and a translator may have forgotten the one that worked.
pub(crate) fn rebind(association: &mut Association, path: PathId, remote: SocketAddr, now: Instant) {
    let machinery = association.paths.path_mut(path);
    let left = core::mem::replace(&mut machinery.addr.remote, remote);
    machinery.counters.rebindings += 1;
    association.owed.left.push(left);
    association.owed.moved = true;
    for known in &mut association.there {
        if known.ip() == left.ip() {
            *known = remote;
        }
    }
    liveness::tell(association, path, PathChange::Rebound);
    let reachability = association.paths.fact(path).reachability;
    if reachability != Reachability::Active && association.state.is_connected() {
        liveness::probe_anew(association, path, now);
    }
}
