//! Packets of a TUN device: which protocol, between which ends? And the same packet between other ends.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMP: u8 = 1;
const ICMPV6: u8 = 58;

// Types of ICMP (RFC 792) and ICMPv6 (RFC 4443 §4).
const ECHO_REQUEST: u8 = 8;
const ECHO_REQUEST_V6: u8 = 128;

const LENGTH_OF_TCP: usize = 20;
const LENGTH_OF_UDP: usize = 8;
const LENGTH_OF_ECHO: usize = 8;

/// Source and destination of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Ends {
    pub(super) source: SocketAddr,
    pub(super) destination: SocketAddr,
}

impl Ends {
    pub(super) const fn reversed(self) -> Self {
        Self {
            source: self.destination,
            destination: self.source,
        }
    }
}

/// What a tunnel can carry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Protocol {
    Tcp,
    Udp,
    /// An ICMP echo request. The port of its source is the identifier.
    Echo,
}

/// A packet that a tunnel can carry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Packet {
    pub(super) protocol: Protocol,
    pub(super) ends: Ends,
    /// Differentiated services code point (RFC 2474).
    pub(super) dscp: u8,
    /// Where the header of the transport begins.
    pub(super) transport: usize,
    /// Where the packet ends; bytes after that are padding.
    pub(super) end: usize,
}

/// Parses a packet. `None` for fragments, extension headers, other protocols, and what is not valid.
pub(super) fn parse(bytes: &[u8]) -> Option<Packet> {
    let (protocol, source, destination, transport, end) = match bytes.first()? >> 4 {
        4 => parse_v4(bytes)?,
        6 => parse_v6(bytes)?,
        _ => return None,
    };
    let header = bytes.get(transport..end)?;
    let (protocol, ports) = match (protocol, header) {
        (TCP, [a, b, c, d, ..]) if header.len() >= LENGTH_OF_TCP => (Protocol::Tcp, [*a, *b, *c, *d]),
        (UDP, [a, b, c, d, ..]) if header.len() >= LENGTH_OF_UDP => (Protocol::Udp, [*a, *b, *c, *d]),
        (ICMP, [ECHO_REQUEST, 0, _, _, a, b, ..]) | (ICMPV6, [ECHO_REQUEST_V6, 0, _, _, a, b, ..])
            if header.len() >= LENGTH_OF_ECHO && (protocol == ICMP) == source.is_ipv4() =>
        {
            (Protocol::Echo, [*a, *b, 0, 0])
        }
        _ => return None,
    };
    // A datagram may be shorter than its packet, and not longer.
    let end = match (protocol, header) {
        (Protocol::Udp, [_, _, _, _, high, low, ..]) => {
            let length = usize::from(u16::from_be_bytes([*high, *low]));
            if !(LENGTH_OF_UDP..=header.len()).contains(&length) {
                return None;
            }
            transport + length
        }
        _ => end,
    };
    let [a, b, c, d] = ports;
    let ends = Ends {
        source: SocketAddr::new(source, u16::from_be_bytes([a, b])),
        destination: SocketAddr::new(destination, u16::from_be_bytes([c, d])),
    };
    let has_ports = ends.source.port() != 0 && ends.destination.port() != 0;
    let is_between_hosts = !destination.is_multicast() && !source.is_multicast();
    (is_between_hosts && (has_ports || protocol == Protocol::Echo)).then_some(Packet {
        protocol,
        ends,
        dscp: dscp(bytes),
        transport,
        end,
    })
}

/// The DSCP of a packet, which is behind the version: the upper six bits of a byte.
fn dscp(bytes: &[u8]) -> u8 {
    match bytes {
        [first, second, ..] if first >> 4 == 6 => ((first << 4) | (second >> 4)) >> 2,
        [_, second, ..] => second >> 2,
        _ => 0,
    }
}

type Header = (u8, IpAddr, IpAddr, usize, usize);

