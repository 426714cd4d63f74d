//! Tests of MPTCP options: encoding and decoding, HMACs of other implementations, and priorities when space is short.

use alloc::vec;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr};

use anabranch_types::Seed;

use super::super::{DecodeErrorKind, MAX_OPTIONS, Options, SackBlock, SackBlocks, Segment, Timestamps};
use super::*;
use crate::sequence::SequenceNumber;

mod anything;

const A: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const B: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));

/// From a connection between two Linux kernels (6.18), including the second subflow and the advertised address.
mod linux {
    use super::super::{AddressId, Key, Nonce, Token};

    pub(super) const CLIENT: Key = Key(0x19d4_2a21_125e_8368_u64.to_be_bytes());
    pub(super) const SERVER: Key = Key(0x4436_92e4_f897_1ec9_u64.to_be_bytes());
    pub(super) const TOKEN: Token = Token(0x6a2b_8f48);
    pub(super) const CLIENT_NONCE: Nonce = Nonce(0x7d6d_3f46);
    pub(super) const SERVER_NONCE: Nonce = Nonce(0x6871_f90c);
    pub(super) const ADDRESS: AddressId = AddressId(7);
    pub(super) const ADDRESS_CODE: [u8; 8] = 0xd249_c613_4c21_4c4f_u64.to_be_bytes();
    pub(super) const SYN_ACK_CODE: [u8; 8] = 0x77c8_f2e6_30ce_7955_u64.to_be_bytes();
    pub(super) const ACK_CODE: &str = "ca17c64c1df6d306e222fdcc1e1d03dee6f410b5";
    /// Data sequence number of the client's first byte.
    pub(super) const FIRST_DATA: u64 = 0xf291_d25d_dfd4_a683;
}

fn from_hex(hex: &str) -> Vec<u8> {
    let digits = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digits).collect()
}

fn read(hex: &str) -> Option<MptcpOptions> {
    let mut all = MptcpOptions::default();
    all.take(&from_hex(hex)[2..])?;
    Some(all)
}

#[test]
fn linux_mptcp_options_are_written_as_read() {
    for hex in [
        "1e040181",
        "1e0c0181443692e4f8971ec9",
        "1e14018119d42a21125e8368443692e4f8971ec9",
        "1e1030070a090202d249c6134c214c4f",
        "1e0831070a090202",
        "1e0c10016a2b8f487d6d3f46",
        "1e10100777c8f2e630ce79556871f90c",
        "1e181000ca17c64c1df6d306e222fdcc1e1d03dee6f410b5",
        "1e082001dfd4a683",
        "1e18200de90f7b93f291d25ddfd4a683000000017a60ef0a",
        "1e0c2003f291d25ddfd4a683",
        "1e1c200ff291d25ddfd590e32b4eb82de90f7b93000000010006768f",
        "1e1c201f2b4eb82de90f7b99f291d25ddfd590e3000000000001ca55",
    ] {
        let mut again = Vec::new();
        read(hex).unwrap().write(&mut again);
        assert_eq!(again, from_hex(hex), "{hex}");
    }
}

#[test]
fn token_and_initial_dsn_match_linux() {
    assert_eq!(linux::SERVER.token(), linux::TOKEN);
    let first = linux::CLIENT.initial_data_sequence().wrapping_add(1);
    assert_eq!(first, linux::FIRST_DATA);
}

#[test]
fn hmacs_match_linux() {
    use linux::{CLIENT, CLIENT_NONCE, SERVER, SERVER_NONCE};
    let server = JoinCode::new(SERVER, CLIENT, SERVER_NONCE, CLIENT_NONCE);
    assert_eq!(server.short(), linux::SYN_ACK_CODE);
    assert!(server.is(&linux::SYN_ACK_CODE));
    let client = JoinCode::new(CLIENT, SERVER, CLIENT_NONCE, SERVER_NONCE);
    assert_eq!(client.long().to_vec(), from_hex(linux::ACK_CODE));
    assert!(!client.is(&linux::SYN_ACK_CODE));

    let address = IpAddr::V4(Ipv4Addr::new(10, 9, 2, 2));
    let code = AddressCode::new(SERVER, CLIENT, linux::ADDRESS, address, None);
    assert_eq!(code.short(), linux::ADDRESS_CODE);
    assert!(code.is(linux::ADDRESS_CODE));
    let elsewhere = AddressCode::new(SERVER, CLIENT, linux::ADDRESS, address, Some(80));
    assert!(!elsewhere.is(linux::ADDRESS_CODE));
}

