//! Tests of partial reliability (RFC 3758, RFC 7496, RFC 8260 §2.3): what is abandoned, and what the receiver does then.

use core::time::Duration;

use anabranch_policy::BufferSize;
use anabranch_types::{MessageId, Mid};
use anabranch_wire::{OutboundForwardTsn, OutboundIForwardTsn, OutboundSack, SkippedMid};

use super::*;
use crate::{Abandonments, Reliability, SendError};

const STREAM: StreamId = StreamId(0);

pub(super) fn unreliable() -> AssociationConfig {
    AssociationConfig {
        partial_reliability: true,
        ..config()
    }
}

pub(super) fn interleaving() -> AssociationConfig {
    let mut config = unreliable();
    config.policies.set("interleaving", "on").expect("an option");
    config
}

/// The peer at `peer(2)` completes a handshake and supports FORWARD TSN. Returns the tag of packets to the endpoint.
fn accept_unreliable_peer(endpoint: &mut Endpoint) -> VerificationTag {
    let mut parameters = ParameterWriter::new();
    parameters
        .push_forward_tsn_supported()
        .push_supported_extensions(&[kind::FORWARD_TSN, kind::I_DATA, kind::I_FORWARD_TSN]);
    let init = init(9, parameters.finish());
    let answer = deliver(endpoint, START, peer(2), VerificationTag::ZERO, &init);
    let (tag, cookie) = tag_and_cookie(&answer);
    deliver(endpoint, START, peer(2), tag, &CookieEcho { cookie: &cookie });
    tag
}

fn sends(endpoint: &mut Endpoint, reliability: Reliability, length: usize) -> MessageId {
    let id = endpoint.associations().next().expect("it lives").id();
    let mut association = endpoint.association_mut(id).expect("it lives");
    let message = Message::new(STREAM, vec![7; length]).with_reliability(reliability);
    association.send(message).expect("room")
}

fn counts(endpoint: &Endpoint) -> Abandonments {
    endpoint.associations().next().expect("it lives").abandoned()
}

fn abandoned(endpoint: &mut Endpoint) -> Vec<(MessageId, bool)> {
    let abandoned = |event| match event {
        Event::Abandoned { message, sent, .. } => Some((message, sent)),
        _ => None,
    };
    events(endpoint).into_iter().filter_map(abandoned).collect()
}

/// New cumulative TSN and entries of each FORWARD TSN.
fn forwards(packets: &[Vec<u8>]) -> Vec<(Tsn, Vec<(StreamId, Ssn)>)> {
    let mut seen = Vec::new();
    for bytes in packets {
        let packet = Packet::parse(bytes).expect("a packet in order");
        for chunk in packet.chunks().flatten().flat_map(RawChunk::decode) {
            if let Chunk::ForwardTsn(chunk) = chunk {
                seen.push((chunk.cumulative, chunk.skipped().collect()));
            }
        }
    }
    seen
}

/// Fires the timers that are due until `until`; returns the packets sent.
fn waits(endpoint: &mut Endpoint, until: Instant) -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    while let Some(due) = endpoint.poll_timeout().filter(|due| *due <= until) {
        endpoint.handle_timeout(due);
        packets.extend(poll_packets(endpoint, due));
    }
    packets
}

fn at(millis: u64) -> Instant {
    START + Duration::from_millis(millis)
}

fn sack_of(cumulative: u32) -> OutboundSack<'static> {
    OutboundSack {
        cumulative: Tsn(cumulative),
        a_rwnd: 100_000,
        packet_count: None,
        blocks: &[],
        duplicates: &[],
    }
}

//= rfc7496 3.1-1
//= rfc3758 3.1-1, 3.1-4, 3.4-1, 3.5-1, 3.5-2, 3.5-8, 3.5-9, 3.5-13, 3.5-15, 3.5-16
//= rfc8260 2.3.1-6, 2.3.1-9
#[test]
fn lost_message_with_no_retransmissions_is_skipped_by_forward_tsn() {
    let mut endpoint = endpoint_with(unreliable());
    let tag = accept_unreliable_peer(&mut endpoint);
    let message = sends(&mut endpoint, Reliability::Retransmissions(0), 100);
    let sent = transfer::tsns(&poll_packets(&mut endpoint, START));
    let answers = waits(&mut endpoint, at(3_000));
    assert!(transfer::tsns(&answers).is_empty(), "nothing is sent again");
    assert_eq!(forwards(&answers)[0], (sent[0], vec![(STREAM, Ssn(0))]));
    assert_eq!(abandoned(&mut endpoint), [(message, true)]);
    assert_eq!((counts(&endpoint).sent, counts(&endpoint).unsent), (1, 0));
    deliver(&mut endpoint, at(3_000), peer(2), tag, &sack_of(sent[0].0));
    let association = endpoint.associations().next().expect("it lives");
    assert!(association.is_flushed());
}

