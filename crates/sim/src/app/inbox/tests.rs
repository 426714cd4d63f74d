//! Tests of the check of received messages: does it detect every kind of delivery error?

use anabranch_proto::ReceivedMessage;
use anabranch_types::{Instant, Ppid, StreamId};

use super::super::outbox::FIRST_PPID;
use super::super::{Draft, Outbox, pattern};
use super::{DeliveryError, Inbox};

/// Messages 0 and 2 on stream 0, message 1 on stream 1, message 3 unordered.
fn outbox() -> Outbox {
    Outbox::of_sent(vec![
        Draft::new(0, 100),
        Draft::new(1, 200),
        Draft::new(0, 300),
        Draft::new(0, 50).unordered(),
    ])
}

/// Message `number` of the outbox as it should be received.
fn message(number: u32) -> ReceivedMessage {
    let draft = outbox().sent()[number as usize];
    ReceivedMessage {
        stream: draft.stream,
        ppid: Ppid(FIRST_PPID + number),
        unordered: draft.unordered,
        payload: pattern(number, draft.bytes),
    }
}

fn inbox(messages: impl IntoIterator<Item = ReceivedMessage>) -> Inbox {
    let mut inbox = Inbox::default();
    for message in messages {
        inbox.take(Instant::ZERO, &message);
    }
    inbox
}

fn inbox_of(numbers: &[u32]) -> Inbox {
    inbox(numbers.iter().map(|number| message(*number)))
}

#[test]
fn what_arrives_as_it_was_sent_is_fine_in_any_order_of_streams() {
    for order in [[0, 1, 2, 3], [1, 0, 2, 3], [3, 0, 2, 1], [0, 3, 1, 2]] {
        assert_eq!(inbox_of(&order).equals(&outbox()), Ok(()), "{order:?}");
    }
}

#[test]
fn the_end_may_be_missing_until_all_must_be_there() {
    let inbox = inbox_of(&[0, 1]);
    assert_eq!(inbox.agrees_with(&outbox()), Ok(()));
    assert_eq!(inbox.equals(&outbox()), Err(DeliveryError::Missing(2)));
    assert_eq!(Inbox::default().agrees_with(&outbox()), Ok(()));
    assert_eq!(Inbox::default().equals(&outbox()), Err(DeliveryError::Missing(0)));
}

#[test]
fn a_hole_in_a_stream_is_noticed() {
    assert_eq!(
        inbox_of(&[1, 2]).agrees_with(&outbox()),
        Err(DeliveryError::Skipped(0))
    );
    assert_eq!(
        inbox_of(&[1, 3]).agrees_with(&outbox()),
        Ok(()),
        "unordered messages leave none"
    );
}

#[test]
fn a_message_that_comes_twice_or_too_late_is_noticed_at_once() {
    assert_eq!(
        inbox_of(&[0, 1, 0]).delivery_error(),
        Some(&DeliveryError::Twice(0))
    );
    let late = DeliveryError::OutOfOrder { number: 0, before: 2 };
    assert_eq!(inbox_of(&[2, 0]).delivery_error(), Some(&late));
}

#[test]
fn a_single_wrong_byte_is_noticed_at_once() {
    let mut damaged = message(2).payload.to_vec();
    damaged[299] ^= 1;
    let damaged = ReceivedMessage {
        payload: damaged.into(),
        ..message(2)
    };
    assert_eq!(
        inbox([damaged]).delivery_error(),
        Some(&DeliveryError::Corrupt(2))
    );
}

#[test]
fn a_message_cut_short_or_on_another_stream_is_noticed() {
    let short = ReceivedMessage {
        payload: pattern(0, 99),
        ..message(0)
    };
    assert_eq!(
        inbox([short]).agrees_with(&outbox()),
        Err(DeliveryError::NotAsSent(0))
    );
    let astray = ReceivedMessage {
        stream: StreamId(7),
        ..message(0)
    };
    assert_eq!(
        inbox([astray]).agrees_with(&outbox()),
        Err(DeliveryError::NotAsSent(0))
    );
}

#[test]
fn a_message_that_nobody_sent_is_noticed() {
    let made_up = ReceivedMessage {
        ppid: Ppid(FIRST_PPID + 9),
        payload: pattern(9, 100),
        ..message(0)
    };
    assert_eq!(
        inbox([made_up]).agrees_with(&outbox()),
        Err(DeliveryError::NeverSent(9))
    );
}

#[test]
fn the_course_of_reception_is_kept_in_tenths_of_a_second() {
    let mut inbox = Inbox::default();
    for (number, millis) in [(0, 0), (1, 150), (2, 950)] {
        inbox.take(Instant::from_nanos(millis * 1_000_000), &message(number));
    }
    let at = |millis: u64| Instant::from_nanos(millis * 1_000_000);
    assert_eq!(inbox.bytes_between(at(0), at(1_000)), 600);
    assert_eq!(inbox.bytes_between(at(100), at(900)), 200);
    assert_eq!(inbox.bytes_between(at(2_000), at(3_000)), 0);
}
