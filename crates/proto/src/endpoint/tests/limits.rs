//! Tests of the limits of an endpoint: which associations and data are refused when slots or memory run out.

use anabranch_policy::BufferSize;
use anabranch_wire::OutboundSack;

use super::*;
use crate::CloseReason;

const MIB: u64 = 1 << 20;

fn limited(limits: EndpointConfig) -> Endpoint {
    let config = EndpointConfig {
        local: vec![here()],
        accept: Some(config()),
        ..limits
    };
    Endpoint::new(config, Seed(1))
}

/// A peer whose messages all wait for one that is never sent. Returns the verification tag of packets to the endpoint.
fn peer_with_undeliverable_messages(endpoint: &mut Endpoint, number: u8, messages: u32) -> VerificationTag {
    let tag = accept_peer_at(endpoint, peer(number), 1_000 + u32::from(number), &[]);
    for index in 0..messages {
        let early = Data {
            tsn: Tsn(1 + index),
            ssn: Ssn(1 + index as u16),
            payload: &[7; 1_200],
            ..DATA
        };
        deliver(endpoint, START, peer(number), tag, &early);
    }
    tag
}

fn window_is_open(endpoint: &Endpoint) -> bool {
    !endpoint.associations().any(Association::is_closed)
}

#[test]
fn undeliverable_data_leaves_receive_memory_for_others() {
    let mut endpoint = limited(EndpointConfig {
        receive_memory: MIB,
        ..EndpointConfig::default()
    });
    for number in 10..20 {
        peer_with_undeliverable_messages(&mut endpoint, number, 500);
    }
    assert!(
        endpoint.receive_memory() <= 2 * MIB,
        "{}",
        endpoint.receive_memory()
    );
    assert!(endpoint.counters().data_refused > 1_000);
    assert!(window_is_open(&endpoint));
    events(&mut endpoint);
    let tag = accept_peer(&mut endpoint, 5, &[]);
    deliver(&mut endpoint, START, peer(2), tag, &DATA);
    assert!(events(&mut endpoint).contains(&Event::Readable));
}

/// An association that holds too much data announces a zero window until memory is free again.
#[test]
fn exhausted_receive_memory_closes_the_window_until_some_is_free() {
    let mut endpoint = limited(EndpointConfig {
        receive_memory: MIB,
        ..EndpointConfig::default()
    });
    let tag = peer_with_undeliverable_messages(&mut endpoint, 10, 1_000);
    let window = |packets: &[Vec<u8>]| {
        let packet = Packet::parse(&packets[0]).expect("a packet in order");
        let mut chunks = packet.chunks().flatten().flat_map(RawChunk::decode);
        chunks.find_map(|chunk| match chunk {
            Chunk::Sack(sack) => Some(sack.a_rwnd),
            _ => None,
        })
    };
    let more = Data {
        tsn: Tsn(5_000),
        ssn: Ssn(5_000),
        payload: &[7; 1_200],
        ..DATA
    };
    let answer = deliver(&mut endpoint, START, peer(10), tag, &more);
    assert_eq!(window(&answer), Some(0));
    // The missing message is accepted in any case.
    let missing = endpoint
        .associations()
        .map(|one| one.transfer.receiver.cumulative());
    let missing = missing.last().expect("one").0.wrapping_add(1);
    let first = Data {
        tsn: Tsn(missing),
        ssn: Ssn(0),
        ..DATA
    };
    deliver(&mut endpoint, START, peer(10), tag, &first);
    assert!(events(&mut endpoint).contains(&Event::Readable));
    let id = endpoint.associations().map(Association::id).next().expect("one");
    let mut association = endpoint.association_mut(id).expect("it lives");
    while association.receive().is_some() {}
    drop(association);
    assert_eq!(endpoint.receive_memory(), 0);
    let answer = deliver(
        &mut endpoint,
        START,
        peer(10),
        tag,
        &Data {
            ssn: Ssn(5_001),
            ..more
        },
    );
    assert!(window(&answer) > Some(100_000));
}

