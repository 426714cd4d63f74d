//! Tests of segments in handmade frames.

use anabranch_types::{Tsn, VerificationTag};
use anabranch_wire::{CommonHeader, GapBlock, OutboundSack, PacketBuilder};

use super::{Protocol, Segment, Segments};
use crate::capture::{Frame, Link};

const NEAR: [u8; 4] = [10, 0, 0, 1];
const FAR: [u8; 4] = [10, 1, 0, 1];

fn frame(link: Link, bytes: Vec<u8>) -> Frame {
    Frame { at: 7, link, bytes }
}

fn sack() -> Vec<u8> {
    let header = CommonHeader {
        source_port: 5_000,
        destination_port: 5_001,
        tag: VerificationTag(9),
    };
    let mut bytes = Vec::new();
    let mut packet = PacketBuilder::new(&mut bytes, header, 1_000);
    let blocks = [GapBlock { start: 2, end: 3 }];
    let sack = OutboundSack {
        cumulative: Tsn(u32::MAX),
        a_rwnd: 1,
        packet_count: None,
        blocks: &blocks,
        duplicates: &[],
    };
    packet.push(&sack).unwrap();
    packet.finish();
    bytes
}

fn in_udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    etherparse::PacketBuilder::ipv4(NEAR, FAR, 64)
        .udp(40_000, port)
        .write(&mut bytes, payload)
        .unwrap();
    bytes
}

#[test]
fn sctp_over_udp_is_parsed_and_gap_blocks_wrap() {
    let segment = Segment::of(1, &frame(Link::Ip, in_udp(9_899, &sack()))).unwrap();
    assert_eq!((segment.ports, segment.from), ((5_000, 5_001), NEAR.into()));
    let acknowledges = segment.acknowledges.unwrap();
    assert_eq!(acknowledges.before, 0);
    assert_eq!(acknowledges.blocks.first(), Some(&(1..3)));
    assert_eq!(segment.label, format!("SACK {} [1–2]", u32::MAX));
}

/// Sealed datagrams without their keys look like anything.
#[test]
fn known_udp_port_needs_a_checksum_that_is_correct_or_zero() {
    let of = |packet: &[u8]| Segment::of(1, &frame(Link::Ip, in_udp(9_899, packet)));
    let mut other = sack();
    other[8] ^= 1;
    assert!(of(&other).is_none());
    other[8..12].fill(0);
    assert!(of(&other).is_some());
}

#[test]
fn sctp_on_other_udp_port_needs_a_correct_checksum() {
    assert!(Segment::of(1, &frame(Link::Ip, in_udp(4_000, &sack()))).is_some());
    let mut wrong = sack();
    wrong[12] ^= 1;
    assert!(Segment::of(1, &frame(Link::Ip, in_udp(4_000, &wrong))).is_none());
}

/// A SACK and the captured start of a DATA chunk.
#[test]
fn truncated_sctp_packet_yields_captured_chunks() {
    let mut packet = sack();
    let mut data = vec![0, 3, 0, 116];
    data.extend(77u32.to_be_bytes());
    data.resize(116, 0);
    packet.extend(data);
    packet[8..12].fill(0);
    let frame_of = |kept: usize| {
        let mut bytes = in_udp(9_899, &packet);
        bytes.truncate(bytes.len() - packet.len() + kept);
        Segment::of(1, &frame(Link::Ip, bytes)).unwrap()
    };
    let [whole, cut, shorter] = [packet.len(), sack().len() + 16, sack().len() + 15].map(frame_of);
    assert_eq!((&cut.label, &cut.carries), (&whole.label, &whole.carries));
    assert!(cut.label.ends_with("DATA 77 (100 B)"), "{}", cut.label);
    assert!(
        shorter.carries.is_empty() && shorter.acknowledges.is_some(),
        "{shorter:?}"
    );
}

#[test]
fn truncated_tcp_segment_takes_length_from_ip() {
    let written = |v6: bool| {
        let mut bytes = Vec::new();
        let frame = etherparse::PacketBuilder::ethernet2([1; 6], [2; 6]);
        let packet = match v6 {
            false => frame.ipv4(NEAR, FAR, 64),
            true => frame.ipv6([1; 16], [2; 16], 64),
        };
        packet
            .tcp(80, 40_000, 1_000, 1_000)
            .write(&mut bytes, &[7; 1_448])
            .unwrap();
        bytes
    };
    for v6 in [false, true] {
        let whole = written(v6);
        let cut = whole[..96].to_vec();
        let [whole, cut] = [whole, cut].map(|bytes| Segment::of(1, &frame(Link::Ethernet, bytes)).unwrap());
        let [carried] = &cut.carries[..] else {
            panic!("{cut:?}");
        };
        assert_eq!(*carried, 1_000..2_448);
        assert_eq!((cut.carries, cut.label), (whole.carries, whole.label));
    }
}

