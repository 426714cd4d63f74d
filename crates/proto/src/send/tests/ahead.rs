//! Tests of sending ahead: the order of messages, and what may be abandoned.

use anabranch_policy::BufferSize;
use anabranch_policy::stream_scheduler::RoundRobinPacket;

use super::*;
use crate::Reliability;
use crate::send::Ahead;

const LIFETIME: Duration = Duration::from_millis(50);

/// A per-packet scheduler changes streams after each skipped chunk, because its packet is not known yet.
#[test]
fn skipped_messages_are_counted_in_scheduler_order() {
    let mut sender = Sender::new(config());
    let mut scheduler = RoundRobinPacket::new(NoParameters);
    for stream in 0..8 {
        let message = Message::new(StreamId(stream), vec![7; 500]);
        sender.enqueue(message.into(), &mut scheduler).expect("room");
    }
    sender
        .send_new(A, 1_000, 1_000, &mut scheduler, NOW)
        .expect("the first one");
    scheduler.on_packet_end();
    let ahead = Ahead {
        path: B,
        skip: 2_000,
        fragment_at: 1_000,
    };
    let sent = sender.send_ahead(ahead, 1_000, &mut scheduler, NOW);
    let Some(UserData::Data(sent)) = sent else {
        panic!("there is more than is passed over");
    };
    assert_eq!(sent.stream, StreamId(5));
}

/// A FORWARD TSN for the later message would make the receiver take the earlier one for an old message.
#[test]
fn unreliable_message_is_not_sent_before_earlier_ones_of_its_stream() {
    let mut app = Application::new();
    app.sender.negotiate_reliability(true);
    app.enqueue(0, 500).expect("room");
    for stream in [0, 1] {
        let message = Message::new(StreamId(stream), vec![7; 500]);
        let message = message.with_reliability(Reliability::Retransmissions(0));
        app.enqueue_message(message).expect("room");
    }
    let ahead = Ahead {
        path: B,
        skip: 1,
        fragment_at: 1_000,
    };
    let sent = app.sender.send_ahead(ahead, 1_000, &mut app.scheduler, NOW);
    let Some(UserData::Data(sent)) = sent else {
        panic!("the other stream has a message");
    };
    assert_eq!(sent.stream, StreamId(1));
}

/// A receiver can order SSNs only within half of their space.
#[test]
fn messages_sent_ahead_stay_within_half_the_ssn_space() {
    let config = SenderConfig {
        buffer: BufferSize::Fixed(1_000_000),
        peer_window: 1_000_000,
        ..config()
    };
    let mut app = Application::with(config);
    for _ in 0..40_000 {
        app.enqueue(0, 1).unwrap();
    }
    let mut leaves_behind = |chunks: u64| {
        let ahead = Ahead {
            path: B,
            skip: chunks * 20,
            fragment_at: 1_000,
        };
        let sent = app.sender.send_ahead(ahead, 1_000, &mut app.scheduler, NOW)?;
        let UserData::Data(sent) = sent else {
            panic!("I-DATA was not agreed on")
        };
        Some(sent.ssn.0)
    };
    assert_eq!(leaves_behind(35_000), None);
    for number in 32_000..32_768 {
        assert_eq!(leaves_behind(32_000), Some(number));
    }
    assert_eq!(
        leaves_behind(32_000),
        None,
        "half of the space lies between it and the first"
    );
}

fn ahead(skip: u64) -> Ahead {
    Ahead {
        path: B,
        skip,
        fragment_at: 1_000,
    }
}

/// The TSN of the next chunk, with at least `skip` bytes of others in front of it.
fn send_ahead(app: &mut Application, skip: u64) -> Option<UnwrappedTsn> {
    let next = app.sender.next_tsn();
    app.sender
        .send_ahead(ahead(skip), 1_000, &mut app.scheduler, NOW)?;
    Some(next)
}

/// Starts all lifetimes, and lets them end.
fn let_lifetimes_end(app: &mut Application) {
    app.sender.expire(&mut app.scheduler, NOW);
    app.sender.expire(&mut app.scheduler, NOW + LIFETIME);
}

fn short_lived(stream: u16, length: usize) -> Message {
    Message::new(StreamId(stream), vec![7; length]).with_reliability(Reliability::Lifetime(LIFETIME))
}

/// The placeholder of an abandoned message is its end, unless its last fragment was sent.
#[test]
fn message_abandoned_after_its_last_fragment_ends_once() {
    let mut app = interleaving(100_000);
    app.sender.negotiate_reliability(true);
    app.enqueue_message(short_lived(0, 2_500)).expect("room");
    assert_eq!(send_ahead(&mut app, 2_000), Some(nth(1)), "the last of three");
    let_lifetimes_end(&mut app);
    assert_eq!(app.sender.next_tsn(), nth(3), "a TSN for the rest");
    app.receive_sack(2, 100_000);
    assert!(app.sender.is_drained());
    app.enqueue(0, 100).expect("room");
    app.receive_sack(2, 100_000);
}

/// The acknowledgement of its last fragment does not make a message complete.
#[test]
fn message_with_an_acknowledged_last_fragment_still_expires() {
    let mut app = interleaving(100_000);
    app.sender.negotiate_reliability(true);
    let message = app.enqueue_message(short_lived(0, 2_500)).expect("room");
    send_ahead(&mut app, 2_000).expect("the last of three");
    app.receive_sack(1, 100_000);
    let_lifetimes_end(&mut app);
    let abandoned = app.sender.next_abandoned().expect("it is abandoned");
    assert_eq!((abandoned.message, abandoned.sent), (message, true));
    app.receive_sack(2, 100_000);
    assert!(app.sender.is_drained());
}

/// A FORWARD TSN for the later message would make the receiver take the earlier one for an old message.
#[test]
fn placeholder_comes_behind_earlier_messages_of_its_stream() {
    let mut app = Application::new();
    app.sender.negotiate_reliability(true);
    app.enqueue(0, 500).expect("room");
    app.enqueue_message(short_lived(0, 500)).expect("room");
    app.enqueue(1, 500).expect("room");
    assert_eq!(send_ahead(&mut app, 1_000), Some(nth(1)), "that of stream 1");
    let_lifetimes_end(&mut app);
    assert_eq!(app.sender.next_tsn(), nth(2), "the placeholder waits");
    assert_eq!(send_ahead(&mut app, 0), Some(nth(2)), "the first message");
    app.receive_sack(1, 60_000);
    app.sender.expire(&mut app.scheduler, NOW + LIFETIME);
    assert_eq!(app.sender.advanced_point(), None, "the first message may arrive");
    app.receive_sack(2, 60_000);
    assert_eq!(app.sender.advanced_point(), Some(nth(3)));
}

/// The acknowledgement of its last fragment does not make a message complete.
#[test]
fn message_with_an_acknowledged_last_fragment_still_needs_its_key() {
    let mut app = interleaving(100_000);
    let message = Message::new(StreamId(0), vec![7; 2_500]).with_authentication_key(1);
    app.enqueue_message(message).expect("room");
    assert_eq!(send_ahead(&mut app, 2_000), Some(nth(1)), "the last of three");
    app.receive_sack(1, 100_000);
    assert!(app.sender.needs_key(1), "two fragments are not sent");
    for before in [2, 3] {
        assert_eq!(send_ahead(&mut app, 0), Some(nth(before)));
    }
    app.receive_sack(3, 100_000);
    assert!(!app.sender.needs_key(1), "all is acknowledged");
}
