//! Tests of partial delivery (RFC 9260 §6.9, RFC 6458 §8.1.20 and §8.1.21): a message that is delivered in parts.

use anabranch_types::{Fsn, Mid};
use anabranch_wire::{
    Chunk, FragmentPlace, IData, OutboundForwardTsn, OutboundIForwardTsn, SkippedMid, WriteChunk,
};

use super::*;
use crate::message::Extent::{Aborted, Beginning, End, Middle, Whole};
use crate::recv::Skips;
use anabranch_wire::Packet;

const KILOBYTE: [u8; 1_000] = [b'x'; 1_000];

/// A buffer of 10,000 bytes, messages of any length, in parts from 4,000 bytes on.
fn host(interleaving: bool) -> Host {
    Host::with(ReceiverConfig {
        initial_tsn: Tsn(10),
        buffer: 10_000,
        max_message: usize::MAX,
        whole: 4_000,
        inbound_streams: 10,
        interleaving,
    })
}

/// Stream, extent and length of what can be received.
fn read(host: &mut Host) -> Vec<(u16, Extent, usize)> {
    let all = host.receive_all().into_iter();
    all.map(|part| (part.stream.0, part.extent, part.payload.len()))
        .collect()
}

/// A kilobyte of message `mid` on `stream`; `part` has its letters B, E and U.
fn piece(tsn: u32, stream: u16, mid: u32, fsn: u32, part: &str) -> IData<'static> {
    IData {
        tsn: Tsn(tsn),
        stream: StreamId(stream),
        mid: Mid(mid),
        place: if part.contains('B') {
            FragmentPlace::First(Ppid(7))
        } else {
            FragmentPlace::Later(Fsn(fsn))
        },
        ending: part.contains('E'),
        unordered: part.contains('U'),
        immediate: false,
        payload: &KILOBYTE,
    }
}