#[test]
fn ended_association_keeps_only_deliverable_data() {
    let mut endpoint = endpoint();
    let tag = peer_with_undeliverable_messages(&mut endpoint, 10, 100);
    assert!(endpoint.receive_memory() > 100 * 1_200);
    let other = Data {
        tsn: Tsn(101),
        stream: StreamId(1),
        ..DATA
    };
    deliver(&mut endpoint, START, peer(10), tag, &other);
    let abort = OutboundAbort {
        tag_reflected: false,
        causes: Vec::new(),
    };
    deliver(&mut endpoint, START, peer(10), tag, &abort);
    let closed = |event: &Event| matches!(event, Event::Closed(CloseReason::AbortedByPeer { .. }));
    assert!(events(&mut endpoint).iter().any(closed));
    assert!(endpoint.receive_memory() < 1_000, "{}", endpoint.receive_memory());
    let id = endpoint.associations().map(Association::id).next().expect("one");
    let mut association = endpoint.association_mut(id).expect("it is not forgotten");
    assert_eq!(
        association.receive().map(|message| message.stream),
        Some(StreamId(1))
    );
    assert_eq!(association.receive(), None);
}

//= rfc9260 5.1-16
#[test]
fn associations_of_one_source_prefix_are_limited() {
    let mut endpoint = limited(EndpointConfig {
        max_associations_per_prefix: 2,
        ..EndpointConfig::default()
    });
    let from = |port| SocketAddr::new(peer(2).ip(), port);
    accept_peer_at(&mut endpoint, from(1), 5, &[]);
    let last = endpoint.associations().map(Association::id).last().expect("one");
    accept_peer_at(&mut endpoint, from(2), 6, &[]);
    let third = init(7, Vec::new());
    let answer = deliver(&mut endpoint, START, from(3), VerificationTag::ZERO, &third);
    assert_eq!(kinds(&answer), [kind::ABORT]);
    assert_eq!(endpoint.counters().refused, 1);
    accept_peer_at(&mut endpoint, peer(3), 8, &[]);
    endpoint.forget(last);
    accept_peer_at(&mut endpoint, from(3), 7, &[]);
}

/// Sends 900 kB to each of three peers, of which the first acknowledges the first chunk. Returns the size of its send buffer then.
fn send_buffer_after_a_sack(send_memory: u64) -> u64 {
    let accepted = AssociationConfig {
        send_buffer: BufferSize::AUTO,
        ..config()
    };
    let limits = EndpointConfig {
        local: vec![here()],
        accept: Some(accepted),
        send_memory,
        ..EndpointConfig::default()
    };
    let mut endpoint = Endpoint::new(limits, Seed(1));
    let tags = [10, 11, 12].map(|number| peer_with_undeliverable_messages(&mut endpoint, number, 0));
    let ids: Vec<_> = endpoint.associations().map(Association::id).collect();
    for id in &ids {
        let mut association = endpoint.association_mut(*id).expect("it lives");
        for _ in 0..900 {
            let message = Message::new(StreamId(0), vec![7; 1_000]);
            association.send(message).expect("room in the smallest buffer");
        }
    }
    poll_packets(&mut endpoint, START);
    let sack = OutboundSack {
        cumulative: Tsn(tags[0].0),
        a_rwnd: 10_000_000,
        packet_count: None,
        blocks: &[],
        duplicates: &[],
    };
    deliver(&mut endpoint, START, peer(10), tags[0], &sack);
    let association = endpoint.association(ids[0]).expect("it lives");
    association.statistics().send_buffer_size
}

#[test]
fn send_buffers_grow_until_half_of_the_memory_is_in_use() {
    assert!(send_buffer_after_a_sack(6 * MIB) > MIB);
    assert_eq!(send_buffer_after_a_sack(5 * MIB), MIB, "2.7 of 5 MB are in use");
}
