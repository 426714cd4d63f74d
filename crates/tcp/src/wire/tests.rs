//! Tests of the TCP segment format: encoding, decoding and rejection of invalid segments.

use alloc::vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use anabranch_types::Seed;

use super::*;

const A: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const B: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));

fn sack() -> SackBlocks {
    let block = |start| SackBlock {
        start: SequenceNumber(start),
        end: SequenceNumber(start + 1_000),
    };
    [3_000, 7_000, 1_000].map(block).into_iter().collect()
}

fn full() -> Segment<'static> {
    Segment {
        source_port: 40_000,
        destination_port: 80,
        sequence: SequenceNumber(7),
        acknowledgement: Some(SequenceNumber(9)),
        push: true,
        window: 4_096,
        options: Options {
            timestamps: Some(Timestamps { value: 5, echo: 6 }),
            sack: sack(),
            ..Options::default()
        },
        payload: b"odd",
        ..Segment::default()
    }
}

#[test]
fn segments_are_read_as_written() {
    let syn = Segment {
        kind: Kind::Syn,
        options: Options {
            mss: Some(1_460),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: Some(Timestamps { value: 1, echo: 0 }),
            ..Options::default()
        },
        ..Segment::default()
    };
    let loopback = IpAddr::V6(Ipv6Addr::LOCALHOST);
    for (segment, source, destination) in [(syn, A, B), (full(), A, B), (full(), loopback, loopback)] {
        let mut bytes = Vec::new();
        segment.write(source, destination, &mut bytes);
        assert_eq!(
            bytes.len(),
            HEADER + segment.options.len() + segment.payload.len()
        );
        assert_eq!(Segment::parse(&bytes, source, destination), Ok(segment));
    }
}

#[test]
fn three_sack_blocks_fit_with_timestamps_four_without() {
    let mut options = full().options;
    assert_eq!(options.room(), 0);
    options.sack = SackBlocks::default();
    assert_eq!(SackBlocks::fitting(options.room()), 3);
    assert_eq!(SackBlocks::fitting(MAX_OPTIONS), 4);
    assert_eq!(SackBlocks::fitting(3), 0);
}

#[test]
fn tcp_checksum_covers_every_byte_and_the_addresses() {
    let mut bytes = Vec::new();
    full().write(A, B, &mut bytes);
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        assert!(Segment::parse(&damaged, A, B).is_err(), "byte {at}");
    }
    let elsewhere = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 3));
    let error = Segment::parse(&bytes, A, elsewhere).unwrap_err();
    assert_eq!(error.kind, DecodeErrorKind::BadChecksum);
}

/// A segment with these raw options.
fn with_options(options: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; HEADER];
    bytes[12] = ((HEADER + options.len()) as u8 / 4) << 4;
    bytes.extend_from_slice(options);
    let sum = checksum::checksum(&bytes, A, B).unwrap();
    bytes[16..18].copy_from_slice(&sum.to_be_bytes());
    bytes
}

#[test]
fn tcp_options_of_wrong_length_are_refused() {
    for options in [
        [8, 10, 0, 0],
        [3, 0, 0, 0],
        [3, 1, 0, 0],
        [2, 3, 0, 0],
        [5, 2, 0, 0],
        [1, 1, 1, 2],
    ] {
        let error = Segment::parse(&with_options(&options), A, B).unwrap_err();
        assert_eq!(error.kind, DecodeErrorKind::BadOption, "{options:?}");
    }
}

#[test]
fn unknown_tcp_options_are_ignored_and_scale_is_limited() {
    let bytes = with_options(&[254, 4, 9, 9, 3, 3, 99, 1, 4, 2, 0, 77]);
    let options = Segment::parse(&bytes, A, B).unwrap().options;
    assert_eq!(options.window_scale, Some(14));
    assert!(options.sack_permitted);
}

#[test]
fn syn_with_fin_or_rst_is_refused() {
    assert_eq!(kind_of(SYN | FIN), None);
    assert_eq!(kind_of(SYN | RST | ACK), None);
    assert_eq!(kind_of(RST | FIN | ACK), Some(Kind::Reset));
}

#[test]
fn random_bytes_are_refused_or_read_as_written() {
    let mut rng = Seed(7).rng();
    for round in 0_usize..20_000 {
        let mut bytes = vec![0; round % 90];
        rng.fill(&mut bytes);
        if let Some(flags) = bytes.get_mut(13) {
            *flags &= ACK | PSH | SYN;
        }
        if bytes.len() > HEADER {
            bytes[16..18].fill(0);
            let sum = checksum::checksum(&bytes, A, B).unwrap();
            bytes[16..18].copy_from_slice(&sum.to_be_bytes());
        }
        let Ok(segment) = Segment::parse(&bytes, A, B) else {
            continue;
        };
        let mut again = Vec::new();
        segment.write(A, B, &mut again);
        let reread = Segment::parse(&again, A, B).unwrap();
        assert_eq!(reread, segment);
    }
}
