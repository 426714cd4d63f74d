//! Tests of packets: iteration over chunks within the bounds of the packet.

use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use anabranch_types::VerificationTag;

use super::{CommonHeader, Packet};
use crate::captures::{self, bytes};
use crate::{DecodeError, DecodeErrorKind};

/// A common header with ports 1 and 2, then `chunks`.
fn packet(chunks: &[u8]) -> Vec<u8> {
    [&[0, 1, 0, 2, 0, 0, 0, 9, 0, 0, 0, 0], chunks].concat()
}

/// Types and values of the chunks, up to the first error.
fn walk(chunks: &[u8]) -> (Vec<(u8, Vec<u8>)>, Option<DecodeError>) {
    let bytes = packet(chunks);
    let items: Vec<_> = Packet::parse_unverified(&bytes)
        .expect("a common header")
        .chunks()
        .collect();
    let error = items.iter().find_map(|item| item.err());
    (
        items
            .into_iter()
            .flatten()
            .map(|chunk| (chunk.kind, chunk.value.to_vec()))
            .collect(),
        error,
    )
}

#[test]
fn captured_packets_have_valid_checksums() {
    for (name, hex) in captures::ALL {
        let bytes = bytes(hex);
        let packet = Packet::parse(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(
            (packet.len(), packet.bytes()),
            (bytes.len(), &bytes[..]),
            "{name}"
        );
    }
}

//= rfc9260 6.8-3, 6.8-4
#[test]
fn a_flipped_bit_anywhere_makes_the_checksum_wrong() {
    let original = bytes(captures::DATA);
    for bit in 0..8 * original.len() {
        let mut flipped = original.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let error = Packet::parse(&flipped).expect_err("it was changed");
        assert!(
            matches!(
                error.kind,
                DecodeErrorKind::BadChecksum | DecodeErrorKind::ZeroPort
            ),
            "bit {bit}: {error}"
        );
    }
}

#[test]
fn header_has_ports_and_tag_and_makes_a_reply() {
    let bytes = bytes(captures::COOKIE_ACK);
    let header = Packet::parse(&bytes).expect("a valid packet").header();
    let tag = VerificationTag(0xbb65_2475);
    assert_eq!(
        header,
        CommonHeader {
            source_port: 5001,
            destination_port: 5000,
            tag
        }
    );
    let reply = header.reply(VerificationTag(7));
    assert_eq!(reply.to_string(), "5000>5001 tag=00000007");
}

//= rfc9260 3.1-1, 3.1-2
#[test]
fn short_packets_and_zero_ports_are_refused() {
    let short = Packet::parse(&[0; 11]).expect_err("eleven bytes");
    assert_eq!(
        short,
        DecodeError {
            at: 0,
            kind: DecodeErrorKind::TooShort
        }
    );
    let mut no_destination = packet(&[]);
    no_destination[3] = 0;
    let error = Packet::parse_unverified(&no_destination).expect_err("port zero");
    assert_eq!(
        error,
        DecodeError {
            at: 2,
            kind: DecodeErrorKind::ZeroPort
        }
    );
}

//= rfc4895 5.1-6
//= rfc9260 3.2-4
#[test]
fn padding_between_chunks_is_skipped_and_belongs_to_none() {
    let (chunks, error) = walk(&[11, 0, 0, 5, 0xaa, 0xff, 0xff, 0xff, 12, 0, 0, 4]);
    assert_eq!((chunks, error), (vec![(11, vec![0xaa]), (12, vec![])], None));
}

#[test]
fn the_last_chunk_may_lack_its_padding() {
    assert_eq!(walk(&[11, 0, 0, 6, 1, 2]), (vec![(11, vec![1, 2])], None));
}

#[test]
fn iteration_ends_at_a_length_below_the_header() {
    let (chunks, error) = walk(&[11, 0, 0, 4, 11, 0, 0, 3, 11, 0, 0, 4]);
    assert_eq!(chunks.len(), 1);
    assert_eq!(
        error,
        Some(DecodeError {
            at: 16,
            kind: DecodeErrorKind::BadLength
        })
    );
}

//= rfc9260 6.10-7
#[test]
fn iteration_ends_at_a_chunk_beyond_the_packet() {
    let (chunks, error) = walk(&[11, 0, 0, 9, 0, 0, 0, 0]);
    assert!(chunks.is_empty());
    assert_eq!(error.map(|error| error.kind), Some(DecodeErrorKind::Truncated));
}

#[test]
fn stray_bytes_behind_the_last_chunk_are_an_error() {
    let (chunks, error) = walk(&[11, 0, 0, 4, 0]);
    assert_eq!(chunks.len(), 1);
    assert_eq!(error.map(|error| error.kind), Some(DecodeErrorKind::Truncated));
}
