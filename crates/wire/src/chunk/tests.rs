//! Tests of each chunk: captured from another implementation, written and read again, malformed.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use anabranch_types::{AsconfNumber, Fsn, Mid, Ppid, ReConfigNumber, Ssn, StreamId, Tsn, VerificationTag};

use super::*;
use crate::captures::{self, bytes};
use crate::{
    AddressRequest, Cause, CauseWriter, CommonHeader, CorrelationId, DecodeErrorKind, HmacId, Packet,
    PacketBuilder, ParameterWriter, ReConfigResult, checksum, dissect,
};

/// The text form of the chunks of a captured packet, without the common header.
fn words(hex: &str) -> String {
    let line = dissect::line(&bytes(hex));
    line.splitn(3, ' ')
        .nth(2)
        .expect("chunks behind ports and tag")
        .into()
}

/// A packet with `chunk` only.
fn packet_of(chunk: &impl WriteChunk) -> Vec<u8> {
    let header = CommonHeader {
        source_port: 1,
        destination_port: 2,
        tag: VerificationTag(3),
    };
    let mut buffer = Vec::new();
    let mut packet = PacketBuilder::new(&mut buffer, header, 65_535);
    packet.push(chunk).expect("it fits");
    packet.finish();
    buffer
}

/// The only chunk of `packet`.
fn only(packet: &[u8]) -> Chunk<'_> {
    let mut chunks = Packet::parse(packet).expect("a sealed packet").chunks();
    let chunk = chunks
        .next()
        .expect("a chunk")
        .and_then(RawChunk::decode)
        .expect("well formed");
    assert!(chunks.next().is_none());
    chunk
}

/// The error of decoding a chunk of `kind` with `value`.
fn decode_error(kind: u8, value: &[u8]) -> Option<DecodeErrorKind> {
    let raw = RawChunk {
        kind,
        flags: 0,
        value,
        bytes: &[],
        at: 0,
    };
    raw.decode().err().map(|error| error.kind)
}

