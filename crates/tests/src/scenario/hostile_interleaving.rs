//! Hostile I-DATA (RFC 8260 §2.2). A violation is reported to the peer and ends the association.

use anabranch_proto::CloseReason;
use anabranch_types::{Fsn, Mid, Ppid, Ssn, StreamId, Tsn};
use anabranch_wire::{Abort, Chunk, Data, DataFlags, FragmentPlace, IData, WriteChunk};

use crate::fixture::{Forger, first_tsn};

/// Ordered fragment `fsn` of message 0 on stream 0, as chunk number `count`; fragment 0 has the B bit.
fn piece(count: u32, fsn: u32, ending: bool) -> IData<'static> {
    IData {
        tsn: Tsn(first_tsn().0 + count),
        stream: StreamId(0),
        mid: Mid(0),
        place: if fsn == 0 {
            FragmentPlace::First(Ppid(3))
        } else {
            FragmentPlace::Later(Fsn(fsn))
        },
        ending,
        unordered: false,
        immediate: false,
        payload: b"text",
    }
}

fn says(forger: &mut Forger, chunk: &impl WriteChunk) -> bool {
    let replies = forger.send(forger.tag(), &[chunk]);
    let aborted = |chunk: &Chunk<'_>| matches!(chunk, Chunk::Abort(Abort { .. }));
    replies.iter().any(|reply| reply.chunks().iter().any(aborted))
}

/// Sends the chunks one by one; all are accepted but the last, which ends the association.
#[track_caller]
fn ends_with_the_last(chunks: &[IData<'_>]) {
    let mut forger = Forger::interleaving();
    for (index, chunk) in chunks.iter().enumerate() {
        let is_last = index + 1 == chunks.len();
        assert_eq!(says(&mut forger, chunk), is_last, "chunk {index}");
    }
    let reason = forger.close_reason();
    assert!(
        matches!(reason, Some(CloseReason::PeerViolation(_))),
        "{reason:?}"
    );
    assert_eq!(forger.read(), None, "nothing of it was delivered");
}

#[test]
fn i_data_fragments_reassemble_in_any_order() {
    let mut forger = Forger::interleaving();
    for chunk in [piece(2, 2, true), piece(0, 1, false), piece(1, 0, false)] {
        assert!(!says(&mut forger, &chunk));
    }
    let message = forger.read().expect("a whole message");
    assert_eq!(
        (&message.payload[..], message.ppid),
        (&b"texttexttext"[..], Ppid(3))
    );
}

#[test]
fn fragment_after_the_last_ends_the_association() {
    ends_with_the_last(&[piece(0, 3, true), piece(1, 4, false)]);
    ends_with_the_last(&[piece(0, 3, true), piece(1, 1_000, false)]);
    ends_with_the_last(&[piece(0, 5, false), piece(1, 3, true)]);
}

#[test]
fn second_last_fragment_ends_the_association() {
    ends_with_the_last(&[piece(0, 3, true), piece(1, 5, true)]);
    ends_with_the_last(&[piece(0, 3, true), piece(1, 2, true)]);
}

#[test]
fn repeated_fsn_ends_the_association() {
    ends_with_the_last(&[piece(0, 2, false), piece(1, 2, false)]);
    ends_with_the_last(&[piece(0, 0, false), piece(1, 0, false)]);
}

#[test]
fn first_fragment_without_b_bit_ends_the_association() {
    let unmarked = IData {
        place: FragmentPlace::Later(Fsn(0)),
        ..piece(0, 0, false)
    };
    ends_with_the_last(&[unmarked]);
}

#[test]
fn fsn_beyond_any_message_ends_the_association() {
    ends_with_the_last(&[piece(0, u32::MAX, false)]);
}

#[test]
fn empty_i_data_ends_the_association() {
    let empty = IData {
        payload: b"",
        ..piece(0, 0, false)
    };
    ends_with_the_last(&[empty]);
}

/// A message identifier far ahead is valid: its stream waits for earlier messages.
#[test]
fn message_with_far_mid_waits_for_earlier_ones() {
    let mut forger = Forger::interleaving();
    let ahead = IData {
        mid: Mid(1_000_000),
        ..piece(0, 0, true)
    };
    assert!(!says(&mut forger, &ahead));
    assert_eq!(forger.read(), None);
    let behind = IData {
        mid: Mid(u32::MAX),
        ..piece(1, 0, true)
    };
    assert!(says(&mut forger, &behind), "before the first one there is none");
}

//= rfc8260 2.2.3-3
#[test]
fn data_and_i_data_cannot_be_mixed() {
    let data = Data {
        tsn: first_tsn(),
        stream: StreamId(0),
        ssn: Ssn(0),
        ppid: Ppid(0),
        flags: DataFlags::WHOLE,
        payload: b"text",
    };
    let mut forger = Forger::interleaving();
    assert!(says(&mut forger, &data));
    let mut forger = Forger::associated();
    assert!(says(&mut forger, &piece(0, 0, true)));
}

/// First fragments of many messages that are never completed.
#[test]
fn unfinished_messages_end_it_when_buffer_is_full() {
    let mut forger = Forger::interleaving();
    let payload = [0; 1_000];
    let beginnings = (0..20_000).map(|count| IData {
        mid: Mid(count),
        payload: &payload,
        ..piece(count, 0, false)
    });
    let mut taken = beginnings.take_while(|chunk| {
        let has_ended = says(&mut forger, chunk);
        // Of the messages only the first can be delivered in parts.
        forger.read();
        !has_ended
    });
    let count = taken.by_ref().count();
    drop(taken);
    let limit = anabranch_proto::AssociationConfig::default().receive_buffer.max() as usize;
    // One more than fit, because one is delivered as a part of its message.
    assert!(count <= limit / payload.len() + 2, "{count}");
    let reason = forger.close_reason();
    assert!(
        matches!(reason, Some(CloseReason::PeerViolation(_))),
        "{reason:?}"
    );
}
