//! IP and UDP headers for captures. Which bytes would be on the wire?

use core::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::{Datagram, Protocol};

const UDP: u8 = Protocol::UDP.0;

const HOPS: u8 = 64;

/// Appends the whole IP packet to `out`. Lengths that do not fit their fields are written as the maximum. A source
/// address whose IP version differs from the destination's is written as unspecified.
pub(super) fn append(datagram: &Datagram, out: &mut Vec<u8>) {
    let path = datagram.path;
    let transport_length = datagram.payload.len() + if datagram.is_encapsulated() { 8 } else { 0 };
    let protocol = if datagram.is_encapsulated() {
        UDP
    } else {
        datagram.protocol.0
    };
    let mut pseudo = Checksum::default();
    match path.remote {
        SocketAddr::V4(remote) => {
            let source = match path.local {
                SocketAddr::V4(local) => *local.ip(),
                SocketAddr::V6(_) => Ipv4Addr::UNSPECIFIED,
            };
            ipv4_header(
                datagram,
                (source, *remote.ip()),
                (protocol, transport_length),
                out,
            );
            pseudo.add(&source.octets());
            pseudo.add(&remote.ip().octets());
        }
        SocketAddr::V6(remote) => {
            let source = match path.local {
                SocketAddr::V6(local) => *local.ip(),
                SocketAddr::V4(_) => Ipv6Addr::UNSPECIFIED,
            };
            ipv6_header(
                datagram,
                (source, *remote.ip()),
                (protocol, transport_length),
                out,
            );
            pseudo.add(&source.octets());
            pseudo.add(&remote.ip().octets());
        }
    }
    if datagram.is_encapsulated() {
        udp_header(datagram, pseudo, out);
    }
    out.extend_from_slice(&datagram.payload);
}

/// RFC 791 §3.1. Every packet is atomic: not to be fragmented, identification 0 (RFC 6864 §4).
fn ipv4_header(
    datagram: &Datagram,
    (source, destination): (Ipv4Addr, Ipv4Addr),
    (protocol, transport_length): (u8, usize),
    out: &mut Vec<u8>,
) {
    const DONT_FRAGMENT: [u8; 2] = [0x40, 0];
    let mut header = [0; 20];
    header[0] = 0x45;
    header[1] = datagram.ecn.bits();
    header[2..4].copy_from_slice(&field(transport_length + 20).to_be_bytes());
    header[6..8].copy_from_slice(&DONT_FRAGMENT);
    header[8] = HOPS;
    header[9] = protocol;
    header[12..16].copy_from_slice(&source.octets());
    header[16..20].copy_from_slice(&destination.octets());
    let mut checksum = Checksum::default();
    checksum.add(&header);
    header[10..12].copy_from_slice(&checksum.value().to_be_bytes());
    out.extend_from_slice(&header);
}

/// RFC 8200 §3.
fn ipv6_header(
    datagram: &Datagram,
    (source, destination): (Ipv6Addr, Ipv6Addr),
    (protocol, transport_length): (u8, usize),
    out: &mut Vec<u8>,
) {
    let version_and_class = (6 << 28) | (u32::from(datagram.ecn.bits()) << 20);
    out.extend_from_slice(&version_and_class.to_be_bytes());
    out.extend_from_slice(&field(transport_length).to_be_bytes());
    out.extend_from_slice(&[protocol, HOPS]);
    out.extend_from_slice(&source.octets());
    out.extend_from_slice(&destination.octets());
}

/// RFC 768. `pseudo` already includes the addresses.
fn udp_header(datagram: &Datagram, mut pseudo: Checksum, out: &mut Vec<u8>) {
    let length = field(datagram.payload.len() + 8);
    let mut header = [0; 8];
    header[0..2].copy_from_slice(&datagram.path.local.port().to_be_bytes());
    header[2..4].copy_from_slice(&datagram.path.remote.port().to_be_bytes());
    header[4..6].copy_from_slice(&length.to_be_bytes());
    pseudo.add(&[0, UDP]);
    pseudo.add(&length.to_be_bytes());
    pseudo.add(&header);
    pseudo.add(&datagram.payload);
    // "If the computed checksum is zero, it is transmitted as all ones" (RFC 768).
    let checksum = match pseudo.value() {
        0 => u16::MAX,
        value => value,
    };
    header[6..8].copy_from_slice(&checksum.to_be_bytes());
    out.extend_from_slice(&header);
}

fn field(length: usize) -> u16 {
    u16::try_from(length).unwrap_or(u16::MAX)
}

/// Internet checksum (RFC 1071) over slices, of which only the last may have an odd length.
#[derive(Clone, Copy, Default)]
pub(super) struct Checksum(u64);

impl Checksum {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        let (pairs, rest) = bytes.as_chunks::<2>();
        self.0 += pairs
            .iter()
            .map(|pair| u64::from(u16::from_be_bytes(*pair)))
            .sum::<u64>();
        if let [last] = rest {
            self.0 += u64::from(u16::from_be_bytes([*last, 0]));
        }
    }

    pub(super) const fn value(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }
}