fn parse_v4(bytes: &[u8]) -> Option<Header> {
    let fixed = bytes.first_chunk::<20>()?;
    let transport = usize::from(fixed[0] & 0x0f) * 4;
    let end = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
    // More fragments, or not the first one.
    let is_fragment = u16::from_be_bytes([fixed[6], fixed[7]]) & 0x3fff != 0;
    let address = |at: usize| Ipv4Addr::new(fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]);
    let is_valid = transport >= 20 && end >= transport && !is_fragment && address(16) != Ipv4Addr::BROADCAST;
    is_valid.then(|| (fixed[9], address(12).into(), address(16).into(), transport, end))
}

fn parse_v6(bytes: &[u8]) -> Option<Header> {
    let (fixed, _) = bytes.split_first_chunk::<40>()?;
    let end = 40 + usize::from(u16::from_be_bytes([fixed[4], fixed[5]]));
    let (source, destination) = (
        fixed[8..24].first_chunk::<16>()?,
        fixed[24..].first_chunk::<16>()?,
    );
    let address = |octets: &[u8; 16]| IpAddr::V6(Ipv6Addr::from(*octets));
    Some((fixed[6], address(source), address(destination), 40, end))
}

/// Where the checksum of a TCP header is.
const CHECKSUM_OF_TCP: usize = 16;

/// Puts other ends into a TCP packet, of the same IP version. If the checksum `is_partial`, it is that of the pseudo-header alone, and the
/// kernel completes it.
pub(super) fn rewrite(bytes: &mut [u8], packet: &Packet, ends: Ends, is_partial: bool) {
    let (old, new) = (octets(packet.ends), octets(ends));
    if old.len() != new.len() {
        return;
    }
    let transport = packet.transport;
    let addresses = match packet.ends.source {
        SocketAddr::V4(_) => 12,
        SocketAddr::V6(_) => 8,
    };
    let mut change = difference(&old, &new);
    if let Some(place) = bytes.get_mut(addresses..addresses + new.len()) {
        place.copy_from_slice(&new);
    }
    if packet.ends.source.is_ipv4() {
        update(bytes, 10, change);
    }
    let (old, new) = (ports(packet.ends), ports(ends));
    if let Some(place) = bytes.get_mut(transport..transport + 4) {
        place.copy_from_slice(&new);
    }
    if is_partial {
        // Not complemented, and ports are no part of it.
        let at = transport + CHECKSUM_OF_TCP;
        if let Some([high, low]) = bytes.get(at..at + 2) {
            let sum = u32::from(u16::from_be_bytes([*high, *low])) + u32::from(fold(change));
            bytes[at..at + 2].copy_from_slice(&fold(sum).to_be_bytes());
        }
    } else {
        change += difference(&old, &new);
        update(bytes, transport + CHECKSUM_OF_TCP, change);
    }
}

/// Both addresses, as they are in the packet.
fn octets(ends: Ends) -> Vec<u8> {
    match (ends.source.ip(), ends.destination.ip()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => [source.octets(), destination.octets()].concat(),
        (IpAddr::V6(source), IpAddr::V6(destination)) => [source.octets(), destination.octets()].concat(),
        _ => Vec::new(),
    }
}

fn ports(ends: Ends) -> [u8; 4] {
    let [a, b] = ends.source.port().to_be_bytes();
    let [c, d] = ends.destination.port().to_be_bytes();
    [a, b, c, d]
}

/// What a sum changes by if `new` stands in the place of `old` (RFC 1624 §3).
fn difference(old: &[u8], new: &[u8]) -> u32 {
    let complemented: u32 = old.chunks(2).map(|pair| u32::from(!word(pair))).sum();
    complemented + new.chunks(2).map(|pair| u32::from(word(pair))).sum::<u32>()
}

/// Changes the checksum at `at`, which is the complement of a sum.
fn update(bytes: &mut [u8], at: usize, change: u32) {
    if let Some(place) = bytes.get_mut(at..at + 2) {
        let sum = u32::from(!word(place)) + u32::from(fold(change));
        place.copy_from_slice(&(!fold(sum)).to_be_bytes());
    }
}

fn word(pair: &[u8]) -> u16 {
    u16::from_be_bytes([
        pair.first().copied().unwrap_or(0),
        pair.get(1).copied().unwrap_or(0),
    ])
}

/// The sum in 16 bits, with the carries added.
const fn fold(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    sum as u16
}

