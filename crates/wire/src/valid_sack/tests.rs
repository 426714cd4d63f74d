//! Tests of SACK validation.

use alloc::collections::BTreeSet;
use alloc::string::ToString;
use alloc::vec::Vec;

use anabranch_types::{IntervalSet, Seed, Tsn, UnwrappedTsn};

use super::{SackError, ValidSack};
use crate::{Chunk, GapBlock, OutboundNrSack, OutboundSack, RawChunk, WriteChunk, Writer};

/// Parses a SACK of `cumulative` and `blocks` while 100 is acknowledged and everything below 200 was sent.
fn parse(cumulative: u32, blocks: &[(u16, u16)]) -> Result<ValidSack, SackError> {
    parse_at(UnwrappedTsn::first(Tsn(100)), 100, cumulative, blocks)
}

fn parse_at(
    ack_point: UnwrappedTsn,
    sent: u64,
    cumulative: u32,
    blocks: &[(u16, u16)],
) -> Result<ValidSack, SackError> {
    let blocks: Vec<GapBlock> = blocks
        .iter()
        .map(|&(start, end)| GapBlock { start, end })
        .collect();
    let outbound = OutboundSack {
        cumulative: Tsn(cumulative),
        a_rwnd: 5_000,
        packet_count: Some(1),
        blocks: &blocks,
        duplicates: &[Tsn(1), Tsn(2)],
    };
    let mut bytes = Vec::new();
    outbound.write(&mut Writer::new(&mut bytes, outbound.wire_len()));
    let raw = RawChunk {
        kind: 3,
        flags: bytes[1],
        value: &bytes[4..],
        bytes: &bytes,
        at: 0,
    };
    let Ok(Chunk::Sack(sack)) = raw.decode() else {
        panic!("not a SACK")
    };
    ValidSack::parse(&sack, ack_point, ack_point + sent, Default::default())
}

/// The blocks as offsets from the cumulative TSN.
fn offsets(sack: &ValidSack) -> alloc::string::String {
    let shifted: IntervalSet = sack
        .blocks
        .iter()
        .map(|range| range.start - sack.cumulative.0..range.end - sack.cumulative.0)
        .collect();
    shifted.to_string()
}

#[test]
fn a_valid_sack_is_unchanged() {
    let sack = parse(110, &[(2, 3), (7, 7)]).expect("honest");
    assert_eq!(sack.cumulative.wrap(), Tsn(110));
    assert_eq!(
        (sack.a_rwnd, sack.packet_count, sack.duplicates),
        (5_000, Some(1), 2)
    );
    assert_eq!(offsets(&sack), "2-3 7");
}

#[test]
fn an_overtaken_sack_is_stale() {
    assert_eq!(parse(99, &[]), Err(SackError::Stale));
    assert!(parse(100, &[]).is_ok(), "a repeated one is not");
}

#[test]
fn sack_of_unsent_tsns_is_refused() {
    assert!(parse(199, &[]).is_ok());
    assert_eq!(parse(200, &[]), Err(SackError::AcksUnsent));
    assert!(parse(190, &[(2, 9)]).is_ok());
    assert_eq!(parse(190, &[(2, 10)]), Err(SackError::AcksUnsent));
}

#[test]
fn unordered_gap_blocks_are_sorted_and_merged() {
    let sack = parse(110, &[(20, 25), (2, 3), (4, 6), (24, 30), (2, 2)]).expect("honest enough");
    assert_eq!(offsets(&sack), "2-6 20-30");
}

#[test]
fn empty_and_reversed_blocks_are_dropped() {
    let sack = parse(110, &[(0, 5), (9, 8), (0, 0), (65_535, 1), (12, 12)]).expect("honest enough");
    assert_eq!(offsets(&sack), "12");
}

#[test]
fn blocks_reach_across_the_wrap_of_the_tsn() {
    let ack_point = UnwrappedTsn::first(Tsn(u32::MAX - 2));
    let sack = parse_at(ack_point, 20, u32::MAX, &[(2, 4)]).expect("honest");
    assert_eq!(sack.blocks.min(), Some(ack_point.0 + 4));
    let sack = parse_at(ack_point, 20, 5, &[(2, 4)]).expect("honest");
    assert_eq!(sack.cumulative - ack_point, 8);
}

