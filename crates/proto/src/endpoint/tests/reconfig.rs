//! Tests of stream reconfiguration (RFC 6525), rule by rule: which requests are sent and when, and what becomes of those of the peer.

use alloc::format;
use alloc::string::{String, ToString};
use core::time::Duration;

use anabranch_types::ReConfigNumber;
use anabranch_wire::{OutboundReConfig, OutboundSack, ReConfigResult};

use super::*;
use crate::{Reconfiguration, ReconfigurationError, SendError};

pub(super) const FIRST: StreamId = StreamId(0);
/// Number of the peer's first request: its initial TSN.
pub(super) const ONE: ReConfigNumber = ReConfigNumber(1);

pub(super) fn reconfigurable() -> AssociationConfig {
    AssociationConfig {
        reconfiguration: true,
        max_inbound_streams: 20,
        max_outbound_streams: 20,
        ..config()
    }
}

/// The peer at `peer(2)` completes a handshake and supports RE-CONFIG. Returns the tag of packets to the endpoint.
pub(super) fn accept_reconfiguring_peer(endpoint: &mut Endpoint) -> VerificationTag {
    let mut parameters = ParameterWriter::new();
    parameters.push_supported_extensions(&[kind::RE_CONFIG]);
    let init = init(9, parameters.finish());
    let answer = deliver(endpoint, START, peer(2), VerificationTag::ZERO, &init);
    let (tag, cookie) = tag_and_cookie(&answer);
    deliver(endpoint, START, peer(2), tag, &CookieEcho { cookie: &cookie });
    events(endpoint);
    tag
}

pub(super) fn request(endpoint: &mut Endpoint, change: Reconfiguration) -> Result<(), ReconfigurationError> {
    let id = endpoint.associations().next().expect("it lives").id();
    let mut association = endpoint.association_mut(id).expect("it lives");
    association.reconfigure(change)
}

fn send(endpoint: &mut Endpoint, stream: StreamId) -> Result<(), SendError> {
    let id = endpoint.associations().next().expect("it lives").id();
    let mut association = endpoint.association_mut(id).expect("it lives");
    association.send(Message::new(stream, "hello")).map(|_| ())
}

pub(super) fn receive_all(endpoint: &mut Endpoint) -> usize {
    let id = endpoint.associations().next().expect("it lives").id();
    let mut association = endpoint.association_mut(id).expect("it lives");
    core::iter::from_fn(|| association.receive()).count()
}

/// Each RE-CONFIG chunk, as text.
pub(super) fn requests(packets: &[Vec<u8>]) -> Vec<String> {
    let mut seen = Vec::new();
    for bytes in packets {
        let packet = Packet::parse(bytes).expect("a packet in order");
        for chunk in packet.chunks().flatten().flat_map(RawChunk::decode) {
            if let Chunk::ReConfig(chunk) = chunk {
                seen.push(chunk.to_string());
            }
        }
    }
    seen
}

/// TSN, stream and SSN of each DATA chunk.
pub(super) fn data(packets: &[Vec<u8>]) -> Vec<(u32, u16, u16)> {
    let mut seen = Vec::new();
    for bytes in packets {
        let packet = Packet::parse(bytes).expect("a packet in order");
        for chunk in packet.chunks().flatten().flat_map(RawChunk::decode) {
            if let Chunk::Data(data) = chunk {
                seen.push((data.tsn.0, data.stream.0, data.ssn.0));
            }
        }
    }
    seen
}

pub(super) fn sack(cumulative: u32) -> OutboundSack<'static> {
    OutboundSack {
        cumulative: Tsn(cumulative),
        a_rwnd: 100_000,
        packet_count: None,
        blocks: &[],
        duplicates: &[],
    }
}

pub(super) fn response(number: u32, result: ReConfigResult) -> OutboundReConfig {
    let mut chunk = OutboundReConfig::default();
    chunk.push_response(ReConfigNumber(number), result, None);
    chunk
}

fn at(millis: u64) -> Instant {
    START + Duration::from_millis(millis)
}

pub(super) fn numbered(tsn: u32, ssn: u16) -> Data<'static> {
    Data {
        tsn: Tsn(tsn),
        ssn: Ssn(ssn),
        ..DATA
    }
}

