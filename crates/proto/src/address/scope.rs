//! Scope of addresses: which listed addresses of a peer are plausible, and which of ours are listed to it?

use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use anabranch_types::{AddressScope, PathAddr};

use crate::path::MAX_PATHS;

/// The addresses to list to a peer at `remote`: those of ours that it can reach, at most as many as there may be paths, so that an
/// INIT fits into a packet. A single address is not listed, because the source address of the packet is sufficient and correct
/// behind a NAT, unless the packet is sent from a `source` that is being removed.
pub(crate) fn listed(
    local_addrs: &[SocketAddr],
    remote: Option<SocketAddr>,
    source: Option<IpAddr>,
) -> Vec<IpAddr> {
    let toward = remote.map(|remote| AddressScope::of(remote.ip()));
    let near = toward == Some(AddressScope::Loopback);
    let useful = |address: &IpAddr| {
        let scope = AddressScope::of(*address);
        scope != AddressScope::Unusable && (scope == AddressScope::Loopback) == near
    };
    let mut addresses: Vec<IpAddr> = Vec::new();
    for address in local_addrs.iter().map(SocketAddr::ip).filter(useful) {
        if addresses.len() < MAX_PATHS && !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    let is_another = source.is_some_and(|source| !source.is_unspecified() && !addresses.contains(&source));
    if addresses.len() > 1 || is_another {
        addresses
    } else {
        Vec::new()
    }
}

/// Whether a peer at `source` can have the address `listed`. It must be a unicast address, and a loopback address only for a peer
/// on this host: for another peer, packets to it would reach ourselves.
pub(crate) fn is_believable(listed: IpAddr, source: IpAddr) -> bool {
    match AddressScope::of(listed) {
        AddressScope::Unusable => false,
        AddressScope::Loopback => AddressScope::of(source) == AddressScope::Loopback,
        AddressScope::Link | AddressScope::Site | AddressScope::Global => true,
    }
}

/// Whether neither address is a multicast or broadcast address (RFC 9260 §8.4 rule 1). If the socket does not report the local
/// address of a packet, the packet was for this host.
pub(crate) fn is_unicast(path: &PathAddr) -> bool {
    let is_host = |ip| AddressScope::of(ip) != AddressScope::Unusable;
    let (local, remote) = (path.local.ip(), path.remote.ip());
    is_host(remote) && (local.is_unspecified() || is_host(local))
}
