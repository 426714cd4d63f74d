//! Tests of checksums: offloaded to the driver, and zero by agreement (RFC 9653).

use anabranch_wire::parameter::kind::ZERO_CHECKSUM_ACCEPTABLE;
use anabranch_wire::{DetectionMethod, checksum};

use super::ends::Ends;
use super::*;
use crate::ErrorDetection;

fn offloading() -> Endpoint {
    let config = EndpointConfig {
        local: vec![here()],
        accept: Some(config()),
        checksum_offload: true,
        ..EndpointConfig::default()
    };
    Endpoint::new(config, Seed(1))
}

/// An INIT whose checksum is all zeros.
fn unsealed_init() -> Vec<u8> {
    let mut bytes = packet(VerificationTag::ZERO, |packet| {
        packet.push(&init(7, Vec::new())).expect("room");
    });
    bytes[8..12].fill(0);
    bytes
}

//= rfc9653 5.3-2
#[test]
fn zero_checksum_is_refused_without_offload() {
    let mut endpoint = endpoint();
    assert!(deliver_packet(&mut endpoint, START, peer(2), &unsealed_init()).is_empty());
    assert_eq!(endpoint.counters().malformed, 1);
}

#[test]
fn checksum_offload_neither_writes_nor_checks_checksums() {
    let mut endpoint = offloading();
    let answers = deliver_packet(&mut endpoint, START, peer(2), &unsealed_init());
    assert_eq!(answers.len(), 1, "the answer to an unknown peer");
    let called = endpoint.connect(START, &[peer(3)], &config());
    assert!(called.is_ok());
    for packet in answers.iter().chain(&poll_packets(&mut endpoint, START)) {
        assert_eq!(packet[8..12], [0; 4]);
        assert!(Packet::parse_unverified(packet).is_ok());
    }
}

/// A configuration that accepts a checksum of zero.
fn over_dtls() -> AssociationConfig {
    AssociationConfig {
        zero_checksum: Some(ErrorDetection::Dtls),
        ..config()
    }
}

/// The chunk types of a packet, and whether its checksum is zero.
fn described(packet: &[u8]) -> (Vec<u8>, bool) {
    let is_zero = packet[8..12] == [0; 4];
    assert!(is_zero || checksum::is_valid(packet));
    let parsed = Packet::parse_unverified(packet).expect("a packet in order");
    (
        parsed.chunks().flatten().map(|chunk| chunk.kind).collect(),
        is_zero,
    )
}

/// All packets of a handshake between two endpoints with these configurations, of one message and of a shutdown.
fn conversation(ours: AssociationConfig, theirs: AssociationConfig) -> Vec<(Vec<u8>, bool)> {
    let mut ends = Ends::connecting(&ours, theirs);
    ends.send(0, 4);
    ends.association(0).shutdown();
    ends.exchange();
    assert!(ends.association(0).is_closed());
    assert_eq!(ends.ends.map(|end| end.counters().malformed), [0, 0]);
    ends.packets
        .iter()
        .flatten()
        .map(|packet| described(packet))
        .collect()
}

//= rfc9653 5.1-1, 5.2-2, 5.2-4, 5.2-7, 5.3-1
#[test]
fn agreed_zero_checksum_is_sent_without_init_and_cookie_echo() {
    let packets = conversation(over_dtls(), over_dtls());
    for (kinds, is_zero) in &packets {
        let from_the_association = ![kind::INIT, kind::INIT_ACK, kind::COOKIE_ECHO].contains(&kinds[0]);
        assert_eq!(*is_zero, from_the_association, "{kinds:?}");
    }
    let all: Vec<u8> = packets.iter().flat_map(|(kinds, _)| kinds.clone()).collect();
    assert!(
        [kind::DATA, kind::SHUTDOWN_COMPLETE]
            .iter()
            .all(|wanted| all.contains(wanted))
    );
}

//= rfc9653 5.2-5
#[test]
fn asconf_has_a_checksum_where_zero_is_agreed() {
    let mut ends = Ends::connecting(&over_dtls(), over_dtls());
    let another = SocketAddr::from(([10, 0, 0, 9], DEFAULT_PORT));
    let mut association = ends.association(0);
    association.add_local_address(another).expect("it is agreed");
    drop(association);
    let packets = poll_packets(&mut ends.ends[0], START);
    let described: Vec<_> = packets.iter().map(|packet| described(packet)).collect();
    assert_eq!(described, [(vec![kind::AUTH, kind::ASCONF], false)]);
}

//= rfc9653 4-2, 4-3, 5.1-1
#[test]
fn zero_checksum_is_declared_once_in_init_and_init_ack() {
    let mut ends = Ends::connecting(&over_dtls(), over_dtls());
    ends.send(0, 4);
    let mut declarations = Vec::new();
    for bytes in ends.packets.iter().flatten() {
        let packet = Packet::parse_unverified(bytes).expect("a packet in order");
        for chunk in packet.chunks().flatten().flat_map(RawChunk::decode) {
            if let Chunk::Init(init) | Chunk::InitAck(init) = chunk {
                let parameters = init.parameters.iter().flatten().map(|raw| raw.kind);
                declarations.push(
                    parameters
                        .filter(|kind| *kind == ZERO_CHECKSUM_ACCEPTABLE)
                        .count(),
                );
            }
        }
    }
    assert_eq!(declarations, [1, 1]);
}

