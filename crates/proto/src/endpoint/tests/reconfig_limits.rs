//! Tests of requests to change streams that a peer should not send, or repeats, or sends at another time than usual (RFC 6525 §5.2).

use alloc::format;

use anabranch_types::ReConfigNumber;
use anabranch_wire::{OutboundReConfig, ReConfigResult};

use super::reconfig::{
    FIRST, ONE, accept_reconfiguring_peer, data, numbered, receive_all, reconfigurable, request, requests,
    response, sack, send_first,
};
use super::*;
use crate::{Reconfiguration, Reliability};

fn reset_outgoing(number: u32, last: u32) -> OutboundReConfig {
    let mut chunk = OutboundReConfig::default();
    chunk.push_reset_outgoing(ReConfigNumber(number), ReConfigNumber(0), Tsn(last), &[FIRST]);
    chunk
}

fn reset_incoming(number: u32) -> OutboundReConfig {
    let mut chunk = OutboundReConfig::default();
    chunk.push_reset_incoming(ReConfigNumber(number), &[FIRST]);
    chunk
}

fn add_incoming(number: u32, count: u16) -> OutboundReConfig {
    let mut chunk = OutboundReConfig::default();
    chunk.push_add_incoming(ReConfigNumber(number), count);
    chunk
}

#[test]
fn wrong_number_is_refused_beside_two_answers() {
    let mut endpoint = endpoint_with(reconfigurable());
    let tag = accept_reconfiguring_peer(&mut endpoint);
    let mut both = OutboundReConfig::default();
    both.push_add_outgoing(ONE, 1);
    both.push_add_incoming(ReConfigNumber(2), 100);
    let packets = deliver(&mut endpoint, START, peer(2), tag, &both);
    let answers = ["RE-CONFIG [response seq=1 result=1, response seq=2 result=2]"];
    assert_eq!(requests(&packets), answers);
    let packets = deliver(&mut endpoint, START, peer(2), tag, &reset_outgoing(9, 0));
    assert!(
        requests(&packets)[0].contains("response seq=9 result=5"),
        "{:?}",
        requests(&packets)
    );
    let packets = deliver(&mut endpoint, START, peer(2), tag, &both);
    assert_eq!(
        requests(&packets),
        answers,
        "a repeated request gets the same answers"
    );
}

#[test]
fn many_wrong_requests_in_a_packet_get_two_answers() {
    let mut endpoint = endpoint_with(reconfigurable());
    let tag = accept_reconfiguring_peer(&mut endpoint);
    let bytes = packet(tag, |packet| {
        for number in 50..80 {
            packet.push(&reset_outgoing(number, 0)).expect("a small chunk");
        }
    });
    let packets = deliver_packet(&mut endpoint, START, peer(2), &bytes);
    assert_eq!(
        requests(&packets),
        ["RE-CONFIG [response seq=50 result=5, response seq=51 result=5]"]
    );
}

#[test]
fn request_from_an_unconfirmed_address_is_answered_to_a_confirmed_one() {
    let mut endpoint = endpoint_with(reconfigurable());
    let mut parameters = ParameterWriter::new();
    parameters.push_supported_extensions(&[kind::RE_CONFIG]);
    parameters.push_address(peer(3).ip());
    let (tag, cookie) = request_cookie(&mut endpoint, peer(2), &init(9, parameters.finish()));
    deliver(
        &mut endpoint,
        START,
        peer(2),
        tag,
        &CookieEcho { cookie: &cookie },
    );
    let bytes = packet(tag, |packet| {
        packet.push(&reset_outgoing(1, 0)).expect("a small chunk");
    });
    let path = PathAddr {
        local: here(),
        remote: peer(3),
    };
    endpoint.handle_datagram(START, path, Ecn::NotCapable, &bytes);
    let mut answered = Vec::new();
    let mut buffer = Vec::new();
    while let Some(sent) = endpoint.poll_transmit(START, &mut buffer, 1) {
        if kinds(&[core::mem::take(&mut buffer)]).contains(&kind::RE_CONFIG) {
            answered.push(sent.path.remote);
        }
    }
    assert_eq!(answered, [peer(2)]);
}