#[test]
fn captured_packets_are_written_unchanged() {
    for (name, hex) in captures::ALL {
        let original = bytes(hex);
        let packet = Packet::parse(&original).expect("a valid packet");
        let mut copy = Vec::new();
        let mut builder = PacketBuilder::new(&mut copy, packet.header(), original.len());
        for chunk in packet.chunks() {
            let chunk = chunk
                .and_then(RawChunk::decode)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            builder
                .push(&chunk)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        builder.finish();
        assert_eq!(copy, original, "{name}");
    }
}

#[test]
fn captured_chunks_are_dissected() {
    for (hex, expected) in [
        (captures::COOKIE_ECHO, "COOKIE-ECHO len=308"),
        (captures::COOKIE_ACK, "COOKIE-ACK"),
        (captures::DATA, "DATA tsn=2075617749 sid=0 ssn=0 ppid=51 len=5 BE"),
        (
            captures::UNORDERED_DATA,
            "DATA tsn=1681673323 sid=1 ssn=0 ppid=51 len=9 UBE",
        ),
        (
            captures::SACK_WITH_TWO_GAP_BLOCKS,
            "SACK cum=2075617750 rwnd=129752 gaps=2-3,6-6",
        ),
        (
            captures::NR_SACK,
            "NR-SACK cum=1681673323 rwnd=129220 gaps=4-4 nr=3-3 packets=2",
        ),
        (captures::SHUTDOWN, "SHUTDOWN cum=2747451258"),
        (captures::SHUTDOWN_ACK, "SHUTDOWN-ACK"),
        (captures::SHUTDOWN_COMPLETE, "SHUTDOWN-COMPLETE"),
        (
            captures::HEARTBEAT,
            "HEARTBEAT info=0cb8006b00000000734f0d0000000000…",
        ),
        (captures::ABORT, "ABORT [user abort \"\"]"),
    ] {
        assert_eq!(words(hex), expected);
    }
}

#[test]
fn captured_init_lists_its_extensions() {
    assert_eq!(
        words(captures::INIT),
        "INIT itag=bb652475 rwnd=131072 os=10 is=2048 tsn=2075617749 [forward-tsn, \
         extensions c00fc18082, random len=32, hmac sha-1, authenticate 80c1]"
    );
}

//= rfc9260 3-2, 3.3.1-1
#[test]
fn data_matches_the_diagram_of_the_rfc() {
    let flags = DataFlags {
        beginning: true,
        immediate: true,
        ..DataFlags::default()
    };
    let data = Data {
        tsn: Tsn(0x0102_0304),
        stream: StreamId(0x0506),
        ssn: Ssn(0x0708),
        ppid: Ppid(9),
        flags,
        payload: b"xy",
    };
    let packet = packet_of(&data);
    let expected = [
        0, 0x0a, 0, 18, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 9, b'x', b'y', 0, 0,
    ];
    assert_eq!(packet[CommonHeader::LEN..], expected);
    assert_eq!(only(&packet), Chunk::Data(data));
    assert_eq!(
        data.to_string(),
        "DATA tsn=16909060 sid=1286 ssn=1800 ppid=9 len=2 IB"
    );
}

#[test]
fn data_flags_are_kept_and_reserved_bits_dropped() {
    for bits in 0..=u8::MAX {
        assert_eq!(DataFlags::from_bits(bits).bits(), bits & 0x0f);
    }
    assert_eq!(DataFlags::default().to_string(), "-");
}

#[test]
fn empty_data_is_decoded() {
    assert_eq!(decode_error(kind::DATA, &[0; 12]), None);
    assert_eq!(
        decode_error(kind::DATA, &[0; 11]),
        Some(DecodeErrorKind::Truncated)
    );
}

#[test]
fn first_i_data_fragment_has_a_ppid_and_later_ones_an_fsn() {
    let first = IData {
        tsn: Tsn(0x0102_0304),
        stream: StreamId(0x0506),
        mid: Mid(0x0708_090a),
        place: FragmentPlace::First(Ppid(9)),
        ending: false,
        unordered: true,
        immediate: false,
        payload: b"xy",
    };
    let packet = packet_of(&first);
    let expected = [
        0x40, 0x06, 0, 22, 1, 2, 3, 4, 5, 6, 0, 0, 7, 8, 9, 10, 0, 0, 0, 9, b'x', b'y', 0, 0,
    ];
    assert_eq!(packet[CommonHeader::LEN..], expected);
    assert_eq!(only(&packet), Chunk::IData(first));
    assert_eq!(
        first.to_string(),
        "I-DATA tsn=16909060 sid=1286 mid=117967114 fsn=0 ppid=9 len=2 UB"
    );
    let later = IData {
        place: FragmentPlace::Later(Fsn(9)),
        ending: true,
        ..first
    };
    let packet = packet_of(&later);
    assert_eq!(packet[CommonHeader::LEN + 1], 0x05);
    assert_eq!(only(&packet), Chunk::IData(later));
    assert_eq!(decode_error(kind::I_DATA, &[0; 16]), None);
    assert_eq!(
        decode_error(kind::I_DATA, &[0; 15]),
        Some(DecodeErrorKind::Truncated)
    );
}

//= rfc9260 3.3.2.1-1, 3.3.3.1-2
#[test]
fn init_and_init_ack_differ_in_type_only() {
    let mut parameters = ParameterWriter::new();
    parameters
        .push_address([10, 0, 0, 1].into())
        .push_address([10, 1, 0, 1].into());
    let mut outbound = OutboundInit {
        acknowledges: false,
        initiate_tag: VerificationTag(0x0a1b_2c3d),
        a_rwnd: 65_536,
        outbound_streams: 10,
        inbound_streams: 20,
        initial_tsn: Tsn(1),
        parameters: parameters.finish(),
    };
    let text = "itag=0a1b2c3d rwnd=65536 os=10 is=20 tsn=1 [ipv4 10.0.0.1, ipv4 10.1.0.1]";
    let init = packet_of(&outbound);
    assert!(matches!(only(&init), Chunk::Init(init) if init.to_string() == text));
    outbound.acknowledges = true;
    let init_ack = packet_of(&outbound);
    assert!(matches!(only(&init_ack), Chunk::InitAck(init_ack) if init_ack.to_string() == text));
    assert_eq!(
        decode_error(kind::INIT, &[0; 15]),
        Some(DecodeErrorKind::Truncated)
    );
}

//= rfc9260 3.3.4-1
#[test]
fn a_sack_keeps_blocks_duplicates_and_packet_count() {
    let blocks = [GapBlock { start: 2, end: 3 }, GapBlock { start: 7, end: 7 }];
    let duplicates = [Tsn(9)];
    for (sent, received, bits) in [
        (None, None, 0),
        (Some(0), None, 0),
        (Some(1), Some(1), 0x40),
        (Some(9), Some(2), 0x80),
    ] {
        let outbound = OutboundSack {
            cumulative: Tsn(16),
            a_rwnd: 65_536,
            packet_count: sent,
            blocks: &blocks,
            duplicates: &duplicates,
        };
        let packet = packet_of(&outbound);
        let Chunk::Sack(sack) = only(&packet) else {
            panic!("not a SACK")
        };
        assert_eq!((sack.flags, sack.packet_count()), (bits, received));
        assert!(sack.gap_blocks().eq(blocks) && sack.duplicates().eq(duplicates));
        assert!(
            sack.to_string()
                .starts_with("SACK cum=16 rwnd=65536 gaps=2-3,7-7 dup=1")
        );
    }
}

#[test]
fn a_sack_whose_counts_contradict_its_length_is_refused() {
    let value = |blocks: u8, duplicates: u8| [0, 0, 0, 1, 0, 0, 0, 1, 0, blocks, 0, duplicates, 0, 2, 0, 2];
    assert_eq!(decode_error(kind::SACK, &value(1, 0)), None);
    assert_eq!(decode_error(kind::SACK, &value(0, 1)), None);
    assert_eq!(
        decode_error(kind::SACK, &value(1, 1)),
        Some(DecodeErrorKind::Truncated)
    );
    assert_eq!(
        decode_error(kind::SACK, &value(0, 0)),
        Some(DecodeErrorKind::BadLength)
    );
}

#[test]
fn an_nr_sack_keeps_its_three_lists_apart() {
    let outbound = OutboundNrSack {
        cumulative: Tsn(16),
        a_rwnd: 1,
        packet_count: Some(2),
        blocks: &[GapBlock { start: 2, end: 3 }],
        non_renegable: &[GapBlock { start: 5, end: 6 }, GapBlock { start: 8, end: 8 }],
        duplicates: &[Tsn(4), Tsn(5)],
    };
    let packet = packet_of(&outbound);
    let Chunk::NrSack(sack) = only(&packet) else {
        panic!("not an NR-SACK")
    };
    assert_eq!(
        sack.to_string(),
        "NR-SACK cum=16 rwnd=1 gaps=2-3 nr=5-6,8-8 dup=2 packets=2"
    );
    assert!(sack.duplicates().eq([Tsn(4), Tsn(5)]));
}

#[test]
fn heartbeat_ack_returns_the_bytes_of_the_heartbeat() {
    let captured = bytes(captures::HEARTBEAT);
    let packet = Packet::parse(&captured).expect("a packet in order");
    let heartbeat = packet.chunks().next().expect("a chunk").expect("in order");
    assert_eq!(heartbeat.kind, kind::HEARTBEAT);
    let answer = packet_of(&OutboundHeartbeatAck {
        value: heartbeat.value,
    });
    assert_eq!(
        answer[CommonHeader::LEN..],
        bytes(captures::HEARTBEAT_ACK)[CommonHeader::LEN..]
    );
}

#[test]
fn a_heartbeat_without_info_cannot_be_answered() {
    for value in [&[][..], &[0, 2, 0, 4]] {
        assert_eq!(
            decode_error(kind::HEARTBEAT, value),
            Some(DecodeErrorKind::UnexpectedParameter)
        );
    }
    assert_eq!(
        decode_error(kind::HEARTBEAT_ACK, &[0, 1, 0, 9]),
        Some(DecodeErrorKind::Truncated)
    );
}

#[test]
fn abort_and_error_carry_their_causes() {
    let causes = CauseWriter::one(Cause::NoUserData(Tsn(3)));
    let abort = packet_of(&OutboundAbort {
        tag_reflected: true,
        causes: causes.clone(),
    });
    assert_eq!(only(&abort).to_string(), "ABORT T [no user data tsn=3]");
    let error = packet_of(&OutboundError { causes });
    assert_eq!(only(&error).to_string(), "ERROR [no user data tsn=3]");
    assert_eq!(
        only(&packet_of(&OutboundAbort::default())).to_string(),
        "ABORT []"
    );
}

//= rfc5061 4.1.1-5, 4.1.1-6
#[test]
fn asconf_and_asconf_ack_are_read_as_written() {
    let mut requests = ParameterWriter::new();
    requests.push_add_address(AddressRequest {
        id: CorrelationId(1),
        address: [10, 2, 0, 1].into(),
    });
    let asconf = packet_of(&OutboundAsconf {
        number: AsconfNumber(7),
        address: [10, 0, 0, 1].into(),
        requests: requests.finish(),
    });
    assert_eq!(
        only(&asconf).to_string(),
        "ASCONF seq=7 from=10.0.0.1 [add 10.2.0.1 id=1]"
    );
    assert_eq!(packet_of(&only(&asconf)), asconf);
    let mut responses = ParameterWriter::new();
    responses.push_success_indication(CorrelationId(1));
    let answer = packet_of(&OutboundAsconfAck {
        number: AsconfNumber(7),
        responses: responses.finish(),
    });
    assert_eq!(only(&answer).to_string(), "ASCONF-ACK seq=7 [done id=1]");
    assert_eq!(packet_of(&only(&answer)), answer);
}

//= rfc5061 4.1.1-5
#[test]
fn an_asconf_without_its_address_is_refused() {
    let number = [0, 0, 0, 7];
    for (rest, expected) in [
        (&[][..], DecodeErrorKind::UnexpectedParameter),
        (&[0xc0, 1, 0, 8, 1, 2, 3, 4], DecodeErrorKind::UnexpectedParameter),
        // A host name.
        (b"\0\x0b\0\x08abc\0", DecodeErrorKind::UnexpectedParameter),
        (&[0, 5, 0, 9, 1, 2, 3, 4, 5], DecodeErrorKind::BadLength),
        (&[0, 5, 0, 8, 1, 2], DecodeErrorKind::Truncated),
    ] {
        let value = [&number[..], rest].concat();
        assert_eq!(decode_error(kind::ASCONF, &value), Some(expected));
    }
}

#[test]
fn written_since_returns_auth_and_later_chunks() {
    let header = CommonHeader {
        source_port: 1,
        destination_port: 2,
        tag: VerificationTag(3),
    };
    let mut buffer = Vec::new();
    let mut packet = PacketBuilder::new(&mut buffer, header, 100);
    packet.push(&CookieAck).expect("it fits");
    let before = packet.len();
    let auth = Auth {
        key: 0,
        hmac: HmacId::SHA_256,
        code: &[0; 3],
    };
    packet.push(&auth).expect("it fits");
    packet.push(&ShutdownAck).expect("it fits");
    let covered = packet.written_since(before);
    assert_eq!(covered, [0x0f, 0, 0, 11, 0, 0, 0, 3, 0, 0, 0, 0, 8, 0, 0, 4]);
    covered[8] = 9;
    packet.finish();
    let parsed = Packet::parse(&buffer).expect("a sealed packet");
    let second = parsed
        .chunks()
        .nth(1)
        .expect("a chunk")
        .and_then(RawChunk::decode);
    assert_eq!(
        second,
        Ok(Chunk::Auth(Auth {
            code: &[9, 0, 0],
            ..auth
        }))
    );
}

#[test]
fn chunks_of_fixed_length_are_read_as_written() {
    for chunk in [
        Chunk::Shutdown(Shutdown { cumulative: Tsn(41) }),
        Chunk::ShutdownAck,
        Chunk::ShutdownComplete(ShutdownComplete { tag_reflected: true }),
        Chunk::CookieEcho(CookieEcho { cookie: b"cookie" }),
        Chunk::CookieAck,
        Chunk::Ecne(Ecne {
            lowest: Tsn(17),
            packets: 3,
        }),
        Chunk::Cwr(Cwr {
            lowest: Tsn(17),
            any_path: true,
        }),
        Chunk::Auth(Auth {
            key: 1,
            hmac: HmacId::SHA_1,
            code: &[7; 20],
        }),
        Chunk::Pad(Pad { length: 3 }),
    ] {
        assert_eq!(only(&packet_of(&chunk)), chunk);
    }
}

#[test]
fn re_config_is_read_as_written() {
    let mut chunk = OutboundReConfig::default();
    let [seven, eight] = [ReConfigNumber(7), ReConfigNumber(8)];
    chunk.push_response(seven, ReConfigResult::Performed, Some((Tsn(1), Tsn(2))));
    chunk.push_reset_outgoing(eight, seven, Tsn(41), &[StreamId(3), StreamId(4)]);
    let bytes = packet_of(&chunk);
    let text = "RE-CONFIG [response seq=7 result=1 next=1,2, \
                reset-outgoing seq=8 resp=7 last=41 streams=3,4]";
    assert_eq!(only(&bytes).to_string(), text);
    assert_eq!(packet_of(&only(&bytes)), bytes);
    let mut chunk = OutboundReConfig::default();
    chunk.push_reset_incoming(seven, &[]);
    chunk.push_reset_association(seven);
    chunk.push_add_outgoing(seven, 5);
    chunk.push_add_incoming(seven, 6);
    let text = "RE-CONFIG [reset-incoming seq=7 streams=all, reset-association seq=7, \
                add-outgoing seq=7 count=5, add-incoming seq=7 count=6]";
    assert_eq!(only(&packet_of(&chunk)).to_string(), text);
}

//= rfc8260 2.1-1, 2.1-2, 2.1-4, 2.1-5
#[test]
fn reserved_bits_of_i_data_are_zero_and_ignored() {
    let chunk = IData {
        tsn: Tsn(1),
        stream: StreamId(2),
        mid: Mid(3),
        place: FragmentPlace::Later(Fsn(4)),
        ending: false,
        unordered: false,
        immediate: false,
        payload: b"data",
    };
    let mut packet = packet_of(&chunk);
    let (flags, reserved) = (CommonHeader::LEN + 1, CommonHeader::LEN + 10);
    assert_eq!((packet[flags], &packet[reserved..reserved + 2]), (0, &[0, 0][..]));
    packet[flags] = 0xf0;
    packet[reserved..reserved + 2].fill(0xff);
    checksum::seal(&mut packet);
    assert_eq!(only(&packet), Chunk::IData(chunk));
}

//= rfc8260 2.3.1-2, 2.3.1-3, 2.3.1-4, 2.3.1-5
#[test]
fn reserved_bits_of_i_forward_tsn_are_zero_and_ignored() {
    let skipped = SkippedMid {
        stream: StreamId(3),
        unordered: true,
        mid: Mid(7),
    };
    let mut packet = packet_of(&OutboundIForwardTsn {
        cumulative: Tsn(41),
        skipped: [skipped].into(),
    });
    let (flags, reserved) = (CommonHeader::LEN + 1, CommonHeader::LEN + 10);
    assert_eq!((packet[flags], &packet[reserved..reserved + 2]), (0, &[0, 1][..]));
    packet[flags] = 0xff;
    packet[reserved..reserved + 2].fill(0xff);
    checksum::seal(&mut packet);
    let Chunk::IForwardTsn(chunk) = only(&packet) else {
        panic!("no I-FORWARD-TSN");
    };
    assert!(chunk.skipped().eq([skipped]));
}

#[test]
fn forward_tsn_is_read_as_written() {
    let forward = OutboundForwardTsn {
        cumulative: Tsn(41),
        skipped: [(StreamId(3), Ssn(7)), (StreamId(65_535), Ssn(0))].into(),
    };
    let packet = packet_of(&forward);
    let Chunk::ForwardTsn(chunk) = only(&packet) else {
        panic!("no FORWARD TSN");
    };
    assert_eq!(chunk.to_string(), "FORWARD-TSN cum=41 3:7 65535:0");
    assert_eq!(packet_of(&chunk), packet);
    let entry = |stream, unordered, mid| SkippedMid {
        stream: StreamId(stream),
        unordered,
        mid: Mid(mid),
    };
    let forward = OutboundIForwardTsn {
        cumulative: Tsn(41),
        skipped: [entry(3, false, 7), entry(3, true, 1 << 31)].into(),
    };
    let packet = packet_of(&forward);
    let Chunk::IForwardTsn(chunk) = only(&packet) else {
        panic!("no I-FORWARD-TSN");
    };
    assert_eq!(chunk.to_string(), "I-FORWARD-TSN cum=41 3:7 3:2147483648U");
    assert_eq!(packet_of(&chunk), packet);
    for kind in [kind::FORWARD_TSN, kind::I_FORWARD_TSN] {
        assert_eq!(decode_error(kind, &[0; 3]), Some(DecodeErrorKind::Truncated));
        assert_eq!(decode_error(kind, &[0; 6]), Some(DecodeErrorKind::BadLength));
    }
}

#[test]
fn chunks_of_fixed_length_refuse_any_other_length() {
    for kind in [kind::SHUTDOWN, kind::CWR] {
        assert_eq!(decode_error(kind, &[0; 3]), Some(DecodeErrorKind::Truncated));
        assert_eq!(decode_error(kind, &[0; 5]), Some(DecodeErrorKind::BadLength));
    }
    // The number of marked packets may be left out.
    for length in [3, 5, 7] {
        assert_eq!(
            decode_error(kind::ECNE, &[0; 8][..length]),
            Some(DecodeErrorKind::Truncated)
        );
    }
    assert_eq!(
        decode_error(kind::ECNE, &[0; 9]),
        Some(DecodeErrorKind::BadLength)
    );
    for kind in [kind::SHUTDOWN_ACK, kind::COOKIE_ACK, kind::SHUTDOWN_COMPLETE] {
        assert_eq!(decode_error(kind, &[0]), Some(DecodeErrorKind::BadLength));
    }
}

#[test]
fn an_unknown_chunk_is_kept_whole_to_be_reported() {
    let value = [1, 2, 3];
    let raw = RawChunk {
        kind: 0xfe,
        flags: 5,
        value: &value,
        bytes: &[],
        at: 0,
    };
    let packet = packet_of(&raw);
    let Chunk::Unknown(unknown) = only(&packet) else {
        panic!("it is known?")
    };
    assert_eq!(unknown.bytes, [0xfe, 5, 0, 7, 1, 2, 3]);
    assert_eq!(unknown.to_string(), "type 0xfe flags=5 len=3 010203");
}
