//! Tests of messages that are sent in parts.

use bytes::Bytes;

use anabranch_policy::BufferSize;

use super::*;
use crate::Reliability;
use crate::message::MessagePart;
use crate::send::Ahead;

impl Application {
    fn enqueue_part(&mut self, part: MessagePart) -> Result<MessageId, SendError> {
        self.sender.enqueue(part, &mut self.scheduler)
    }

    fn begin(&mut self, stream: u16, length: usize) -> MessageId {
        let first = Message::new(StreamId(stream), vec![7; length]);
        self.enqueue_part(MessagePart::Beginning(first)).expect("room")
    }

    fn go_on(&mut self, id: MessageId, length: usize) -> Result<MessageId, SendError> {
        self.enqueue_part(MessagePart::Middle(id, part(length)))
    }

    fn finish(&mut self, id: MessageId, length: usize) -> Result<MessageId, SendError> {
        self.enqueue_part(MessagePart::End(id, part(length)))
    }

    /// Stream and length of the first chunk with `skip` bytes in front of it.
    fn send_ahead(&mut self, skip: u64) -> (u16, usize) {
        let ahead = Ahead {
            path: B,
            skip,
            fragment_at: 1_000,
        };
        match self.sender.send_ahead(ahead, 1_000, &mut self.scheduler, NOW) {
            Some(UserData::Data(sent)) => (sent.stream.0, sent.payload.len()),
            other => panic!("no DATA chunk: {other:?}"),
        }
    }
}

fn part(length: usize) -> Bytes {
    vec![7; length].into()
}

/// Stream, length, and whether the message begins or ends.
fn fragments(sent: &[Written]) -> Vec<(u16, usize, bool, bool)> {
    let fragment = |chunk: &Written| {
        let DataFlags {
            beginning, ending, ..
        } = chunk.flags;
        (chunk.stream.0, chunk.length, beginning, ending)
    };
    sent.iter().map(fragment).collect()
}

/// What is skipped must have room at the peer, but a message that has begun excludes all others until it is complete. Its last part may
/// come when the window has become smaller than what was skipped.
#[test]
fn next_part_is_sent_although_more_was_skipped_than_the_window() {
    let mut app = Application::new();
    app.enqueue(0, 900).expect("room");
    let id = app.begin(1, 300);
    assert_eq!(app.send_ahead(1), (1, 300));
    app.receive_sack(1, 600);
    app.finish(id, 500).expect("room");
    assert_eq!(app.send_ahead(0), (1, 500), "nothing else may be sent");
}

#[test]
fn message_in_parts_is_one_message() {
    let mut app = Application::new();
    let id = app.begin(0, 1_500);
    assert_eq!(
        fragments(&app.send_all()),
        [(0, 984, true, false), (0, 516, false, false)]
    );
    app.enqueue(1, 100).expect("room");
    assert!(app.send_all().is_empty(), "fragments have consecutive TSNs");
    assert_eq!(app.go_on(id, 100), Ok(id));
    assert_eq!(fragments(&app.send_all()), [(0, 100, false, false)]);
    app.finish(id, 50).expect("room");
    assert_eq!(
        fragments(&app.send_all()),
        [(0, 50, false, true), (1, 100, true, true)]
    );
    assert!(!app.sender.is_finished());
    app.receive_sack(5, 60_000);
    assert!(app.sender.is_finished());
}

#[test]
fn stream_with_an_unfinished_message_takes_no_other() {
    let mut app = Application::new();
    let id = app.begin(0, 100);
    assert_eq!(app.enqueue(0, 100), Err(SendError::Unfinished));
    assert_eq!(app.go_on(id, 0), Err(SendError::Empty));
    assert_eq!(app.go_on(MessageId(id.0 + 1), 1), Err(SendError::NoSuchMessage));
    assert_eq!(app.go_on(id, 50_000), Err(SendError::TooLarge { max: 50_000 }));
    app.finish(id, 100).expect("room");
    assert_eq!(app.finish(id, 100), Err(SendError::NoSuchMessage));
    app.enqueue(0, 100).expect("room");
    let ssns: Vec<u16> = app.send_all().iter().map(|chunk| chunk.ssn.0).collect();
    assert_eq!(ssns, [0, 0, 1]);
}

/// Skipped chunks wait for the end of a message that was sent ahead of them, and they are in the buffer as well.
#[test]
fn part_is_accepted_when_skipped_chunks_wait_for_it() {
    let mut app = Application::with(SenderConfig {
        buffer: BufferSize::Fixed(10_000),
        ..config()
    });
    app.enqueue(0, 900).expect("room");
    let id = app.begin(1, 300);
    assert_eq!(app.send_ahead(1), (1, 300));
    app.enqueue(2, 8_800).expect("room");
    assert_eq!(app.finish(id, 500), Err(SendError::BufferFull));
    app.receive_sack(1, 60_000);
    app.finish(id, 500).expect("all else waits for it");
    assert_eq!(app.send_ahead(0), (1, 500));
    assert_eq!(app.send_ahead(0), (0, 900));
}