#[test]
fn tcp_flags_numbers_and_sack_blocks_are_parsed() {
    let mut bytes = Vec::new();
    etherparse::PacketBuilder::ethernet2([1; 6], [2; 6])
        .ipv4(NEAR, FAR, 64)
        .tcp(80, 40_000, u32::MAX - 1, 1_000)
        .ack(77)
        .psh()
        .options(&[etherparse::TcpOptionElement::SelectiveAcknowledgement(
            (90, 100),
            [Some((110, 120)), None, None],
        )])
        .unwrap()
        .write(&mut bytes, b"hello")
        .unwrap();
    let segment = Segment::of(1, &frame(Link::Ethernet, bytes)).unwrap();
    assert_eq!(segment.protocol, Protocol::Tcp);
    let [carried] = &segment.carries[..] else {
        panic!("one range, which wraps");
    };
    assert_eq!((carried.start, carried.end), (u32::MAX - 1, 3));
    let acknowledges = segment.acknowledges.unwrap();
    assert_eq!(
        (acknowledges.before, acknowledges.blocks),
        (77, vec![90..100, 110..120])
    );
    assert_eq!(segment.label, "PSH 4294967294–2 (5 B) Ack 77 [90–99, 110–119]");
}

#[test]
fn other_frames_are_ignored() {
    assert!(Segment::of(1, &frame(Link::Other(147), vec![1; 40])).is_none());
    assert!(Segment::of(1, &frame(Link::Ethernet, vec![0; 60])).is_none());
    assert!(Segment::of(1, &frame(Link::Loopback, vec![2])).is_none());
    assert!(Segment::of(1, &frame(Link::Ip, in_udp(53, b"a question for a name server"))).is_none());
}

/// Only ports and tag tell a conversation; zeros in their place would be those of another.
#[test]
fn packet_without_its_tag_is_left_out() {
    let of = |kept: usize| {
        let mut bytes = in_udp(9_899, &sack());
        bytes.truncate(bytes.len() - sack().len() + kept);
        Segment::of(1, &frame(Link::Ip, bytes))
    };
    assert_eq!(of(7), None);
    let cut = of(8).unwrap();
    let tag = VerificationTag(9);
    let protocol = Protocol::Sctp { tag, peer_tag: None };
    assert_eq!((cut.ports, cut.protocol), ((5_000, 5_001), protocol));
    assert_eq!((cut.label.as_str(), cut.acknowledges), ("…", None));
}

/// The tag joins the INIT to what answers it.
#[test]
fn truncated_init_tells_its_initiate_tag() {
    let mut packet = vec![0x13, 0x88, 0x13, 0x89];
    packet.resize(12, 0);
    packet.extend([1, 0, 0, 100]);
    packet.extend(77u32.to_be_bytes());
    packet.resize(112, 0);
    let mut bytes = in_udp(9_899, &packet);
    bytes.truncate(bytes.len() - packet.len() + 20);
    let segment = Segment::of(1, &frame(Link::Ip, bytes)).unwrap();
    let protocol = Protocol::Sctp {
        tag: VerificationTag::ZERO,
        peer_tag: Some(VerificationTag(77)),
    };
    assert_eq!((segment.protocol, segment.label.as_str()), (protocol, "INIT …"));
}

/// The checksum of a truncated packet is unknown, but a whole one came before it.
#[test]
fn truncated_packets_of_a_known_flow_are_parsed_on_any_port() {
    let whole = in_udp(4_000, &sack());
    let cut = whole[..whole.len() - 4].to_vec();
    let [whole, cut] = [whole, cut].map(|bytes| frame(Link::Ip, bytes));
    let mut reader = Segments::default();
    assert_eq!(reader.read(1, &cut), None, "it may be anything");
    assert!(reader.read(2, &whole).is_some());
    let cut = reader.read(3, &cut).unwrap();
    assert_eq!(cut.ports, (5_000, 5_001));
}

#[test]
fn truncated_tcp_options_do_not_hide_a_segment() {
    let mut bytes = Vec::new();
    etherparse::PacketBuilder::ethernet2([1; 6], [2; 6])
        .ipv4(NEAR, FAR, 64)
        .tcp(80, 40_000, 1_000, 1_000)
        .ack(77)
        .options(&[etherparse::TcpOptionElement::Timestamp(1, 2)])
        .unwrap()
        .write(&mut bytes, b"hello")
        .unwrap();
    let of = |bytes: &[u8]| Segment::of(1, &frame(Link::Ethernet, bytes.to_vec()));
    let (whole, cut) = (of(&bytes).unwrap(), of(&bytes[..14 + 20 + 24]).unwrap());
    assert_eq!(
        (cut.ports, cut.carries, cut.label),
        (whole.ports, whole.carries, whole.label)
    );
    assert_eq!(of(&bytes[..14 + 20 + 13]), None);
}
