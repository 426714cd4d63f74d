//! Uplinks: devices with the addresses to send from. Which of them lead to a peer, and must a socket be bound to its device?

use std::io;
use std::net::{IpAddr, SocketAddr};

use anabranch_types::AddressScope;
use if_addrs::Interface;

#[cfg(target_os = "linux")]
use crate::routing::{default_routes, device_towards};
use crate::udp::UdpSocket;

/// A device and one of its addresses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Uplink {
    /// Its name, such as `wwan0`.
    pub device: String,
    /// The address that packets leave from.
    pub address: IpAddr,
}

/// The uplinks that lead to the Internet: devices with a default route, the preferred ones first, for each IP version
/// that `wanted` says yes to. Each with the address of the widest scope.
///
/// # Errors
///
/// The system does not list its routes or devices. Systems other than Linux list none.
pub fn uplinks(wanted: impl Fn(&IpAddr) -> bool) -> io::Result<Vec<Uplink>> {
    let interfaces = if_addrs::get_if_addrs()?;
    let mut found = Vec::new();
    #[cfg(target_os = "linux")]
    for route in default_routes()? {
        let of_route = |interface: &&Interface| {
            interface.index == Some(route.device)
                && interface.ip().is_ipv4() == route.is_ipv4
                && wanted(&interface.ip())
        };
        found.extend(best_of(interfaces.iter().filter(of_route)));
    }
    Ok(found)
}

/// The addresses to send from of the device called `name`, one for each IP version that `wanted` says yes to.
///
/// # Errors
///
/// The system does not list its devices, or there is none of this name.
pub fn uplinks_of_device(name: &str, wanted: impl Fn(&IpAddr) -> bool) -> io::Result<Vec<Uplink>> {
    let interfaces = if_addrs::get_if_addrs()?;
    let of_device = || interfaces.iter().filter(|interface| interface.name == name);
    if of_device().next().is_none() {
        return Err(io::ErrorKind::NotFound.into());
    }
    let of_version = |is_ipv4: bool| {
        best_of(
            of_device().filter(|interface| interface.ip().is_ipv4() == is_ipv4 && wanted(&interface.ip())),
        )
    };
    Ok([true, false].into_iter().filter_map(of_version).collect())
}

/// The device that has `address`; `None` if no device of this host does.
///
/// # Errors
///
/// The system does not list its devices.
pub fn device_of(address: IpAddr) -> io::Result<Option<String>> {
    let interfaces = if_addrs::get_if_addrs()?;
    let has_address = |interface: &&Interface| interface.ip() == address;
    Ok(interfaces
        .iter()
        .find(has_address)
        .map(|interface| interface.name.clone()))
}

/// The uplink with the widest scope; of several, the first that the system lists.
fn best_of<'a>(interfaces: impl Iterator<Item = &'a Interface>) -> Option<Uplink> {
    let best = interfaces
        .map(|interface| (AddressScope::of(interface.ip()), interface))
        // A link-local address means nothing to a peer (RFC 9260 §3.3.2.1).
        .filter(|(scope, _)| !matches!(scope, AddressScope::Unusable | AddressScope::Link))
        .reduce(|best, next| if next.0 > best.0 { next } else { best });
    best.map(|(_, interface)| Uplink {
        device: interface.name.clone(),
        address: interface.ip(),
    })
}

/// By which device the packets of a socket leave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Egress {
    /// By the one that the routing table names, which is the one that has the socket's address, or nothing else is known.
    Routed,
    /// The routing table names another one, so the socket is bound to the device that has its address.
    Bound {
        /// The device.
        device: String,
    },
    /// The routing table names another one, and no route leads out of the device that has the address.
    Elsewhere {
        /// The device that has the address.
        device: String,
    },
}

