//! Datagram on the simulated network. What does it carry? A payload, two addresses and two ECN bits.

use core::net::IpAddr;

use anabranch_types::{Ecn, PathAddr, Rng};

use crate::link::{Packet, flip_bits, flow_of};

const IPV4_HEADER: u32 = 20;
const IPV6_HEADER: u32 = 40;
const UDP_HEADER: u32 = 8;

/// IANA's protocol number in the IP header. Only captures use it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Protocol(pub u8);

impl Protocol {
    /// TCP (RFC 9293).
    pub const TCP: Self = Self(6);
    /// UDP (RFC 768).
    pub const UDP: Self = Self(17);
    /// SCTP (RFC 9260).
    pub const SCTP: Self = Self(132);
}

/// A packet of some protocol above IP, or above UDP over IP if the remote port is not 0 (RFC 6951).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Datagram {
    /// Source (`local`) and destination (`remote`) as the sender sees them, all the way: the receiver's view is
    /// [`PathAddr::reversed`].
    pub path: PathAddr,
    /// Protocol above IP, if the datagram is not encapsulated in UDP.
    pub protocol: Protocol,
    /// ECN bits of the IP header; a queue that marks may change them.
    pub ecn: Ecn,
    /// Whether a link with a smaller MTU may fragment it; otherwise the link drops it (don't-fragment bit).
    pub may_fragment: bool,
    /// Payload of IP, or of UDP. Moved from hop to hop, never copied.
    pub payload: Vec<u8>,
}

impl Datagram {
    /// Whether a UDP header lies between IP and the payload.
    #[must_use]
    pub const fn is_encapsulated(&self) -> bool {
        self.path.remote.port() != 0
    }

    /// Size of the IP packet in bytes: payload, 8 for UDP if encapsulated, 20 for IPv4 or 40 for IPv6.
    #[must_use]
    pub fn ip_bytes(&self) -> u32 {
        let ip = if self.path.remote.is_ipv4() {
            IPV4_HEADER
        } else {
            IPV6_HEADER
        };
        let udp = if self.is_encapsulated() { UDP_HEADER } else { 0 };
        u32::try_from(self.payload.len())
            .unwrap_or(u32::MAX)
            .saturating_add(ip + udp)
    }
}

impl Packet for Datagram {
    fn corrupt(&mut self, rng: &mut Rng) {
        flip_bits(&mut self.payload, rng);
    }

    fn may_fragment(&self) -> bool {
        self.may_fragment
    }

    /// By addresses, protocol and ports. Ports are those of UDP if encapsulated; otherwise, as TCP, UDP and SCTP have theirs
    /// at the same place, the first four bytes of the payload.
    fn flow(&self) -> u64 {
        let PathAddr { local, remote } = self.path;
        let ports = [local.port(), remote.port()].map(u16::to_be_bytes);
        let protocol = if self.is_encapsulated() {
            Protocol::UDP
        } else {
            self.protocol
        };
        let inner = if self.is_encapsulated() {
            &[]
        } else {
            &self.payload[..self.payload.len().min(4)]
        };
        let outer = octets(local.ip()).into_iter().chain(octets(remote.ip()));
        let ports = ports.into_iter().flatten().chain(inner.iter().copied());
        flow_of(outer.chain([protocol.0]).chain(ports))
    }

    fn mark_congestion(&mut self) -> bool {
        let capable = self.ecn != Ecn::NotCapable;
        if capable {
            self.ecn = Ecn::CongestionExperienced;
        }
        capable
    }
}

fn octets(ip: IpAddr) -> [u8; 16] {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
        IpAddr::V6(ip) => ip.octets(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Datagram, Packet as _, Protocol};
    use anabranch_types::{Ecn, PathAddr};

    fn datagram(local: &str, remote: &str, protocol: Protocol, payload: &[u8]) -> Datagram {
        Datagram {
            path: PathAddr {
                local: local.parse().unwrap(),
                remote: remote.parse().unwrap(),
            },
            protocol,
            ecn: Ecn::NotCapable,
            may_fragment: false,
            payload: payload.to_vec(),
        }
    }

    #[test]
    fn flow_is_of_addresses_protocol_and_ports() {
        let flow = |local, protocol, payload: &[u8]| datagram(local, "10.0.0.2:0", protocol, payload).flow();
        let one = flow("10.0.0.1:0", Protocol::TCP, &[0, 1, 0, 2, 9]);
        assert_eq!(one, flow("10.0.0.1:0", Protocol::TCP, &[0, 1, 0, 2, 7, 7]));
        assert_ne!(one, flow("10.0.0.1:0", Protocol::TCP, &[0, 1, 0, 3, 9]));
        assert_ne!(one, flow("10.0.0.1:0", Protocol::SCTP, &[0, 1, 0, 2, 9]));
        assert_ne!(one, flow("10.0.0.3:0", Protocol::TCP, &[0, 1, 0, 2, 9]));
        // Inside UDP, the payload says nothing about the flow.
        let inside = |port, payload: &[u8]| {
            datagram(
                &format!("10.0.0.1:{port}"),
                "10.0.0.2:9899",
                Protocol::SCTP,
                payload,
            )
            .flow()
        };
        assert_eq!(inside(5, &[1, 2, 3, 4]), inside(5, &[9; 40]));
        assert_ne!(inside(5, &[1]), inside(6, &[1]));
    }
}