/// Sends a message on the first stream; returns its TSN, which is the initial one.
pub(super) fn send_first(endpoint: &mut Endpoint) -> u32 {
    send(endpoint, FIRST).expect("room");
    let sent = data(&poll_packets(endpoint, START));
    let [(tsn, 0, 0)] = sent[..] else {
        panic!("one chunk, not {sent:?}");
    };
    tsn
}

/// The reset waits for its acknowledgement, which a delayed SACK would hold up (RFC 7053 §5.1).
#[test]
fn last_message_before_a_reset_asks_for_a_sack_at_once() {
    let mut endpoint = endpoint_with(reconfigurable());
    accept_reconfiguring_peer(&mut endpoint);
    for stream in [FIRST, StreamId(1), FIRST] {
        send(&mut endpoint, stream).expect("room");
    }
    request(&mut endpoint, Reconfiguration::ResetOutbound(vec![FIRST])).expect("both support it");
    let packets = poll_packets(&mut endpoint, START);
    let packet = Packet::parse(&packets[0]).expect("a packet in order");
    let chunks = packet.chunks().flatten().flat_map(RawChunk::decode);
    let asks = chunks.filter_map(|chunk| match chunk {
        Chunk::Data(data) => Some((data.stream.0, data.flags.immediate)),
        _ => None,
    });
    let asks: Vec<_> = asks.collect();
    assert_eq!(asks, [(0, false), (1, false), (0, true)]);
}

//= rfc6525 5.1.1-1, 5.1.1-2, 5.1.1-5, 5.1.1-6, 5.1.2-1, 5.1.2-2, 5.1.2-3, 5.1.2-7, 5.1.2-8, 5.1.2-9
//= rfc6525 4.1-1, 4.1-2, 5.2.7-1, 5.2.7-2, 5.2.7-5
#[test]
fn outbound_reset_holds_later_messages_until_it_is_answered() {
    let mut endpoint = endpoint_with(reconfigurable());
    let tag = accept_reconfiguring_peer(&mut endpoint);
    let tsn = send_first(&mut endpoint);
    let reset = Reconfiguration::ResetOutbound(vec![FIRST]);
    request(&mut endpoint, reset.clone()).expect("it is open");
    send(&mut endpoint, FIRST).expect("room");
    assert!(
        poll_packets(&mut endpoint, START).is_empty(),
        "the first message may be lost"
    );
    let packets = deliver(&mut endpoint, START, peer(2), tag, &sack(tsn));
    let expected = format!("RE-CONFIG [reset-outgoing seq={tsn} resp=0 last={tsn} streams=0]");
    assert_eq!(requests(&packets), [expected]);
    assert!(data(&packets).is_empty(), "the second message waits");
    let again = request(&mut endpoint, reset.clone());
    assert_eq!(again, Err(ReconfigurationError::InProgress));
    let done = response(tsn, ReConfigResult::Performed);
    let packets = deliver(&mut endpoint, START, peer(2), tag, &done);
    assert_eq!(data(&packets), [(tsn.wrapping_add(1), 0, 0)], "SSN 0 again");
    let accepted = Event::Reconfigured {
        change: reset,
        accepted: true,
    };
    assert!(events(&mut endpoint).contains(&accepted));
}

/// Another stream does not delay a reset, however busy it is.
#[test]
fn outbound_reset_waits_for_its_own_streams_only() {
    let mut endpoint = endpoint_with(reconfigurable());
    let tag = accept_reconfiguring_peer(&mut endpoint);
    let tsn = send_first(&mut endpoint);
    send(&mut endpoint, StreamId(1)).expect("room");
    let last = tsn.wrapping_add(1);
    assert_eq!(data(&poll_packets(&mut endpoint, START)), [(last, 1, 0)]);
    request(&mut endpoint, Reconfiguration::ResetOutbound(vec![FIRST])).expect("it is open");
    assert!(requests(&poll_packets(&mut endpoint, START)).is_empty());
    let packets = deliver(&mut endpoint, START, peer(2), tag, &sack(tsn));
    let expected = format!("RE-CONFIG [reset-outgoing seq={tsn} resp=0 last={last} streams=0]");
    assert_eq!(requests(&packets), [expected]);
}