/// Keys, nonces and HMACs from the test vectors of other implementations.
#[test]
fn join_hmacs_match_published_test_vectors() {
    for (key, nonces, code) in [
        (
            b"0b0b0b0b0b0b0b0b",
            b"48692054",
            "8385e24fb4235ac37556b6b886db106284a1da67",
        ),
        (
            b"aaaaaaaaaaaaaaaa",
            b"dddddddd",
            "2c5e219164ff1dca1c4a92318d847bb6b9d44492",
        ),
        (
            b"0102030405060708",
            b"cdcdcdcd",
            "e73b9ba9969969cefb04aa0d6df18ec2fcc075b6",
        ),
    ] {
        let half = |at: usize| Key(key[at..at + 8].try_into().unwrap());
        let nonce = |at: usize| Nonce(u32::from_be_bytes(nonces[at..at + 4].try_into().unwrap()));
        let computed = JoinCode::new(half(0), half(8), nonce(0), nonce(4));
        assert_eq!(computed.long().to_vec(), from_hex(code));
    }
}

#[test]
fn dss_checksums_match_linux() {
    let mut checksum = DataChecksum::new(linux::FIRST_DATA, 1, 0x7a60);
    checksum.add(&vec![b'x'; 0x7a60]);
    assert_eq!(checksum.value(), 0xef0a);
    let end = read("1e1c201f2b4eb82de90f7b99f291d25ddfd590e3000000000001ca55");
    let Some(PrimaryOption::Dss(Dss {
        mapping: Some(mapping),
        ..
    })) = end.unwrap().primary
    else {
        panic!("a mapping of the end");
    };
    assert!(mapping.fin);
    assert_eq!(mapping.payload(), 0);
    let checksum = mapping.begin_checksum(mapping.dsn.nearest(0));
    assert!(checksum.matches(mapping.checksum.unwrap()));
}

#[test]
fn checksum_of_pieces_equals_that_of_the_whole() {
    let mut rng = Seed(3).rng();
    let mut bytes = [0; 300];
    rng.fill(&mut bytes);
    let mut whole = DataChecksum::new(1 << 60, 77, 300);
    whole.add(&bytes);
    for _ in 0..200 {
        let mut pieces = DataChecksum::new(1 << 60, 77, 300);
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(rng.below(rest.len() as u64 + 1) as usize);
            pieces.add(piece);
            rest = behind;
        }
        assert_eq!(pieces.value(), whole.value());
    }
    bytes[17] ^= 1;
    let mut damaged = DataChecksum::new(1 << 60, 77, 300);
    damaged.add(&bytes);
    assert!(!damaged.matches(whole.value()));
}

#[test]
fn truncated_or_contradictory_mptcp_options_are_refused() {
    for (hex, why) in [
        ("1e02", "no subtype"),
        ("1e080181443692e4", "half a key"),
        ("1e10018119d42a21125e836844369200", "one and a half keys"),
        (
            "1e17018119d42a21125e8368443692e4f8971ec9000100",
            "half a checksum",
        ),
        ("1e0a10016a2b8f487d6d", "half a nonce"),
        ("1e062001dfd4", "half an acknowledgement"),
        ("1e062003dfd4a683", "an acknowledgement shorter than it says"),
        (
            "1e0c2001f291d25ddfd4a683",
            "an acknowledgement longer than it says",
        ),
        ("1e042010", "an end without a mapping"),
        ("1e0e2014000000010000000000000000", "an end that nothing covers"),
        ("1e0c20200000000000000000", "NR-SACKs without an acknowledgement"),
        ("1e0820210000000a", "NR-SACKs announced and not there"),
        ("1e1130070a09020200d249c6134c214c4f", "an address of five bytes"),
        ("1e0340", "no address is gone"),
        ("1e045000", "a priority of two bytes"),
        ("1e0b600000000000000000", "half a number"),
        ("1e0d7000000000000000000000", "a key too long"),
        ("1e0380", "a reset without a reason"),
    ] {
        assert_eq!(read(hex), None, "{why}");
    }
}

#[test]
fn second_primary_option_in_a_segment_is_refused() {
    let mut all = MptcpOptions::default();
    all.take(&from_hex("20010000000a")).unwrap();
    assert_eq!(all.take(&from_hex("20010000000a")), None);
    assert_eq!(all.take(&from_hex("0181")), None);
    all.take(&from_hex("51")).unwrap();
    assert_eq!(all.others, [MptcpOption::Priority { backup: true }]);
}