#[test]
fn request_before_the_association_is_established_is_ignored() {
    let mut endpoint = endpoint();
    let id = endpoint
        .connect(START, &[peer(2)], &reconfigurable())
        .expect("a path to the peer");
    let (tag, _) = tag_and_cookie(&poll_packets(&mut endpoint, START));
    let mut parameters = ParameterWriter::new();
    parameters.push_supported_extensions(&[kind::RE_CONFIG]);
    parameters.push_state_cookie(&[7; 40]);
    let init_ack = OutboundInit {
        acknowledges: true,
        ..init(9, parameters.finish())
    };
    deliver(&mut endpoint, START, peer(2), tag, &init_ack);
    let packets = deliver(&mut endpoint, START, peer(2), tag, &add_incoming(1, 1));
    assert!(requests(&packets).is_empty(), "{packets:?}");
    deliver(&mut endpoint, START, peer(2), tag, &CookieAck);
    assert!(endpoint.association(id).expect("it lives").is_connected());
    let packets = deliver(&mut endpoint, START, peer(2), tag, &add_incoming(1, 1));
    assert!(
        requests(&packets)[0].contains("response seq=1 result=1"),
        "it is the first one"
    );
}

#[test]
fn request_without_agreement_changes_nothing() {
    let mut endpoint = endpoint();
    let tag = accept_peer(&mut endpoint, 9, &[]);
    events(&mut endpoint);
    let packets = deliver(&mut endpoint, START, peer(2), tag, &reset_outgoing(1, 0));
    assert!(requests(&packets).is_empty(), "{packets:?}");
    assert!(events(&mut endpoint).is_empty());
}

#[test]
fn repeated_requests_to_add_streams_stay_within_the_limit() {
    let mut endpoint = endpoint_with(reconfigurable());
    let tag = accept_reconfiguring_peer(&mut endpoint);
    let results: Vec<bool> = (1..4)
        .map(|number| {
            let packets = deliver(&mut endpoint, START, peer(2), tag, &add_incoming(number, 6));
            requests(&packets)[0].contains("result=1")
        })
        .collect();
    assert_eq!(
        results,
        [true, false, false],
        "10 streams, 6 more of at most 20 are on the way"
    );
}

#[test]
fn request_to_add_no_streams_changes_nothing() {
    let mut endpoint = endpoint_with(reconfigurable());
    let tag = accept_reconfiguring_peer(&mut endpoint);
    let mut none = OutboundReConfig::default();
    none.push_add_outgoing(ONE, 0);
    none.push_add_incoming(ReConfigNumber(2), 0);
    let packets = deliver(&mut endpoint, START, peer(2), tag, &none);
    let nothing = ["RE-CONFIG [response seq=1 result=0, response seq=2 result=0]"];
    assert_eq!(requests(&packets), nothing);
    assert!(events(&mut endpoint).is_empty());
}

#[test]
fn inbound_reset_waits_until_the_event_of_the_last_one_is_taken() {
    let mut endpoint = endpoint_with(reconfigurable());
    let tag = accept_reconfiguring_peer(&mut endpoint);
    let packets = deliver(&mut endpoint, START, peer(2), tag, &reset_outgoing(1, 0));
    assert_eq!(requests(&packets), ["RE-CONFIG [response seq=1 result=1]"]);
    let packets = deliver(&mut endpoint, START, peer(2), tag, &reset_outgoing(2, 0));
    assert_eq!(requests(&packets), ["RE-CONFIG [response seq=2 result=6]"]);
    assert_eq!(events(&mut endpoint).len(), 1);
    let packets = deliver(&mut endpoint, START, peer(2), tag, &reset_outgoing(2, 0));
    assert_eq!(requests(&packets), ["RE-CONFIG [response seq=2 result=1]"]);
    assert_eq!(events(&mut endpoint).len(), 1);
}

#[test]
fn reset_while_another_one_waits_for_data_is_refused() {
    let mut endpoint = endpoint_with(reconfigurable());
    let tag = accept_reconfiguring_peer(&mut endpoint);
    let packets = deliver(&mut endpoint, START, peer(2), tag, &reset_outgoing(1, 1));
    assert_eq!(requests(&packets), ["RE-CONFIG [response seq=1 result=6]"]);
    let packets = deliver(&mut endpoint, START, peer(2), tag, &reset_outgoing(2, 1));
    assert_eq!(requests(&packets), ["RE-CONFIG [response seq=2 result=4]"]);
    deliver(&mut endpoint, START, peer(2), tag, &numbered(1, 0));
    assert_eq!(receive_all(&mut endpoint), 1);
    poll_packets(&mut endpoint, START);
    let resets = events(&mut endpoint);
    let count = resets
        .iter()
        .filter(|event| matches!(event, Event::InboundReset { .. }));
    assert_eq!(count.count(), 1, "{resets:?}");
}

