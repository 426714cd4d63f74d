//! Tests of data transfer, rule by rule (RFC 9260 §3.3 and §6): what each packet carries, and what is acknowledged.

use core::time::Duration;

use anabranch_wire::{GapBlock, OutboundSack};

use super::*;

/// The TSNs of all DATA chunks, in the order in which they were sent.
pub(super) fn tsns(packets: &[Vec<u8>]) -> Vec<Tsn> {
    data(packets, |chunk| chunk.tsn)
}

fn data<T>(packets: &[Vec<u8>], look: impl Fn(&Data<'_>) -> T) -> Vec<T> {
    let mut seen = Vec::new();
    for bytes in packets {
        let packet = Packet::parse(bytes).expect("a packet in order");
        for chunk in packet.chunks().flatten().flat_map(RawChunk::decode) {
            if let Chunk::Data(chunk) = chunk {
                seen.push(look(&chunk));
            }
        }
    }
    seen
}

/// The cumulative TSN, the a_rwnd and the gap blocks of each SACK.
fn sacks(packets: &[Vec<u8>]) -> Vec<(Tsn, u32, Vec<GapBlock>)> {
    let mut seen = Vec::new();
    for bytes in packets {
        let packet = Packet::parse(bytes).expect("a packet in order");
        for chunk in packet.chunks().flatten().flat_map(RawChunk::decode) {
            if let Chunk::Sack(sack) = chunk {
                seen.push((sack.cumulative, sack.a_rwnd, sack.gap_blocks().collect()));
            }
        }
    }
    seen
}

fn send_message(endpoint: &mut Endpoint, message: Message) {
    let id = endpoint.associations().next().expect("it lives").id();
    let mut association = endpoint.association_mut(id).expect("it lives");
    association.send(message).expect("room");
}

fn sack(cumulative: Tsn, blocks: &[GapBlock]) -> OutboundSack<'_> {
    OutboundSack {
        cumulative,
        a_rwnd: 100_000,
        packet_count: None,
        blocks,
        duplicates: &[],
    }
}

fn before(tsn: Tsn) -> Tsn {
    Tsn(tsn.0.wrapping_sub(1))
}

fn numbered(tsn: u16) -> Data<'static> {
    Data {
        tsn: Tsn(tsn.into()),
        ssn: Ssn(tsn - 1),
        ..DATA
    }
}

//= rfc9260 6-10, 6.1-17, 6.10-3
#[test]
fn control_chunks_and_sack_precede_data_in_a_packet() {
    let mut endpoint = endpoint();
    let tag = accept_peer(&mut endpoint, 5, &[]);
    send_message(&mut endpoint, Message::new(StreamId(0), "hello"));
    let heartbeat = Heartbeat { info: b"there?" };
    let packets = deliver_two(&mut endpoint, peer(2), tag, &heartbeat, &DATA);
    assert_eq!(
        kinds(&packets[..1]),
        [kind::HEARTBEAT_ACK, kind::SACK, kind::DATA]
    );
}

//= rfc9260 3.3.12-1, 5.1-9, 5.1.5-6, 5.1.5-8
#[test]
fn cookie_ack_is_followed_by_the_sack_for_bundled_data() {
    let mut endpoint = endpoint();
    let call = init(5, Vec::new());
    let (tag, cookie) = request_cookie(&mut endpoint, peer(2), &call);
    let echo = CookieEcho { cookie: &cookie };
    let packets = deliver_two(&mut endpoint, peer(2), tag, &echo, &DATA);
    assert_eq!(kinds(&packets), [kind::COOKIE_ACK, kind::SACK]);
}

//= rfc9260 3.3.1-13, 6.1-11, 6.1-12, 6.1-13, 6.1-18, 6.10-4
#[test]
fn new_data_exceeds_cwnd_by_less_than_a_chunk_and_once() {
    let mut endpoint = endpoint();
    let tag = accept_peer(&mut endpoint, 5, &[]);
    for _ in 0..100 {
        send_message(&mut endpoint, Message::new(StreamId(0), vec![7; 1_000]));
    }
    let packets = poll_packets(&mut endpoint, START);
    let facts = &endpoint.associations().next().expect("it lives").path_facts()[0];
    let sent: u64 = data(&packets, |chunk| 16 + chunk.payload.len() as u64)
        .iter()
        .sum();
    let (cwnd, chunk) = (facts.cwnd, u64::from(facts.max_data_chunk));
    assert!(
        sent >= cwnd && sent < cwnd + chunk,
        "{sent} bytes in a window of {cwnd}"
    );
    assert_eq!(
        poll_packets(&mut endpoint, START),
        Vec::<Vec<u8>>::new(),
        "the window is full"
    );
    let numbers = tsns(&packets);
    assert!(
        numbers.windows(2).all(|pair| before(pair[1]) == pair[0]),
        "{numbers:?}"
    );
    let after = deliver(&mut endpoint, START, peer(2), tag, &sack(numbers[0], &[]));
    assert!(!tsns(&after).is_empty(), "an acknowledgement makes room");
}

