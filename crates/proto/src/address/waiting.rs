//! Address pairs that wait to be probed (ADR 0100). Which unconfirmed paths exist at once, and which pairs follow them?
//!
//! A peer may list many addresses of which few work, or which are other hosts'. A path takes a hundred times the memory of a pair that
//! waits, and heartbeats to all of them would be a burden. So at most [`MAX_PROBED`] paths to addresses that the peer has merely listed
//! exist at once.
//!
//! ```text
//! handshake, ASCONF ──▶ unconfirmed path ──▶ confirmed by a HEARTBEAT ACK
//!                ╲         ▲          │
//!                 ▼        │          │ two heartbeats without answer
//!                 waiting pairs ◀─────┘
//! ```
//!
//! Whenever a place is free, the pair that has waited longest takes it. A pair whose turn comes again continues with its errors and timeout.
//!
//! A path on which a packet arrives needs no place: the peer is there. If the pair waits, the packet makes it a path, because both
//! ends may probe their pairs in different orders.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use anabranch_policy::{PathFacts, Reachability};
use anabranch_types::{Instant, PathAddr, PathId};

use super::Addresses;
use crate::on_demand::{Idle, OnDemand};
use crate::path::{MAX_PATHS, Path, PathIds, PathSet, covers};
use crate::transfer::Transfer;

/// Maximum number of unconfirmed paths to addresses that the peer has merely listed: as many as heartbeats may be sent to them within
/// one RTO.
const MAX_PROBED: usize = 4;
/// Heartbeats without answer after which another pair takes the place of a path for the first time: one may be lost, and the path has
/// time to join.
const FIRST_TURN: u16 = 2;

/// The pairs without path, in the order of their turns.
#[derive(Debug, Default)]
pub(super) struct WaitingPairs {
    queue: VecDeque<WaitingPair>,
}

/// A pair of addresses, as positions in the lists of both ends.
#[derive(Clone, Copy, Debug)]
struct WaitingPair {
    local: u8,
    peer: u8,
    history: History,
}

/// What is kept of an unconfirmed path while its pair waits.
#[derive(Clone, Copy, Default, Debug)]
struct History {
    /// Heartbeats in a row that were not acknowledged.
    missed: u8,
    /// Join attempts.
    joins: u8,
}

impl History {
    fn of(facts: &PathFacts, path: &Path) -> Self {
        let limited = |count: u16| u8::try_from(count).unwrap_or(u8::MAX);
        Self {
            missed: limited(facts.errors),
            joins: limited(path.join.attempts),
        }
    }
}

impl Idle for WaitingPairs {
    const IDLE: &'static Self = &Self {
        queue: VecDeque::new(),
    };

    fn is_idle(&self) -> bool {
        self.queue.is_empty()
    }
}

impl Addresses {
    /// Whether pairs wait for their turns.
    #[inline]
    pub(crate) fn has_waiting_pairs(&self) -> bool {
        self.waiting.active().is_some()
    }

    /// The number of pairs that wait.
    pub(super) fn waiting_pairs(&self) -> usize {
        self.waiting.queue.len()
    }

    /// Lets all but [`MAX_PROBED`] paths to listed addresses wait, before heartbeats start. Returns the removed paths.
    pub(crate) fn limit_probed(&mut self, transfer: &mut Transfer) -> PathIds {
        let excess: Vec<PathId> = self.probed(&transfer.paths).skip(MAX_PROBED).collect();
        if excess.is_empty() {
            return PathIds::default();
        }
        self.waiting
            .make_mut()
            .queue
            .reserve_exact(excess.len() + MAX_PROBED);
        let removed = self.let_wait(transfer, excess);
        transfer.paths.release_memory();
        removed
    }

    /// Lets paths wait that were not answered in their turns, and gives their places to other pairs. Returns the removed paths. Not while
    /// a packet is handled.
    pub(crate) fn take_turns(&mut self, transfer: &mut Transfer, now: Instant) -> PathIds {
        let paths = &transfer.paths;
        let is_silent = |path: &PathId| {
            let facts = paths.fact(*path);
            let before = paths.path(*path).join.missed_before;
            let turn = if before == 0 { FIRST_TURN } else { 1 };
            facts.errors >= before + turn && !facts.primary
        };
        let silent: Vec<PathId> = self.probed(paths).filter(is_silent).collect();
        let removed = self.let_wait(transfer, silent);
        self.fill_places(transfer, now);
        removed
    }

    /// Makes paths of waiting pairs while places are free.
    fn fill_places(&mut self, transfer: &mut Transfer, now: Instant) {
        while self.has_place(&transfer.paths)
            && let Some(next) = self
                .waiting
                .active_mut()
                .and_then(|waiting| waiting.queue.pop_front())
        {
            if let Some(pair) = self.addresses_of(next)
                && !(self.is_changed && self.is_served(&transfer.paths, &pair))
            {
                self.begin(transfer, pair, next.history, now);
            }
        }
        self.waiting.release_if_idle();
    }

    /// Whether one more path to a listed address may exist.
    pub(super) fn has_place(&self, paths: &PathSet) -> bool {
        self.probed(paths).count() < MAX_PROBED && paths.facts().len() < MAX_PATHS
    }