//= rfc3758 3.5-6, 3.5-7, 3.5-11, 3.5-12, 3.5-17, 3.5-18
#[test]
fn forward_tsn_is_repeated_until_the_peer_has_reached_it() {
    let mut endpoint = endpoint_with(unreliable());
    let tag = accept_unreliable_peer(&mut endpoint);
    sends(&mut endpoint, Reliability::Retransmissions(0), 100);
    let sent = transfer::tsns(&poll_packets(&mut endpoint, START))[0];
    assert!(forwards(&waits(&mut endpoint, at(20_000))).len() > 2);
    let last = at(20_000);
    let answers = deliver(
        &mut endpoint,
        last,
        peer(2),
        tag,
        &sack_of(sent.0.wrapping_sub(1)),
    );
    assert_eq!(forwards(&answers).len(), 1, "a SACK does not show it");
    deliver(&mut endpoint, last, peer(2), tag, &sack_of(sent.0));
    assert!(forwards(&waits(&mut endpoint, at(25_000))).is_empty());
}

//= rfc3758 4.1-3, 4.1-4, 4.1-5, 4.1-8
#[test]
fn message_whose_lifetime_ends_unsent_gets_no_tsn() {
    let mut endpoint = endpoint_with(unreliable());
    accept_unreliable_peer(&mut endpoint);
    // The peer's window of 100,000 bytes is full.
    sends(&mut endpoint, Reliability::Reliable, 200_000);
    let late = sends(
        &mut endpoint,
        Reliability::Lifetime(Duration::from_millis(50)),
        100,
    );
    poll_packets(&mut endpoint, START);
    waits(&mut endpoint, at(60));
    assert_eq!(abandoned(&mut endpoint), [(late, false)]);
    assert_eq!((counts(&endpoint).sent, counts(&endpoint).unsent), (0, 1));
}

//= rfc3758 3.5-5, 4.1-1, 4.1-2, 4.1-6, 4.1-7
#[test]
fn expired_message_is_abandoned_whole_when_a_chunk_is_lost() {
    let mut endpoint = endpoint_with(unreliable());
    accept_unreliable_peer(&mut endpoint);
    let message = sends(
        &mut endpoint,
        Reliability::Lifetime(Duration::from_millis(100)),
        3_000,
    );
    let sent = transfer::tsns(&poll_packets(&mut endpoint, START));
    assert_eq!(sent.len(), 3);
    assert!(
        forwards(&waits(&mut endpoint, at(150))).is_empty(),
        "it may still arrive"
    );
    let answers = waits(&mut endpoint, at(5_000));
    assert_eq!(forwards(&answers)[0], (sent[2], vec![(STREAM, Ssn(0))]));
    assert_eq!(abandoned(&mut endpoint), [(message, true)]);
}

//= rfc7496 3.1-2
//= rfc3758 3.5-3, 3.5-4, 3.5-19
#[test]
fn abandoned_chunk_shrinks_the_window_like_a_loss() {
    let mut endpoint = endpoint_with(unreliable());
    let tag = accept_unreliable_peer(&mut endpoint);
    for _ in 0..4 {
        sends(&mut endpoint, Reliability::Retransmissions(0), 1_000);
    }
    let sent = transfer::tsns(&poll_packets(&mut endpoint, START));
    let cwnd = |endpoint: &Endpoint| {
        let association = endpoint.associations().next().expect("it lives");
        association.path_facts()[0].cwnd
    };
    let before = cwnd(&endpoint);
    waits(&mut endpoint, at(3_000));
    let after = cwnd(&endpoint);
    assert!(after < before / 2, "{before} {after}");
    deliver(&mut endpoint, at(3_000), peer(2), tag, &sack_of(sent[3].0));
    assert_eq!(cwnd(&endpoint), after, "no credit for what was abandoned");
}