//= rfc9260 6.1-14, 6.10-4
#[test]
fn retransmissions_precede_new_data() {
    let mut endpoint = endpoint();
    let tag = accept_peer(&mut endpoint, 5, &[]);
    for _ in 0..100 {
        send_message(&mut endpoint, Message::new(StreamId(0), vec![7; 400]));
    }
    let mut first = tsns(&poll_packets(&mut endpoint, START));
    let acknowledged = sack(first[0], &[]);
    first.extend(tsns(&deliver(&mut endpoint, START, peer(2), tag, &acknowledged)));
    assert!(first.len() > 5, "{first:?}");
    let mut again = Vec::new();
    for end in 3..=5 {
        let blocks = [GapBlock { start: 3, end }];
        again = deliver(&mut endpoint, START, peer(2), tag, &sack(first[0], &blocks));
    }
    let numbers = tsns(&again[..1]);
    assert_eq!(numbers[..2], first[1..3], "before what waits");
    let distances = numbers.iter().map(|tsn| tsn.0.wrapping_sub(first[0].0));
    assert!(distances.is_sorted(), "{numbers:?}");
}

/// Fills the window with chunks of stream 0, of which several are lost while stream 1 has data, too. Returns the streams of the chunks that
/// are sent from the fast retransmit on, until the lost ones are on their way.
fn streams_after_a_loss(redundant: bool) -> Vec<u16> {
    let mut endpoint = endpoint();
    let tag = accept_peer(&mut endpoint, 5, &[]);
    let id = endpoint.associations().next().expect("it lives").id();
    let mut association = endpoint.association_mut(id).expect("it lives");
    association
        .delivery()
        .set_stream_redundancy(StreamId(1), redundant)
        .expect("it exists");
    drop(association);
    let long = |stream| Message::new(StreamId(stream), vec![7; 1_000]);
    for _ in 0..300 {
        send_message(&mut endpoint, long(0));
    }
    let mut window = tsns(&poll_packets(&mut endpoint, START));
    // The window grows.
    while window.len() < 32 {
        let last = window[window.len() - 1];
        window = tsns(&deliver(&mut endpoint, START, peer(2), tag, &sack(last, &[])));
    }
    for _ in 0..60 {
        send_message(&mut endpoint, long(1));
    }
    let (base, mut sent) = (before(window[0]), Vec::new());
    for end in 8..24 {
        let blocks = [GapBlock { start: 7, end }];
        sent.extend(deliver(&mut endpoint, START, peer(2), tag, &sack(base, &blocks)));
    }
    let mut again = data(&sent, |chunk| (chunk.tsn, chunk.stream.0));
    let lost = |(tsn, _): &(Tsn, u16)| window[..6].contains(tsn);
    let (first, last) = (again.iter().position(lost), again.iter().rposition(lost));
    again.truncate(last.expect("a retransmission") + 1);
    let streams = again.into_iter().map(|(_, stream)| stream);
    streams.skip(first.expect("a retransmission")).collect()
}

#[test]
fn data_of_redundant_streams_takes_turns_with_lost_chunks() {
    assert!(streams_after_a_loss(false).iter().all(|stream| *stream == 0));
    let streams = streams_after_a_loss(true);
    assert!(streams.contains(&1), "{streams:?}");
    assert!(!streams.windows(2).any(|pair| pair == [1, 1]), "{streams:?}");
}

