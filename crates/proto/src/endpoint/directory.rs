//! Association lookup. Which association is a packet for? By our tag, or by who is talking to whom.

use alloc::collections::btree_map::Entry;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;

use anabranch_types::{AssociationId, Instant, VerificationTag};

use super::spent::SpentTags;
use crate::association::Association;

/// Where a packet comes from and which ports it names.
///
/// The encapsulation port is part of it: two peers behind one NAT differ in nothing else.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Correspondent {
    pub(crate) remote: SocketAddr,
    pub(crate) peer_port: u16,
    pub(crate) local_port: u16,
}

/// Why an address leads to an association, in the order of the search. Anybody may list an address, so a search for those that proved it, or
/// that are being set up by us, must not pass by all that list it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Standing {
    /// The peer's by its own proof or by the word of the application.
    Proven,
    /// The same, in COOKIE-WAIT or COOKIE-ECHOED.
    ProvenInHandshake,
    /// The peer lists it, in COOKIE-ECHOED.
    ListedInHandshake,
    /// The peer lists it.
    Listed,
}

impl Standing {
    const ALL: [Self; 4] = [
        Self::Proven,
        Self::ProvenInHandshake,
        Self::ListedInHandshake,
        Self::Listed,
    ];

    fn of(association: &Association, remote: SocketAddr) -> Self {
        match (association.has_proven(remote), association.is_in_handshake()) {
            (true, false) => Self::Proven,
            (true, true) => Self::ProvenInHandshake,
            (false, true) => Self::ListedInHandshake,
            (false, false) => Self::Listed,
        }
    }
}

/// The two indices of an endpoint's associations.
#[derive(Debug)]
pub(crate) struct Directory {
    by_tag: BTreeMap<VerificationTag, AssociationId>,
    /// Several may list the same address.
    by_correspondent: BTreeSet<(Correspondent, Standing, AssociationId)>,
    /// The ports of associations here, those that ended last among them, and how many have each.
    ports: BTreeMap<u16, u32>,
    spent: SpentTags,
}

impl Directory {
    /// With no association yet; a cookie is valid for `cookie_life`.
    pub(crate) const fn new(cookie_life: Duration) -> Self {
        Self {
            by_tag: BTreeMap::new(),
            by_correspondent: BTreeSet::new(),
            ports: BTreeMap::new(),
            spent: SpentTags::new(cookie_life),
        }
    }

    pub(crate) fn with_tag(&self, tag: VerificationTag) -> Option<AssociationId> {
        self.by_tag.get(&tag).copied()
    }

    /// Whether an association has this port, or one had it that ended not long ago: its peer may still ask.
    pub(crate) fn has_used(&self, port: u16) -> bool {
        self.ports.contains_key(&port)
    }

    /// The associations whose peer is there or lists that address: those that proved it first, then oldest first.
    pub(crate) fn with(&self, correspondent: Correspondent) -> impl Iterator<Item = AssociationId> {
        self.from(correspondent, Standing::Proven).map(|(_, id)| id)
    }

    /// The oldest association whose peer is there, by the word of the application or by its own proof.
    pub(crate) fn with_proven(&self, correspondent: Correspondent) -> Option<AssociationId> {
        let oldest = |standing| self.of_standing(correspondent, standing);
        let found = [Standing::Proven, Standing::ProvenInHandshake]
            .into_iter()
            .filter_map(oldest);
        found.min()
    }

    /// The oldest association that is being set up by us with a peer that is there or lists that address.
    pub(crate) fn in_handshake(&self, correspondent: Correspondent) -> Option<AssociationId> {
        let oldest = |standing| self.of_standing(correspondent, standing);
        let ours = [Standing::ProvenInHandshake, Standing::ListedInHandshake];
        ours.into_iter().filter_map(oldest).min()
    }

    /// The oldest one to which the address leads for this reason.
    fn of_standing(&self, correspondent: Correspondent, standing: Standing) -> Option<AssociationId> {
        let first = self.from(correspondent, standing).next();
        first.filter(|(found, _)| *found == standing).map(|(_, id)| id)
    }

    /// All to which the address leads for this reason or a later one.
    fn from(
        &self,
        correspondent: Correspondent,
        standing: Standing,
    ) -> impl Iterator<Item = (Standing, AssociationId)> {
        let from_there = self
            .by_correspondent
            .range((correspondent, standing, AssociationId(0))..);
        from_there
            .take_while(move |(known, ..)| *known == correspondent)
            .map(|(_, standing, id)| (*standing, *id))
    }

    /// The associations with a peer at `remote`.
    pub(crate) fn at(&self, remote: SocketAddr) -> Vec<AssociationId> {
        let first = Correspondent {
            remote,
            peer_port: 0,
            local_port: 0,
        };
        let from_there = self
            .by_correspondent
            .range((first, Standing::Proven, AssociationId(0))..);
        from_there
            .take_while(|(correspondent, ..)| correspondent.remote == remote)
            .map(|(_, _, id)| *id)
            .collect()
    }

    /// Nothing at `remotes` leads to `association` any more.
    fn unlist(&mut self, association: &Association, remotes: impl Iterator<Item = SocketAddr>) {
        for correspondent in correspondents(association, remotes) {
            // Its standing may be another one by now.
            let listed = Standing::ALL.map(|standing| (correspondent, standing, association.id));
            let _ = listed.iter().any(|entry| self.by_correspondent.remove(entry));
        }
    }

    /// `association` restarts under its tag: no address leads to it any more.
    pub(crate) fn forget_addresses(&mut self, association: &Association) {
        self.unlist(association, association.transfer.paths.remotes());
    }

    /// `association` ended, or restarts with another tag: nothing leads to it any more, its addresses are free for the next one, and a late copy
    /// of its cookie does not bring it back to life.
    pub(crate) fn retire(&mut self, association: &Association, now: Instant) {
        self.unlist(association, association.transfer.paths.remotes());
        let tag = association.local.tag;
        if self.by_tag.get(&tag) != Some(&association.id) {
            return;
        }
        self.by_tag.remove(&tag);
        for port in self.spent.add(tag, association.local.port, now) {
            self.free(port);
        }
    }

    fn free(&mut self, port: u16) {
        if let Entry::Occupied(mut users) = self.ports.entry(port) {
            *users.get_mut() -= 1;
            if *users.get() == 0 {
                users.remove();
            }
        }
    }

    /// The cookies of associations that ended.
    pub(crate) const fn spent(&self) -> &SpentTags {
        &self.spent
    }

    /// `association` is new, its peer `left` these addresses for those that it has now, or their standing changed.
    pub(crate) fn index(&mut self, association: &Association, left: &[SocketAddr]) {
        let known = self.by_tag.insert(association.local.tag, association.id);
        if known.is_none() {
            *self.ports.entry(association.local.port).or_default() += 1;
        } else {
            self.unlist(association, left.iter().copied());
            self.unlist(association, association.transfer.paths.remotes());
        }
        for correspondent in correspondents(association, association.transfer.paths.remotes()) {
            let standing = Standing::of(association, correspondent.remote);
            self.by_correspondent
                .insert((correspondent, standing, association.id));
        }
    }
}

fn correspondents(
    association: &Association,
    remotes: impl Iterator<Item = SocketAddr>,
) -> impl Iterator<Item = Correspondent> {
    let (peer_port, local_port) = (association.peer.port, association.local.port);
    remotes.map(move |remote| Correspondent {
        remote,
        peer_port,
        local_port,
    })
}