//= rfc6525 5.1.1-5, 5.1.2-4, 5.1.2-5, 5.2.3-1, 5.2.3-3, 5.2.7-1, 5.2.7-2
/// The request of the peer is granted while ours is in flight, and its reset follows when ours is answered.
#[test]
fn inbound_resets_of_both_ends_at_once_succeed() {
    let mut endpoint = endpoint_with(reconfigurable());
    let tag = accept_reconfiguring_peer(&mut endpoint);
    let tsn = send_first(&mut endpoint);
    deliver(&mut endpoint, START, peer(2), tag, &sack(tsn));
    let reset = Reconfiguration::ResetInbound(vec![FIRST]);
    request(&mut endpoint, reset.clone()).expect("it is open");
    poll_packets(&mut endpoint, START);
    let packets = deliver(&mut endpoint, START, peer(2), tag, &reset_incoming(1));
    let granted = ["RE-CONFIG [response seq=1 result=1]"];
    assert_eq!(requests(&packets), granted, "one request is in flight at most");
    let packets = deliver(&mut endpoint, START, peer(2), tag, &reset_incoming(1));
    assert_eq!(requests(&packets), granted, "the answer was lost");
    let done = response(tsn, ReConfigResult::Performed);
    let packets = deliver(&mut endpoint, START, peer(2), tag, &done);
    let next = tsn.wrapping_add(1);
    let expected = format!("RE-CONFIG [reset-outgoing seq={next} resp=1 last={tsn} streams=0]");
    assert_eq!(requests(&packets), [expected]);
    let accepted = Event::Reconfigured {
        change: reset,
        accepted: true,
    };
    assert!(events(&mut endpoint).contains(&accepted));
}

/// Each end would wait for the request of the other if the one of the peer had to wait until ours are answered.
#[test]
fn inbound_reset_is_granted_while_another_reset_waits_for_the_peer() {
    let mut endpoint = endpoint_with(reconfigurable());
    let tag = accept_reconfiguring_peer(&mut endpoint);
    let tsn = send_first(&mut endpoint);
    deliver(&mut endpoint, START, peer(2), tag, &sack(tsn));
    request(&mut endpoint, Reconfiguration::ResetInbound(vec![FIRST])).expect("it is open");
    poll_packets(&mut endpoint, START);
    request(&mut endpoint, Reconfiguration::ResetOutbound(Vec::new())).expect("it is open");
    let packets = deliver(&mut endpoint, START, peer(2), tag, &reset_incoming(1));
    assert_eq!(requests(&packets), ["RE-CONFIG [response seq=1 result=1]"]);
    let mut next = tsn;
    for streams in ["0", "all"] {
        let done = response(next, ReConfigResult::Performed);
        let packets = deliver(&mut endpoint, START, peer(2), tag, &done);
        next = next.wrapping_add(1);
        let expected = format!("RE-CONFIG [reset-outgoing seq={next} resp=1 last={tsn} streams={streams}]");
        assert_eq!(requests(&packets), [expected]);
    }
    let id = endpoint.associations().next().expect("it lives").id();
    let mut association = endpoint.association_mut(id).expect("it lives");
    association.send(Message::new(FIRST, "hello")).expect("room");
    drop(association);
    assert!(
        poll_packets(&mut endpoint, START).is_empty(),
        "it waits for the second"
    );
    let done = response(next, ReConfigResult::Performed);
    let packets = deliver(&mut endpoint, START, peer(2), tag, &done);
    assert_eq!(data(&packets), [(tsn.wrapping_add(1), 0, 0)]);
}