    /// Makes a path of the waiting pair over which a packet with the right tag has arrived.
    #[cold]
    pub(crate) fn admit_waiting(
        &mut self,
        transfer: &mut Transfer,
        arrival: &PathAddr,
        now: Instant,
    ) -> Option<PathId> {
        let is_it = |waiting: &WaitingPair| {
            let pair = self.addresses_of(*waiting);
            pair.is_some_and(|pair| pair.remote == arrival.remote && covers(pair.local, arrival.local))
        };
        let at = self.waiting.queue.iter().position(is_it)?;
        let found = self.waiting.active_mut()?.queue.remove(at)?;
        self.waiting.release_if_idle();
        let pair = self.addresses_of(found)?;
        self.begin(transfer, pair, found.history, now)
    }

    fn begin(
        &mut self,
        transfer: &mut Transfer,
        pair: PathAddr,
        history: History,
        now: Instant,
    ) -> Option<PathId> {
        if transfer.paths.between(pair).is_some() {
            return None;
        }
        // The application is told when the path is confirmed, as of the other paths of the handshake.
        let id = transfer.open_path(pair, history.missed.into(), now)?;
        let path = transfer.paths.path_mut(id);
        path.join.missed_before = history.missed.into();
        path.join.attempts = history.joins.into();
        self.is_moved = true;
        Some(id)
    }

    /// Replaces paths by waiting pairs; returns those that were replaced.
    fn let_wait(&mut self, transfer: &mut Transfer, paths: Vec<PathId>) -> PathIds {
        let mut removed = PathIds::default();
        for id in paths {
            let path = transfer.paths.path(id);
            let history = History::of(transfer.paths.fact(id), path);
            if self.wait_for(path.addr, history) {
                let _ = self.remove_path(transfer, id);
                removed.insert(id);
            }
        }
        removed
    }

    /// Lets a pair wait that has had no path yet.
    pub(super) fn wait_for_first_turn(&mut self, pair: PathAddr) {
        self.wait_for(pair, History::default());
    }

    /// Appends a pair to those that wait; returns `false` if an address is not in the lists.
    fn wait_for(&mut self, pair: PathAddr, history: History) -> bool {
        let local = self.local_addrs.iter().position(|addr| *addr == pair.local);
        let peer = self.peer_addrs.iter().position(|addr| *addr == pair.remote);
        let at = |position: Option<usize>| u8::try_from(position?).ok();
        let (Some(local), Some(peer)) = (at(local), at(peer)) else {
            return false;
        };
        self.waiting
            .make_mut()
            .queue
            .push_back(WaitingPair { local, peer, history });
        true
    }

    fn addresses_of(&self, waiting: WaitingPair) -> Option<PathAddr> {
        Some(PathAddr {
            local: *self.local_addrs.get(usize::from(waiting.local))?,
            remote: *self.peer_addrs.get(usize::from(waiting.peer))?,
        })
    }

    /// Changes the lists of addresses by `change`, after which pairs of removed addresses wait no more.
    pub(super) fn change_lists(&mut self, change: impl FnOnce(&mut Self)) {
        let waiting = self.waiting.queue.iter();
        let pairs: Vec<_> = waiting
            .filter_map(|waiting| Some((self.addresses_of(*waiting)?, waiting.history)))
            .collect();
        self.stop_waiting();
        change(self);
        for (pair, history) in pairs {
            self.wait_for(pair, history);
        }
    }

    /// Lets no pair wait any more, because all paths are replaced.
    pub(super) fn stop_waiting(&mut self) {
        self.waiting = OnDemand::default();
    }

    /// Whether the pair waits.
    pub(super) fn is_waiting(&self, pair: &PathAddr) -> bool {
        let mut waiting = self.waiting.queue.iter();
        waiting.any(|waiting| self.addresses_of(*waiting).as_ref() == Some(pair))
    }

    /// Whether a pair with this address of the peer waits.
    pub(super) fn is_address_waiting(&self, ip: IpAddr) -> bool {
        let mut waiting = self.waiting.queue.iter();
        waiting.any(|waiting| {
            self.addresses_of(*waiting)
                .is_some_and(|pair| pair.remote.ip() == ip)
        })
    }

    /// The unconfirmed paths to addresses that the peer has merely listed, and over which nothing has arrived.
    fn probed(&self, paths: &PathSet) -> impl Iterator<Item = PathId> {
        let is_probed = move |(facts, path): &(&PathFacts, &Path)| {
            facts.reachability == Reachability::Unconfirmed
                && path.heard_at.is_none()
                && path.join.joined_at().is_none()
                && !path.join.remote_is_proven
                && !self.knows(paths, path.addr.remote)
        };
        paths.iter().filter(is_probed).map(|(facts, _)| facts.id)
    }

    /// Whether `remote` was given by the application, or is confirmed on any path.
    pub(super) fn knows(&self, paths: &PathSet, remote: SocketAddr) -> bool {
        let is_confirmed = |(facts, path): (&PathFacts, &Path)| {
            facts.reachability != Reachability::Unconfirmed && path.addr.remote == remote
        };
        self.initiated_to.contains(&remote.ip()) || paths.iter().any(is_confirmed)
    }
}
