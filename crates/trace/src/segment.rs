//! What does a frame carry? One segment of SCTP or TCP, whatever it is wrapped in.

mod sctp;
mod tcp;

use core::net::IpAddr;
use core::ops::Range;

use anabranch_types::VerificationTag;
use etherparse::{
    EtherType, IpNumber, LaxIpPayloadSlice, LaxNetSlice, LaxSlicedPacket, TransportSlice, UdpHeader,
};

use crate::capture::{Frame, Link};

/// The UDP port of the encapsulation (RFC 6951 §5.1).
const SCTP_OVER_UDP: u16 = 9899;

/// One packet of SCTP or TCP.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Number of its frame in the capture, from 1.
    pub number: usize,
    /// Nanoseconds since the epoch of the capture.
    pub at: u64,
    /// Where it came from.
    pub from: IpAddr,
    /// Where it went.
    pub to: IpAddr,
    /// Ports of the transport protocol, there and back.
    pub ports: (u16, u16),
    /// Bytes of the IP packet.
    pub length: usize,
    /// What belongs to one protocol only.
    pub protocol: Protocol,
    /// What it says, in a few words.
    pub label: String,
    /// Sequence numbers that it carries: TSNs, or bytes of TCP. They wrap.
    pub carries: Vec<Range<u32>>,
    /// What it acknowledges.
    pub acknowledges: Option<Acknowledgement>,
}

/// What belongs to one protocol only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// SCTP.
    Sctp {
        /// The tag of packets in this direction; zero in an INIT.
        tag: VerificationTag,
        /// The tag that packets in the other direction will have, if it says so (INIT, INIT ACK).
        answers: Option<VerificationTag>,
    },
    /// TCP.
    Tcp,
}

/// What a segment acknowledges. Sequence numbers wrap.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Acknowledgement {
    /// Everything before this number has arrived.
    pub before: u32,
    /// And these ranges.
    pub blocks: Vec<Range<u32>>,
}

impl Segment {
    /// The segment in the frame with this number; `None` if there is none of a protocol that is known here.
    #[must_use]
    pub fn of(number: usize, frame: &Frame) -> Option<Self> {
        let sliced = slice(frame)?;
        let (from, to) = addresses(sliced.net.as_ref()?)?;
        let payload = sliced.ip_payload()?;
        if payload.fragmented {
            return None;
        }
        let length = whole_length(sliced.net.as_ref()?, payload);
        let found = match &sliced.transport {
            Some(TransportSlice::Tcp(tcp)) => tcp::parse(tcp, length),
            Some(TransportSlice::Udp(udp)) => {
                let known = [udp.source_port(), udp.destination_port()].contains(&SCTP_OVER_UDP);
                sctp::parse(udp.payload(), length.saturating_sub(UdpHeader::LEN), known)?
            }
            Some(_) => return None,
            None if payload.ip_number == IpNumber::SCTP => sctp::parse(payload.payload, length, true)?,
            None => return None,
        };
        Some(Self {
            number,
            at: frame.at,
            from,
            to,
            ports: found.ports,
            length: ip_length(sliced.net.as_ref()?, payload.payload.len()),
            protocol: found.protocol,
            label: found.label,
            carries: found.carries,
            acknowledges: found.acknowledges,
        })
    }
}

/// What a transport protocol says.
struct Found {
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

/// Bytes of the payload as IP tells them: a capture may hold the first ones only.
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