/// Whether the checksum of a UDP packet is right, or there is none.
pub(super) fn is_intact(bytes: &[u8], packet: &Packet) -> bool {
    let Some(datagram) = bytes.get(packet.transport..packet.end) else {
        return false;
    };
    if packet.ends.source.is_ipv4() && datagram.get(6..8) == Some(&[0, 0]) {
        return true;
    }
    let sum = |bytes: &[u8]| bytes.chunks(2).map(|pair| u32::from(word(pair))).sum::<u32>();
    // A datagram has at most 32,768 words, so 32 bits suffice.
    let pseudo = sum(&octets(packet.ends)) + u32::from(UDP) + datagram.len() as u32;
    fold(sum(datagram).wrapping_add(pseudo)) == 0xffff
}

#[cfg(test)]
pub(super) mod tests {
    use anabranch_types::Seed;
    use etherparse::{PacketBuilder, SlicedPacket, TransportSlice};

    use super::*;

    pub(in super::super) fn ends(source: &str, destination: &str) -> Ends {
        Ends {
            source: source.parse().unwrap(),
            destination: destination.parse().unwrap(),
        }
    }

    fn tcp(ends: Ends, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let (from, to) = (ends.source.port(), ends.destination.port());
        let builder = match (ends.source, ends.destination) {
            (SocketAddr::V4(a), SocketAddr::V4(b)) => {
                PacketBuilder::ipv4(a.ip().octets(), b.ip().octets(), 9)
            }
            (SocketAddr::V6(a), SocketAddr::V6(b)) => {
                PacketBuilder::ipv6(a.ip().octets(), b.ip().octets(), 9)
            }
            _ => panic!("two versions"),
        };
        builder
            .tcp(from, to, 1, 2)
            .ack(3)
            .write(&mut out, payload)
            .unwrap();
        out
    }

    /// Whether both checksums are right.
    fn has_right_checksums(bytes: &[u8]) -> bool {
        let sliced = SlicedPacket::from_ip(bytes).unwrap();
        let Some(TransportSlice::Tcp(tcp)) = sliced.transport else {
            return false;
        };
        let header = tcp.to_header();
        match sliced.net.unwrap() {
            etherparse::NetSlice::Ipv4(ip) => {
                let ip = ip.header().to_header();
                ip.header_checksum == ip.calc_header_checksum()
                    && header.checksum == header.calc_checksum_ipv4(&ip, tcp.payload()).unwrap()
            }
            etherparse::NetSlice::Ipv6(ip) => {
                header.checksum
                    == header
                        .calc_checksum_ipv6(&ip.header().to_header(), tcp.payload())
                        .unwrap()
            }
            etherparse::NetSlice::Arp(_) => false,
        }
    }

    #[test]
    fn dscp_is_that_of_the_header_of_either_version() {
        let v4 = tcp(ends("192.0.2.1:1", "192.0.2.2:2"), b"");
        let v6 = tcp(ends("[2001:db8::1]:1", "[2001:db8::2]:2"), b"");
        for (mut packet, head) in [(v4, [0x45, 0xbb]), (v6, [0x6b, 0xb0])] {
            assert_eq!(parse(&packet).unwrap().dscp, 0);
            packet[..2].copy_from_slice(&head);
            // EF, whatever the two bits of ECN are.
            assert_eq!(parse(&packet).unwrap().dscp, 46);
        }
    }

    #[test]
    fn rewritten_packets_have_their_new_ends_and_right_checksums() {
        let mut rng = Seed(7).rng();
        for case in 0..2_000_u32 {
            let mut address = |port: bool| -> SocketAddr {
                let mut octets = [0; 16];
                octets.fill_with(|| rng.below(256) as u8);
                let port = if port { 1 + rng.below(65_535) as u16 } else { 1 };
                match case % 2 {
                    0 => (Ipv4Addr::new(10, octets[1], octets[2], octets[3]), port).into(),
                    _ => {
                        octets[0] = 0x20;
                        (Ipv6Addr::from(octets), port).into()
                    }
                }
            };
            let [a, b, c, d] = [(); 4].map(|()| address(true));
            let (old, new) = (
                Ends {
                    source: a,
                    destination: b,
                },
                Ends {
                    source: c,
                    destination: d,
                },
            );
            let payload: Vec<u8> = (0..case % 40).map(|_| rng.below(256) as u8).collect();
            let mut bytes = tcp(old, &payload);
            let packet = parse(&bytes).unwrap();
            assert_eq!((packet.protocol, packet.ends), (Protocol::Tcp, old));
            rewrite(&mut bytes, &packet, new, false);
            assert_eq!(parse(&bytes).unwrap().ends, new);
            assert!(has_right_checksums(&bytes), "{old:?} {new:?}");
        }
    }