#[test]
fn answer_goes_ahead_of_own_requests() {
    let mut endpoint = endpoint_with(reconfigurable());
    let tag = accept_reconfiguring_peer(&mut endpoint);
    let tsn = send_first(&mut endpoint);
    deliver(&mut endpoint, START, peer(2), tag, &sack(tsn));
    request(&mut endpoint, Reconfiguration::AddOutbound(1)).expect("it is open");
    request(&mut endpoint, Reconfiguration::ResetInbound(vec![FIRST])).expect("it is open");
    poll_packets(&mut endpoint, START);
    deliver(&mut endpoint, START, peer(2), tag, &reset_incoming(1));
    let done = response(tsn, ReConfigResult::Performed);
    let packets = deliver(&mut endpoint, START, peer(2), tag, &done);
    assert!(
        requests(&packets)[0].contains("reset-outgoing"),
        "{:?}",
        requests(&packets)
    );
}

#[test]
fn association_reset_whose_answer_was_late_keeps_what_has_arrived() {
    let mut endpoint = endpoint_with(reconfigurable());
    let tag = accept_reconfiguring_peer(&mut endpoint);
    let tsn = send_first(&mut endpoint);
    deliver(&mut endpoint, START, peer(2), tag, &sack(tsn));
    request(&mut endpoint, Reconfiguration::ResetAssociation).expect("it is open");
    poll_packets(&mut endpoint, START);
    // The peer continues with TSN 1, and its answer arrives after that.
    deliver(&mut endpoint, START, peer(2), tag, &numbered(1, 0));
    assert_eq!(receive_all(&mut endpoint), 1);
    let next = tsn.wrapping_add(1 + (1 << 31));
    let mut done = OutboundReConfig::default();
    let tsns = Some((Tsn(1), Tsn(next)));
    done.push_response(ReConfigNumber(tsn), ReConfigResult::Performed, tsns);
    deliver(&mut endpoint, START, peer(2), tag, &done);
    deliver(&mut endpoint, START, peer(2), tag, &numbered(2, 0));
    assert_eq!(receive_all(&mut endpoint), 1, "TSN 2 is next");
}

/// A FORWARD TSN names abandoned messages by stream and number, which would be those of new messages after the reset.
#[test]
fn outbound_reset_waits_until_the_peer_has_skipped_abandoned_messages() {
    let config = AssociationConfig {
        partial_reliability: true,
        ..reconfigurable()
    };
    let mut endpoint = endpoint_with(config);
    let mut parameters = ParameterWriter::new();
    parameters.push_forward_tsn_supported();
    parameters.push_supported_extensions(&[kind::FORWARD_TSN, kind::RE_CONFIG]);
    let (tag, cookie) = request_cookie(&mut endpoint, peer(2), &init(9, parameters.finish()));
    deliver(
        &mut endpoint,
        START,
        peer(2),
        tag,
        &CookieEcho { cookie: &cookie },
    );
    let id = endpoint.associations().next().expect("it lives").id();
    let mut association = endpoint.association_mut(id).expect("it lives");
    let lifetime = Reliability::Lifetime(core::time::Duration::from_millis(1));
    let message = Message::new(FIRST, "hello").with_reliability(lifetime);
    association.send(message).expect("room");
    drop(association);
    let sent = data(&poll_packets(&mut endpoint, START));
    let [(tsn, 0, 0)] = sent[..] else {
        panic!("one chunk, not {sent:?}");
    };
    request(&mut endpoint, Reconfiguration::ResetOutbound(vec![FIRST])).expect("it is open");
    let mut forwards = Vec::new();
    while let Some(due) = endpoint.poll_timeout().filter(|_| forwards.is_empty()) {
        endpoint.handle_timeout(due);
        let packets = poll_packets(&mut endpoint, due);
        assert!(requests(&packets).is_empty(), "{packets:?}");
        for bytes in packets {
            let packet = Packet::parse(&bytes).expect("a packet in order");
            for chunk in packet.chunks().flatten().flat_map(RawChunk::decode) {
                if let Chunk::ForwardTsn(chunk) = chunk {
                    forwards.push((chunk.cumulative.0, chunk.skipped().count()));
                }
            }
        }
    }
    assert_eq!(forwards, [(tsn, 1)]);
    let packets = deliver(&mut endpoint, START, peer(2), tag, &sack(tsn));
    assert!(requests(&packets)[0].contains("reset-outgoing"), "{packets:?}");
}