//= rfc6525 5.1.2-6, 5.1.3-2
#[test]
fn denied_reset_continues_with_the_next_number() {
    let mut endpoint = endpoint_with(reconfigurable());
    let tag = accept_reconfiguring_peer(&mut endpoint);
    let tsn = send_first(&mut endpoint);
    request(&mut endpoint, Reconfiguration::ResetOutbound(Vec::new())).expect("it is open");
    send(&mut endpoint, FIRST).expect("room");
    let packets = deliver(&mut endpoint, START, peer(2), tag, &sack(tsn));
    assert!(requests(&packets)[0].contains("streams=all"), "{packets:?}");
    let denied = response(tsn, ReConfigResult::Denied);
    let packets = deliver(&mut endpoint, START, peer(2), tag, &denied);
    assert_eq!(data(&packets), [(tsn.wrapping_add(1), 0, 1)]);
    let refused = |event: &Event| matches!(event, Event::Reconfigured { accepted: false, .. });
    assert!(events(&mut endpoint).iter().any(refused));
}

//= rfc6525 5.1.1-7, 5.1.1-9, 5.1.1-10, 5.1.1-11, 5.2.7-3, 5.2.7-4
#[test]
fn request_is_repeated_with_back_off_and_counts_errors() {
    let mut endpoint = endpoint_with(reconfigurable());
    let tag = accept_reconfiguring_peer(&mut endpoint);
    let tsn = send_first(&mut endpoint);
    deliver(&mut endpoint, START, peer(2), tag, &sack(tsn));
    request(&mut endpoint, Reconfiguration::ResetOutbound(vec![FIRST])).expect("it is open");
    let first = requests(&poll_packets(&mut endpoint, START));
    let mut times = Vec::new();
    while let Some(due) = endpoint.poll_timeout().filter(|due| *due <= at(9_000)) {
        endpoint.handle_timeout(due);
        let packets = poll_packets(&mut endpoint, due);
        if !requests(&packets).is_empty() {
            assert_eq!(requests(&packets), first);
            times.push(due);
        }
    }
    let gaps: Vec<Duration> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.len() >= 2 && gaps.is_sorted(), "{gaps:?}");
    let errors = |endpoint: &Endpoint| {
        let association = endpoint.associations().next().expect("it lives");
        association.path_facts()[0].errors
    };
    assert!(errors(&endpoint) > 0);
    let wait = response(tsn, ReConfigResult::InProgress);
    deliver(&mut endpoint, at(9_000), peer(2), tag, &wait);
    let before = errors(&endpoint);
    let due = endpoint.poll_timeout().expect("the request is repeated");
    endpoint.handle_timeout(due);
    assert!(errors(&endpoint) <= before + 1, "at most the heartbeat's");
}

//= rfc6525 4.4-1, 5.1.1-8, 5.1.7-1, 5.1.7-2, 5.1.7-5, 5.2.1-1, 5.2.1-2, 5.2.1-3, 5.2.1-4
//= rfc6525 5.2.2-3, 5.2.2-5, 5.2.2-6, 5.2.2-8
#[test]
fn inbound_reset_waits_for_data_and_for_the_application() {
    let mut endpoint = endpoint_with(reconfigurable());
    let tag = accept_reconfiguring_peer(&mut endpoint);
    deliver(&mut endpoint, START, peer(2), tag, &numbered(2, 1));
    let mut reset = OutboundReConfig::default();
    reset.push_reset_outgoing(ONE, ReConfigNumber(0), Tsn(2), &[FIRST]);
    let packets = deliver(&mut endpoint, START, peer(2), tag, &reset);
    assert_eq!(requests(&packets), ["RE-CONFIG [response seq=1 result=6]"]);
    assert!(kinds(&packets).contains(&kind::SACK));
    let packets = deliver(&mut endpoint, START, peer(2), tag, &numbered(1, 0));
    assert!(
        requests(&packets).is_empty(),
        "the application has messages to receive"
    );
    assert_eq!(receive_all(&mut endpoint), 2);
    let packets = poll_packets(&mut endpoint, START);
    let done = ["RE-CONFIG [response seq=1 result=1]"];
    assert_eq!(requests(&packets), done);
    let streams = vec![FIRST];
    assert!(events(&mut endpoint).contains(&Event::InboundReset { streams }));
    deliver(&mut endpoint, START, peer(2), tag, &numbered(3, 0));
    assert_eq!(receive_all(&mut endpoint), 1, "SSN 0 again");
    let packets = deliver(&mut endpoint, START, peer(2), tag, &reset);
    assert_eq!(requests(&packets), done, "it is not reset again");
    deliver(&mut endpoint, START, peer(2), tag, &numbered(4, 1));
    assert_eq!(receive_all(&mut endpoint), 1);
}

