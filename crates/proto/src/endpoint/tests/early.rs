//! Tests of early data: user data in the packet of the COOKIE ECHO (RFC 9260 §5.1 C). What if the handshake does not end as it began?

use core::time::Duration;

use super::*;
use crate::{CloseReason, Reliability};

/// An INIT ACK of a peer that accepts `streams` and supports these chunk types.
fn answer(tag: u32, streams: u16, extensions: &[u8]) -> OutboundInit {
    let mut parameters = ParameterWriter::new();
    parameters.push_state_cookie(&[7; 40]);
    parameters.push_supported_extensions(extensions);
    OutboundInit {
        acknowledges: true,
        inbound_streams: streams,
        ..init(tag, parameters.finish())
    }
}

/// The DATA chunks of packets.
fn data(packets: &[Vec<u8>]) -> Vec<(Tsn, StreamId, Ssn, Vec<u8>)> {
    let mut found = Vec::new();
    for bytes in packets {
        let packet = Packet::parse(bytes).expect("a packet in order");
        for chunk in packet.chunks().flatten() {
            if let Ok(Chunk::Data(data)) = chunk.decode() {
                found.push((data.tsn, data.stream, data.ssn, data.payload.to_vec()));
            }
        }
    }
    found
}

/// Two texts on stream 0, and one between them on stream 5.
fn with_three_texts(config: &AssociationConfig) -> (Endpoint, AssociationId, VerificationTag) {
    let mut endpoint = endpoint();
    let id = endpoint
        .connect(START, &[peer(2)], config)
        .expect("a path to the peer");
    let (tag, _) = tag_and_cookie(&poll_packets(&mut endpoint, START));
    for (stream, text) in [(0, "one"), (5, "two"), (0, "three")] {
        queue(&mut endpoint, id, Message::new(StreamId(stream), text));
    }
    (endpoint, id, tag)
}

fn receive(endpoint: &mut Endpoint, tag: VerificationTag, chunk: &impl WriteChunk) -> Vec<Vec<u8>> {
    deliver(endpoint, START, peer(2), tag, chunk)
}

/// Streams and the kind of chunk are agreed anew.
#[test]
fn early_data_is_taken_back_after_a_stale_cookie() {
    let mut interleaving = config();
    let choice = interleaving.policies.set("interleaving", "on");
    choice.expect("an option of the catalog");
    let (mut endpoint, _, tag) = with_three_texts(&interleaving);
    let echo = receive(&mut endpoint, tag, &answer(5, 10, &[kind::I_DATA]));
    assert_eq!(
        kinds(&echo),
        [kind::COOKIE_ECHO, kind::I_DATA, kind::I_DATA, kind::I_DATA]
    );
    let causes = CauseWriter::one(Cause::StaleCookie { staleness: 1 });
    let again = receive(&mut endpoint, tag, &OutboundError { causes });
    let packet = Packet::parse(&again[0]).expect("a packet in order");
    let Some(Ok(Chunk::Init(init))) = packet.chunks().flatten().next().map(|chunk| chunk.decode()) else {
        panic!("{again:?}")
    };
    let (tag, first) = (init.initiate_tag, init.initial_tsn);
    let echo = receive(&mut endpoint, tag, &answer(6, 1, &[]));
    assert_eq!(kinds(&echo), [kind::COOKIE_ECHO, kind::DATA, kind::DATA]);
    let expected = [
        (first, StreamId(0), Ssn(0), b"one".to_vec()),
        (first.next(), StreamId(0), Ssn(1), b"three".to_vec()),
    ];
    assert_eq!(data(&echo), expected);
    assert!(events(&mut endpoint).contains(&Event::Undeliverable { messages: 1 }));
    assert_eq!(receive(&mut endpoint, tag, &CookieAck), Vec::<Vec<u8>>::new());
}

