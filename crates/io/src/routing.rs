//! The host's routing table, read over rtnetlink. By which device does a packet leave, and which devices lead to the
//! Internet?
//!
//! Linux only; elsewhere nothing is known, and the system's own choice stands.

use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;

use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::route::{RouteAttribute, RouteMessage, RouteType};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

/// Bytes that one answer may have; the kernel sends dumps in parts of at most 32 KiB.
const LARGEST_ANSWER: usize = 64 << 10;

/// A default route of the main table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct DefaultRoute {
    /// Its metric; the kernel prefers the lowest.
    pub(crate) metric: u32,
    /// The index of its device.
    pub(crate) device: u32,
    /// Whether it is one for IPv4, else for IPv6.
    pub(crate) is_ipv4: bool,
}

/// The index of the device by which a packet from `source` to `destination` leaves, unless its socket is bound to
/// another one.
///
/// # Errors
///
/// There is no route, `source` is not an address of this host, or the system does not tell.
pub(crate) fn device_towards(source: Option<IpAddr>, destination: IpAddr) -> io::Result<u32> {
    let mut question = RouteMessage::default();
    question.header.address_family = family(destination);
    question.header.destination_prefix_length = prefix_of_host(destination);
    question
        .attributes
        .push(RouteAttribute::Destination(destination.into()));
    if let Some(source) = source {
        question.header.source_prefix_length = prefix_of_host(source);
        question.attributes.push(RouteAttribute::Source(source.into()));
    }
    let answers = ask(RouteNetlinkMessage::GetRoute(question), 0)?;
    let device = answers.iter().find_map(|answer| match answer {
        RouteNetlinkMessage::NewRoute(route) => device_of(route),
        _ => None,
    });
    device.ok_or_else(|| io::ErrorKind::NetworkUnreachable.into())
}

/// The default routes of this host, the preferred ones first, each device once for each IP version.
///
/// # Errors
///
/// The system does not list its routes.
pub(crate) fn default_routes() -> io::Result<Vec<DefaultRoute>> {
    let answers = ask(RouteNetlinkMessage::GetRoute(RouteMessage::default()), NLM_F_DUMP)?;
    let mut routes: Vec<DefaultRoute> = answers.iter().flat_map(default_route).collect();
    routes.sort_unstable();
    let mut seen = BTreeSet::new();
    routes.retain(|route| seen.insert((route.device, route.is_ipv4)));
    Ok(routes)
}

/// The default routes that `answer` tells of: several, if it is one route with several next hops.
fn default_route(answer: &RouteNetlinkMessage) -> Vec<DefaultRoute> {
    let RouteNetlinkMessage::NewRoute(route) = answer else {
        return Vec::new();
    };
    let header = &route.header;
    let is_default = header.destination_prefix_length == 0 && header.kind == RouteType::Unicast;
    // Tables of policy routing are for chosen sources; the main one says which uplinks there are.
    let is_main = header.table == netlink_packet_route::route::RouteHeader::RT_TABLE_MAIN;
    if !is_default || !is_main {
        return Vec::new();
    }
    let mut metric = 0;
    let mut devices = Vec::new();
    for attribute in &route.attributes {
        match attribute {
            RouteAttribute::Priority(priority) => metric = *priority,
            RouteAttribute::Oif(device) => devices.push(*device),
            RouteAttribute::MultiPath(hops) => devices.extend(hops.iter().map(|hop| hop.interface_index)),
            _ => {}
        }
    }
    let is_ipv4 = header.address_family == AddressFamily::Inet;
    let route = |device| DefaultRoute {
        metric,
        device,
        is_ipv4,
    };
    devices.into_iter().map(route).collect()
}

fn device_of(route: &RouteMessage) -> Option<u32> {
    route.attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Oif(device) => Some(*device),
        _ => None,
    })
}

/// Sends one question to the kernel and collects all parts of its answer.
fn ask(question: RouteNetlinkMessage, flags: u16) -> io::Result<Vec<RouteNetlinkMessage>> {
    let mut socket = Socket::new(NETLINK_ROUTE)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    let mut message = NetlinkMessage::new(NetlinkHeader::default(), NetlinkPayload::from(question));
    message.header.flags = NLM_F_REQUEST | flags;
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    socket.send(&bytes, 0)?;
    let mut answers = Vec::new();
    loop {
        let mut buffer = Vec::with_capacity(LARGEST_ANSWER);
        socket.recv(&mut buffer, 0)?;
        if take(&buffer, &mut answers)? || flags & NLM_F_DUMP == 0 {
            return Ok(answers);
        }
    }
}

/// Takes the messages of one datagram; whether the last part of a dump was among them.
fn take(buffer: &[u8], answers: &mut Vec<RouteNetlinkMessage>) -> io::Result<bool> {
    let mut rest = buffer;
    while !rest.is_empty() {
        let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest).map_err(io::Error::other)?;
        let length = (message.header.length as usize).next_multiple_of(4);
        match message.payload {
            NetlinkPayload::InnerMessage(answer) => answers.push(answer),
            NetlinkPayload::Done(_) => return Ok(true),
            NetlinkPayload::Error(error) => return Err(error.to_io()),
            _ => {}
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    Ok(false)
}

const fn family(address: IpAddr) -> AddressFamily {
    match address {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    }
}

const fn prefix_of_host(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn loopback_is_reached_by_the_loopback_device() {
        let device = device_towards(None, Ipv4Addr::LOCALHOST.into()).expect("loopback has a route");
        // The first device of every network namespace.
        assert_eq!(device, 1);
    }

    #[test]
    fn source_that_is_not_ours_is_an_error() {
        let foreign = Ipv4Addr::new(192, 0, 2, 77).into();
        assert!(device_towards(Some(foreign), Ipv4Addr::LOCALHOST.into()).is_err());
    }

    #[test]
    fn default_routes_can_be_listed() {
        let routes = default_routes().expect("routes can be listed");
        assert!(routes.is_sorted(), "{routes:?}");
    }
}