    /// A packet whose checksum the kernel has left to be completed.
    #[test]
    fn partial_checksum_becomes_that_of_the_new_addresses() {
        for (old, new) in [
            (
                ends("10.0.0.1:80", "10.0.0.2:81"),
                ends("192.0.2.1:5", "198.51.100.7:9"),
            ),
            (
                ends("[fd00::1]:80", "[fd00::2]:81"),
                ends("[2001:db8::1]:5", "[2001:db8::2]:9"),
            ),
        ] {
            let pseudo = |ends: Ends, length: u32| {
                let sum: u32 = octets(ends).chunks(2).map(|pair| u32::from(word(pair))).sum();
                fold(sum + u32::from(TCP) + length).to_be_bytes()
            };
            let mut bytes = tcp(old, b"data");
            let packet = parse(&bytes).unwrap();
            let at = packet.transport + CHECKSUM_OF_TCP;
            bytes[at..at + 2].copy_from_slice(&pseudo(old, 24));
            rewrite(&mut bytes, &packet, new, true);
            assert_eq!(bytes[at..at + 2], pseudo(new, 24));
        }
    }

    #[test]
    fn udp_and_echo_requests_are_recognised_and_damage_is_seen() {
        let mut udp = Vec::new();
        let builder = PacketBuilder::ipv4([10, 0, 0, 1], [192, 0, 2, 1], 9).udp(7, 53);
        builder.write(&mut udp, b"question").unwrap();
        let packet = parse(&udp).unwrap();
        assert_eq!(
            (packet.protocol, packet.ends),
            (Protocol::Udp, ends("10.0.0.1:7", "192.0.2.1:53"))
        );
        assert!(is_intact(&udp, &packet));
        udp[30] ^= 1;
        assert!(!is_intact(&udp, &packet));
        // A checksum of 0 means that there is none.
        udp[26..28].fill(0);
        assert!(is_intact(&udp, &packet));

        let mut echo = Vec::new();
        let builder = PacketBuilder::ipv6([2; 16], [3; 16], 9).icmpv6_echo_request(77, 1);
        builder.write(&mut echo, b"data").unwrap();
        let packet = parse(&echo).unwrap();
        assert_eq!((packet.protocol, packet.ends.source.port()), (Protocol::Echo, 77));
        let mut reply = Vec::new();
        let builder = PacketBuilder::ipv6([2; 16], [3; 16], 9).icmpv6_echo_reply(77, 1);
        builder.write(&mut reply, b"data").unwrap();
        assert_eq!(parse(&reply), None);
    }

    #[test]
    fn fragments_and_what_is_not_valid_are_refused() {
        let whole = tcp(ends("10.0.0.1:80", "10.0.0.2:81"), b"data");
        for length in 0..whole.len() {
            assert_eq!(parse(&whole[..length]), None, "{length}");
        }
        for (at, value) in [
            (6, 0x20),
            (7, 1),
            (0, 0x41),
            (0, 0x75),
            (9, 132),
            (3, 5),
            (16, 224),
        ] {
            let mut bytes = whole.clone();
            bytes[at] = value;
            assert_eq!(parse(&bytes), None, "{at}");
        }
        let mut rng = Seed(3).rng();
        for _ in 0..20_000 {
            let mut bytes: Vec<u8> = (0..rng.below(80)).map(|_| rng.below(256) as u8).collect();
            if let Some(first) = bytes.first_mut() {
                *first = [0x45, 0x46, 0x60][rng.below(3) as usize];
            }
            if let Some(packet) = parse(&bytes) {
                let new = packet.ends.reversed();
                rewrite(&mut bytes, &packet, new, rng.below(2) == 0);
                is_intact(&bytes, &packet);
            }
        }
    }
}
