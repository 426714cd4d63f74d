//! Tests of the receiver with interleaved messages in I-DATA chunks (RFC 8260).

use alloc::collections::BTreeMap;

use anabranch_types::{Fsn, Mid, Rng, Seed};
use anabranch_wire::{FragmentPlace, IData};

use super::*;

const STREAMS: u16 = 4;

fn host() -> Host {
    Host::with(ReceiverConfig {
        initial_tsn: Tsn(10),
        buffer: 10_000,
        max_message: 4_000,
        whole: 4_000,
        inbound_streams: STREAMS,
        interleaving: true,
    })
}

/// A fragment; `marks` has the letters of its flags (B, E, U, I).
fn piece<'a>(tsn: u32, stream: u16, mid: u32, fsn: u32, marks: &str, payload: &'a [u8]) -> IData<'a> {
    IData {
        tsn: Tsn(tsn),
        stream: StreamId(stream),
        mid: Mid(mid),
        place: if marks.contains('B') {
            FragmentPlace::First(Ppid(7))
        } else {
            FragmentPlace::Later(Fsn(fsn))
        },
        ending: marks.contains('E'),
        unordered: marks.contains('U'),
        immediate: false,
        payload,
    }
}

fn receive(host: &mut Host, chunks: &[IData<'_>]) -> Result<(), Violation> {
    chunks.iter().try_for_each(|chunk| {
        let heard = host.receiver.on_user_data(&UserData::IData(*chunk));
        heard.map(|_| ())
    })
}

fn violation_of(chunks: &[IData<'_>]) -> String {
    let heard = receive(&mut host(), chunks);
    heard.map_or_else(|violation| violation.to_string(), |()| "none".to_string())
}

#[test]
fn short_message_overtakes_a_long_one_in_transfer() {
    let mut host = host();
    receive(
        &mut host,
        &[
            piece(10, 0, 0, 0, "B", b"lo"),
            piece(11, 1, 0, 0, "BE", b"urgent"),
            piece(12, 0, 0, 1, "", b"n"),
        ],
    )
    .unwrap();
    assert_eq!(host.read(), ["urgent"]);
    receive(&mut host, &[piece(13, 0, 0, 2, "E", b"g")]).unwrap();
    assert_eq!(host.read(), ["long"]);
}

//= rfc8260 2.2.3-1, 2.2.3-2
#[test]
fn fragments_are_reassembled_by_fsn_in_any_tsn_order() {
    let mut host = host();
    receive(
        &mut host,
        &[
            piece(13, 0, 0, 0, "B", b"a"),
            piece(10, 0, 0, 3, "E", b"d"),
            piece(12, 0, 0, 1, "", b"b"),
            piece(11, 0, 0, 2, "", b"c"),
        ],
    )
    .unwrap();
    let message = host.receiver.receive().unwrap();
    assert_eq!((&message.payload[..], message.ppid), (&b"abcd"[..], Ppid(7)));
    assert_eq!(host.receiver.held_bytes(), 0);
}

//= rfc8260 2.2.3-1
#[test]
fn ordered_and_unordered_mids_are_independent() {
    let mut host = host();
    receive(
        &mut host,
        &[
            piece(10, 0, 0, 0, "UB", b"un"),
            piece(11, 0, 0, 0, "B", b"or"),
            piece(12, 0, 1, 0, "BE", b"later"),
            piece(13, 0, 0, 1, "UE", b"ordered"),
            piece(14, 0, 0, 1, "E", b"dered"),
        ],
    )
    .unwrap();
    assert_eq!(host.read(), ["unordered", "ordered", "later"]);
}

#[test]
fn contradictory_i_data_chunks_are_violations() {
    let twice = "fragment sequence number was used before";
    let behind = "fragment lies behind the end of its message";
    let used = "message identifier was used before";
    let too_large = "message exceeds the receiver's limit";
    let first = piece(10, 0, 0, 0, "B", b"x");
    let last = piece(11, 0, 0, 3, "E", b"x");
    let cases: [(&[IData<'_>], &str); 13] = [
        (&[first, piece(11, 0, 0, 0, "B", b"x")], twice),
        (&[last, piece(12, 0, 0, 3, "", b"x")], twice),
        (&[last, piece(12, 0, 0, 3, "E", b"x")], twice),
        (&[last, piece(12, 0, 0, 4, "", b"x")], behind),
        (&[last, piece(12, 0, 0, 900, "", b"x")], behind),
        (&[last, piece(12, 0, 0, 1, "E", b"x")], behind),
        (&[last, piece(12, 0, 0, 0, "BE", b"x")], behind),
        (&[first, piece(11, 0, 0, 0, "BE", b"x")], twice),
        // FSN 0 is for first fragments only, and those have the B bit.
        (
            &[piece(10, 0, 0, 0, "", b"x"), first],
            "fragment 0 does not begin its message",
        ),
        (
            &[piece(10, 0, 0, 0, "BE", b"x"), piece(11, 0, 0, 1, "", b"x")],
            used,
        ),
        (
            &[piece(10, 0, 5, 0, "BE", b"x"), piece(11, 0, 5, 0, "BE", b"x")],
            used,
        ),
        (&[piece(10, 0, 0, 4_000, "E", b"x")], too_large),
        (&[piece(10, 0, 0, u32::MAX, "", b"x")], too_large),
    ];
    for (index, (chunks, expected)) in cases.into_iter().enumerate() {
        assert_eq!(violation_of(chunks), expected, "case {index}");
    }
    let (large, rest) = ([0; 3_000], [0; 1_001]);
    let apart = [piece(10, 0, 0, 0, "B", &large), piece(11, 0, 0, 2, "", &rest)];
    assert_eq!(violation_of(&apart), too_large, "also with a gap between");
}

//= rfc8260 2.2.3-3
#[test]
fn mixing_data_and_i_data_is_a_violation() {
    let chunk = UserData::Data(message(10, 0, b"x"));
    let told = host().receiver.on_user_data(&chunk).unwrap_err().to_string();
    assert_eq!(told, "DATA and I-DATA do not mix");
    let chunk = UserData::IData(piece(10, 0, 0, 0, "BE", b"x"));
    let told = Host::new().receiver.on_user_data(&chunk).unwrap_err();
    assert_eq!(told.to_string(), "DATA and I-DATA do not mix");
}

#[test]
fn i_data_on_an_invalid_stream_is_acknowledged_and_discarded() {
    let mut host = host();
    let chunk = UserData::IData(piece(10, STREAMS, 0, 0, "B", b"x"));
    assert_eq!(host.receiver.on_user_data(&chunk), Ok(DataOutcome::InvalidStream));
    assert_eq!(host.receiver.cumulative(), Tsn(10));
    assert_eq!(host.receiver.held_bytes(), 0);
}

#[test]
fn unfinished_messages_beyond_the_buffer_are_a_violation() {
    let mut host = host();
    let part = [0; 1_250];
    let mut told = Ok(());
    for count in 0..100 {
        let chunk = piece(10 + count, 0, count, 0, "B", &part);
        told = receive(&mut host, &[chunk]);
        if told.is_err() {
            break;
        }
        assert!(host.receiver.held_bytes() <= 10_000);
        // Only the first message can be delivered in parts; the others wait for it.
        assert!(host.receive_all().len() <= 1);
    }
    let told = told.unwrap_err().to_string();
    assert_eq!(told, "messages begun exceed the receive buffer");
}

/// Each one takes an entry among the messages and one among the fragments.
#[test]
fn flood_of_one_byte_first_fragments_has_bounded_memory() {
    let mut host = host();
    let flood = (0..10_000).map(|count| piece(10 + count, 0, count, 0, "B", b"x"));
    let taken = flood
        .take_while(|chunk| {
            let is_valid = receive(&mut host, &[*chunk]).is_ok();
            host.receive_all();
            is_valid
        })
        .count();
    // One more than fit, because the first is delivered as a part of its message.
    assert!(taken <= 4 * 10_000 / (2 * 192) + 1, "{taken}");
}

/// A message as it was sent.
struct Sent {
    stream: u16,
    unordered: bool,
    mid: u32,
    pieces: Vec<Vec<u8>>,
}

/// Some messages on each stream, with a distinct payload each.
fn random_messages(rng: &mut Rng) -> Vec<Sent> {
    let mut next = BTreeMap::new();
    (0..10 + rng.below(30))
        .map(|number| {
            let (stream, unordered) = (rng.below(STREAMS.into()) as u16, rng.chance(1, 3));
            let mid = next.entry((stream, unordered)).or_insert(0);
            *mid += 1;
            Sent {
                stream,
                unordered,
                mid: *mid - 1,
                pieces: (0..1 + rng.below(6))
                    .map(|_| [number as u8; 3].to_vec())
                    .collect(),
            }
        })
        .collect()
}

/// All fragments in TSN order: those of one message in order, those of different messages interleaved at random.
fn interleaved<'a>(rng: &mut Rng, messages: &'a [Sent]) -> Vec<(usize, IData<'a>)> {
    let mut chunks = Vec::new();
    let mut next = alloc::vec![0; messages.len()];
    let total: usize = messages.iter().map(|message| message.pieces.len()).sum();
    while chunks.len() < total {
        let index = rng.below(messages.len() as u64) as usize;
        let (message, fsn) = (&messages[index], next[index]);
        let Some(payload) = message.pieces.get(fsn) else {
            continue;
        };
        next[index] += 1;
        let marks = [
            (fsn == 0, "B"),
            (fsn + 1 == message.pieces.len(), "E"),
            (message.unordered, "U"),
        ];
        let marks: String = marks
            .iter()
            .filter(|(set, _)| *set)
            .map(|(_, mark)| *mark)
            .collect();
        let tsn = 10 + chunks.len() as u32;
        let chunk = piece(tsn, message.stream, message.mid, fsn as u32, &marks, payload);
        chunks.push((index, chunk));
    }
    chunks
}

#[test]
fn random_fragment_order_delivers_each_message_once_in_order() {
    for seed in 0..400 {
        let mut rng = Seed(seed).rng();
        let messages = random_messages(&mut rng);
        let mut chunks = interleaved(&mut rng, &messages);
        for from in (1..chunks.len()).rev() {
            chunks.swap(from, rng.below(from as u64 + 1) as usize);
        }
        let mut host = host();
        let mut missing: Vec<usize> = messages.iter().map(|message| message.pieces.len()).collect();
        let mut read = Vec::new();
        for (index, chunk) in chunks {
            receive(&mut host, &[chunk, chunk]).unwrap();
            missing[index] -= 1;
            read.extend(host.receive_all());
            let deliverable = (0..messages.len()).filter(|index| is_deliverable(*index, &messages, &missing));
            assert_eq!(read.len(), deliverable.count(), "seed {seed}");
        }
        for stream in 0..STREAMS {
            let of = |unordered| {
                let all = read.iter().filter(move |message| message.stream.0 == stream);
                let texts = all.filter(move |message| message.unordered == unordered);
                texts.map(|message| message.payload.to_vec()).collect::<Vec<_>>()
            };
            let sent = |unordered| {
                let all = messages.iter().filter(move |message| message.stream == stream);
                let texts = all.filter(move |message| message.unordered == unordered);
                texts.map(|message| message.pieces.concat()).collect::<Vec<_>>()
            };
            assert_eq!(of(false), sent(false), "seed {seed}");
            let (mut read, mut sent) = (of(true), sent(true));
            read.sort();
            sent.sort();
            assert_eq!(read, sent, "seed {seed}");
        }
        assert_eq!(host.receiver.held_bytes(), 0, "seed {seed}");
        assert_eq!(host.receiver.a_rwnd(), 10_000, "seed {seed}");
    }
}

/// Whether the message is complete and, if it is ordered, every earlier ordered message of its stream too.
fn is_deliverable(index: usize, messages: &[Sent], missing: &[usize]) -> bool {
    let message = &messages[index];
    let before = messages[..index].iter().enumerate();
    let mut earlier = before.filter(|(_, other)| other.stream == message.stream && !other.unordered);
    missing[index] == 0 && (message.unordered || earlier.all(|(other, _)| missing[other] == 0))
}
