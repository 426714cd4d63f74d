//! Segment: an SCTP packet or TCP segment. Which one does a frame carry, in whatever encapsulation?

mod sctp;
mod tcp;

use core::net::IpAddr;
use core::ops::Range;
use std::collections::BTreeSet;

use anabranch_secure::KeyLog;
use anabranch_types::VerificationTag;
use etherparse::{
    EtherType, IpNumber, LaxIpPayloadSlice, LaxNetSlice, LaxSlicedPacket, TransportSlice, UdpHeader,
};

use self::sctp::Checksum;
use crate::capture::{Frame, Link};

/// UDP port of SCTP encapsulation (RFC 6951 §5.1).
const SCTP_OVER_UDP: u16 = 9899;

/// One packet of SCTP or TCP.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Number of its frame in the capture, from 1.
    pub number: usize,
    /// Nanoseconds since the epoch of the capture.
    pub at: u64,
    /// Source address.
    pub from: IpAddr,
    /// Destination address.
    pub to: IpAddr,
    /// Source and destination port of the transport protocol.
    pub ports: (u16, u16),
    /// Bytes of the IP packet.
    pub length: usize,
    /// What belongs to one protocol only.
    pub protocol: Protocol,
    /// Summary of its content.
    pub label: String,
    /// Sequence numbers that it carries: TSNs, or bytes of TCP. They wrap at 32 bits.
    pub carries: Vec<Range<u32>>,
    /// Its acknowledgement, if any.
    pub acknowledges: Option<Acknowledgement>,
}

/// What belongs to one protocol only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// SCTP.
    Sctp {
        /// Verification tag of the packet; zero in an INIT.
        tag: VerificationTag,
        /// Initiate tag of an INIT or INIT ACK: the verification tag of the other direction.
        peer_tag: Option<VerificationTag>,
    },
    /// TCP.
    Tcp,
}

/// An acknowledgement. Sequence numbers wrap at 32 bits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Acknowledgement {
    /// Cumulative acknowledgement: everything before this number has arrived.
    pub before: u32,
    /// Gap blocks.
    pub blocks: Vec<Range<u32>>,
}

impl Segment {
    /// Parses the segment in frame `number`; `None` if the frame contains neither SCTP nor TCP in the clear.
    #[must_use]
    pub fn of(number: usize, frame: &Frame) -> Option<Self> {
        Segments::default().read(number, frame)
    }
}

/// Source and destination address and port of UDP.
type UdpFlow = ((IpAddr, u16), (IpAddr, u16));

/// Reader of the segments of a capture. Pass frames in the order of the capture.
#[derive(Debug, Default)]
pub struct Segments {
    keys: Option<KeyLog>,
    /// UDP flows that carry SCTP: a packet of theirs had a correct checksum.
    carriers: BTreeSet<UdpFlow>,
}

impl Segments {
    /// A reader that opens sealed datagrams, too.
    #[must_use]
    pub fn opened_by(keys: KeyLog) -> Self {
        Self {
            keys: Some(keys),
            carriers: BTreeSet::new(),
        }
    }

    /// Parses the segment in frame `number`; `None` if the frame contains neither SCTP nor TCP that can be read.
    pub fn read(&mut self, number: usize, frame: &Frame) -> Option<Segment> {
        let sliced = slice(frame)?;
        let (from, to) = addresses(sliced.net.as_ref()?)?;
        let payload = sliced.ip_payload()?;
        if payload.fragmented {
            return None;
        }
        let length = whole_length(sliced.net.as_ref()?, payload);
        let parsed = match &sliced.transport {
            Some(TransportSlice::Tcp(tcp)) => tcp::parse(tcp, length),
            Some(TransportSlice::Udp(udp)) => {
                let flow = ((from, udp.source_port()), (to, udp.destination_port()));
                self.in_udp(flow, udp.payload(), length.saturating_sub(UdpHeader::LEN))?
            }
            Some(_) => return None,
            None if payload.ip_number == IpNumber::SCTP => {
                sctp::parse(payload.payload, length, Checksum::Unneeded)?
            }
            None if payload.ip_number == IpNumber::TCP => tcp::parse_part(payload.payload, length)?,
            None => return None,
        };
        Some(Segment {
            number,
            at: frame.at,
            from,
            to,
            ports: parsed.ports,
            length: ip_length(sliced.net.as_ref()?, payload.payload.len()),
            protocol: parsed.protocol,
            label: parsed.label,
            carries: parsed.carries,
            acknowledges: parsed.acknowledges,
        })
    }