#[test]
fn unsupported_versions_algorithms_and_subtypes_are_ignored() {
    for hex in ["1e0c0081443692e4f8971ec9", "1e0401c1", "1e040180", "1e06f0010203"] {
        assert_eq!(read(hex), Some(MptcpOptions::default()), "{hex}");
    }
}

#[test]
fn handshake_option_of_another_step_is_refused() {
    let syn = read("1e040181").unwrap();
    let answer = read("1e0c0181443692e4f8971ec9").unwrap();
    let third = read("1e181000ca17c64c1df6d306e222fdcc1e1d03dee6f410b5").unwrap();
    let segment = |mptcp: &MptcpOptions, kind, acknowledges: bool| Segment {
        kind,
        acknowledgement: acknowledges.then_some(SequenceNumber(1)),
        options: Options {
            mptcp: mptcp.clone(),
            ..Options::default()
        },
        ..Segment::default()
    };
    for (mptcp, kind, acknowledges) in [
        (&syn, Kind::Syn, false),
        (&answer, Kind::Syn, true),
        (&third, Kind::Plain, true),
    ] {
        for (other_kind, other_acknowledges) in [(Kind::Syn, false), (Kind::Syn, true), (Kind::Plain, true)] {
            let mut bytes = Vec::new();
            segment(mptcp, other_kind, other_acknowledges).write(A, B, &mut bytes);
            let result = Segment::parse(&bytes, A, B).map_err(|error| error.kind);
            if (kind, acknowledges) == (other_kind, other_acknowledges) {
                assert_eq!(result, Ok(segment(mptcp, kind, acknowledges)));
            } else {
                assert_eq!(result, Err(DecodeErrorKind::WrongStep));
            }
        }
    }
}

fn blocks(edges: &[(u32, u32)]) -> Vec<RelativeBlock> {
    let block = |&(start, end): &(u32, u32)| RelativeBlock::new(start, end).unwrap();
    edges.iter().map(block).collect()
}

#[test]
fn nr_sack_blocks_take_six_or_eight_bytes_and_padding() {
    let edges = blocks(&[(1_000, 2_000), (9, 10), (1 << 23, (1 << 24) - 1)]);
    for (form, lengths) in [(NrSackForm::Short, [8, 12, 20]), (NrSackForm::Long, [8, 16, 24])] {
        for (count, length) in (1..).zip(lengths) {
            let nr_sacks = NrSacks::new(form, edges.iter().copied().take(count));
            assert_eq!(nr_sacks.bytes(), length);
            assert_eq!(nr_sacks.blocks(form), Some(edges[..count].to_vec()));
        }
    }
}

#[test]
fn short_nr_sack_form_leaves_out_blocks_out_of_range() {
    let edges = blocks(&[(5, 1 << 24), (1, 2)]);
    let nr_sacks = NrSacks::new(NrSackForm::Short, edges.iter().copied());
    assert_eq!(nr_sacks.blocks(NrSackForm::Short), Some(blocks(&[(1, 2)])));
    let nr_sacks = NrSacks::new(NrSackForm::Long, edges.iter().copied());
    assert_eq!(nr_sacks.blocks(NrSackForm::Long), Some(edges));
}

#[test]
fn invalid_nr_sack_blocks_are_refused() {
    assert_eq!(RelativeBlock::new(0, 5), None, "the first number is missing");
    assert_eq!(RelativeBlock::new(5, 5), None);
    let backwards = NrSacks::parse(1, &[0, 0, 0, 9, 0, 0, 0, 3]).unwrap();
    assert_eq!(backwards.blocks(NrSackForm::Long), None);
    let two = NrSacks::new(NrSackForm::Long, blocks(&[(1, 2), (3, 4)]));
    assert_eq!(two.blocks(NrSackForm::Short), None, "of another form");
}

#[test]
fn nr_sack_form_is_the_longer_one_offered() {
    use NrSackForm::{Long, Short};
    assert_eq!(NrSackForm::agreed(Some(Short), Some(Short)), Some(Short));
    assert_eq!(NrSackForm::agreed(Some(Short), Some(Long)), Some(Long));
    assert_eq!(NrSackForm::agreed(Some(Long), None), None);
}

#[test]
fn short_dsn_extends_to_the_nearest_long_one() {
    let near = (7 << 32) + 5;
    assert_eq!(Dsn::Short(9).nearest(near), (7 << 32) + 9);
    assert_eq!(Dsn::Short(u32::MAX).nearest(near), (7 << 32) - 1);
    assert_eq!(Dsn::Long(3).nearest(near), 3);
}

