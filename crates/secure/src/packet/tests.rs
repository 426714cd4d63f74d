//! Packets and frames, valid and truncated.

use super::{
    DataHeader, Frame, Frames, MIN_REQUEST, OVERHEAD, Packet, ParseError, write_ack, write_client_initial,
    write_close, write_crypto, write_handshake, write_request, write_retry, write_server_initial,
    write_version_negotiation,
};
use crate::index::Index;
use crate::number::SpaceId;
use crate::version::Version;

const CLIENT: Index = Index(*b"client01");
const SERVER: Index = Index(*b"server01");

fn with_tag(mut header: Vec<u8>) -> Vec<u8> {
    header.extend([0; 16]);
    header
}

#[test]
fn sealing_adds_29_bytes() {
    assert_eq!(OVERHEAD, 29);
}

#[test]
fn data_header_is_read_as_it_was_written() {
    let header = DataHeader {
        phase: 2,
        space: SpaceId::new(21).unwrap(),
        receiver: SERVER,
        number: 0xdead_beef,
    };
    let datagram = with_tag(header.encode().to_vec());
    // Bit 7 clear, phase 10, space 10101.
    assert_eq!(datagram[0], 0b0101_0101);
    let Ok(Packet::Data(read)) = Packet::parse(&datagram) else {
        panic!("not a data packet")
    };
    assert_eq!(read, header);
}

#[test]
fn handshake_packets_are_read_as_they_were_written() {
    let Ok(Packet::Request(request)) = Packet::parse(&write_request(Version::V1, CLIENT)) else {
        panic!("not a Request")
    };
    assert_eq!((request.version, request.client), (Version::V1, CLIENT));
    let Ok(Packet::Retry(retry)) = Packet::parse(&write_retry(CLIENT, b"cookie")) else {
        panic!("not a Retry")
    };
    assert_eq!((retry.client, &retry.cookie[..]), (CLIENT, &b"cookie"[..]));
    let versions = [Version::V1, Version(7)];
    let Ok(Packet::VersionNegotiation(list)) = Packet::parse(&write_version_negotiation(CLIENT, &versions))
    else {
        panic!("not a Version Negotiation")
    };
    assert_eq!((list.client, &list.versions[..]), (CLIENT, &versions[..]));
    let datagram = with_tag(write_client_initial(Version::V1, CLIENT, b"cookie", 9));
    let Ok(Packet::ClientInitial(initial)) = Packet::parse(&datagram) else {
        panic!("not an Initial")
    };
    assert_eq!(
        (initial.version, initial.client, &initial.cookie[..]),
        (Version::V1, CLIENT, &b"cookie"[..])
    );
    assert_eq!((initial.number, initial.header), (9, datagram.len() - 16));
    let datagram = with_tag(write_server_initial(CLIENT, SERVER, 3));
    let Ok(Packet::ServerInitial(initial)) = Packet::parse(&datagram) else {
        panic!("not an Initial")
    };
    assert_eq!(
        (initial.client, initial.server, initial.number),
        (CLIENT, SERVER, 3)
    );
    let datagram = with_tag(write_handshake(SERVER, 4));
    let Ok(Packet::Handshake(packet)) = Packet::parse(&datagram) else {
        panic!("not a Handshake packet")
    };
    assert_eq!((packet.receiver, packet.number, packet.header), (SERVER, 4, 13));
}

#[test]
fn truncated_packets_are_errors_at_every_length() {
    let packets = [
        write_request(Version::V1, CLIENT),
        with_tag(write_client_initial(Version::V1, CLIENT, b"cookie", 9)),
        with_tag(write_server_initial(CLIENT, SERVER, 3)),
        with_tag(write_handshake(SERVER, 4)),
        with_tag(vec![0; 13]),
    ];
    for packet in packets {
        assert!(Packet::parse(&packet).is_ok());
        for len in 0..packet.len() {
            assert!(
                Packet::parse(&packet[..len]).is_err(),
                "{len} bytes of {packet:02x?}"
            );
        }
    }
}

#[test]
fn replies_to_a_request_are_not_longer() {
    let many: Vec<Version> = (0..100).map(Version).collect();
    assert!(write_version_negotiation(CLIENT, &many).len() <= MIN_REQUEST);
    assert!(write_retry(CLIENT, &[0; crate::cookie::COOKIE_LEN]).len() <= MIN_REQUEST);
}

#[test]
fn unknown_types_and_long_cookies_are_errors() {
    assert_eq!(
        Packet::parse(&[0xff; 100]).unwrap_err(),
        ParseError::UnknownType(0xff)
    );
    assert!(Packet::parse(&write_retry(CLIENT, &[])).is_err());
    assert!(Packet::parse(&write_retry(CLIENT, &[1; 129])).is_err());
}

#[test]
fn frames_are_read_as_they_were_written_and_end_at_an_error() {
    let mut payload = Vec::new();
    write_crypto(&mut payload, 70_000, b"hello");
    payload.extend([0; 3]);
    write_ack(&mut payload, 12);
    write_close(&mut payload, 40);
    let frames: Vec<_> = Frames::new(&payload).collect();
    let data = &b"hello"[..];
    assert_eq!(
        frames,
        [
            Ok(Frame::Crypto { offset: 70_000, data }),
            Ok(Frame::Ack { received: 12 }),
            Ok(Frame::Close { alert: 40 })
        ]
    );
    payload[15] = 9;
    let frames: Vec<_> = Frames::new(&payload).collect();
    assert_eq!(frames[1..], [Err(ParseError::InvalidValue(15))]);
}

#[test]
fn crypto_beyond_4_gib_is_an_error() {
    let mut payload = Vec::new();
    write_crypto(&mut payload, u32::MAX, b"x");
    assert!(Frames::new(&payload).next().unwrap().is_err());
}