/// A packet that resets each of these streams by a request of its own, after the DATA chunk with this TSN.
fn resets(tag: VerificationTag, streams: core::ops::Range<u16>, last: Tsn) -> Vec<u8> {
    packet(tag, |packet| {
        for stream in streams {
            let mut reset = OutboundReConfig::default();
            let number = ReConfigNumber(ONE.0 + u32::from(stream));
            reset.push_reset_outgoing(number, ReConfigNumber(0), last, &[StreamId(stream)]);
            packet.push(&reset).expect("a small chunk");
        }
    })
}

/// pion resets each stream that it closes by a request of its own, all at once (RFC 6525 §5.1.1 has one in flight). Of ten that came
/// before we sent or the application was there, one was performed and two were answered.
#[test]
fn streams_that_the_peer_resets_at_once_are_all_reset() {
    let mut endpoint = endpoint_with(reconfigurable());
    let tag = accept_reconfiguring_peer(&mut endpoint);
    let packets = deliver_packet(&mut endpoint, START, peer(2), &resets(tag, 0..10, Tsn(0)));
    let answer = |at: u32| {
        format!(
            "RE-CONFIG [response seq={at} result=1, response seq={} result=1]",
            at + 1
        )
    };
    assert_eq!(requests(&packets), [1, 3, 5, 7, 9].map(answer));
    let streams = (0..10).map(StreamId).collect();
    assert!(events(&mut endpoint).contains(&Event::InboundReset { streams }));
}

#[test]
fn streams_that_the_peer_resets_at_once_wait_together_for_data() {
    let mut endpoint = endpoint_with(reconfigurable());
    let tag = accept_reconfiguring_peer(&mut endpoint);
    let packets = deliver_packet(&mut endpoint, START, peer(2), &resets(tag, 0..2, Tsn(1)));
    let answers = |result| {
        [format!(
            "RE-CONFIG [response seq=1 result={result}, response seq=2 result={result}]"
        )]
    };
    assert_eq!(requests(&packets), answers(6));
    deliver(&mut endpoint, START, peer(2), tag, &numbered(1, 0));
    assert_eq!(receive_all(&mut endpoint), 1);
    assert_eq!(requests(&poll_packets(&mut endpoint, START)), answers(1));
    let streams = vec![FIRST, StreamId(1)];
    assert!(events(&mut endpoint).contains(&Event::InboundReset { streams }));
}

/// The application could not tell which of its messages are before the second reset.
#[test]
fn second_reset_of_a_stream_waits_until_the_first_is_known() {
    let mut endpoint = endpoint_with(reconfigurable());
    let tag = accept_reconfiguring_peer(&mut endpoint);
    let reset = |number: u32| {
        let mut reset = OutboundReConfig::default();
        reset.push_reset_outgoing(ReConfigNumber(number), ReConfigNumber(0), Tsn(0), &[FIRST]);
        reset
    };
    let packets = deliver(&mut endpoint, START, peer(2), tag, &reset(1));
    assert_eq!(requests(&packets), ["RE-CONFIG [response seq=1 result=1]"]);
    let packets = deliver(&mut endpoint, START, peer(2), tag, &reset(2));
    assert_eq!(requests(&packets), ["RE-CONFIG [response seq=2 result=6]"]);
    events(&mut endpoint);
    let packets = deliver(&mut endpoint, START, peer(2), tag, &reset(2));
    assert_eq!(requests(&packets), ["RE-CONFIG [response seq=2 result=1]"]);
}

//= rfc6525 5.2.1-5
#[test]
fn invalid_requests_are_refused() {
    let mut endpoint = endpoint_with(reconfigurable());
    let tag = accept_reconfiguring_peer(&mut endpoint);
    let mut late = OutboundReConfig::default();
    late.push_reset_outgoing(ReConfigNumber(7), ReConfigNumber(0), Tsn(0), &[FIRST]);
    let packets = deliver(&mut endpoint, START, peer(2), tag, &late);
    assert_eq!(requests(&packets), ["RE-CONFIG [response seq=7 result=5]"]);
    let mut unknown = OutboundReConfig::default();
    unknown.push_reset_outgoing(ONE, ReConfigNumber(0), Tsn(0), &[StreamId(60_000)]);
    let packets = deliver(&mut endpoint, START, peer(2), tag, &unknown);
    assert_eq!(requests(&packets), ["RE-CONFIG [response seq=1 result=3]"]);
}