impl UdpSocket {
    /// Binds to `local`, an address of one device, such that packets to `remotes` leave by that device.
    ///
    /// Without policy routing, Linux sends packets from all addresses of a host by the device of its preferred default
    /// route. A socket bound to a device uses the routes of that device only; binding needs no privilege for a socket
    /// that is not bound to a device yet (Linux 5.7).
    ///
    /// # Errors
    ///
    /// The address is not ours or in use, or sockets run out.
    pub fn bind_to_uplink(local: SocketAddr, remotes: &[SocketAddr]) -> io::Result<(Self, Egress)> {
        let egress = egress(local.ip(), remotes);
        let socket = match &egress {
            Egress::Bound { device } => Self::bind_to_device(local, device)?,
            Egress::Routed | Egress::Elsewhere { .. } => Self::bind(local)?,
        };
        Ok((socket, egress))
    }
}

/// How packets from `source` to `remotes` leave, and how they can be made to leave by the device of `source`.
#[cfg(target_os = "linux")]
pub(crate) fn egress(source: IpAddr, remotes: &[SocketAddr]) -> Egress {
    let interfaces = if_addrs::get_if_addrs().unwrap_or_default();
    let has_source = |interface: &&Interface| interface.ip() == source;
    let Some((interface, index)) = interfaces
        .iter()
        .find(has_source)
        .and_then(|interface| Some((interface, interface.index?)))
    else {
        return Egress::Routed;
    };
    let leaves_elsewhere = |remote: &&SocketAddr| {
        let device = device_towards(Some(source), remote.ip());
        remote.is_ipv4() == source.is_ipv4()
            && !remote.ip().is_loopback()
            && device.is_ok_and(|device| device != index)
    };
    let Some(remote) = remotes.iter().find(leaves_elsewhere) else {
        return Egress::Routed;
    };
    let device = interface.name.clone();
    if leads_to(interface, index, remote.ip()) {
        Egress::Bound { device }
    } else {
        Egress::Elsewhere { device }
    }
}

/// The routing tables of other systems are not read.
#[cfg(not(target_os = "linux"))]
pub(crate) fn egress(_source: IpAddr, _remotes: &[SocketAddr]) -> Egress {
    Egress::Routed
}

/// Whether `remote` is a neighbour on the interface, or the interface has a default route. The kernel itself would take
/// every destination for a neighbour of a socket that is bound to a device without a route.
#[cfg(target_os = "linux")]
fn leads_to(interface: &Interface, index: u32, remote: IpAddr) -> bool {
    let has_default_route = default_routes().is_ok_and(|routes| {
        let leads_out =
            |route: &crate::routing::DefaultRoute| route.device == index && route.is_ipv4 == remote.is_ipv4();
        routes.iter().any(leads_out)
    });
    has_default_route || is_neighbour(&interface.addr, remote)
}

#[cfg(target_os = "linux")]
fn is_neighbour(ours: &if_addrs::IfAddr, remote: IpAddr) -> bool {
    match (ours, remote) {
        (if_addrs::IfAddr::V4(ours), IpAddr::V4(remote)) => {
            let mask = u32::from(ours.netmask);
            u32::from(ours.ip) & mask == u32::from(remote) & mask
        }
        (if_addrs::IfAddr::V6(ours), IpAddr::V6(remote)) => {
            let mask = u128::from(ours.netmask);
            u128::from(ours.ip) & mask == u128::from(remote) & mask
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn device_that_does_not_exist_is_not_found() {
        let error = uplinks_of_device("nosuchdevice0", |_| true).expect_err("there is none");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn uplinks_have_addresses_of_the_wanted_version() {
        let found = uplinks(IpAddr::is_ipv4).expect("routes can be listed");
        assert!(found.iter().all(|uplink| uplink.address.is_ipv4()), "{found:?}");
    }

    #[test]
    fn loopback_address_is_on_the_loopback_device() {
        let device = device_of(Ipv4Addr::LOCALHOST.into()).expect("devices can be listed");
        assert!(device.is_some_and(|name| name.starts_with("lo")));
        let nobodys = Ipv4Addr::new(203, 0, 113, 1).into();
        assert_eq!(device_of(nobodys).expect("devices can be listed"), None);
    }

    #[test]
    fn loopback_needs_no_binding_to_a_device() {
        let local = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
        let (_, egress) = UdpSocket::bind_to_uplink(local, &[local]).expect("loopback is ours");
        assert_eq!(egress, Egress::Routed);
    }
}
