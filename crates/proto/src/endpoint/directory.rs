//! Association lookup, by our tag or by addresses and ports.

use alloc::collections::btree_map::Entry;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;

use anabranch_types::{AssociationId, ChannelId, Instant, VerificationTag};

use super::spent::SpentTags;
use crate::association::Association;

/// Source address, ports and channel of a packet.
///
/// The encapsulation port is included, because two peers behind one NAT may differ only in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Correspondent {
    pub(crate) remote: SocketAddr,
    pub(crate) peer_port: u16,
    pub(crate) local_port: u16,
    pub(crate) channel: ChannelId,
}

/// Why an address leads to an association, in the order of the search. Any peer may list any address, so a search for associations
/// in which it is proven, or which we are setting up, must not visit all that list it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Standing {
    /// The address is confirmed, or the application gave it.
    Proven,
    /// The address is confirmed or given by the application, in COOKIE-WAIT or COOKIE-ECHOED.
    ProvenInHandshake,
    /// The peer has listed it, in COOKIE-ECHOED.
    ListedInHandshake,
    /// The peer has listed it.
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
    /// Associations by the peer's address; several may list the same one.
    by_correspondent: BTreeSet<(Correspondent, Standing, AssociationId)>,
    /// Local ports of associations, recently ended ones included, with the number of associations for each.
    ports: BTreeMap<u16, u32>,
    spent: SpentTags,
}

impl Directory {
    /// Creates an empty directory; a cookie is valid for `cookie_life`.
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

    /// Whether an association has this local port, or a recently ended one had it, whose peer may still send packets.
    pub(crate) fn has_used(&self, port: u16) -> bool {
        self.ports.contains_key(&port)
    }

    /// The associations whose peer has or lists this address: first those in which it is proven, each group oldest first.
    pub(crate) fn with(&self, correspondent: Correspondent) -> impl Iterator<Item = AssociationId> {
        self.from(correspondent, Standing::Proven).map(|(_, id)| id)
    }

    /// The oldest association in which this address is confirmed or was given by the application.
    pub(crate) fn with_proven(&self, correspondent: Correspondent) -> Option<AssociationId> {
        let oldest = |standing| self.of_standing(correspondent, standing);
        let found = [Standing::Proven, Standing::ProvenInHandshake]
            .into_iter()
            .filter_map(oldest);
        found.min()
    }

    /// The oldest association that we are setting up with a peer that has or lists this address.
    pub(crate) fn in_handshake(&self, correspondent: Correspondent) -> Option<AssociationId> {
        let oldest = |standing| self.of_standing(correspondent, standing);
        let ours = [Standing::ProvenInHandshake, Standing::ListedInHandshake];
        ours.into_iter().filter_map(oldest).min()
    }

    /// The oldest association to which the address leads for this reason.
    fn of_standing(&self, correspondent: Correspondent, standing: Standing) -> Option<AssociationId> {
        let first = self.from(correspondent, standing).next();
        first.filter(|(found, _)| *found == standing).map(|(_, id)| id)
    }

    /// All associations to which the address leads for this reason or a later one.
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
            channel: ChannelId::NONE,
        };
        let from_there = self
            .by_correspondent
            .range((first, Standing::Proven, AssociationId(0))..);
        from_there
            .take_while(|(correspondent, ..)| correspondent.remote == remote)
            .map(|(_, _, id)| *id)
            .collect()
    }

    /// Removes the addresses `remotes` of `association`.
    fn unlist(&mut self, association: &Association, remotes: impl Iterator<Item = SocketAddr>) {
        for correspondent in correspondents(association, remotes) {
            // The reason may have changed meanwhile.
            let listed = Standing::ALL.map(|standing| (correspondent, standing, association.id));
            let _ = listed.iter().any(|entry| self.by_correspondent.remove(entry));
        }
    }

    /// Removes all addresses of `association`, which restarts under its tag.
    pub(crate) fn forget_addresses(&mut self, association: &Association) {
        self.unlist(association, association.transfer.paths.remotes());
    }

    /// Removes `association`, which has ended or restarts with another tag. Its addresses are free for other associations, and a
    /// late copy of its cookie does not create it again.
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

    /// Cookies of ended associations.
    pub(crate) const fn spent(&self) -> &SpentTags {
        &self.spent
    }

    /// Indexes the addresses of `association`, which is new, or whose peer has `left` these addresses, or whose addresses were
    /// confirmed.
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
        channel: association.channel,
    })
}
