//! Scope of addresses. Which does a peer have, and which of ours is it told?

use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use anabranch_types::AddressScope;

use crate::path::MAX_PATHS;

/// The addresses that a peer at `remote` is told: those of ours that it can reach, if there are several, and no more than there
/// may be paths: an INIT has to fit a packet. With one only, the source address of the packet says it already, and a NAT
/// keeps it right, unless the packet leaves from a `source` that is not to be used any more.
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

/// Whether a peer at `source` may have the address `listed`. Nobody has one that is no host's, and only a peer on
/// this host has its loopback addresses: to send there would be to talk to ourselves.
pub(crate) fn is_believable(listed: IpAddr, source: IpAddr) -> bool {
    match AddressScope::of(listed) {
        AddressScope::Unusable => false,
        AddressScope::Loopback => AddressScope::of(source) == AddressScope::Loopback,
        AddressScope::Link | AddressScope::Site | AddressScope::Global => true,
    }
}