//= rfc6525 3.1-1
#[test]
fn combination_that_is_not_allowed_gets_an_error() {
    let mut endpoint = endpoint_with(reconfigurable());
    let tag = accept_reconfiguring_peer(&mut endpoint);
    let mut both = OutboundReConfig::default();
    both.push_reset_association(ONE);
    both.push_add_outgoing(ReConfigNumber(2), 1);
    let packets = deliver(&mut endpoint, START, peer(2), tag, &both);
    assert_eq!(kinds(&packets), [kind::ERROR]);
}

//= rfc6525 4.2-1, 4.2-2, 5.1.2-4, 5.1.2-5, 5.2.3-1, 5.2.3-2, 5.2.3-3, 5.2.3-4
#[test]
fn incoming_reset_is_answered_by_an_outgoing_one() {
    let mut endpoint = endpoint_with(reconfigurable());
    let tag = accept_reconfiguring_peer(&mut endpoint);
    let mut reset = OutboundReConfig::default();
    reset.push_reset_incoming(ONE, &[FIRST]);
    let packets = deliver(&mut endpoint, START, peer(2), tag, &reset);
    assert_eq!(
        requests(&packets),
        ["RE-CONFIG [response seq=1 result=0]"],
        "unused"
    );
    let tsn = send_first(&mut endpoint);
    deliver(&mut endpoint, START, peer(2), tag, &sack(tsn));
    let mut reset = OutboundReConfig::default();
    reset.push_reset_incoming(ReConfigNumber(2), &[FIRST]);
    let packets = deliver(&mut endpoint, START, peer(2), tag, &reset);
    let expected = format!("RE-CONFIG [reset-outgoing seq={tsn} resp=2 last={tsn} streams=0]");
    assert!(requests(&packets).contains(&expected), "{:?}", requests(&packets));
    let mut same = OutboundReConfig::default();
    same.push_reset_incoming(ReConfigNumber(3), &[FIRST]);
    let packets = deliver(&mut endpoint, START, peer(2), tag, &same);
    assert_eq!(
        requests(&packets),
        ["RE-CONFIG [response seq=3 result=0]"],
        "in flight"
    );
    let done = response(tsn, ReConfigResult::Performed);
    deliver(&mut endpoint, START, peer(2), tag, &done);
    send(&mut endpoint, FIRST).expect("room");
    let packets = poll_packets(&mut endpoint, START);
    assert_eq!(data(&packets), [(tsn.wrapping_add(1), 0, 0)]);
}

//= rfc6525 5.1.3-1, 5.1.3-3, 5.1.3-4, 5.1.3-5, 5.2.2-1, 5.2.2-2
#[test]
fn request_to_reset_the_peers_streams_is_answered_by_its_reset() {
    let mut endpoint = endpoint_with(reconfigurable());
    let tag = accept_reconfiguring_peer(&mut endpoint);
    let tsn = send_first(&mut endpoint);
    let reset = Reconfiguration::ResetInbound(vec![FIRST]);
    request(&mut endpoint, reset.clone()).expect("it is open");
    let packets = poll_packets(&mut endpoint, START);
    let expected = format!("RE-CONFIG [reset-incoming seq={tsn} streams=0]");
    assert_eq!(requests(&packets), [expected]);
    let mut answer = OutboundReConfig::default();
    answer.push_reset_outgoing(ONE, ReConfigNumber(tsn), Tsn(0), &[FIRST]);
    deliver(&mut endpoint, START, peer(2), tag, &answer);
    let events = events(&mut endpoint);
    let accepted = Event::Reconfigured {
        change: reset,
        accepted: true,
    };
    assert!(events.contains(&accepted), "{events:?}");
    assert!(
        events
            .iter()
            .any(|event| matches!(event, Event::InboundReset { .. }))
    );
}

