//! Tests of the receiver with hostile peers: invalid, contradictory and excessive DATA chunks.

use super::*;

/// Receives the chunks until one is a protocol violation. Returns its text.
fn violation_of(chunks: &[Data<'_>]) -> String {
    let mut host = Host::new();
    let violation = chunks
        .iter()
        .find_map(|chunk| host.receiver.on_user_data(&UserData::Data(*chunk)).err());
    violation.map_or_else(|| "none".to_string(), |violation| violation.to_string())
}

//= rfc9260 6.2-33
#[test]
fn data_without_user_data_is_a_violation() {
    assert_eq!(
        violation_of(&[message(10, 0, b"")]),
        "DATA chunk 10 carries no user data"
    );
}

#[test]
fn message_that_begins_inside_another_is_a_violation() {
    let expected = "message begins before the previous one has ended";
    let (first, second) = (fragment(10, 0, "B", b"x"), fragment(11, 1, "B", b"y"));
    assert_eq!(violation_of(&[first, second]), expected);
    assert_eq!(violation_of(&[second, first]), expected);
    assert_eq!(violation_of(&[first, message(11, 1, b"y")]), expected);
    assert_eq!(violation_of(&[message(11, 1, b"y"), first]), expected);
}

#[test]
fn fragment_after_the_end_of_its_message_is_a_violation() {
    let expected = "fragment continues a message that has ended";
    let middle = fragment(11, 0, "", b"x");
    assert_eq!(
        violation_of(&[fragment(10, 0, "", b"x")]),
        expected,
        "nothing comes before the first TSN"
    );
    assert_eq!(violation_of(&[message(10, 0, b"y"), middle]), expected);
    assert_eq!(violation_of(&[middle, message(10, 0, b"y")]), expected);
    assert_eq!(
        violation_of(&[fragment(12, 0, "E", b"z"), middle, fragment(13, 0, "E", b"z")]),
        expected
    );
}

#[test]
fn contradictory_fragments_are_a_violation() {
    let expected = "fragments of one message disagree about their message";
    let first = fragment(10, 0, "B", b"x");
    let ending = fragment(11, 0, "E", b"y");
    let others = [
        Data {
            ssn: Ssn(1),
            ..ending
        },
        Data {
            stream: StreamId(1),
            ..ending
        },
        Data {
            stream: StreamId(99),
            ..ending
        },
        Data {
            flags: DataFlags {
                unordered: true,
                ..ending.flags
            },
            ..ending
        },
    ];
    for other in others {
        assert_eq!(violation_of(&[first, other]), expected, "{other}");
        if other.stream != StreamId(99) {
            assert_eq!(violation_of(&[other, first]), expected, "{other}");
        }
    }
}

#[test]
fn message_above_the_size_limit_is_a_violation() {
    let expected = "message exceeds the receiver's limit";
    let kilobyte = [b'x'; 1_000];
    let large = [b'x'; 4_001];
    assert_eq!(violation_of(&[message(10, 0, &large)]), expected);
    let middle = |tsn| fragment(tsn, 0, "", &kilobyte);
    let first = fragment(10, 0, "B", &kilobyte);
    assert_eq!(
        violation_of(&[first, middle(11), middle(12), middle(13), middle(14)]),
        expected
    );
    assert_eq!(
        violation_of(&[first, middle(11), middle(13), middle(14), middle(12)]),
        expected
    );
}

#[test]
fn repeated_ssn_is_a_violation() {
    let expected = "stream sequence number was used before";
    assert_eq!(
        violation_of(&[message(10, 0, b"x"), message(11, 0, b"y")]),
        expected
    );
    assert_eq!(
        violation_of(&[message(11, 1, b"x"), message(12, 1, b"y")]),
        expected
    );
}

#[test]
fn message_with_far_ssn_is_dropped() {
    let mut host = Host::new();
    assert_eq!(
        host.packet(&[message(40_010, 40_000, b"x")]),
        [DataOutcome::NoRoom]
    );
    assert_eq!(host.sack(), "SACK cum=9 rwnd=10000");
}

#[test]
fn tsns_beyond_the_receive_window_are_dropped() {
    let mut host = Host::new();
    let reach = 10_000 + 65_535;
    assert_eq!(
        host.packet(&[unordered(9 + reach + 1, b"x")]),
        [DataOutcome::NoRoom]
    );
    assert_eq!(
        host.packet(&[unordered(9 + (1 << 31) - 1, b"x")]),
        [DataOutcome::NoRoom]
    );
    assert_eq!(
        host.packet(&[unordered(9 + (1 << 31), b"x")]),
        [DataOutcome::Duplicate]
    );
    assert_eq!(
        host.packet(&[unordered(9 + reach, b"x")]),
        [DataOutcome::Accepted]
    );
    // It was received, but a SACK cannot report it: its offset needs 17 bits.
    assert_eq!(host.sack(), "SACK cum=9 rwnd=9999 dup=1");
}

#[test]
fn gap_block_is_cut_at_the_largest_offset() {
    let mut host = Host::new();
    for tsn in 65_540..65_550 {
        host.packet(&[unordered(tsn, b"x")]);
    }
    assert_eq!(host.sack(), "SACK cum=9 rwnd=9990 gaps=65531-65535");
}

#[test]
fn ranges_of_received_tsns_are_bounded() {
    let mut host = Host::new();
    let mut outcomes = Vec::new();
    for count in 1..9_000 {
        outcomes.extend(host.packet(&[unordered(10 + 2 * count, b"x")]));
        host.receive_all();
    }
    let accepted = outcomes
        .iter()
        .filter(|outcome| **outcome == DataOutcome::Accepted)
        .count();
    assert_eq!(accepted, 8_192);
    let next = host.packet(&[unordered(10, b"x"), unordered(11, b"x")]);
    assert_eq!(next, [DataOutcome::Accepted; 2], "progress is always possible");
}

#[test]
fn flood_of_one_byte_chunks_has_bounded_memory() {
    let (buffer, max_message) = (10_000, 4_000);
    let limit =
        |messages: u64| window::MEMORY_FACTOR * (buffer + messages * max_message) + window::CHUNK_OVERHEAD;
    let lone_fragments = |tsn: u32| fragment(tsn, tsn as u16, "B", b"x");
    let ordered_too_early = |tsn: u32| message(tsn, tsn as u16 - 9, b"x");
    let one_message = |tsn: u32| fragment(tsn, 0, if tsn == 10 { "B" } else { "" }, b"x");
    type Flood<'a> = &'a dyn Fn(u32) -> Data<'static>;
    let floods: [(Flood<'_>, usize, Flood<'_>); 2] = [
        (&lone_fragments, 2, &one_message),
        (&ordered_too_early, 1, &ordered_too_early),
    ];
    for (chunk, step, all_wait_for) in floods {
        let mut host = Host::new();
        // First a high TSN, then those below it except the lowest: they count as filling gaps.
        host.packet(&[chunk(30_000)]);
        let mut held = 1;
        for tsn in (1_000..30_000).step_by(step) {
            let outcome = host.packet(&[chunk(tsn)]);
            held += u64::from(outcome == [DataOutcome::Accepted]);
        }
        assert!(!host.receiver.readable());
        let memory = |held| held * (1 + window::CHUNK_OVERHEAD);
        assert!(memory(held) <= limit(1), "{held} chunks");
        assert_eq!(host.receiver.a_rwnd(), 0);
        // The fragments that all others wait for have reserved memory, and no more than that.
        let lowest = (10..1_000).map(|tsn| UserData::Data(all_wait_for(tsn)));
        let mut outcomes = lowest.map(|chunk| host.receiver.on_user_data(&chunk));
        let refused = outcomes.find(|outcome| {
            held += u64::from(*outcome == Ok(DataOutcome::Accepted));
            !matches!(outcome, Ok(DataOutcome::Accepted))
        });
        if step == 2 {
            // The message that has begun is delivered in parts.
            assert_eq!(refused, Some(Ok(DataOutcome::NoRoom)));
            let part = host.receiver.receive();
            assert_eq!(part.map(|part| part.extent), Some(Extent::Beginning));
        } else {
            assert_eq!(refused, Some(Err(TOO_MUCH_BEGUN)));
        }
        assert!(memory(held) <= limit(2), "{held} chunks");
    }
}

/// The sender counts bytes of user data; a small message takes more memory than that.
#[test]
fn first_message_has_room_when_small_ones_fill_the_memory() {
    let first_whole = [message(10, 0, b"first")];
    let first_in_two = [fragment(10, 0, "B", b"fi"), fragment(11, 0, "E", b"rst")];
    for first in [&first_whole[..], &first_in_two] {
        let mut host = Host::new();
        let small = |number: u32| message(9 + first.len() as u32 + number, number as u16, b"small");
        // A later message arrives, then those between, but not the first.
        let mut accepted = host.packet(&[small(1_000)]);
        accepted.extend((1..1_000).flat_map(|number| host.packet(&[small(number)])));
        accepted.retain(|outcome| *outcome == DataOutcome::Accepted);
        assert!(accepted.len() < 1_000, "the memory is full");
        assert!(
            host.packet(first)
                .iter()
                .all(|outcome| *outcome == DataOutcome::Accepted)
        );
        assert_eq!(
            host.read().len(),
            accepted.len(),
            "all but the one with a gap before it"
        );
    }
}

#[test]
fn reported_duplicates_are_bounded() {
    let mut host = Host::new();
    host.packet(&[message(10, 0, b"x")]);
    for _ in 0..10_000 {
        host.packet(&[message(10, 0, b"x")]);
    }
    assert_eq!(host.sack(), "SACK cum=10 rwnd=9999 dup=64");
}

#[test]
fn all_65535_streams_can_be_used() {
    let mut host = Host::with(ReceiverConfig {
        initial_tsn: Tsn(10),
        buffer: 10_000,
        max_message: 1_000,
        whole: 1_000,
        inbound_streams: u16::MAX,
        interleaving: false,
    });
    for stream in (0..u16::MAX).rev() {
        let tsn = 10 + u32::from(u16::MAX - 1 - stream);
        host.packet(&[Data {
            stream: StreamId(stream),
            ..message(tsn, 0, b"x")
        }]);
        assert_eq!(host.receive_all()[0].stream, StreamId(stream));
    }
    let beyond = Data {
        stream: StreamId(u16::MAX),
        ..message(10 + 65_535, 0, b"x")
    };
    assert_eq!(host.packet(&[beyond]), [DataOutcome::InvalidStream]);
}

/// A sender may send later messages early on a slow path.
#[test]
fn first_message_has_room_when_it_arrives_last() {
    let mut host = Host::new();
    let early = |number: u16| message(9 + u32::from(number), number, b"early");
    let mut count = 1;
    while host.receiver.a_rwnd() > 0 {
        assert_eq!(host.packet(&[early(count)]), [DataOutcome::Accepted]);
        count += 1;
    }
    assert!(!host.receiver.readable());
    let first = message(9 + u32::from(count), 0, b"first");
    assert_eq!(host.packet(&[first]), [DataOutcome::Accepted]);
    assert_eq!(host.read().len(), usize::from(count));
}
