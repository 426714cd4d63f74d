//! Tests of the endpoint: helpers that play the peer, and one module for each subject.

use alloc::vec;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};

use anabranch_types::{
    AssociationId, ChannelId, Ecn, Instant, PathAddr, Ppid, Seed, Ssn, StreamId, Tsn, VerificationTag,
};
use anabranch_wire::chunk::kind;
use anabranch_wire::parameter::kind::{HOST_NAME, IPV4, IPV6, SUPPORTED_ADDRESS_TYPES};
use anabranch_wire::{
    Cause, CauseWriter, Chunk, CommonHeader, CookieAck, CookieEcho, Data, DataFlags, Heartbeat,
    OutboundAbort, OutboundError, OutboundInit, Packet, PacketBuilder, Parameter, ParameterWriter, RawCause,
    RawChunk, RawParameter, Shutdown, ShutdownAck, ShutdownComplete, WriteChunk,
};

use crate::{Association, AssociationConfig, DEFAULT_PORT, Endpoint, EndpointConfig, Event, Message};

const START: Instant = Instant::ZERO;

/// The first chunk of data that a peer sends.
const DATA: Data<'static> = Data {
    flags: DataFlags::WHOLE,
    tsn: Tsn(1),
    stream: StreamId(0),
    ssn: Ssn(0),
    ppid: Ppid(0),
    payload: b"here",
};

fn here() -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1], DEFAULT_PORT))
}

fn peer(number: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, number], DEFAULT_PORT))
}

fn config() -> AssociationConfig {
    AssociationConfig {
        local_sctp_port: Some(DEFAULT_PORT),
        ..AssociationConfig::default()
    }
}

/// A listening endpoint with one address.
fn endpoint() -> Endpoint {
    endpoint_with(config())
}

fn endpoint_with(accept: AssociationConfig) -> Endpoint {
    listening(here(), accept)
}

fn endpoint_at(here: SocketAddr) -> Endpoint {
    listening(here, config())
}

fn listening(here: SocketAddr, accept: AssociationConfig) -> Endpoint {
    let config = EndpointConfig {
        local: vec![here],
        accept: Some(accept),
        ..EndpointConfig::default()
    };
    Endpoint::new(config, Seed(1))
}

/// Delivers a packet with one chunk from `remote`. Returns the packets sent in reply.
fn deliver(
    endpoint: &mut Endpoint,
    now: Instant,
    remote: SocketAddr,
    tag: VerificationTag,
    chunk: &impl WriteChunk,
) -> Vec<Vec<u8>> {
    let bytes = packet(tag, |packet| packet.push(chunk).expect("a small chunk"));
    deliver_packet(endpoint, now, remote, &bytes)
}

/// Like [`deliver`], with two chunks.
fn deliver_two(
    endpoint: &mut Endpoint,
    remote: SocketAddr,
    tag: VerificationTag,
    first: &impl WriteChunk,
    second: &impl WriteChunk,
) -> Vec<Vec<u8>> {
    let bytes = packet(tag, |packet| {
        packet.push(first).expect("a small chunk");
        packet.push(second).expect("another one");
    });
    deliver_packet(endpoint, START, remote, &bytes)
}

fn packet(tag: VerificationTag, fill: impl FnOnce(&mut PacketBuilder<'_>)) -> Vec<u8> {
    let header = CommonHeader {
        source_port: DEFAULT_PORT,
        destination_port: DEFAULT_PORT,
        tag,
    };
    let mut bytes = Vec::new();
    let mut packet = PacketBuilder::new(&mut bytes, header, 1_400);
    fill(&mut packet);
    packet.finish();
    bytes
}

fn deliver_packet(endpoint: &mut Endpoint, now: Instant, remote: SocketAddr, bytes: &[u8]) -> Vec<Vec<u8>> {
    let path = PathAddr {
        local: here(),
        remote,
    };
    endpoint.handle_datagram(now, path, Ecn::NotCapable, bytes);
    poll_packets(endpoint, now)
}

fn poll_packets(endpoint: &mut Endpoint, now: Instant) -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    let mut buffer = Vec::new();
    while endpoint.poll_transmit(now, &mut buffer, 1).is_some() {
        packets.push(core::mem::take(&mut buffer));
    }
    packets
}

fn kinds(packets: &[Vec<u8>]) -> Vec<u8> {
    let chunks = |bytes: &Vec<u8>| -> Vec<u8> {
        let packet = Packet::parse(bytes).expect("a packet in order");
        packet.chunks().flatten().map(|chunk| chunk.kind).collect()
    };
    packets.iter().flat_map(chunks).collect()
}

