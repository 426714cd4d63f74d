//! Addresses of both ends, and the pairs on which further subflows are opened.

use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use super::{AddressPairing, MptcpConfig};
use crate::endpoint::FourTuple;
use crate::wire::AddressId;

/// Maximum number of stored peer addresses.
const MAX_REMOTE: usize = 32;

/// The addresses of both ends, initially those of the first subflow.
#[derive(Debug)]
pub(super) struct Addresses {
    local: Vec<(AddressId, IpAddr)>,
    /// The address ID is unknown for addresses that the peer has not advertised.
    remote: Vec<(Option<AddressId>, SocketAddr)>,
    pairs: AddressPairing,
    tried: Vec<(IpAddr, SocketAddr)>,
    /// There may be untried pairs.
    changed: bool,
}

/// A subflow that may join: its source and destination.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PendingJoin {
    pub(crate) local: IpAddr,
    pub(crate) remote: SocketAddr,
}

impl Addresses {
    pub(super) fn new(first: FourTuple, config: &MptcpConfig) -> Self {
        let local = core::iter::once(first.local.ip())
            .chain(config.local.iter().copied().filter(|ip| *ip != first.local.ip()));
        let port = first.remote.port();
        let remote = core::iter::once(first.remote.ip()).chain(
            config
                .remote
                .iter()
                .copied()
                .filter(|ip| *ip != first.remote.ip()),
        );
        Self {
            local: (0..).map(AddressId).zip(local).collect(),
            remote: remote.map(|ip| (None, SocketAddr::new(ip, port))).collect(),
            pairs: config.pairs,
            tried: [(first.local.ip(), first.remote)].into(),
            changed: true,
        }
    }

    /// Our addresses other than that of the first subflow.
    pub(super) fn further_local(&self) -> impl Iterator<Item = (AddressId, IpAddr)> + '_ {
        self.local.iter().skip(1).copied()
    }

    /// The address ID of a local address.
    pub(super) fn local_id(&self, address: IpAddr) -> AddressId {
        let known = self.local.iter().find(|(_, ip)| *ip == address);
        known.map_or(AddressId(0), |(id, _)| *id)
    }

    /// The peer advertises an address.
    pub(super) fn learn(&mut self, id: AddressId, address: SocketAddr) {
        if let Some((known, _)) = self.remote.iter_mut().find(|(_, other)| *other == address) {
            known.get_or_insert(id);
        } else if self.remote.len() < MAX_REMOTE {
            self.remote.push((Some(id), address));
            self.changed = true;
        }
    }

    /// No further subflows may be opened to the destination of the first one.
    pub(super) fn forget_first_remote(&mut self) {
        self.remote.remove(0);
    }

    /// The peer has removed the address.
    pub(super) fn forget_remote(&mut self, id: AddressId) {
        self.remote.retain(|(known, _)| *known != Some(id));
    }

    /// Removes a local address. Returns its address ID.
    pub(super) fn forget_local(&mut self, address: IpAddr) -> Option<AddressId> {
        let at = self.local.iter().position(|(_, ip)| *ip == address)?;
        Some(self.local.remove(at).0)
    }

    /// An address pair on which a subflow may be opened and none was opened yet.
    pub(super) fn next_pending_join(&mut self) -> Option<PendingJoin> {
        if !core::mem::take(&mut self.changed) {
            return None;
        }
        let (local, remote) = self
            .wanted()
            .into_iter()
            .find(|(local, remote)| !self.tried.contains(&(*local, *remote)))?;
        self.changed = true;
        self.tried.push((local, remote));
        Some(PendingJoin { local, remote })
    }

    /// Whether such a pair may exist.
    pub(super) const fn may_have_pending_join(&self) -> bool {
        self.changed
    }

    fn wanted(&self) -> Vec<(IpAddr, SocketAddr)> {
        let mut wanted = Vec::new();
        for is_ipv4 in [true, false] {
            let local: Vec<IpAddr> = self.local.iter().map(|(_, ip)| *ip).collect();
            let local: Vec<IpAddr> = local.into_iter().filter(|ip| ip.is_ipv4() == is_ipv4).collect();
            let remote = self.remote.iter().map(|(_, remote)| *remote);
            let remote: Vec<SocketAddr> = remote.filter(|remote| remote.is_ipv4() == is_ipv4).collect();
            match self.pairs {
                _ if local.is_empty() || remote.is_empty() => {}
                AddressPairing::Pairwise => wanted.extend((0..local.len().max(remote.len())).map(|nth| {
                    let (ours, theirs) = (nth % local.len(), nth % remote.len());
                    (local[ours], remote[theirs])
                })),
                AddressPairing::FullMesh => wanted.extend(
                    local
                        .iter()
                        .flat_map(|local| remote.iter().map(|remote| (*local, *remote))),
                ),
            }
        }
        wanted
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::{Addresses, PendingJoin};
    use crate::endpoint::FourTuple;
    use crate::mptcp::{AddressPairing, MptcpConfig};
    use crate::wire::AddressId;

    fn addresses(pairs: AddressPairing, remote: &[&str]) -> Addresses {
        let first = FourTuple {
            local: "10.0.0.1:4000".parse().unwrap(),
            remote: "10.0.0.2:80".parse().unwrap(),
        };
        let config = MptcpConfig {
            local: ["10.0.1.1", "2001:db8::1"].map(|ip| ip.parse().unwrap()).into(),
            remote: remote.iter().map(|ip| ip.parse().unwrap()).collect(),
            pairs,
            ..MptcpConfig::default()
        };
        Addresses::new(first, &config)
    }

    fn pending_joins(addresses: &mut Addresses) -> Vec<(u8, u8)> {
        let last = |ip: core::net::IpAddr| match ip {
            core::net::IpAddr::V4(ip) => ip.octets()[2],
            core::net::IpAddr::V6(_) => 6,
        };
        core::iter::from_fn(|| addresses.next_pending_join())
            .map(|PendingJoin { local, remote }| (last(local), last(remote.ip())))
            .collect()
    }

    #[test]
    fn pairwise_joins_pair_addresses_by_index() {
        let mut two = addresses(AddressPairing::Pairwise, &["10.0.1.2", "10.0.2.2"]);
        assert_eq!(pending_joins(&mut two), [(1, 1), (0, 2)]);
        assert_eq!(pending_joins(&mut two), [], "each once");
        two.learn(AddressId(9), "[2001:db8::2]:80".parse().unwrap());
        assert_eq!(pending_joins(&mut two), [(6, 6)]);
        assert_eq!(
            pending_joins(&mut addresses(AddressPairing::Pairwise, &[])),
            [(1, 0)]
        );
    }

    #[test]
    fn full_mesh_joins_pair_all_addresses() {
        let mut mesh = addresses(AddressPairing::FullMesh, &["10.0.1.2"]);
        assert_eq!(pending_joins(&mut mesh), [(0, 1), (1, 0), (1, 1)]);
    }
}
