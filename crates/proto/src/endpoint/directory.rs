//! Association lookup, by our tag or by addresses and ports.

use alloc::collections::btree_map::Entry;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;

use anabranch_types::{AssociationId, ChannelId, Instant, VerificationTag};

use super::spent::{Spent, SpentTags};
use crate::association::Association;

/// Source address, ports and channel of a packet.
///
/// The encapsulation port is included, because two peers behind one NAT may differ only in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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

/// An association under one of its addresses, as integers: sets compare keys often, and integers faster than addresses. All keys of a
/// remote address are neighbours, among these all of a correspondent, and they are in the order of [`Standing`] and age.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Key {
    ip: [u64; 2],
    scope_port_family: u64,
    ports: u64,
    channel: u64,
    standing_id: u64,
}

impl Key {
    fn new(correspondent: Correspondent, standing: Standing, id: AssociationId) -> Self {
        let Correspondent {
            remote,
            peer_port,
            local_port,
            channel,
        } = correspondent;
        let (ip, is_v6) = match remote.ip() {
            IpAddr::V4(ip) => (u128::from(ip.to_bits()), false),
            IpAddr::V6(ip) => (ip.to_bits(), true),
        };
        let scope = match remote {
            SocketAddr::V4(_) => 0,
            SocketAddr::V6(remote) => remote.scope_id(),
        };
        Self {
            ip: [(ip >> 64) as u64, ip as u64],
            scope_port_family: u64::from(scope) << 32 | u64::from(remote.port()) << 16 | u64::from(is_v6),
            ports: u64::from(peer_port) << 16 | u64::from(local_port),
            channel: u64::from_be_bytes(channel.0),
            standing_id: (standing as u64) << 32 | u64::from(id.0),
        }
    }

    const fn id(self) -> AssociationId {
        AssociationId(self.standing_id as u32)
    }

    fn is_of(self, standing: Standing) -> bool {
        self.standing_id >> 32 == standing as u64
    }

    fn is_at_address_of(self, other: Self) -> bool {
        (self.ip, self.scope_port_family) == (other.ip, other.scope_port_family)
    }

    fn has_correspondent_of(self, other: Self) -> bool {
        self.is_at_address_of(other) && (self.ports, self.channel) == (other.ports, other.channel)
    }
}

/// The two indices of an endpoint's associations.
#[derive(Debug)]
pub(crate) struct Directory {
    by_tag: BTreeMap<VerificationTag, AssociationId>,
    /// Associations by the peer's address; several may list the same one.
    by_correspondent: BTreeSet<Key>,
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
        self.from(correspondent, Standing::Proven).map(Key::id)
    }

    /// The oldest association in which this address is confirmed or was given by the application.
    pub(crate) fn with_proven(&self, correspondent: Correspondent) -> Option<AssociationId> {
        self.oldest(correspondent, [Standing::Proven, Standing::ProvenInHandshake])
    }

    /// The oldest association that we are setting up with a peer that has or lists this address.
    pub(crate) fn in_handshake(&self, correspondent: Correspondent) -> Option<AssociationId> {
        let ours = [Standing::ProvenInHandshake, Standing::ListedInHandshake];
        self.oldest(correspondent, ours)
    }

    /// The oldest association to which the address leads for one of two reasons that follow each other. Mostly there is none, which one
    /// search shows.
    fn oldest(&self, correspondent: Correspondent, [reason, next]: [Standing; 2]) -> Option<AssociationId> {
        let first = self.from(correspondent, reason).next()?;
        if first.is_of(next) {
            return Some(first.id());
        }
        let of_reason = first.is_of(reason).then(|| first.id())?;
        let of_next = self.of_standing(correspondent, next);
        Some(of_next.map_or(of_reason, |id| id.min(of_reason)))
    }

    /// The oldest association to which the address leads for this reason.
    fn of_standing(&self, correspondent: Correspondent, standing: Standing) -> Option<AssociationId> {
        let first = self.from(correspondent, standing).next();
        first.filter(|found| found.is_of(standing)).map(Key::id)
    }

    /// All associations to which the address leads for this reason or a later one.
    fn from(&self, correspondent: Correspondent, standing: Standing) -> impl Iterator<Item = Key> {
        let first = Key::new(correspondent, standing, AssociationId(0));
        let from_there = self.by_correspondent.range(first..).copied();
        from_there.take_while(move |known| known.has_correspondent_of(first))
    }

    /// The associations with a peer at `remote`.
    pub(crate) fn at(&self, remote: SocketAddr) -> Vec<AssociationId> {
        let correspondent = Correspondent {
            remote,
            peer_port: 0,
            local_port: 0,
            channel: ChannelId::NONE,
        };
        let first = Key::new(correspondent, Standing::Proven, AssociationId(0));
        let from_there = self.by_correspondent.range(first..);
        from_there
            .take_while(|known| known.is_at_address_of(first))
            .map(|known| known.id())
            .collect()
    }

    /// Removes the addresses `remotes` of `association`.
    fn unlist(&mut self, association: &Association, remotes: impl Iterator<Item = SocketAddr>) {
        for correspondent in correspondents(association, remotes) {
            // The reason may have changed meanwhile.
            let listed = Standing::ALL.map(|standing| Key::new(correspondent, standing, association.id));
            let _ = listed.iter().any(|key| self.by_correspondent.remove(key));
        }
    }

    /// Removes all addresses of `association`, which restarts under its tag.
    pub(crate) fn forget_addresses(&mut self, association: &Association) {
        self.unlist(association, association.transfer.paths.remotes());
    }

    /// Removes `association`, which has ended or goes on under another tag. Its addresses are free for other associations, and a
    /// late copy of its cookie does not create it again.
    pub(crate) fn retire(&mut self, association: &Association, why: Spent, now: Instant) {
        let tag = association.local.tag;
        // It may have been retired before, and the tag may be another one's now.
        if self.by_tag.get(&tag) != Some(&association.id) {
            return;
        }
        self.by_tag.remove(&tag);
        self.unlist(association, association.transfer.paths.remotes());
        for port in self.spent.add((tag, why), association.local.port, now) {
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
                .insert(Key::new(correspondent, standing, association.id));
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
