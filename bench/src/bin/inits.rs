//! Benchmark `inits`: CPU time per INIT, with many associations that list its source address.
//!
//! Each association has a peer at an address of its own. All peers list the same two further addresses. Then INITs that list both arrive
//! from the first of them. The endpoint keeps no state for an INIT, so all INITs are processed alike.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use anabranch_bench::{Arguments, Column, Stopwatch, Table, median};
use anabranch_proto::{AssociationConfig, DEFAULT_PORT, Endpoint, EndpointConfig};
use anabranch_types::{Ecn, Instant, PathAddr, Seed, Tsn, VerificationTag};
use anabranch_wire::{
    Chunk, CommonHeader, CookieEcho, OutboundInit, Packet, PacketBuilder, Parameter, ParameterWriter,
    RawParameter, WriteChunk,
};

/// Numbers of associations that list the address.
const LISTING: [u32; 3] = [100, 10_000, 100_000];

/// INITs between two readings of the clock.
const BATCH: usize = 100;

/// The addresses that every peer lists.
const LISTED: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 200, 0, 1), Ipv4Addr::new(10, 200, 0, 2)];

const NOW: Instant = Instant::ZERO;

fn main() {
    let arguments = Arguments {
        json: false,
        runs: 5,
        seconds: 1.0,
    };
    let arguments = arguments.or("inits: CPU time per INIT from an address that associations list");
    let columns = [("us_per_init", 2), ("us_per_set_up", 1)];
    let columns = columns.map(|(name, decimals)| Column { name, decimals });
    let mut table = Table::new("INITs of unverified peers", &columns);
    for listing in LISTING {
        let mut endpoint = endpoint();
        let watch = Stopwatch::start();
        for number in 0..listing {
            join(&mut endpoint, number);
        }
        let set_up = watch.elapsed().as_secs_f64() / f64::from(listing);
        let runs = (0..arguments.runs).map(|_| init_cost(&mut endpoint, arguments.seconds));
        let cost = median(&runs.collect::<Vec<_>>());
        table.row(
            format!("beside {listing} associations that list the address"),
            &[cost * 1e6, set_up * 1e6],
        );
    }
    table.print(arguments.json);
}

fn endpoint() -> Endpoint {
    let config = EndpointConfig {
        local: vec![local()],
        accept: Some(AssociationConfig::default()),
        max_associations: 1 << 20,
        ..EndpointConfig::default()
    };
    Endpoint::new(config, Seed(1))
}

/// CPU time per INIT in seconds.
fn init_cost(endpoint: &mut Endpoint, seconds: f64) -> f64 {
    let init = init(1);
    let mut inits = 0;
    let watch = Stopwatch::start();
    loop {
        for _ in 0..BATCH {
            let answer = exchange(endpoint, LISTED[0].into(), VerificationTag::ZERO, &init);
            assert!(answer.is_some(), "an INIT ACK");
        }
        inits += BATCH;
        let elapsed = watch.elapsed().as_secs_f64();
        if elapsed >= seconds {
            return elapsed / inits as f64;
        }
    }
}

/// A peer at an address of its own completes the handshake.
fn join(endpoint: &mut Endpoint, number: u32) {
    let [_, high, middle, low] = number.to_be_bytes();
    let source = IpAddr::from([10, high, middle, low]);
    let answer = exchange(endpoint, source, VerificationTag::ZERO, &init(number + 2));
    let (tag, cookie) = tag_and_cookie(&answer.expect("an INIT ACK"));
    exchange(endpoint, source, tag, &CookieEcho { cookie: &cookie }).expect("a COOKIE ACK");
    while endpoint.poll_event().is_some() {}
}

/// Delivers a packet with one chunk. Returns the first packet sent in reply.
fn exchange(
    endpoint: &mut Endpoint,
    source: IpAddr,
    tag: VerificationTag,
    chunk: &impl WriteChunk,
) -> Option<Vec<u8>> {
    let header = CommonHeader {
        source_port: DEFAULT_PORT,
        destination_port: DEFAULT_PORT,
        tag,
    };
    let mut bytes = Vec::new();
    let mut packet = PacketBuilder::new(&mut bytes, header, 1_400);
    packet.push(chunk).expect("a small chunk");
    packet.finish();
    let path = PathAddr {
        local: local(),
        remote: SocketAddr::new(source, DEFAULT_PORT),
    };
    endpoint.handle_datagram(NOW, path, Ecn::NotCapable, &bytes);
    bytes.clear();
    let first = endpoint.poll_transmit(NOW, &mut bytes, 1)?.size;
    let answer = bytes[..first].to_vec();
    while endpoint.poll_transmit(NOW, &mut bytes, 1).is_some() {
        bytes.clear();
    }
    Some(answer)
}

fn init(tag: u32) -> OutboundInit {
    let mut parameters = ParameterWriter::new();
    for address in LISTED {
        parameters.push_address(address.into());
    }
    OutboundInit {
        acknowledges: false,
        initiate_tag: VerificationTag(tag),
        a_rwnd: 100_000,
        outbound_streams: 10,
        inbound_streams: 10,
        initial_tsn: Tsn(1),
        parameters: parameters.finish(),
    }
}

fn tag_and_cookie(packet: &[u8]) -> (VerificationTag, Vec<u8>) {
    let packet = Packet::parse(packet).expect("a packet in order");
    let first = packet.chunks().flatten().next().expect("a chunk");
    let Ok(Chunk::InitAck(answer)) = first.decode() else {
        panic!("no INIT ACK: {first:?}");
    };
    let mut parameters = answer.parameters.iter().flatten().flat_map(RawParameter::decode);
    let cookie = parameters.find_map(|parameter| match parameter {
        Parameter::StateCookie(cookie) => Some(cookie.to_vec()),
        _ => None,
    });
    (answer.initiate_tag, cookie.expect("a State Cookie"))
}

fn local() -> SocketAddr {
    SocketAddr::from(([10, 201, 0, 1], DEFAULT_PORT))
}
