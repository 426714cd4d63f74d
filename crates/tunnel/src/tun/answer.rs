//! Packets that a tunnel makes for the programs of its host: what comes back of a flow, and refusals.

use std::net::{IpAddr, SocketAddr};

use etherparse::icmpv4::DestUnreachableHeader;
use etherparse::{Icmpv4Type, Icmpv6Type, IpHeaders, PacketBuilder, PacketBuilderStep, icmpv6};

use super::packet::Ends;
use crate::frame::Reason;

const HOPS: u8 = 64;

/// Bytes behind the IP header that an ICMP error quotes (RFC 792).
const QUOTED: usize = 8;

/// The beginning of a packet. `None` if its ends have two IP versions.
pub(super) fn ip(source: IpAddr, destination: IpAddr) -> Option<PacketBuilderStep<IpHeaders>> {
    match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            Some(PacketBuilder::ipv4(source.octets(), destination.octets(), HOPS))
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            Some(PacketBuilder::ipv6(source.octets(), destination.octets(), HOPS))
        }
        _ => None,
    }
}

/// A UDP packet. `None` if it would be too long.
pub(super) fn udp(ends: Ends, payload: &[u8]) -> Option<Vec<u8>> {
    let builder = ip(ends.source.ip(), ends.destination.ip())?;
    let builder = builder.udp(ends.source.port(), ends.destination.port());
    let mut out = Vec::with_capacity(builder.size(payload.len()));
    builder.write(&mut out, payload).ok()?;
    Some(out)
}

/// An echo reply to `client`, whose port is the identifier. `payload` has the sequence number and the data.
pub(super) fn echo_reply(from: IpAddr, client: SocketAddr, payload: &[u8]) -> Option<Vec<u8>> {
    let (sequence, data) = payload.split_first_chunk::<2>()?;
    let sequence = u16::from_be_bytes(*sequence);
    let builder = ip(from, client.ip())?;
    let mut out = Vec::with_capacity(builder_size(data.len()));
    if client.is_ipv4() {
        builder
            .icmpv4_echo_reply(client.port(), sequence)
            .write(&mut out, data)
            .ok()?;
    } else {
        builder
            .icmpv6_echo_reply(client.port(), sequence)
            .write(&mut out, data)
            .ok()?;
    }
    Some(out)
}

const fn builder_size(data: usize) -> usize {
    40 + 8 + data
}

/// What a client is told whose SYN with the number `isn` was refused: a reset as from the target, or an ICMP error from `router`.
pub(super) fn refusal(client: Ends, isn: u32, reason: Reason, router: IpAddr) -> Option<Vec<u8>> {
    let (v4, v6) = match reason {
        Reason::NotPermitted => (
            DestUnreachableHeader::FilterProhibited,
            icmpv6::DestUnreachableCode::Prohibited,
        ),
        Reason::NetworkUnreachable | Reason::Down => (
            DestUnreachableHeader::Network,
            icmpv6::DestUnreachableCode::NoRoute,
        ),
        Reason::HostUnreachable | Reason::TimedOut | Reason::UnknownName => {
            (DestUnreachableHeader::Host, icmpv6::DestUnreachableCode::Address)
        }
        Reason::Failed | Reason::Refused | Reason::TooMany | Reason::Reset => {
            return reset(client.reversed(), 0, Some(isn.wrapping_add(1)));
        }
    };
    let mut quoted = Vec::new();
    let (from, to) = (client.source.port(), client.destination.port());
    let original = ip(client.source.ip(), client.destination.ip())?;
    original
        .tcp(from, to, isn, 0)
        .syn()
        .write(&mut quoted, &[])
        .ok()?;
    let builder = ip(router, client.source.ip())?;
    let mut out = Vec::new();
    if client.source.is_ipv4() {
        quoted.truncate(20 + QUOTED);
        let error = Icmpv4Type::DestinationUnreachable(v4);
        builder.icmpv4(error).write(&mut out, &quoted).ok()?;
    } else {
        let error = Icmpv6Type::DestinationUnreachable(v6);
        builder.icmpv6(error).write(&mut out, &quoted).ok()?;
    }
    Some(out)
}

/// A reset (RFC 9293 §3.10.7.1): with an acknowledgement number if the packet that it answers had none.
pub(super) fn reset(ends: Ends, sequence: u32, acknowledged: Option<u32>) -> Option<Vec<u8>> {
    let builder = ip(ends.source.ip(), ends.destination.ip())?;
    let builder = builder
        .tcp(ends.source.port(), ends.destination.port(), sequence, 0)
        .rst();
    let builder = match acknowledged {
        Some(number) => builder.ack(number),
        None => builder,
    };
    let mut out = Vec::new();
    builder.write(&mut out, &[]).ok()?;
    Some(out)
}