//= rfc9260 3.3.1-4, 3.3.1-6, 3.3.1-7, 6.9-13, 6.9-14
#[test]
fn unordered_fragments_differ_only_in_tsn_and_b_e_bits() {
    let mut endpoint = endpoint();
    accept_peer(&mut endpoint, 5, &[]);
    let message = Message::new(StreamId(3), vec![7; 3_500]).unordered();
    send_message(&mut endpoint, message.with_ppid(Ppid(9)));
    let packets = poll_packets(&mut endpoint, START);
    let same = data(&packets, |chunk| {
        (chunk.stream, chunk.ssn, chunk.ppid, chunk.flags.unordered)
    });
    assert!(
        same.len() > 2 && same.windows(2).all(|pair| pair[0] == pair[1]),
        "{same:?}"
    );
    assert_eq!((same[0].0, same[0].2, same[0].3), (StreamId(3), Ppid(9), true));
    let ends = data(&packets, |chunk| (chunk.flags.beginning, chunk.flags.ending));
    assert_eq!(
        (ends[0], ends[1], ends[ends.len() - 1]),
        ((true, false), (false, false), (false, true))
    );
    send_message(&mut endpoint, Message::new(StreamId(3), "whole"));
}

//= rfc9260 6.2-11
#[test]
fn packet_of_many_chunks_gets_one_sack() {
    let mut endpoint = endpoint();
    let tag = accept_peer(&mut endpoint, 5, &[]);
    let many = packet(tag, |packet| {
        for tsn in [1, 3, 5, 5, 3, 9] {
            packet.push(&numbered(tsn)).expect("a small chunk");
        }
    });
    assert_eq!(
        sacks(&deliver_packet(&mut endpoint, START, peer(2), &many)).len(),
        1
    );
}

//= rfc9260 6.2-26
#[test]
fn undelivered_fragments_reduce_the_window() {
    let mut endpoint = endpoint();
    let tag = accept_peer(&mut endpoint, 5, &[]);
    let beginning = Data {
        flags: DataFlags {
            beginning: true,
            ..DataFlags::default()
        },
        payload: &[7; 1_000],
        ..DATA
    };
    let replies = deliver(&mut endpoint, START, peer(2), tag, &beginning);
    let buffer = u32::try_from(config().receive_buffer.initial()).expect("4 MiB");
    assert_eq!(sacks(&replies), [(Tsn(1), buffer - 1_000, Vec::new())]);
}

//= rfc9260 1.3-2, 3.1-3, 3.3.2-6, 3.3.3-4, 6.4-2
//= rfc6951 5.3-1
#[test]
fn reply_is_sent_to_the_source_and_ports_of_the_request() {
    let mut endpoint = endpoint();
    let tag = accept_peer(&mut endpoint, 5, &[peer(2).ip(), peer(3).ip()]);
    for remote in [peer(3), peer(2)] {
        let path = PathAddr {
            local: here(),
            remote,
        };
        let question = packet(tag, |packet| {
            packet
                .push(&Heartbeat { info: b"there?" })
                .expect("a small chunk");
        });
        endpoint.handle_datagram(START, path, Ecn::NotCapable, &question);
        let mut buffer = Vec::new();
        let transmit = endpoint.poll_transmit(START, &mut buffer, 1).expect("an answer");
        assert_eq!(transmit.path.remote, remote);
        assert_eq!(kinds(&[buffer.clone()]).first(), Some(&kind::HEARTBEAT_ACK));
        let header = Packet::parse(&buffer).expect("a packet in order").header();
        assert_eq!(
            (header.source_port, header.destination_port),
            (DEFAULT_PORT, DEFAULT_PORT)
        );
        assert_eq!(header.tag, VerificationTag(5));
    }
}

//= rfc9260 3.3.7-1, 3.3.7-2
#[test]
fn abort_is_not_bundled_with_queued_data() {
    let mut endpoint = endpoint();
    accept_peer(&mut endpoint, 5, &[]);
    send_message(&mut endpoint, Message::new(StreamId(0), vec![7; 50_000]));
    let id = endpoint.associations().next().expect("it lives").id();
    endpoint.association_mut(id).expect("it lives").abort(b"enough");
    assert_eq!(kinds(&poll_packets(&mut endpoint, START)), [kind::ABORT]);
}

//= rfc9260 3.3.7-3, 3.3.7-4
#[test]
fn abort_with_a_malformed_cause_is_discarded() {
    let mut endpoint = endpoint();
    let tag = accept_peer(&mut endpoint, 5, &[]);
    let malformed = OutboundAbort {
        tag_reflected: false,
        causes: vec![0, 12, 0, 99],
    };
    let nothing = Vec::<Vec<u8>>::new();
    assert_eq!(deliver(&mut endpoint, START, peer(2), tag, &malformed), nothing);
    assert!(endpoint.associations().all(Association::is_connected));
    let in_order = OutboundAbort {
        tag_reflected: false,
        causes: Vec::new(),
    };
    assert_eq!(deliver(&mut endpoint, START, peer(2), tag, &in_order), nothing);
    assert!(endpoint.associations().all(Association::is_closed));
}