/// A message that is longer than the send buffer, with a buffer full of messages that wait for its end.
#[test]
fn part_is_accepted_when_all_that_is_queued_waits_for_it() {
    let mut app = Application::with(SenderConfig {
        buffer: BufferSize::Fixed(10_000),
        max_message: usize::MAX,
        ..config()
    });
    let id = app.begin(0, 9_000);
    let mut sent = app.send_all().len() as u64;
    assert_eq!(app.go_on(id, 2_000), Err(SendError::BufferFull));
    app.receive_sack(sent, 60_000);
    app.enqueue(1, 10_000).expect("room");
    for _ in 0..3 {
        assert_eq!(app.go_on(id, 9_000), Ok(id));
        assert_eq!(app.go_on(id, 1), Err(SendError::BufferFull), "one part");
        sent += app.send_all().len() as u64;
        app.receive_sack(sent, 60_000);
    }
    app.finish(id, 1_000).expect("it is awaited");
    sent += app.send_all().len() as u64;
    app.receive_sack(sent, 60_000);
    assert!(app.sender.is_finished());
}

#[test]
fn part_is_accepted_when_the_buffer_was_made_smaller() {
    let mut app = Application::with(SenderConfig {
        buffer: BufferSize::Fixed(20_000),
        ..config()
    });
    let id = app.begin(0, 1_000);
    let sent = app.send_all().len() as u64;
    app.enqueue(1, 19_000).expect("room");
    app.sender.resize(BufferSize::Fixed(10_000));
    assert_eq!(app.go_on(id, 100), Err(SendError::BufferFull));
    app.receive_sack(sent, 60_000);
    assert_eq!(app.go_on(id, 100), Ok(id));
    assert_eq!(app.go_on(id, 100), Err(SendError::BufferFull), "one part");
}

#[test]
fn other_streams_go_on_between_parts_with_interleaving() {
    let mut app = interleaving(100_000);
    let id = app.begin(0, 1_500);
    app.enqueue(1, 100).expect("room");
    assert_eq!(send_interleaved(&mut app), [(0, 0, 0), (1, 0, 0), (0, 0, 1)]);
    app.enqueue(1, 2_000).expect("room");
    assert_eq!(send_interleaved(&mut app), [(1, 1, 0), (1, 1, 1), (1, 1, 2)]);
    app.finish(id, 10).expect("room");
    assert_eq!(send_interleaved(&mut app), [(0, 0, 2)]);
    app.receive_sack(7, 100_000);
    assert!(app.sender.is_finished());
}

/// The part behind it tells the receiver that the message is given up, and the application that no part may follow.
#[test]
fn unfinished_message_can_be_abandoned_between_parts() {
    let limit = Reliability::Lifetime(Duration::from_millis(50));
    for interleaved in [false, true] {
        let mut app = Application::new();
        app.sender.negotiated(10, 60_000, interleaved, &mut app.scheduler);
        app.sender.negotiate_reliability(true);
        let first = Message::new(StreamId(0), part(500)).with_reliability(limit);
        let id = app.enqueue_part(MessagePart::Beginning(first)).expect("room");
        app.sender.expire(&mut app.scheduler, NOW);
        app.sender
            .send_new(A, 1_000, 1_000, &mut app.scheduler, NOW)
            .expect("the part");
        app.receive_sack(1, 60_000);
        app.sender
            .expire(&mut app.scheduler, NOW + Duration::from_millis(50));
        assert_eq!(app.sender.next_abandoned().map(|one| one.message), Some(id));
        assert_eq!(app.go_on(id, 100), Err(SendError::NoSuchMessage));
        assert_eq!(app.sender.advanced_point(), Some(nth(2)));
        app.enqueue(0, 100).expect("the stream is free");
        app.sender
            .send_new(A, 1_000, 1_000, &mut app.scheduler, NOW)
            .expect("the next message");
        app.receive_sack(3, 60_000);
        assert!(app.sender.is_finished());
    }
}

/// A part for a message of before must not be taken for one of another message.
#[test]
fn message_ids_go_on_after_a_restart() {
    let mut app = Application::new();
    let lost = app.begin(0, 100);
    let mut restarted = Application::new();
    restarted.sender.keep_stream_settings(&app.sender);
    let id = restarted.begin(0, 100);
    assert!(id > lost);
    assert_eq!(restarted.go_on(lost, 100), Err(SendError::NoSuchMessage));
}
