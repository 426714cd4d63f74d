//! Tests of the pcapng writer with an independent reader.

use super::super::ip::Checksum;
use super::{Direction, PcapngWriter};
use crate::{Datagram, Protocol};
use anabranch_types::{Ecn, Instant, PathAddr};

/// A block without its length fields.
#[derive(Debug, PartialEq)]
struct Block {
    kind: u32,
    body: Vec<u8>,
}

fn read_u32(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes[..4].try_into().unwrap())
}

fn read_u16(bytes: &[u8]) -> u16 {
    u16::from_le_bytes(bytes[..2].try_into().unwrap())
}

fn read_blocks(mut file: &[u8]) -> Vec<Block> {
    let mut blocks = Vec::new();
    while !file.is_empty() {
        let length = read_u32(&file[4..]) as usize;
        assert_eq!(length % 4, 0);
        assert_eq!(
            read_u32(&file[length - 4..]) as usize,
            length,
            "both lengths agree"
        );
        blocks.push(Block {
            kind: read_u32(file),
            body: file[8..length - 4].to_vec(),
        });
        file = &file[length..];
    }
    blocks
}

/// Code and value of each option.
fn read_options(mut bytes: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let mut options = Vec::new();
    loop {
        let (code, length) = (read_u16(bytes), read_u16(&bytes[2..]) as usize);
        if code == 0 {
            assert_eq!(bytes.len(), 4, "nothing follows the end of options");
            return options;
        }
        options.push((code, bytes[4..4 + length].to_vec()));
        bytes = &bytes[4 + length.next_multiple_of(4)..];
    }
}

fn written(datagram: &Datagram) -> Vec<Block> {
    let mut file = Vec::new();
    let mut writer = PcapngWriter::new(&mut file).unwrap();
    let interface = writer.add_interface("alice 10.0.0.1").unwrap();
    let moment = Instant::from_nanos(7_000_000_001);
    writer.write(moment, interface, Direction::Out, datagram).unwrap();
    writer.finish().unwrap();
    read_blocks(&file)
}

/// The IP packet in a file of one packet.
fn ip_packet(datagram: &Datagram) -> Vec<u8> {
    let body = &written(datagram)[2].body;
    body[20..20 + read_u32(&body[12..]) as usize].to_vec()
}

fn datagram(local: &str, remote: &str, payload: &[u8]) -> Datagram {
    let path = PathAddr {
        local: local.parse().unwrap(),
        remote: remote.parse().unwrap(),
    };
    Datagram {
        path,
        protocol: Protocol::SCTP,
        ecn: Ecn::Capable0,
        may_fragment: false,
        payload: payload.to_vec(),
    }
}

/// Whether the checksum is correct: the sum over data and checksum is all ones (RFC 1071 §1), its complement zero.
fn sums_up(pieces: &[&[u8]]) -> bool {
    let mut checksum = Checksum::default();
    pieces.iter().for_each(|piece| checksum.add(piece));
    checksum.value() == 0
}

#[test]
fn file_has_section_interface_and_packet_blocks() {
    let blocks = written(&datagram("10.0.0.1:9899", "10.0.0.2:9899", b"odd"));
    assert_eq!(
        blocks.iter().map(|block| block.kind).collect::<Vec<_>>(),
        [0x0a0d_0d0a, 1, 6]
    );
    assert_eq!(read_u32(&blocks[0].body), 0x1a2b_3c4d);
    assert_eq!(read_u16(&blocks[1].body), 101);
    let options = read_options(&blocks[1].body[8..]);
    assert_eq!(options, [(2, b"alice 10.0.0.1".to_vec()), (9, vec![9])]);
}

#[test]
fn packet_block_has_interface_time_lengths_and_direction() {
    let blocks = written(&datagram("10.0.0.1:9899", "10.0.0.2:9899", b"odd"));
    let body = &blocks[2].body;
    assert_eq!(read_u32(body), 0);
    let nanos = (u64::from(read_u32(&body[4..])) << 32) | u64::from(read_u32(&body[8..]));
    assert_eq!(nanos, 7_000_000_001);
    assert_eq!((read_u32(&body[12..]), read_u32(&body[16..])), (31, 31));
    assert_eq!(read_options(&body[20 + 32..]), [(2, vec![2, 0, 0, 0])]);
}

#[test]
fn ipv4_and_udp_headers_are_correct() {
    let packet = ip_packet(&datagram("10.0.0.1:9899", "10.0.0.2:40000", b"odd"));
    assert_eq!(packet[..10], [0x45, 0b10, 0, 31, 0, 0, 0x40, 0, 64, 17]);
    assert!(sums_up(&[&packet[..20]]));
    assert_eq!(packet[12..20], [10, 0, 0, 1, 10, 0, 0, 2]);
    assert_eq!(packet[20..26], [0x26, 0xab, 0x9c, 0x40, 0, 11]);
    assert!(sums_up(&[&packet[12..20], &[0, 17, 0, 11], &packet[20..]]));
    assert_eq!(&packet[28..], b"odd");
}

#[test]
fn ipv6_and_udp_headers_are_correct() {
    let packet = ip_packet(&datagram("[2001:db8::1]:9899", "[2001:db8::2]:9899", b"even"));
    assert_eq!(packet[..8], [0x60, 0x20, 0, 0, 0, 12, 17, 64]);
    assert!(sums_up(&[&packet[8..40], &[0, 17, 0, 12], &packet[40..]]));
    assert_eq!(packet.len(), 52);
}

#[test]
fn payload_follows_ip_if_port_is_zero() {
    let packet = ip_packet(&datagram("10.0.0.1:0", "10.0.0.2:0", b"chunks"));
    assert_eq!((packet[9], &packet[20..]), (132, &b"chunks"[..]));
    assert!(sums_up(&[&packet[..20]]));
}
