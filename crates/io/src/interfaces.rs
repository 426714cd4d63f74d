//! Local addresses: which may be listed to a peer when a socket is bound to a wildcard address?

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6, UdpSocket};
use std::ops::RangeInclusive;

use anabranch_types::AddressScope;

/// Documentation addresses, which no host has (RFC 5737, RFC 3849).
const FAR_AWAY_V4: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::new(203, 0, 113, 1), 9));
const FAR_AWAY_V6: SocketAddr = SocketAddr::V6(SocketAddrV6::new(
    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1),
    9,
    0,
    0,
));

/// Addresses of interfaces that are up, each once: first those that the system itself would choose to reach the
/// outside, then the farthest-reaching.
///
/// Link-local addresses are left out: they have no meaning without an interface, which SCTP's address parameters
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
    let preferred = [preferred(FAR_AWAY_V4), preferred(FAR_AWAY_V6)];
    found.sort_by_key(|(scope, address)| {
        (
            !preferred.contains(&Some(*address)),
            std::cmp::Reverse(*scope),
            *address,
        )
    });
    found.dedup();
    Ok(found.into_iter().map(|(_, address)| address).collect())
}

/// Whether this host has `address`, of whatever scope and state: it is a loopback or wildcard address, an interface lists it, or a socket
/// can be bound to it. The last does not count where Linux permits binding to foreign addresses (`ip_nonlocal_bind`).
///
/// # Errors
///
/// The system does not list its interfaces.
pub fn is_host_address(address: IpAddr) -> io::Result<bool> {
    if address.is_loopback() || address.is_unspecified() {
        return Ok(true);
    }
    if UdpSocket::bind((address, 0)).is_ok() && !binds_foreign(address) {
        return Ok(true);
    }
    // An IPv6 address cannot be bound while the system looks for duplicates of it.
    let interfaces = if_addrs::get_if_addrs()?;
    Ok(interfaces.iter().any(|interface| interface.ip() == address))
}

/// Whether Linux permits to bind sockets to addresses that the host does not have, as for load balancers.
fn binds_foreign(address: IpAddr) -> bool {
    let version = if address.is_ipv4() { "ipv4" } else { "ipv6" };
    let setting = fs::read_to_string(format!("/proc/sys/net/{version}/ip_nonlocal_bind"));
    setting.is_ok_and(|setting| setting.trim() != "0")
}

/// The smallest and the largest MTU of the interfaces that have `addresses`, in bytes of IP; `None` if the system does
/// not tell.
///
/// Sockets of this crate do not fragment: a larger packet would never leave.
#[must_use]
pub fn mtus(addresses: &[SocketAddr]) -> Option<RangeInclusive<u32>> {
    let interfaces = if_addrs::get_if_addrs().ok()?;
    let ours = |ip: IpAddr| addresses.iter().any(|address| address.ip() == ip);
    interfaces
        .iter()
        .filter(|interface| ours(interface.ip()))
        .filter_map(|interface| mtu_of(&interface.name))
        .map(|mtu| mtu..=mtu)
        .reduce(|all, one| *all.start().min(one.start())..=*all.end().max(one.end()))
}

/// From Linux's sysfs, readable without privilege.
fn mtu_of(interface: &str) -> Option<u32> {
    fs::read_to_string(format!("/sys/class/net/{interface}/mtu"))
        .ok()?
        .trim()
        .parse()
        .ok()
}

/// The source that the routing table gives to packets for `destination`. Connecting a UDP socket sends nothing.
fn preferred(destination: SocketAddr) -> Option<IpAddr> {
    let any: IpAddr = if destination.is_ipv4() {
        Ipv4Addr::UNSPECIFIED.into()
    } else {
        Ipv6Addr::UNSPECIFIED.into()
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect(destination).ok()?;
    socket.local_addr().ok().map(|local| local.ip())
}

/// The addresses at which a socket bound to `local` can be reached: `local` itself, or, if that is a wildcard, every usable
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
    fn interfaces_list_loopback_and_no_address_twice() {
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
    fn host_has_the_whole_loopback_network_and_no_documentation_addresses() {
        let has =
            |address: &str| is_host_address(address.parse().expect("an address")).expect("it can be asked");
        assert!(has("127.0.0.1") && has("127.200.0.9"));
        assert!(!has("203.0.113.1") && !has("2001:db8::1"));
    }

    #[test]
    fn mtu_of_an_unknown_address_is_none() {
        let nobodys: SocketAddr = "203.0.113.1:9".parse().expect("an address");
        assert_eq!(mtus(&[nobodys]), None);
        let loopback: SocketAddr = "127.0.0.1:9".parse().expect("an address");
        assert!(
            mtus(&[nobodys, loopback]).is_none_or(|mtus| *mtus.start() >= 576 && mtus.start() == mtus.end())
        );
    }

    #[test]
    fn only_a_wildcard_is_expanded() {
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