    /// Parses SCTP in a UDP datagram of `length` bytes that starts with `bytes`.
    fn in_udp(&mut self, flow: UdpFlow, bytes: &[u8], length: usize) -> Option<Parsed> {
        if let Some(packet) = self.keys.as_mut().and_then(|keys| keys.open(bytes)) {
            return sctp::parse(&packet, packet.len(), Checksum::Unneeded);
        }
        let (source, destination) = flow;
        if [source.1, destination.1].contains(&SCTP_OVER_UDP) {
            return sctp::parse(bytes, length, Checksum::OrZero);
        }
        // Of a packet that was captured in part, the checksum is unknown: others have shown what the flow carries.
        let is_carrier = self.carriers.contains(&flow) || self.carriers.contains(&(destination, source));
        if length > bytes.len() && is_carrier {
            return sctp::parse(bytes, length, Checksum::OrZero);
        }
        let parsed = sctp::parse(bytes, length, Checksum::Correct)?;
        self.carriers.insert(flow);
        Some(parsed)
    }
}

/// Result of parsing the transport protocol.
struct Parsed {
    ports: (u16, u16),
    protocol: Protocol,
    label: String,
    carries: Vec<Range<u32>>,
    acknowledges: Option<Acknowledgement>,
}

fn slice(frame: &Frame) -> Option<LaxSlicedPacket<'_>> {
    let bytes = &frame.bytes;
    let below = |at: usize, header: usize| {
        let kind = u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]);
        Some(LaxSlicedPacket::from_ether_type(
            EtherType(kind),
            bytes.get(header..)?,
        ))
    };
    match frame.link {
        Link::Ethernet => LaxSlicedPacket::from_ethernet(bytes).ok(),
        Link::Ip => LaxSlicedPacket::from_ip(bytes).ok(),
        Link::Loopback => LaxSlicedPacket::from_ip(bytes.get(4..)?).ok(),
        Link::LinuxCooked => below(14, 16),
        Link::LinuxCooked2 => below(0, 20),
        Link::Other(_) => None,
    }
}

fn addresses(net: &LaxNetSlice<'_>) -> Option<(IpAddr, IpAddr)> {
    match net {
        LaxNetSlice::Ipv4(ip) => Some((
            ip.header().source_addr().into(),
            ip.header().destination_addr().into(),
        )),
        LaxNetSlice::Ipv6(ip) => Some((
            ip.header().source_addr().into(),
            ip.header().destination_addr().into(),
        )),
        LaxNetSlice::Arp(_) => None,
    }
}

/// Length of the payload by the IP header: the capture may contain only its start.
fn whole_length(net: &LaxNetSlice<'_>, payload: &LaxIpPayloadSlice<'_>) -> usize {
    let captured = payload.payload.len();
    if !payload.incomplete {
        return captured;
    }
    let headers = match net {
        LaxNetSlice::Ipv4(ip) => ip.header().slice().len(),
        LaxNetSlice::Ipv6(ip) => ip.header().slice().len() + ip.extensions().slice().len(),
        LaxNetSlice::Arp(_) => 0,
    };
    ip_length(net, captured).saturating_sub(headers).max(captured)
}

fn ip_length(net: &LaxNetSlice<'_>, payload: usize) -> usize {
    match net {
        LaxNetSlice::Ipv4(ip) => usize::from(ip.header().total_len()),
        LaxNetSlice::Ipv6(ip) => 40 + usize::from(ip.header().payload_length()),
        LaxNetSlice::Arp(_) => payload,
    }
}

#[cfg(test)]
mod tests;