//= rfc3758 3.1-3, 3.5-10, 3.5-14
#[test]
fn forward_tsn_names_each_stream_once_and_no_unordered_message() {
    let mut endpoint = endpoint_with(unreliable());
    let tag = accept_unreliable_peer(&mut endpoint);
    let id = endpoint.associations().next().expect("it lives").id();
    let send = |endpoint: &mut Endpoint, stream, unordered| {
        let mut message = Message::new(StreamId(stream), vec![7; 1_000]);
        message.unordered = unordered;
        message.reliability = Reliability::Retransmissions(0);
        let mut association = endpoint.association_mut(id).expect("it lives");
        association.send(message).expect("room");
    };
    for (stream, unordered) in [(3, false), (4, false), (5, true), (3, false)] {
        send(&mut endpoint, stream, unordered);
    }
    let sent = transfer::tsns(&poll_packets(&mut endpoint, START));
    let answers = waits(&mut endpoint, at(3_000));
    let entries = vec![(StreamId(3), Ssn(1)), (StreamId(4), Ssn(0))];
    assert_eq!(forwards(&answers)[0], (sent[3], entries));
    // Data that leaves at the same time is in the same packet.
    let late = at(3_000) + Duration::from_secs(1);
    send(&mut endpoint, 3, false);
    let before = Tsn(sent[0].0.wrapping_sub(1));
    let answers = deliver(&mut endpoint, late, peer(2), tag, &sack_of(before.0));
    let mut kinds = kinds(&answers);
    kinds.retain(|chunk| *chunk != kind::HEARTBEAT);
    assert_eq!(kinds, [kind::FORWARD_TSN, kind::DATA]);
    assert_eq!(answers.len(), 1);
}

/// Sends a message with a lifetime of 100 ms that is longer than the first window; returns the last TSN that was sent.
fn sends_part(endpoint: &mut Endpoint) -> Tsn {
    let lifetime = Reliability::Lifetime(Duration::from_millis(100));
    sends(endpoint, lifetime, 90_000);
    let sent = transfer::tsns(&poll_packets(endpoint, START));
    *sent.last().expect("the first window")
}

#[test]
fn partly_sent_message_ends_with_a_tsn_that_is_never_sent() {
    let mut endpoint = endpoint_with(unreliable());
    let tag = accept_unreliable_peer(&mut endpoint);
    let last = sends_part(&mut endpoint);
    let next = Tsn(last.0.wrapping_add(1));
    let answers = waits(&mut endpoint, at(150));
    assert_eq!(forwards(&answers), [(next, vec![(STREAM, Ssn(0))])]);
    sends(&mut endpoint, Reliability::Reliable, 100);
    let answers = deliver(&mut endpoint, at(200), peer(2), tag, &sack_of(next.0));
    assert_eq!(transfer::tsns(&answers), [Tsn(next.0.wrapping_add(1))]);
}

#[test]
fn rest_of_a_message_whose_begin_is_acknowledged_is_skipped() {
    let mut endpoint = endpoint_with(unreliable());
    let tag = accept_unreliable_peer(&mut endpoint);
    let last = sends_part(&mut endpoint);
    let full = OutboundSack {
        a_rwnd: 0,
        ..sack_of(last.0)
    };
    let answers = deliver(&mut endpoint, at(50), peer(2), tag, &full);
    assert!(transfer::tsns(&answers).is_empty(), "the window is closed");
    let answers = waits(&mut endpoint, at(150));
    let next = Tsn(last.0.wrapping_add(1));
    assert_eq!(forwards(&answers), [(next, vec![(STREAM, Ssn(0))])]);
}

