//! Tests of the check of received messages: does it detect every kind of delivery error?

use anabranch_proto::{Extent, ReceivedMessage};
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
        extent: Extent::Whole,
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
fn valid_delivery_in_any_order_of_streams_is_accepted() {
    for order in [[0, 1, 2, 3], [1, 0, 2, 3], [3, 0, 2, 1], [0, 3, 1, 2]] {
        assert_eq!(inbox_of(&order).equals(&outbox()), Ok(()), "{order:?}");
    }
}

#[test]
fn missing_tail_is_an_error_only_at_the_end() {
    let inbox = inbox_of(&[0, 1]);
    assert_eq!(inbox.agrees_with(&outbox()), Ok(()));
    assert_eq!(inbox.equals(&outbox()), Err(DeliveryError::Missing(2)));
    assert_eq!(Inbox::default().agrees_with(&outbox()), Ok(()));
    assert_eq!(Inbox::default().equals(&outbox()), Err(DeliveryError::Missing(0)));
}

#[test]
fn skipped_ordered_message_is_detected() {
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
fn repeated_or_misordered_message_is_detected() {
    assert_eq!(
        inbox_of(&[0, 1, 0]).delivery_error(),
        Some(&DeliveryError::Twice(0))
    );
    let late = DeliveryError::OutOfOrder { number: 0, before: 2 };
    assert_eq!(inbox_of(&[2, 0]).delivery_error(), Some(&late));
}

#[test]
fn single_corrupt_byte_is_detected() {
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
fn truncated_or_misdirected_message_is_detected() {
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
fn message_never_sent_is_detected() {
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
fn received_bytes_are_recorded_per_tenth_of_a_second() {
    let mut inbox = Inbox::default();
    for (number, millis) in [(0, 0), (1, 150), (2, 950)] {
        inbox.take(Instant::from_nanos(millis * 1_000_000), &message(number));
    }
    let at = |millis: u64| Instant::from_nanos(millis * 1_000_000);
    assert_eq!(inbox.bytes_between(at(0), at(1_000)), 600);
    assert_eq!(inbox.bytes_between(at(100), at(900)), 200);
    assert_eq!(inbox.bytes_between(at(2_000), at(3_000)), 0);
}