fn listing(addresses: &[IpAddr]) -> Vec<u8> {
    let mut parameters = ParameterWriter::new();
    for address in addresses {
        parameters.push_address(*address);
    }
    parameters.finish()
}

/// An INIT of the peer; with `acknowledges` set, an INIT ACK.
fn init(tag: u32, parameters: Vec<u8>) -> OutboundInit {
    OutboundInit {
        acknowledges: false,
        initiate_tag: VerificationTag(tag),
        a_rwnd: 100_000,
        outbound_streams: 10,
        inbound_streams: 10,
        initial_tsn: Tsn(1),
        parameters,
    }
}

fn init_ack(tag: u32, addresses: &[IpAddr]) -> OutboundInit {
    let mut parameters = ParameterWriter::new();
    for address in addresses {
        parameters.push_address(*address);
    }
    parameters.push_state_cookie(&[7; 40]);
    OutboundInit {
        acknowledges: true,
        ..init(tag, parameters.finish())
    }
}

/// The peer at `remote` sends an INIT. Returns the endpoint's tag and the state cookie of the INIT ACK.
fn request_cookie(
    endpoint: &mut Endpoint,
    remote: SocketAddr,
    init: &OutboundInit,
) -> (VerificationTag, Vec<u8>) {
    let answer = deliver(endpoint, START, remote, VerificationTag::ZERO, init);
    tag_and_cookie(&answer)
}

/// The initiate tag of an INIT or INIT ACK, and its state cookie if it has one.
fn tag_and_cookie(packets: &[Vec<u8>]) -> (VerificationTag, Vec<u8>) {
    let packet = Packet::parse(&packets[0]).expect("a packet in order");
    let chunk = packet.chunks().flatten().next().expect("a chunk");
    let (Ok(Chunk::Init(said)) | Ok(Chunk::InitAck(said))) = chunk.decode() else {
        panic!("neither INIT nor INIT ACK");
    };
    let mut parameters = said.parameters.iter().flatten().flat_map(RawParameter::decode);
    let cookie = parameters.find_map(|parameter| match parameter {
        Parameter::StateCookie(cookie) => Some(cookie.to_vec()),
        _ => None,
    });
    (said.initiate_tag, cookie.unwrap_or_default())
}

fn queue(endpoint: &mut Endpoint, id: AssociationId, message: Message) {
    let mut association = endpoint.association_mut(id).expect("it lives");
    association.send(message).expect("it may be queued");
}

fn events(endpoint: &mut Endpoint) -> Vec<Event> {
    core::iter::from_fn(|| endpoint.poll_event())
        .map(|(_, event)| event)
        .collect()
}

/// The peer at `peer(2)` completes a handshake. Returns the verification tag of packets to the endpoint.
fn accept_peer(endpoint: &mut Endpoint, tag: u32, addresses: &[IpAddr]) -> VerificationTag {
    accept_peer_at(endpoint, peer(2), tag, addresses)
}

/// Like [`accept_peer`], with the peer at another address.
fn accept_peer_at(
    endpoint: &mut Endpoint,
    remote: SocketAddr,
    tag: u32,
    addresses: &[IpAddr],
) -> VerificationTag {
    let init = init(tag, listing(addresses));
    let (tag, cookie) = request_cookie(endpoint, remote, &init);
    let answer = deliver(endpoint, START, remote, tag, &CookieEcho { cookie: &cookie });
    assert_eq!(kinds(&answer).first(), Some(&kind::COOKIE_ACK));
    tag
}

/// The endpoint sends an INIT to `peer(2)`. Returns the verification tag of packets to the endpoint.
fn send_init(endpoint: &mut Endpoint) -> (AssociationId, VerificationTag) {
    let id = endpoint
        .connect(START, &[peer(2)], &config())
        .expect("a path to the peer");
    let (tag, _) = tag_and_cookie(&poll_packets(endpoint, START));
    (id, tag)
}

/// The peer at `peer(2)` sends an INIT too, which crosses that of the endpoint, whose tag is `tag`.
fn receive_crossing_init(endpoint: &mut Endpoint, tag: VerificationTag, peers_tag: u32) {
    let init = init(peers_tag, Vec::new());
    let (_, cookie) = request_cookie(endpoint, peer(2), &init);
    let answer = deliver(endpoint, START, peer(2), tag, &CookieEcho { cookie: &cookie });
    assert_eq!(kinds(&answer).first(), Some(&kind::COOKIE_ACK));
}

mod abandonment;
mod authentication;
mod channels;
mod checksums;
mod congestion;
mod early;
mod ending;
mod ends;
mod extensions;
mod handshake;
mod icmp;
mod limits;
mod liveness;
mod partial_reliability;
mod reconfig;
mod reconfig_limits;
mod setup;
mod shutdown;
mod tags;
mod transfer;