#[test]
fn full_buffer_abandons_messages_of_lower_priority() {
    let mut endpoint = endpoint_with(AssociationConfig {
        send_buffer: BufferSize::Fixed(10_000),
        ..unreliable()
    });
    accept_unreliable_peer(&mut endpoint);
    let [urgent, least, less] = [1, 9, 5].map(|priority| {
        let priority = Reliability::Priority(priority);
        sends(&mut endpoint, priority, 3_000)
    });
    let id = endpoint.associations().next().expect("it lives").id();
    let mut association = endpoint.association_mut(id).expect("it lives");
    let message =
        |priority| Message::new(STREAM, vec![7; 6_000]).with_reliability(Reliability::Priority(priority));
    association.send(message(3)).expect("two others give way");
    assert_eq!(
        association.send(message(1)),
        Ok(MessageId(4)),
        "the last one gives way"
    );
    assert_eq!(association.send(message(0)), Ok(MessageId(5)));
    assert_eq!(
        association.send(message(0)),
        Err(SendError::BufferFull),
        "equal priorities do not"
    );
    let reliable = Message::new(STREAM, vec![7; 6_000]);
    assert_eq!(association.send(reliable), Ok(MessageId(6)));
    drop(association);
    let gone: Vec<_> = abandoned(&mut endpoint).into_iter().map(|(id, _)| id).collect();
    assert_eq!(
        gone,
        [least, less, MessageId(3), urgent, MessageId(4), MessageId(5)]
    );
}

//= rfc7496 3-1
//= rfc3758 3.3.2-4, 3.3.2-5, 3.3.2-6, 3.3.3-1, 3.3.3-2, 3.3.3-3, 3.3.3-4
#[test]
fn peer_without_forward_tsn_gets_every_message() {
    let mut endpoint = endpoint_with(unreliable());
    accept_peer(&mut endpoint, 9, &[]);
    sends(&mut endpoint, Reliability::Retransmissions(0), 100);
    let sent = transfer::tsns(&poll_packets(&mut endpoint, START));
    let answers = waits(&mut endpoint, at(3_000));
    assert_eq!(transfer::tsns(&answers)[0], sent[0]);
    assert!(forwards(&answers).is_empty());
    let association = endpoint.associations().next().expect("it lives");
    assert!(!association.is_partially_reliable());
}

fn data_of(tsn: u32, ssn: u16, flags: DataFlags) -> Data<'static> {
    Data {
        flags,
        tsn: Tsn(tsn),
        ssn: Ssn(ssn),
        ..DATA
    }
}

fn received(endpoint: &mut Endpoint) -> usize {
    let id = endpoint.associations().next().expect("it lives").id();
    let mut association = endpoint.association_mut(id).expect("it lives");
    core::iter::from_fn(|| association.receive()).count()
}

fn cumulative_of(packets: &[Vec<u8>]) -> Vec<Tsn> {
    let mut seen = Vec::new();
    for bytes in packets {
        let packet = Packet::parse(bytes).expect("a packet in order");
        for chunk in packet.chunks().flatten().flat_map(RawChunk::decode) {
            if let Chunk::Sack(sack) = chunk {
                seen.push(sack.cumulative);
            }
        }
    }
    seen
}

//= rfc3758 3.1-2, 3.6-1, 3.6-2, 3.6-3, 3.6-7, 3.6-8, 3.6-9
#[test]
fn forward_tsn_delivers_what_waited_for_abandoned_messages() {
    let mut endpoint = endpoint_with(unreliable());
    let tag = accept_unreliable_peer(&mut endpoint);
    // Of TSNs 1 to 6 with one message each, 1 and 4 are missing.
    for (tsn, ssn) in [(2, 1), (3, 2), (5, 4), (6, 5)] {
        let data = data_of(tsn, ssn, DataFlags::WHOLE);
        deliver(&mut endpoint, START, peer(2), tag, &data);
    }
    assert_eq!(received(&mut endpoint), 0);
    let forward = OutboundForwardTsn {
        cumulative: Tsn(1),
        skipped: vec![(STREAM, Ssn(0))],
    };
    let answers = deliver(&mut endpoint, START, peer(2), tag, &forward);
    assert_eq!(cumulative_of(&answers), [Tsn(3)], "and what came behind it");
    assert_eq!(received(&mut endpoint), 2);
}

//= rfc3758 3.6-4, 3.6-5, 3.6-6
#[test]
fn outdated_forward_tsn_gets_a_sack_and_changes_nothing() {
    let mut endpoint = endpoint_with(unreliable());
    let tag = accept_unreliable_peer(&mut endpoint);
    deliver(
        &mut endpoint,
        START,
        peer(2),
        tag,
        &data_of(1, 0, DataFlags::WHOLE),
    );
    let forward = OutboundForwardTsn {
        cumulative: Tsn(1),
        skipped: vec![(STREAM, Ssn(7))],
    };
    let answers = deliver(&mut endpoint, START, peer(2), tag, &forward);
    assert_eq!(cumulative_of(&answers), [Tsn(1)]);
    deliver(
        &mut endpoint,
        START,
        peer(2),
        tag,
        &data_of(2, 1, DataFlags::WHOLE),
    );
    assert_eq!(received(&mut endpoint), 2, "SSN 1 is still the next one");
}

