//! Adding, changing and removing paths, as far as data transfer is concerned.
//!
//! [`crate::address`] decides which paths there are.

use core::net::SocketAddr;

use anabranch_types::{Instant, PathAddr, PathId};

use super::{Effects, Transfer};
use crate::path::{PathChange, PathEvent, PathSet, max_packet};

impl Transfer {
    /// Replaces all paths, before any data was sent on them.
    pub(crate) fn replace_paths(&mut self, pairs: &[PathAddr], now: Instant) {
        for id in self.paths.ids() {
            self.policies.remove_path(id);
        }
        let reserved = self.paths.reserved();
        self.paths = PathSet::new(pairs, self.config.path_sizes(), self.config.rto());
        self.paths.set_reserved(reserved);
        self.apply_preferences();
        for id in self.paths.ids() {
            self.tell_added(id, now);
        }
        self.publish_windows();
    }

    /// Notifies the policies of a new path, which has a bottleneck of its own if these are detected.
    fn tell_added(&mut self, id: PathId, now: Instant) {
        self.paths.fact_mut(id).bottleneck = self.policies.shared_bottleneck.group(id);
        self.policies.add_path(self.paths.fact(id), now);
    }

    //= rfc5061 5.3-4, 5.3-28, 5.3-29
    /// Adds a path, which heartbeats will confirm; `None` if no id is free.
    pub(crate) fn add_path(&mut self, addr: PathAddr, now: Instant) -> Option<Effects> {
        let id = self.open_path(addr, 0, now)?;
        Some(self.changed(id, PathChange::Added))
    }

    /// Adds a path that existed before, on which `missed` heartbeats in a row were not acknowledged: it is probed as if it had existed
    /// all the time.
    pub(crate) fn open_path(&mut self, addr: PathAddr, missed: u16, now: Instant) -> Option<PathId> {
        // An id to which chunks in the send buffer still refer would credit the new path with data of the old one.
        let id = self.paths.vacant(|id| self.sender.queued(id) == 0)?;
        self.sender.open_path(id);
        self.paths
            .insert(id, addr, self.config.path_sizes(), self.config.rto());
        let facts = self.paths.fact_mut(id);
        facts.errors = missed;
        (0..missed).for_each(|_| facts.rtt.back_off());
        self.tell_added(id, now);
        self.publish_windows();
        self.apply_preferences();
        self.schedule_heartbeat(id, now);
        Some(id)
    }

    //= rfc5061 5.3-26
    /// Removes a path. Data in flight on it will be retransmitted on another one.
    pub(crate) fn remove_path(&mut self, id: PathId) -> Effects {
        let effects = self.changed(id, PathChange::Removed);
        let primary = self.paths.primary();
        self.sender.close_path(id);
        self.policies.remove_path(id);
        self.paths.remove(id);
        if self.policies.shared_bottleneck.detects() {
            super::follow_bottlenecks(&mut self.paths, &mut self.policies);
        }
        self.publish_windows();
        if primary == id {
            effects.then(self.changed(self.paths.primary(), PathChange::Primary))
        } else {
            effects
        }
    }

    /// Makes `id` the primary path (RFC 9260 §6.4).
    pub(crate) fn make_primary(&mut self, id: PathId) -> Effects {
        if id == self.paths.primary() {
            return Effects::default();
        }
        self.paths.set_primary(id);
        self.changed(id, PathChange::Primary)
    }

    /// Changes the peer's encapsulation port of `path` (RFC 6951 §5.4); returns the old address, too.
    pub(crate) fn rebind(&mut self, path: PathId, remote: SocketAddr) -> (SocketAddr, Effects) {
        let machinery = self.paths.path_mut(path);
        let before = core::mem::replace(&mut machinery.addr.remote, remote);
        machinery.counters.rare().rebindings += 1;
        (before, self.changed(path, PathChange::Rebound))
    }

    /// The longest SCTP packet that the configuration permits on `path`, whatever its path MTU.
    pub(crate) fn largest_packet(&self, path: PathId) -> usize {
        max_packet(&self.paths.path(path).addr, self.config.mtu).into()
    }

    /// Reserves `bytes` of each packet for an AUTH chunk.
    pub(crate) fn reserve(&mut self, bytes: usize) {
        self.paths.set_reserved(u16::try_from(bytes).unwrap_or_default());
        self.publish_windows();
    }

    /// The path event of this change of `path`.
    pub(super) fn changed(&self, path: PathId, change: PathChange) -> Effects {
        Effects::of(PathEvent {
            id: path,
            addr: self.paths.path(path).addr,
            change,
        })
    }
}
