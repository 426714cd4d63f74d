//! Which addresses does this host have? Those that a peer may be told when a socket is bound to all of them.

use std::io;
use std::net::{IpAddr, SocketAddr};

use anabranch_types::AddressScope;

/// Addresses of interfaces that are up, the farthest-reaching first; each once.
///
/// Link-local addresses are left out: they mean nothing without an interface, which SCTP's address parameters
/// cannot carry (RFC 9260 §3.3.2.1).
///
/// # Errors
///
/// The system does not list its interfaces.
pub fn usable_addresses() -> io::Result<Vec<IpAddr>> {
    let mut found: Vec<(AddressScope, IpAddr)> = if_addrs::get_if_addrs()?
        .iter()
        .filter(|interface| interface.is_oper_up() || interface.is_loopback())
        .map(|interface| (AddressScope::of(interface.ip()), interface.ip()))
        .filter(|(scope, _)| !matches!(scope, AddressScope::Unusable | AddressScope::Link))
        .collect();
    found.sort_by_key(|(scope, address)| (std::cmp::Reverse(*scope), *address));
    found.dedup();
    Ok(found.into_iter().map(|(_, address)| address).collect())
}

/// What a socket bound to `local` can be reached at: `local` itself, or, if that is a wildcard, every usable
/// address of its IP version with the same port.
///
/// # Errors
///
/// The system does not list its interfaces.
pub fn expand_wildcard(local: SocketAddr) -> io::Result<Vec<SocketAddr>> {
    if !local.ip().is_unspecified() {
        return Ok(vec![local]);
    }
    Ok(usable_addresses()?
        .into_iter()
        .filter(|address| address.is_ipv4() == local.is_ipv4())
        .map(|address| SocketAddr::new(address, local.port()))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host_has_a_loopback_address_and_no_address_twice() {
        let addresses = usable_addresses().expect("interfaces can be listed");
        assert!(addresses.iter().any(IpAddr::is_loopback));
        assert!(
            addresses
                .iter()
                .enumerate()
                .all(|(index, address)| !addresses[..index].contains(address))
        );
    }

    #[test]
    fn only_a_wildcard_stands_for_other_addresses() {
        let one: SocketAddr = "192.0.2.7:9899".parse().expect("an address");
        assert_eq!(expand_wildcard(one).expect("interfaces can be listed"), [one]);
        let all: SocketAddr = "0.0.0.0:9899".parse().expect("an address");
        let expanded = expand_wildcard(all).expect("interfaces can be listed");
        assert!(!expanded.is_empty());
        assert!(
            expanded
                .iter()
                .all(|address| address.is_ipv4() && address.port() == 9899)
        );
    }
}