//= rfc3758 3.6-10
#[test]
fn incomplete_message_is_dropped_and_late_fragments_are_harmless() {
    let mut endpoint = endpoint_with(unreliable());
    let tag = accept_unreliable_peer(&mut endpoint);
    let [first, middle, last] = [(true, false), (false, false), (false, true)];
    let part = |tsn, (beginning, ending)| {
        let flags = DataFlags {
            beginning,
            ending,
            ..DataFlags::WHOLE
        };
        data_of(tsn, 0, flags)
    };
    deliver(&mut endpoint, START, peer(2), tag, &part(1, first));
    deliver(&mut endpoint, START, peer(2), tag, &part(3, middle));
    let forward = OutboundForwardTsn {
        cumulative: Tsn(2),
        skipped: vec![(STREAM, Ssn(0))],
    };
    deliver(&mut endpoint, START, peer(2), tag, &forward);
    deliver(&mut endpoint, START, peer(2), tag, &part(4, last));
    let association = endpoint.associations().next().expect("it lives");
    assert!(association.is_connected());
    deliver(
        &mut endpoint,
        START,
        peer(2),
        tag,
        &data_of(5, 1, DataFlags::WHOLE),
    );
    assert_eq!(received(&mut endpoint), 1);
}

#[test]
fn forward_tsn_beyond_the_window_is_ignored() {
    let mut endpoint = endpoint_with(unreliable());
    let tag = accept_unreliable_peer(&mut endpoint);
    let forward = OutboundForwardTsn {
        cumulative: Tsn(1 << 30),
        skipped: vec![(STREAM, Ssn(0)), (StreamId(60_000), Ssn(9))],
    };
    let answers = deliver(&mut endpoint, START, peer(2), tag, &forward);
    assert_eq!(cumulative_of(&answers), [Tsn(0)]);
    deliver(&mut endpoint, START, peer(2), tag, &DATA);
    assert_eq!(received(&mut endpoint), 1);
}

//= rfc8260 2-2, 2.3.1-1, 2.3.1-7, 2.3.1-8
#[test]
fn abandoned_i_data_is_skipped_by_i_forward_tsn() {
    let mut endpoint = endpoint_with(interleaving());
    accept_unreliable_peer(&mut endpoint);
    sends(&mut endpoint, Reliability::Retransmissions(0), 100);
    let sent = kinds(&poll_packets(&mut endpoint, START));
    assert!(sent.contains(&kind::I_DATA) && !sent.contains(&kind::DATA));
    let later = kinds(&waits(&mut endpoint, at(3_000)));
    assert!(later.contains(&kind::I_FORWARD_TSN), "{later:?}");
    assert!(!later.contains(&kind::FORWARD_TSN), "{later:?}");
}

//= rfc8260 2.3.1-10
#[test]
fn forward_tsn_among_i_data_ends_the_association() {
    let mut endpoint = endpoint_with(interleaving());
    let tag = accept_unreliable_peer(&mut endpoint);
    let forward = OutboundForwardTsn {
        cumulative: Tsn(1),
        skipped: Vec::new(),
    };
    let answers = deliver(&mut endpoint, START, peer(2), tag, &forward);
    assert_eq!(kinds(&answers), [kind::ABORT]);
}

#[test]
fn i_forward_tsn_of_the_highest_mid_takes_one_step() {
    let mut endpoint = endpoint_with(interleaving());
    let tag = accept_unreliable_peer(&mut endpoint);
    let forward = OutboundIForwardTsn {
        cumulative: Tsn(1),
        skipped: vec![SkippedMid {
            stream: STREAM,
            unordered: false,
            mid: Mid(i32::MAX as u32),
        }],
    };
    let answers = deliver(&mut endpoint, START, peer(2), tag, &forward);
    assert_eq!(cumulative_of(&answers), [Tsn(1)]);
}