//= rfc6525 4.3-1, 4.3-2, 4.4-2, 4.4-3, 5.1.7-3, 5.1.7-4, 5.1.7-6
//= rfc6525 5.2.4-1, 5.2.4-3, 5.2.4-4, 5.2.4-5, 5.2.4-6
#[test]
fn association_reset_by_the_peer_waits_until_all_is_acknowledged() {
    let mut endpoint = endpoint_with(reconfigurable());
    let tag = accept_reconfiguring_peer(&mut endpoint);
    let tsn = send_first(&mut endpoint);
    deliver(&mut endpoint, START, peer(2), tag, &numbered(1, 0));
    assert_eq!(receive_all(&mut endpoint), 1);
    let mut reset = OutboundReConfig::default();
    reset.push_reset_association(ONE);
    let packets = deliver(&mut endpoint, START, peer(2), tag, &reset);
    assert_eq!(requests(&packets), ["RE-CONFIG [response seq=1 result=6]"]);
    send(&mut endpoint, FIRST).expect("room");
    assert!(data(&poll_packets(&mut endpoint, START)).is_empty(), "it waits");
    let packets = deliver(&mut endpoint, START, peer(2), tag, &sack(tsn));
    let (ours, theirs) = (tsn.wrapping_add(1 + (1 << 31)), 2 + (1 << 31));
    let expected = format!("RE-CONFIG [response seq=1 result=1 next={ours},{theirs}]");
    assert_eq!(requests(&packets), [expected]);
    assert_eq!(data(&packets), [(ours, 0, 0)], "SSN 0 again");
    assert!(events(&mut endpoint).contains(&Event::AssociationReset));
    deliver(&mut endpoint, START, peer(2), tag, &numbered(2, 1));
    assert_eq!(receive_all(&mut endpoint), 0, "an old TSN");
    deliver(&mut endpoint, START, peer(2), tag, &numbered(theirs, 0));
    assert_eq!(receive_all(&mut endpoint), 1);
}

//= rfc6525 5.1.4-1, 5.1.4-2, 5.1.4-3, 5.1.4-4, 5.2.7-6, 5.2.7-7
#[test]
fn association_reset_continues_with_the_numbers_of_the_peer() {
    let mut endpoint = endpoint_with(reconfigurable());
    let tag = accept_reconfiguring_peer(&mut endpoint);
    let tsn = send_first(&mut endpoint);
    request(&mut endpoint, Reconfiguration::ResetAssociation).expect("it is open");
    assert!(
        requests(&poll_packets(&mut endpoint, START)).is_empty(),
        "data is outstanding"
    );
    let packets = deliver(&mut endpoint, START, peer(2), tag, &sack(tsn));
    let expected = format!("RE-CONFIG [reset-association seq={tsn}]");
    assert_eq!(requests(&packets), [expected]);
    send(&mut endpoint, FIRST).expect("room");
    assert!(data(&poll_packets(&mut endpoint, START)).is_empty(), "it waits");
    let next = tsn.wrapping_add(1).wrapping_add(1 << 31);
    let mut done = OutboundReConfig::default();
    let tsns = Some((Tsn(500), Tsn(next)));
    done.push_response(ReConfigNumber(tsn), ReConfigResult::Performed, tsns);
    let packets = deliver(&mut endpoint, START, peer(2), tag, &done);
    assert_eq!(data(&packets), [(next, 0, 0)]);
    deliver(&mut endpoint, START, peer(2), tag, &numbered(500, 0));
    assert_eq!(receive_all(&mut endpoint), 1);
    deliver(&mut endpoint, START, peer(2), tag, &sack(tsn.wrapping_sub(1)));
    let association = endpoint.associations().next().expect("it lives");
    assert!(association.is_connected(), "a late SACK is ignored");
}

//= rfc6525 4.5-1, 4.5-2, 4.5-3, 5.1.5-1, 5.1.5-2, 5.2.7-8, 5.2.7-9
#[test]
fn added_outbound_streams_are_used_after_the_answer() {
    let mut endpoint = endpoint_with(reconfigurable());
    let tag = accept_reconfiguring_peer(&mut endpoint);
    let tsn = send_first(&mut endpoint);
    let streams = match send(&mut endpoint, StreamId(u16::MAX)) {
        Err(SendError::InvalidStream { streams }) => streams,
        other => panic!("{other:?}"),
    };
    request(&mut endpoint, Reconfiguration::AddOutbound(2)).expect("it is open");
    let packets = poll_packets(&mut endpoint, START);
    let expected = format!("RE-CONFIG [add-outgoing seq={tsn} count=2]");
    assert_eq!(requests(&packets), [expected]);
    let new = StreamId(streams + 1);
    assert!(send(&mut endpoint, new).is_err(), "not yet");
    let done = response(tsn, ReConfigResult::Performed);
    deliver(&mut endpoint, START, peer(2), tag, &done);
    send(&mut endpoint, new).expect("it exists");
    let packets = poll_packets(&mut endpoint, START);
    assert_eq!(data(&packets), [(tsn.wrapping_add(1), new.0, 0)]);
}