fn take(host: &mut Host, chunks: &[IData<'_>]) {
    for chunk in chunks {
        let outcome = host.receiver.on_user_data(&UserData::IData(*chunk));
        assert_eq!(outcome, Ok(DataOutcome::Accepted));
        host.sack();
    }
}

//= rfc9260 6.9-16
#[test]
fn message_larger_than_the_buffer_arrives_in_parts() {
    let mut host = host(false);
    let mut parts = Vec::new();
    for tsn in 10..110 {
        let marks = match tsn {
            10 => "B",
            109 => "E",
            _ => "",
        };
        let outcome = host.packet(&[fragment(tsn, 0, marks, &KILOBYTE)]);
        assert_eq!(outcome, [DataOutcome::Accepted]);
        parts.extend(read(&mut host));
    }
    assert_eq!(parts[0], (0, Beginning, 4_000), "the partial delivery point");
    assert_eq!(parts[1], (0, Middle, 1_000));
    assert_eq!(parts.last(), Some(&(0, End, 1_000)));
    assert_eq!(parts.iter().map(|part| part.2).sum::<usize>(), 100_000);
    assert_eq!(host.receiver.held_bytes(), 0);
    host.packet(&[message(110, 1, b"next")]);
    assert_eq!(host.read(), ["next"]);
}

#[test]
fn message_up_to_the_point_arrives_whole() {
    let mut host = host(false);
    for (tsn, marks) in [(10, "B"), (11, ""), (12, ""), (13, "E")] {
        host.packet(&[fragment(tsn, 0, marks, &KILOBYTE)]);
    }
    assert_eq!(read(&mut host), [(0, Whole, 4_000)]);
}

#[test]
fn window_closes_before_a_slow_reader_and_opens_as_parts_are_taken() {
    let mut host = host(false);
    let mut tsn = 10;
    while host.receiver.a_rwnd() > 0 {
        let marks = if tsn == 10 { "B" } else { "" };
        host.packet(&[fragment(tsn, 0, marks, &KILOBYTE)]);
        tsn += 1;
    }
    assert_eq!(host.receiver.held_bytes(), 10_000);
    let beyond = fragment(tsn, 0, "", &KILOBYTE);
    host.sack();
    assert_eq!(
        host.receiver.receive().map(|part| part.payload.len()),
        Some(4_000)
    );
    assert_eq!(host.wanted(), SackWanted::Must, "a window update");
    assert_eq!(host.packet(&[beyond]), [DataOutcome::Accepted]);
}

/// Fragments of 100 bytes leave no memory before the message reaches the partial delivery point.
#[test]
fn buffer_full_of_one_short_message_begins_partial_delivery() {
    for part in [1, 10, 100] {
        let mut host = Host::with(ReceiverConfig {
            initial_tsn: Tsn(10),
            buffer: 1_000,
            max_message: usize::MAX,
            whole: 1_000,
            inbound_streams: 1,
            interleaving: false,
        });
        let bytes = &KILOBYTE[..part];
        let mut received = 0;
        for tsn in 10..3_000 {
            let marks = if tsn == 10 { "B" } else { "" };
            let outcome = host.packet(&[fragment(tsn, 0, marks, bytes)]);
            assert_eq!(outcome, [DataOutcome::Accepted], "{tsn}");
            received += host.read().iter().map(String::len).sum::<usize>();
            assert!(host.receiver.memory() <= 4 * 1_000 + 200);
        }
        assert!(received >= 2_990 * part - 1_000, "{received}");
    }
}

#[test]
fn other_messages_wait_for_the_end_of_a_partial_delivery_of_data() {
    let mut host = host(false);
    for (tsn, marks) in [(10, "B"), (11, ""), (12, ""), (13, "")] {
        host.packet(&[fragment(tsn, 0, marks, &KILOBYTE)]);
    }
    let other = Data {
        stream: StreamId(1),
        ..message(15, 0, b"other")
    };
    host.packet(&[other, unordered(16, b"third")]);
    assert_eq!(read(&mut host), [(0, Beginning, 4_000)]);
    assert!(
        !host
            .receiver
            .has_delivered_through(host.receiver.nearest(Tsn(13)))
    );
    host.packet(&[fragment(14, 0, "E", &KILOBYTE)]);
    assert_eq!(read(&mut host), [(0, End, 1_000), (1, Whole, 5), (0, Whole, 5)]);
}

#[test]
fn ordered_message_is_delivered_in_parts_only_in_its_turn() {
    let mut host = host(false);
    for (tsn, marks) in [(11, "B"), (12, ""), (13, ""), (14, ""), (15, "")] {
        host.packet(&[fragment(tsn, 1, marks, &KILOBYTE)]);
    }
    assert_eq!(read(&mut host), []);
    host.packet(&[message(10, 0, b"first")]);
    host.packet(&[fragment(16, 1, "E", &KILOBYTE)]);
    assert_eq!(read(&mut host), [(0, Whole, 5), (0, Whole, 6_000)]);
}

#[test]
fn one_message_of_each_stream_is_in_partial_delivery_with_i_data() {
    let mut host = host(true);
    let mut first = Vec::new();
    for fsn in 0..4 {
        first.extend(read(&mut host));
        let marks = if fsn == 0 { "B" } else { "" };
        take(&mut host, &[piece(10 + 3 * fsn, 0, 0, fsn, marks)]);
        first.extend(read(&mut host));
        take(&mut host, &[piece(11 + 3 * fsn, 1, 0, fsn, marks)]);
        first.extend(read(&mut host));
        let unordered = if fsn == 0 { "UB" } else { "U" };
        if fsn < 2 {
            take(&mut host, &[piece(12 + 3 * fsn, 1, 0, fsn, unordered)]);
        } else {
            take(&mut host, &[piece(12 + 3 * fsn, 2, fsn - 2, 0, "BE")]);
        }
    }
    first.extend(read(&mut host));
    let expected = [
        (2, Whole, 1_000),
        (0, Beginning, 4_000),
        (1, Beginning, 4_000),
        (2, Whole, 1_000),
    ];
    assert_eq!(first, expected);
    take(&mut host, &[piece(22, 1, 0, 2, "U"), piece(23, 1, 0, 3, "UE")]);
    take(&mut host, &[piece(24, 1, 0, 4, ""), piece(25, 0, 0, 4, "E")]);
    take(&mut host, &[piece(26, 0, 1, 0, "BE"), piece(27, 1, 0, 5, "E")]);
    let rest = [
        (1, Whole, 4_000),
        (1, Middle, 1_000),
        (0, End, 1_000),
        (0, Whole, 1_000),
        (1, End, 1_000),
    ];
    assert_eq!(read(&mut host), rest);
    assert_eq!(host.receiver.held_bytes(), 0);
}

/// Handles a chunk as it is received.
fn with_chunk(chunk: &impl WriteChunk, handle: impl FnOnce(Chunk<'_>)) {
    let header = CommonHeader {
        source_port: 1,
        destination_port: 2,
        tag: VerificationTag(3),
    };
    let mut buffer = Vec::new();
    let mut builder = PacketBuilder::new(&mut buffer, header, 1_200);
    builder.push(chunk).unwrap();
    builder.finish();
    let packet = Packet::parse(&buffer).unwrap();
    handle(packet.chunks().next().unwrap().unwrap().decode().unwrap());
}

/// Four fragments, of which the reader has taken three; then TSN 15.
fn begun(host: &mut Host, interleaving: bool) {
    for (tsn, marks) in [(10, "B"), (11, ""), (12, ""), (13, ""), (15, "")] {
        if interleaving {
            take(host, &[piece(tsn, 0, 0, tsn - 10, marks)]);
        } else {
            host.packet(&[fragment(tsn, 0, marks, &KILOBYTE)]);
        }
    }
    assert_eq!(read(host), [(0, Beginning, 4_000)]);
}

#[test]
fn forward_tsn_aborts_a_partial_delivery() {
    let mut host = host(false);
    begun(&mut host, false);
    host.packet(&[message(17, 1, b"later")]);
    assert_eq!(read(&mut host), []);
    let skipped = OutboundForwardTsn {
        cumulative: Tsn(16),
        skipped: Vec::from([(StreamId(0), Ssn(0))]),
    };
    with_chunk(&skipped, |chunk| {
        let Chunk::ForwardTsn(chunk) = chunk else {
            panic!("{chunk:?}")
        };
        host.receiver.on_forward_tsn(&Skips::Data(chunk)).unwrap();
    });
    assert_eq!(read(&mut host), [(0, Aborted, 0), (0, Whole, 5)]);
    assert_eq!(host.receiver.held_bytes(), 0);
}

#[test]
fn i_forward_tsn_aborts_a_partial_delivery() {
    let mut host = host(true);
    begun(&mut host, true);
    let skipped = OutboundIForwardTsn {
        cumulative: Tsn(16),
        skipped: Vec::from([SkippedMid {
            stream: StreamId(0),
            unordered: false,
            mid: Mid(0),
        }]),
    };
    with_chunk(&skipped, |chunk| {
        let Chunk::IForwardTsn(chunk) = chunk else {
            panic!("{chunk:?}")
        };
        host.receiver.on_forward_tsn(&Skips::IData(chunk)).unwrap();
    });
    take(&mut host, &[piece(17, 0, 1, 0, "BE")]);
    assert_eq!(read(&mut host), [(0, Aborted, 0), (0, Whole, 1_000)]);
    assert_eq!(host.receiver.held_bytes(), 0);
}

#[test]
fn reset_of_its_stream_aborts_a_partial_delivery() {
    for (interleaving, streams) in [
        (false, &[StreamId(0)][..]),
        (true, &[StreamId(0)]),
        (false, &[]),
        (true, &[]),
    ] {
        let mut host = host(interleaving);
        begun(&mut host, interleaving);
        host.receiver.reset_streams(&[StreamId(1)]);
        assert_eq!(read(&mut host), []);
        host.receiver.reset_streams(streams);
        assert_eq!(read(&mut host), [(0, Aborted, 0)]);
    }
}

#[test]
fn end_and_restart_of_the_association_abort_a_partial_delivery() {
    for (interleaving, restarts) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut host = host(interleaving);
        begun(&mut host, interleaving);
        if restarts {
            host.receiver = host.receiver.restart(ReceiverConfig {
                initial_tsn: Tsn(10),
                buffer: 10_000,
                max_message: usize::MAX,
                whole: 4_000,
                inbound_streams: 10,
                interleaving,
            });
        } else {
            host.receiver.free_undeliverable();
        }
        assert_eq!(read(&mut host), [(0, Aborted, 0)]);
        assert_eq!(host.receiver.memory(), 0);
    }
}

#[test]
fn second_beginning_within_a_partial_delivery_is_a_violation() {
    let mut host = host(false);
    begun(&mut host, false);
    let again = UserData::Data(fragment(14, 0, "B", &KILOBYTE));
    let heard = host.receiver.on_user_data(&again);
    let told = heard.unwrap_err().to_string();
    assert_eq!(told, "message begins before the previous one has ended");
}