//= rfc9260 4-9, 6.2-16, 6.2-19
#[test]
fn data_in_shutdown_sent_is_acknowledged_at_once_gaps_included() {
    let mut endpoint = endpoint();
    let tag = accept_peer(&mut endpoint, 5, &[]);
    let id = endpoint.associations().next().expect("it lives").id();
    endpoint.association_mut(id).expect("it lives").shutdown();
    assert_eq!(kinds(&poll_packets(&mut endpoint, START)), [kind::SHUTDOWN]);
    deliver(&mut endpoint, START, peer(2), tag, &DATA);
    for (tsn, ends) in [(2, vec![]), (4, vec![2])] {
        let replies = deliver(&mut endpoint, START, peer(2), tag, &numbered(tsn));
        let seen = kinds(&replies);
        assert!(
            seen.contains(&kind::SACK) && seen.contains(&kind::SHUTDOWN),
            "{seen:?}"
        );
        let blocks = &sacks(&replies)[0].2;
        assert_eq!(blocks.iter().map(|block| block.end).collect::<Vec<_>>(), ends);
    }
}

//= rfc9260 4-10, 4-11, 4-12
#[test]
fn queued_data_is_sent_and_no_more_taken_after_shutdown() {
    let mut endpoint = endpoint();
    let tag = accept_peer(&mut endpoint, 5, &[]);
    for _ in 0..10 {
        send_message(&mut endpoint, Message::new(StreamId(0), vec![7; 1_000]));
    }
    let sent = tsns(&poll_packets(&mut endpoint, START));
    let cumulative = before(sent[0]);
    deliver(&mut endpoint, START, peer(2), tag, &Shutdown { cumulative });
    let refuses = |endpoint: &mut Endpoint| {
        let id = endpoint.associations().next().expect("it lives").id();
        let mut association = endpoint.association_mut(id).expect("it lives");
        association.send(Message::new(StreamId(0), "more")).is_err()
    };
    assert!(refuses(&mut endpoint), "SHUTDOWN-RECEIVED");
    let mut last = sent[sent.len() - 1];
    let mut replies = Vec::new();
    while last != Tsn(sent[0].0.wrapping_add(9)) {
        replies = deliver(&mut endpoint, START, peer(2), tag, &sack(last, &[]));
        last = tsns(&replies).pop().expect("what was queued leaves");
    }
    assert!(!kinds(&replies).contains(&kind::SHUTDOWN_ACK));
    let replies = deliver(&mut endpoint, START, peer(2), tag, &sack(last, &[]));
    assert_eq!(kinds(&replies), [kind::SHUTDOWN_ACK]);
    assert!(refuses(&mut endpoint), "SHUTDOWN-ACK-SENT");
}

//= rfc9260 6-2, 6-4
#[test]
fn data_before_establishment_and_after_a_shutdown_is_discarded() {
    let mut endpoint = endpoint();
    let (_, tag) = send_init(&mut endpoint);
    let nothing = Vec::<Vec<u8>>::new();
    assert_eq!(deliver(&mut endpoint, START, peer(2), tag, &DATA), nothing);
    deliver(&mut endpoint, START, peer(2), tag, &init_ack(5, &[]));
    assert_eq!(deliver(&mut endpoint, START, peer(2), tag, &DATA), nothing);
    deliver(&mut endpoint, START, peer(2), tag, &CookieAck);
    send_message(&mut endpoint, Message::new(StreamId(0), "not acknowledged"));
    let sent = tsns(&poll_packets(&mut endpoint, START));
    let cumulative = before(sent[0]);
    deliver(&mut endpoint, START, peer(2), tag, &Shutdown { cumulative });
    assert_eq!(deliver(&mut endpoint, START, peer(2), tag, &DATA), nothing);
    assert!(!events(&mut endpoint).contains(&Event::Readable));
}

