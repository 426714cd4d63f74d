//! Tests of checksum offloading: when the endpoint writes and verifies checksums itself.

use super::*;

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