fn crowded(primary: PrimaryOption, others: Vec<MptcpOption>) -> Options {
    let sack = [1_u32, 3, 5].map(|start| SackBlock {
        start: SequenceNumber(start),
        end: SequenceNumber(start + 1),
    });
    Options {
        timestamps: Some(Timestamps::default()),
        sack: sack.into_iter().collect::<SackBlocks>(),
        mptcp: MptcpOptions {
            primary: Some(primary),
            others,
        },
        ..Options::default()
    }
}

#[test]
fn nr_sacks_make_room_for_sacks_and_sacks_for_other_options() {
    let ack = DataAck {
        number: Dsn::Short(1),
        nr_sacks: NrSacks::new(NrSackForm::Short, blocks(&[(1, 2), (3, 4), (5, 6)])),
    };
    let signal = Dss {
        ack: Some(ack),
        mapping: None,
    };
    let mut options = crowded(PrimaryOption::Dss(signal), vec![]);
    options.sack = options.sack.iter().take(1).collect();
    assert_eq!(options.fit(), []);
    let told = |options: &Options| match &options.mptcp.primary {
        Some(PrimaryOption::Dss(Dss { ack: Some(ack), .. })) => ack.nr_sacks.len(),
        _ => panic!("an acknowledgement of data"),
    };
    assert_eq!((options.sack.iter().len(), told(&options)), (1, 1));

    let priority = MptcpOption::Priority { backup: true };
    let mut options = crowded(PrimaryOption::Dss(signal), vec![priority.clone()]);
    assert_eq!(options.fit(), []);
    assert_eq!((options.sack.iter().len(), told(&options)), (1, 0));
    assert_eq!(options.mptcp.others, [priority]);
    assert!(options.len() <= MAX_OPTIONS);
}

#[test]
fn mptcp_options_without_room_are_returned() {
    let mapping = Mapping {
        dsn: Dsn::Long(1),
        ssn: 1,
        length: 1_400,
        fin: false,
        checksum: Some(0),
    };
    let signal = Dss {
        ack: Some(DataAck::cumulative(Dsn::Long(1))),
        mapping: Some(mapping),
    };
    let others = vec![
        MptcpOption::Priority { backup: false },
        MptcpOption::Fail { data: 1 },
    ];
    let mut options = crowded(PrimaryOption::Dss(signal), others.clone());
    assert_eq!(options.fit(), others);
    assert!(options.sack.is_empty());
    assert_eq!(
        options.len(),
        MAX_OPTIONS,
        "the largest signal fits beside timestamps"
    );
    assert!(options.timestamps.is_some());
}

#[test]
fn random_mptcp_options_are_read_as_written() {
    let mut rng = Seed(11).rng();
    for _ in 0..20_000 {
        let (kind, acknowledges, mptcp) = anything::any(&mut rng);
        let mut segment = Segment {
            kind,
            acknowledgement: acknowledges.then_some(SequenceNumber(5)),
            options: Options {
                timestamps: Some(Timestamps { value: 1, echo: 2 }),
                mptcp,
                ..Options::default()
            },
            ..Segment::default()
        };
        segment.options.fit();
        let mut bytes = Vec::new();
        segment.write(A, B, &mut bytes);
        assert_eq!(bytes.len(), super::super::HEADER + segment.options.len());
        assert_eq!(Segment::parse(&bytes, A, B), Ok(segment));
    }
}

#[test]
fn damaged_mptcp_options_are_refused_or_rewritable() {
    let mut rng = Seed(12).rng();
    let mut read_again = 0;
    for _ in 0..50_000 {
        let (_, _, mptcp) = anything::any(&mut rng);
        let mut bytes = Vec::new();
        mptcp.write(&mut bytes);
        let length = usize::from(bytes[1]);
        let mut option = bytes[2..length].to_vec();
        match rng.below(3) {
            0 => option.truncate(rng.below(option.len() as u64 + 1) as usize),
            1 => option.push(rng.next_u32() as u8),
            _ => {
                let at = rng.below(option.len().min(2) as u64) as usize;
                option[at] ^= 1 << rng.below(8);
            }
        }
        let mut damaged = MptcpOptions::default();
        if damaged.take(&option).is_none() {
            continue;
        }
        read_again += 1;
        let mut bytes = Vec::new();
        damaged.write(&mut bytes);
        let mut again = MptcpOptions::default();
        if damaged != MptcpOptions::default() {
            again.take(&bytes[2..usize::from(bytes[1])]).unwrap();
        }
        assert_eq!(again, damaged);
    }
    assert!(read_again > 1_000, "{read_again}");
}