/// The peer that got the data has lost it.
#[test]
fn early_data_is_taken_back_if_the_peer_restarts() {
    let (mut endpoint, _, tag) = with_three_texts(&config());
    let first = data(&receive(&mut endpoint, tag, &answer(5, 10, &[])));
    assert_eq!(first.len(), 3);
    let (_, cookie) = request_cookie(&mut endpoint, peer(2), &init(6, Vec::new()));
    let replies = receive(&mut endpoint, tag, &CookieEcho { cookie: &cookie });
    assert_eq!(kinds(&replies)[0], kind::COOKIE_ACK);
    assert_eq!(data(&replies), first);
}

//= rfc9260 4-6
/// T1-cookie stands for T3, which would count errors of the path and reduce its window.
#[test]
fn early_data_is_sent_again_with_each_cookie_echo() {
    let (mut endpoint, id, tag) = with_three_texts(&config());
    let first = receive(&mut endpoint, tag, &answer(5, 10, &[]));
    let facts = |endpoint: &Endpoint| {
        let association = endpoint.association(id).expect("it lives");
        let facts = &association.path_facts()[0];
        (facts.cwnd, facts.errors, facts.rto())
    };
    let before = facts(&endpoint);
    let mut now = START;
    for _ in 0..3 {
        now = endpoint.poll_timeout().expect("T1-cookie runs");
        endpoint.handle_timeout(now);
        assert_eq!(poll_packets(&mut endpoint, now), first);
    }
    assert_eq!(facts(&endpoint), before);
    let later = now + Duration::from_millis(10);
    deliver(&mut endpoint, later, peer(2), tag, &CookieAck);
    assert!(endpoint.poll_timeout().expect("T3 runs") > later);
    assert_eq!(facts(&endpoint), before);
}

#[test]
fn peer_that_refuses_early_data_by_abort_ends_the_attempt() {
    let (mut endpoint, _, tag) = with_three_texts(&config());
    receive(&mut endpoint, tag, &answer(5, 10, &[]));
    let abort = OutboundAbort {
        tag_reflected: false,
        causes: CauseWriter::one(Cause::OutOfResource),
    };
    assert_eq!(receive(&mut endpoint, tag, &abort), Vec::<Vec<u8>>::new());
    let events = events(&mut endpoint);
    let closed = |event: &Event| matches!(event, Event::Closed(CloseReason::AbortedByPeer { .. }));
    assert!(events.iter().any(closed), "{events:?}");
}

/// What is abandoned could not be taken back.
#[test]
fn messages_that_may_be_abandoned_are_not_sent_early() {
    let mut endpoint = endpoint();
    let partially_reliable = AssociationConfig {
        partial_reliability: true,
        ..config()
    };
    let id = endpoint
        .connect(START, &[peer(2)], &partially_reliable)
        .expect("a path to the peer");
    let (tag, _) = tag_and_cookie(&poll_packets(&mut endpoint, START));
    let brief = Message::new(StreamId(0), "brief").with_reliability(Reliability::Retransmissions(0));
    queue(&mut endpoint, id, brief);
    let mut parameters = ParameterWriter::new();
    parameters.push_state_cookie(&[7; 40]);
    parameters.push_forward_tsn_supported();
    let answer = OutboundInit {
        acknowledges: true,
        ..init(5, parameters.finish())
    };
    assert_eq!(kinds(&receive(&mut endpoint, tag, &answer)), [kind::COOKIE_ECHO]);
    assert_eq!(kinds(&receive(&mut endpoint, tag, &CookieAck))[0], kind::DATA);
}

//= rfc9260 6.10-1
#[test]
fn cookie_that_nearly_fills_its_packet_is_sent_alone() {
    for length in [1_150, 1_172, 1_300] {
        let mut endpoint = endpoint();
        let (id, tag) = send_init(&mut endpoint);
        queue(&mut endpoint, id, Message::new(StreamId(0), vec![7; 100]));
        let mut parameters = ParameterWriter::new();
        parameters.push_state_cookie(&vec![7; length]);
        let answer = OutboundInit {
            acknowledges: true,
            ..init(5, parameters.finish())
        };
        assert_eq!(kinds(&receive(&mut endpoint, tag, &answer)), [kind::COOKIE_ECHO]);
        assert_eq!(kinds(&receive(&mut endpoint, tag, &CookieAck))[0], kind::DATA);
    }
}