//= rfc9653 4-4, 5.2-1
//= rfc6951 5.3-4
#[test]
fn zero_checksum_needs_both_ends() {
    for (ours, theirs) in [
        (over_dtls(), config()),
        (config(), over_dtls()),
        (config(), config()),
    ] {
        assert!(conversation(ours, theirs).iter().all(|(_, is_zero)| !is_zero));
    }
}

//= rfc9653 5.2-1, 5.3-2
#[test]
fn unknown_error_detection_method_is_not_agreed_on() {
    for method in [0, 2, u32::MAX] {
        let mut endpoint = endpoint_with(over_dtls());
        let mut parameters = ParameterWriter::new();
        parameters.push_zero_checksum_acceptable(DetectionMethod(method));
        let init = init(7, parameters.finish());
        let (tag, cookie) = request_cookie(&mut endpoint, peer(2), &init);
        let echo = CookieEcho { cookie: &cookie };
        let answers = deliver(&mut endpoint, START, peer(2), tag, &echo);
        assert!(answers.iter().all(|answer| !described(answer).1), "{method}");
        let mut data = packet(tag, |packet| packet.push(&DATA).expect("room"));
        data[8..12].fill(0);
        assert!(deliver_packet(&mut endpoint, START, peer(2), &data).is_empty());
        assert_eq!(
            endpoint.counters().malformed,
            1,
            "it was not declared to this peer"
        );
    }
}

/// An endpoint with an association that accepts a checksum of zero, and the tag of packets to it.
fn agreed() -> (Endpoint, VerificationTag) {
    let mut endpoint = endpoint_with(over_dtls());
    let mut parameters = ParameterWriter::new();
    parameters.push_zero_checksum_acceptable(DetectionMethod::DTLS);
    let init = init(7, parameters.finish());
    let (tag, cookie) = request_cookie(&mut endpoint, peer(2), &init);
    let echo = CookieEcho { cookie: &cookie };
    assert!(described(&deliver(&mut endpoint, START, peer(2), tag, &echo)[0]).1);
    (endpoint, tag)
}

//= rfc9653 5.3-1, 5.3-2
#[test]
fn wrong_checksum_is_refused_although_zero_is_accepted() {
    let (mut endpoint, tag) = agreed();
    let mut data = packet(tag, |packet| packet.push(&DATA).expect("room"));
    data[9] ^= 1;
    assert!(deliver_packet(&mut endpoint, START, peer(2), &data).is_empty());
    assert_eq!(endpoint.counters().malformed, 1);
    data[8..12].fill(0);
    assert!(!deliver_packet(&mut endpoint, START, peer(2), &data).is_empty());
    assert_eq!(endpoint.counters().malformed, 1);
}

#[test]
fn set_up_with_zero_checksum_is_refused() {
    let mut endpoint = endpoint_with(over_dtls());
    assert!(deliver_packet(&mut endpoint, START, peer(2), &unsealed_init()).is_empty());
    let (tag, cookie) = request_cookie(&mut endpoint, peer(2), &init(7, Vec::new()));
    let echo = CookieEcho { cookie: &cookie };
    let mut bytes = packet(tag, |packet| packet.push(&echo).expect("room"));
    bytes[8..12].fill(0);
    assert!(deliver_packet(&mut endpoint, START, peer(2), &bytes).is_empty());
    assert_eq!(
        (endpoint.counters().malformed, endpoint.associations().len()),
        (2, 0)
    );
}

/// The reply to a packet with this checksum, which belongs to no association.
fn reply_out_of_the_blue(endpoint: &mut Endpoint, is_zero: bool, chunk: &impl WriteChunk) -> Vec<Vec<u8>> {
    let mut bytes = packet(VerificationTag(99), |packet| packet.push(chunk).expect("room"));
    if is_zero {
        bytes[8..12].fill(0);
    }
    deliver_packet(endpoint, START, peer(3), &bytes)
}

//= rfc9653 5.2-3
/// The SHUTDOWN COMPLETE was lost, and the association is gone when the peer repeats its SHUTDOWN ACK (RFC 9653 §5.3).
#[test]
fn out_of_the_blue_packet_gets_a_reply_with_a_checksum_where_zero_is_accepted() {
    let mut endpoint = agreed().0;
    for is_zero in [false, true] {
        let end = reply_out_of_the_blue(&mut endpoint, is_zero, &ShutdownAck);
        assert_eq!(described(&end[0]), (vec![kind::SHUTDOWN_COMPLETE], false));
        let abort = reply_out_of_the_blue(&mut endpoint, is_zero, &DATA);
        assert_eq!(described(&abort[0]), (vec![kind::ABORT], false));
    }
}

#[test]
fn out_of_the_blue_packet_with_zero_checksum_gets_no_reply_where_zero_is_not_accepted() {
    let mut endpoint = endpoint();
    assert!(!reply_out_of_the_blue(&mut endpoint, false, &ShutdownAck).is_empty());
    assert!(reply_out_of_the_blue(&mut endpoint, true, &ShutdownAck).is_empty());
    assert_eq!(endpoint.counters().malformed, 1);
}