//= rfc9260 6.1-9
#[test]
fn cwnd_decays_while_nothing_is_sent() {
    let mut endpoint = endpoint();
    let tag = accept_peer(&mut endpoint, 5, &[]);
    let cwnd = |endpoint: &Endpoint| endpoint.associations().next().expect("it lives").path_facts()[0].cwnd;
    let mut now = START;
    for _ in 0..4 {
        send_message(&mut endpoint, Message::new(StreamId(0), vec![7; 50_000]));
        let mut sent = poll_packets(&mut endpoint, now);
        while let Some(last) = tsns(&sent).pop() {
            now += Duration::from_millis(10);
            sent = deliver(&mut endpoint, now, peer(2), tag, &sack(last, &[]));
        }
    }
    let grown = cwnd(&endpoint);
    now += Duration::from_secs(5);
    send_message(&mut endpoint, Message::new(StreamId(0), "after a pause"));
    poll_packets(&mut endpoint, now);
    assert!(cwnd(&endpoint) < grown, "{grown}");
}

//= rfc9260 3.3.5-3
#[test]
fn heartbeat_to_an_unconfirmed_address_holds_a_random_nonce() {
    let nonces: alloc::collections::BTreeSet<Vec<u8>> = (0..20)
        .map(|seed| {
            let config = EndpointConfig {
                local: vec![here()],
                accept: Some(config()),
                ..EndpointConfig::default()
            };
            let mut endpoint = Endpoint::new(config, Seed(seed));
            let call = init(5, listing(&[peer(2).ip(), peer(3).ip()]));
            let (tag, cookie) = request_cookie(&mut endpoint, peer(2), &call);
            let echo = CookieEcho { cookie: &cookie };
            let packets = deliver(&mut endpoint, START, peer(2), tag, &echo);
            let heartbeat = packets.iter().find_map(|bytes| {
                let packet = Packet::parse(bytes).expect("a packet in order");
                let mut chunks = packet.chunks().flatten();
                chunks
                    .find(|chunk| chunk.kind == kind::HEARTBEAT)
                    .map(|chunk| chunk.value.to_vec())
            });
            let info = heartbeat.expect("the other address is probed");
            assert!(info.len() >= 4 + 8, "{info:?}");
            info[info.len() - 8..].to_vec()
        })
        .collect();
    assert_eq!(nonces.len(), 20);
}

/// Changes the stream scheduler and the longest fragment of the only association.
fn change(endpoint: &mut Endpoint, scheduler: &str, max_fragment: Option<u16>) {
    let mut policies = config().policies;
    policies
        .set("stream-scheduler", scheduler)
        .expect("a choice of the catalog");
    let association = endpoint.associations().next().expect("it lives");
    let (id, mut wanted) = (association.id(), association.protocol_parameters());
    wanted.stream_scheduler = policies.stream_scheduler;
    wanted.max_fragment = max_fragment;
    let mut association = endpoint.association_mut(id).expect("it lives");
    association.set_protocol_parameters(&wanted);
}

/// SETPROTOCOLPARAMETERS (RFC 9260 §11.1.13).
#[test]
fn queued_messages_follow_a_new_stream_scheduler_and_fragment_size() {
    let mut endpoint = endpoint();
    let tag = accept_peer(&mut endpoint, 5, &[]);
    let id = endpoint.associations().next().expect("it lives").id();
    let mut association = endpoint.association_mut(id).expect("it lives");
    for (stream, priority) in [(5, 9), (1, 1)] {
        let set = association.set_stream_priority(StreamId(stream), priority);
        set.expect("the stream exists");
    }
    drop(association);
    for (stream, length) in [(5, 20_000), (5, 10), (1, 1_000), (1, 200)] {
        send_message(&mut endpoint, Message::new(StreamId(stream), vec![7; length]));
    }
    change(&mut endpoint, "priority", Some(600));
    let sent = poll_packets(&mut endpoint, START);
    let pieces = |packets: &[Vec<u8>]| data(packets, |chunk| (chunk.stream.0, chunk.payload.len()));
    let first = pieces(&sent);
    assert_eq!(first[..4], [(1, 600), (1, 400), (1, 200), (5, 600)]);
    assert!(first[3..].iter().all(|piece| *piece == (5, 600)), "{first:?}");
    // What is begun is finished, in pieces of the new length.
    change(&mut endpoint, "rr", None);
    send_message(&mut endpoint, Message::new(StreamId(1), "later"));
    let last = *tsns(&sent).last().expect("data was sent");
    let after = deliver(&mut endpoint, START, peer(2), tag, &sack(last, &[]));
    let next = pieces(&after);
    assert!(next[0].0 == 5 && next[0].1 > 1_000, "{next:?}");
}