//= rfc6525 4.6-1, 4.6-2, 4.6-3, 5.1.6-1, 5.2.5-1, 5.2.5-2, 5.2.5-3, 5.2.6-1, 5.2.6-2
#[test]
fn streams_that_the_peer_adds_are_limited() {
    let mut endpoint = endpoint_with(reconfigurable());
    let tag = accept_reconfiguring_peer(&mut endpoint);
    let more = |number, outgoing, incoming| {
        let mut chunk = OutboundReConfig::default();
        chunk.push_add_outgoing(ReConfigNumber(number), outgoing);
        chunk.push_add_incoming(ReConfigNumber(number + 1), incoming);
        chunk
    };
    let packets = deliver(&mut endpoint, START, peer(2), tag, &more(1, 100, 100));
    let denied = "RE-CONFIG [response seq=1 result=2, response seq=2 result=2]";
    assert_eq!(requests(&packets), [denied]);
    let packets = deliver(&mut endpoint, START, peer(2), tag, &more(3, 1, 2));
    let seen = requests(&packets);
    assert_eq!(
        seen[0],
        "RE-CONFIG [response seq=3 result=1, response seq=4 result=1]"
    );
    assert!(
        seen[1].contains("add-outgoing") && seen[1].contains("count=2"),
        "{seen:?}"
    );
    let added = |event: &Event| match event {
        Event::StreamsAdded { inbound, .. } => Some(*inbound),
        _ => None,
    };
    let inbound = events(&mut endpoint).iter().find_map(added).expect("streams");
    let new = Data {
        stream: StreamId(inbound - 1),
        ..DATA
    };
    deliver(&mut endpoint, START, peer(2), tag, &new);
    assert_eq!(receive_all(&mut endpoint), 1);
}

#[test]
fn request_in_shutdown_sent_is_answered() {
    let mut endpoint = endpoint_with(reconfigurable());
    let tag = accept_reconfiguring_peer(&mut endpoint);
    let id = endpoint.associations().next().expect("it lives").id();
    endpoint.association_mut(id).expect("it lives").shutdown();
    assert!(kinds(&poll_packets(&mut endpoint, START)).contains(&kind::SHUTDOWN));
    let mut reset = OutboundReConfig::default();
    reset.push_reset_outgoing(ONE, ReConfigNumber(0), Tsn(0), &[FIRST]);
    let packets = deliver(&mut endpoint, START, peer(2), tag, &reset);
    let done = ["RE-CONFIG [response seq=1 result=1]"];
    assert_eq!(requests(&packets), done, "the peer holds data back until then");
}

//= rfc6525 5.1.1-3, 5.1.1-4
#[test]
fn peer_without_reconfiguration_gets_no_request() {
    let mut endpoint = endpoint_with(reconfigurable());
    accept_peer(&mut endpoint, 9, &[]);
    let refused = request(&mut endpoint, Reconfiguration::AddOutbound(1));
    assert_eq!(refused, Err(ReconfigurationError::NotAvailable));
    assert!(requests(&poll_packets(&mut endpoint, START)).is_empty());
}

#[test]
fn requests_for_missing_or_too_many_streams_are_refused() {
    let mut endpoint = endpoint_with(reconfigurable());
    accept_reconfiguring_peer(&mut endpoint);
    let many = Reconfiguration::ResetOutbound(vec![FIRST; 201]);
    assert_eq!(request(&mut endpoint, many), Err(ReconfigurationError::TooMany));
    let missing = Reconfiguration::ResetInbound(vec![StreamId(u16::MAX)]);
    assert_eq!(
        request(&mut endpoint, missing),
        Err(ReconfigurationError::InvalidStream)
    );
    let none = Reconfiguration::AddOutbound(0);
    assert_eq!(
        request(&mut endpoint, none),
        Err(ReconfigurationError::InvalidStream)
    );
}