#[test]
fn allocations_are_reused_without_their_content() {
    let outbound = OutboundSack {
        cumulative: Tsn(100),
        a_rwnd: 0,
        packet_count: None,
        blocks: &[],
        duplicates: &[],
    };
    let mut bytes = Vec::new();
    outbound.write(&mut Writer::new(&mut bytes, outbound.wire_len()));
    let raw = RawChunk {
        kind: 3,
        flags: 0,
        value: &bytes[4..],
        bytes: &bytes,
        at: 0,
    };
    let Ok(Chunk::Sack(sack)) = raw.decode() else {
        panic!("not a SACK")
    };
    let ack_point = UnwrappedTsn::first(Tsn(100));
    let earlier: IntervalSet = core::iter::once(3..5).collect();
    let parsed =
        ValidSack::parse(&sack, ack_point, ack_point + 1, [earlier.clone(), earlier]).expect("honest");
    assert!(parsed.blocks.is_empty());
}

#[test]
fn random_blocks_agree_with_a_set_of_single_numbers() {
    for seed in 0..500 {
        let mut rng = Seed(seed).rng();
        let mut blocks: Vec<(u16, u16)> = (0..rng.below(12))
            .map(|_| (rng.below(60) as u16, rng.below(60) as u16))
            .collect();
        if rng.chance(1, 2) {
            blocks.sort_unstable();
        }
        let sack = parse(110, &blocks).expect("all were sent");
        let listed: BTreeSet<u64> = sack
            .blocks
            .iter()
            .flatten()
            .map(|tsn| tsn - sack.cumulative.0)
            .collect();
        let naive: BTreeSet<u64> = blocks
            .iter()
            .filter(|(start, end)| *start > 0 && start <= end)
            .flat_map(|&(start, end)| u64::from(start)..=u64::from(end))
            .collect();
        assert_eq!(listed, naive, "seed {seed}: {blocks:?}");
    }
}

/// Parses an NR-SACK of 100 and these blocks while 100 is acknowledged and everything below 200 was sent.
fn parse_nr(renegable: &[(u16, u16)], kept: &[(u16, u16)]) -> Result<ValidSack, SackError> {
    let [renegable, kept] = [renegable, kept].map(|blocks| -> Vec<GapBlock> {
        let blocks = blocks.iter();
        blocks.map(|&(start, end)| GapBlock { start, end }).collect()
    });
    let outbound = OutboundNrSack {
        cumulative: Tsn(100),
        a_rwnd: 5_000,
        packet_count: None,
        blocks: &renegable,
        non_renegable: &kept,
        duplicates: &[],
    };
    let mut bytes = Vec::new();
    outbound.write(&mut Writer::new(&mut bytes, outbound.wire_len()));
    let raw = RawChunk {
        kind: 0x10,
        flags: bytes[1],
        value: &bytes[4..],
        bytes: &bytes,
        at: 0,
    };
    let Ok(Chunk::NrSack(sack)) = raw.decode() else {
        panic!("not an NR-SACK")
    };
    let ack_point = UnwrappedTsn::first(Tsn(100));
    ValidSack::parse_nr(&sack, ack_point, ack_point + 100, Default::default())
}

#[test]
fn nr_sack_lists_are_merged_and_the_second_is_kept() {
    let sack = parse_nr(&[(2, 3), (9, 9)], &[(5, 6)]).unwrap();
    assert_eq!(offsets(&sack), "2-3 5-6 9");
    let first = sack.cumulative.0;
    assert!(sack.kept.iter().flatten().eq(first + 5..first + 7));

    let sack = parse_nr(&[(2, 6)], &[(4, 9)]).unwrap();
    assert_eq!(offsets(&sack), "2-9", "a peer that names some in both lists");
    assert!(sack.kept.iter().flatten().eq(first + 4..first + 10));
}

#[test]
fn nr_sack_of_unsent_tsns_is_refused() {
    assert_eq!(parse_nr(&[], &[(2, 100)]), Err(SackError::AcksUnsent));
    assert_eq!(parse_nr(&[(2, 100)], &[]), Err(SackError::AcksUnsent));
    assert!(parse_nr(&[], &[(0, 5), (7, 6)]).unwrap().kept.is_empty());
}
