//! Tests of the sender: from a message to the acknowledgement of its last chunk.

mod ahead;
mod parts;

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::iter;
use core::time::Duration;

use anabranch_policy::BufferSize;
use anabranch_policy::catalog::SackHandlingChoice;
use anabranch_policy::options::RtoParameters;
use anabranch_policy::stream_scheduler::{FixedMap, FixedMapParameters};
use anabranch_policy::{
    LossCause, NoParameters, PathFacts, Policy, Reachability, RttEstimator, StreamFacts, StreamScheduler,
};
use anabranch_types::{
    Instant, IntervalSet, MessageId, PathId, Ppid, Seed, Ssn, StreamId, Tsn, UnwrappedTsn,
};
use anabranch_wire::{DataFlags, ValidSack};

use super::unacknowledged::Unacknowledged;
use super::{SackOutcome, SackWindow, SendError, Sender, SenderConfig};
use crate::Message;
use crate::config::SackWalks;
use crate::user_data::UserData;

const A: PathId = PathId(0);
const B: PathId = PathId(1);
const NOW: Instant = Instant::ZERO;

/// Stream scheduler that serves the stream with the oldest message.
#[derive(Default, Debug)]
struct Oldest(BTreeMap<StreamId, MessageId>);

impl Policy for Oldest {
    fn name(&self) -> &'static str {
        "oldest"
    }
}

impl StreamScheduler for Oldest {
    fn on_ready(&mut self, stream: &StreamFacts) {
        self.0.insert(stream.id, stream.head);
    }

    fn on_idle(&mut self, stream: StreamId) {
        self.0.remove(&stream);
    }

    fn on_taken(&mut self, _: StreamId, _: u32, _: bool) {}

    fn next(&self, _: PathId) -> Option<StreamId> {
        self.0
            .iter()
            .min_by_key(|(_, head)| **head)
            .map(|(stream, _)| *stream)
    }
}

impl Oldest {
    /// Moves the stream that was served behind all others.
    fn turn(&mut self) {
        let last = self.0.values().max().copied();
        if let (Some(next), Some(last)) = (self.next(A), last)
            && let Some(head) = self.0.get_mut(&next)
        {
            *head = MessageId(last.0 + 1);
        }
    }
}

/// The fields of one chunk that a test compares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Written {
    tsn: Tsn,
    stream: StreamId,
    ssn: Ssn,
    flags: DataFlags,
    length: usize,
}

struct Application {
    sender: Sender,
    scheduler: Oldest,
}

impl Application {
    fn with(config: SenderConfig) -> Self {
        Self {
            sender: Sender::new(config),
            scheduler: Oldest::default(),
        }
    }

    fn new() -> Self {
        Self::with(config())
    }

    fn enqueue(&mut self, stream: u16, length: usize) -> Result<MessageId, SendError> {
        self.enqueue_message(Message::new(StreamId(stream), vec![7; length]))
    }

    fn enqueue_message(&mut self, message: Message) -> Result<MessageId, SendError> {
        self.sender.enqueue(message.into(), &mut self.scheduler)
    }

    fn send(&mut self, path: PathId, max_chunk: usize, fragment_at: usize) -> Option<Written> {
        let data = self
            .sender
            .send_new(path, max_chunk, fragment_at, &mut self.scheduler, NOW)?;
        let UserData::Data(data) = data else {
            panic!("I-DATA was not agreed on")
        };
        let length = data.payload.len();
        Some(Written {
            tsn: data.tsn,
            stream: data.stream,
            ssn: data.ssn,
            flags: data.flags,
            length,
        })
    }

    fn send_all(&mut self) -> Vec<Written> {
        iter::from_fn(|| self.send(A, 1_000, 1_000)).collect()
    }

    fn receive_sack(&mut self, cumulative: u64, a_rwnd: u32) -> SackOutcome {
        self.receive_sack_with_gaps(cumulative, &[], a_rwnd)
    }

    /// A SACK for the first `cumulative` chunks and for `more`, counted from 1.
    fn receive_sack_with_gaps(&mut self, cumulative: u64, more: &[u64], a_rwnd: u32) -> SackOutcome {
        let blocks: IntervalSet = more.iter().map(|&count| nth(count).0..nth(count).0 + 1).collect();
        let sack = ValidSack {
            cumulative: nth(cumulative),
            a_rwnd,
            packet_count: None,
            blocks,
            kept: IntervalSet::new(),
            duplicates: 0,
        };
        let outcome = self.sender.on_sack(&sack, &mut self.scheduler, NOW);
        self.sender.scoreboard.check_every_record();
        outcome
    }
}

const fn config() -> SenderConfig {
    SenderConfig {
        initial_tsn: Tsn(1),
        buffer: BufferSize::Fixed(100_000),
        max_message: 50_000,
        outbound_streams: 10,
        peer_window: 60_000,
        sack_handling: SackHandlingChoice::Indexed(NoParameters),
        sack_walks: SackWalks::Done,
        sack_window: SackWindow::Everything,
    }
}

/// The `count`-th TSN, counted from 1; 0 is the one before the first.
fn nth(count: u64) -> UnwrappedTsn {
    UnwrappedTsn::first(Tsn(1)).previous() + count
}

//= rfc9260 5.1-21, 6.7-3
#[test]
fn acknowledged_message_leaves_the_send_buffer() {
    let mut app = Application::new();
    assert_eq!(app.enqueue(3, 50), Ok(MessageId(0)));
    assert_eq!((app.sender.send_used(), app.sender.unsent_bytes()), (50, 50));

    let written = app.send(A, 1_000, 1_000).unwrap();
    assert_eq!(
        (written.tsn, written.stream, written.ssn, written.length),
        (Tsn(1), StreamId(3), Ssn(0), 50)
    );
    assert_eq!(written.flags, DataFlags::WHOLE);
    assert_eq!(
        app.sender.in_flight(A),
        68,
        "16 bytes of header, 50 of payload, 2 of padding"
    );
    assert_eq!(
        app.sender.peer_window(),
        60_000 - 50,
        "the peer buffers payload only"
    );
    assert!(app.sender.has_outstanding() && !app.sender.has_unsent());

    let outcome = app.receive_sack(1, 60_000);
    assert!(outcome.cumulative_advanced);
    assert_eq!((outcome.acked_bytes, outcome.freed_bytes), (68, 50));
    assert!(app.sender.is_drained());
    assert_eq!(
        (
            app.sender.send_used(),
            app.sender.in_flight(A),
            app.sender.queued(A)
        ),
        (0, 0, 0)
    );
}

//= rfc9260 3.3.1-6, 3.3.1-12, 6-8, 6.9-2, 6.9-10, 6.9-12, 6.9-14
#[test]
fn fragments_on_any_path_have_consecutive_tsns() {
    let mut app = Application::new();
    app.enqueue(0, 2_500).unwrap();
    app.enqueue(1, 10).unwrap();
    assert_eq!(app.send(A, 999, 1_000), None, "a full piece needs a full packet");
    let pieces = [
        app.send(A, 1_000, 1_000),
        app.send(B, 516, 516),
        app.send(A, 1_000, 1_000),
        app.send(A, 64, 1_000),
    ];
    let pieces: Vec<_> = pieces.into_iter().flatten().collect();
    assert_eq!(
        pieces.iter().map(|piece| piece.length).collect::<Vec<_>>(),
        [984, 500, 984, 32]
    );
    let ends: Vec<_> = pieces
        .iter()
        .map(|piece| (piece.flags.beginning, piece.flags.ending))
        .collect();
    assert_eq!(
        ends,
        [(true, false), (false, false), (false, false), (false, true)]
    );
    assert!(
        pieces
            .iter()
            .all(|piece| (piece.stream, piece.ssn) == (StreamId(0), Ssn(0)))
    );
    assert_eq!(
        app.send(A, 1_000, 1_000).unwrap().stream,
        StreamId(1),
        "others wait for the end"
    );
    assert_eq!(app.sender.next_tsn(), nth(6));
}

//= rfc9260 6.5-3, 6.5-4, 6.5-6
#[test]
fn only_ordered_messages_use_stream_sequence_numbers() {
    let mut app = Application::new();
    app.enqueue(0, 1).unwrap();
    app.enqueue_message(Message::new(StreamId(0), "now").unordered())
        .unwrap();
    app.enqueue(0, 1).unwrap();
    app.enqueue(1, 1).unwrap();
    let numbers: Vec<_> = app
        .send_all()
        .iter()
        .map(|sent| (sent.flags.unordered, sent.ssn.0))
        .collect();
    assert_eq!(numbers, [(false, 0), (true, 0), (false, 1), (false, 0)]);
}

#[test]
fn i_bit_is_set_only_on_the_last_fragment() {
    let mut app = Application::new();
    let message = Message::new(StreamId(0), vec![0; 1_500]).with_ppid(Ppid(9));
    app.enqueue_message(Message {
        acknowledge_at_once: true,
        ..message
    })
    .unwrap();
    let asked: Vec<_> = app.send_all().iter().map(|sent| sent.flags.immediate).collect();
    assert_eq!(asked, [false, true]);
}

//= rfc9260 3.3.1-5, 6.2-34
#[test]
fn invalid_messages_are_refused_by_the_sender() {
    let mut app = Application::with(SenderConfig {
        buffer: BufferSize::Fixed(1_000),
        max_message: 800,
        ..config()
    });
    assert_eq!(app.enqueue(0, 0), Err(SendError::Empty));
    assert_eq!(app.enqueue(10, 1), Err(SendError::InvalidStream { streams: 10 }));
    assert_eq!(app.enqueue(0, 801), Err(SendError::TooLarge { max: 800 }));
    app.enqueue(0, 800).unwrap();
    assert_eq!(app.enqueue(0, 201), Err(SendError::BufferFull));
    app.enqueue(0, 200).unwrap();
    assert_eq!(app.sender.free_space(), 0);

    let mut tiny = Application::with(SenderConfig {
        buffer: BufferSize::Fixed(100),
        ..config()
    });
    assert_eq!(
        tiny.enqueue(0, 101),
        Err(SendError::TooLarge { max: 100 }),
        "waiting would not help"
    );
}

//= rfc9260 6.1-1, 6.1-2, 6.1-4, 6.1-5
#[test]
fn closed_window_permits_only_one_probe() {
    let mut app = Application::with(SenderConfig {
        peer_window: 100,
        ..config()
    });
    for _ in 0..4 {
        app.enqueue(0, 90).unwrap();
    }
    assert_eq!(
        app.send_all().len(),
        1,
        "ten bytes are left, the next needs ninety"
    );
    assert!(!app.sender.may_send_new());

    app.receive_sack(1, 0);
    assert!(
        app.sender.may_send_new(),
        "nothing is outstanding: a probe may go"
    );
    assert_eq!(app.send_all().len(), 1);
    assert!(!app.sender.may_send_new());

    app.receive_sack(2, 5_000);
    assert_eq!(app.send_all().len(), 2);
}

//= rfc9260 6.1-10
#[test]
fn small_window_is_not_used_while_data_is_in_flight() {
    let mut app = Application::new();
    app.enqueue(0, 40_000).unwrap();
    assert_eq!(app.send_all().len(), 41);
    for _ in 0..30 {
        app.enqueue(0, 100).unwrap();
    }
    app.receive_sack(20, 20_664 + 150);
    assert_eq!(
        app.sender.peer_window(),
        150 + 344,
        "rwnd is a_rwnd minus what is in flight"
    );
    assert!(
        !app.sender.may_send_new(),
        "several messages would fit, but not a full packet"
    );
    app.receive_sack(41, 494);
    assert!(app.sender.may_send_new(), "no further SACK is to be expected");
}

//= rfc9260 6.2.1-1
#[test]
fn lost_chunks_leave_flight_size_but_stay_queued() {
    let mut app = Application::new();
    for _ in 0..5 {
        app.enqueue(0, 100).unwrap();
    }
    app.send_all();
    app.receive_sack_with_gaps(1, &[3, 5], 10_000);
    let lost = app.sender.lose_all(A);
    assert_eq!((lost.bytes, lost.chunks, lost.highest), (232, 2, Some(nth(4))));
    assert_eq!(
        (app.sender.total_in_flight(), app.sender.total_queued()),
        (0, 4 * 116)
    );
    assert_eq!(app.sender.peer_window(), 10_000 - 2 * 100, "they come again");

    let first = app.sender.next_lost().unwrap();
    assert_eq!(
        (first.tsn, first.bytes, first.cause, first.transmissions),
        (nth(2), 116, LossCause::Timeout, 1)
    );
    assert_eq!(
        app.sender.lost_after(first.tsn).map(|lost| lost.tsn),
        Some(nth(4))
    );
    assert_eq!(app.sender.lost_chunk(nth(4)).map(|lost| lost.bytes), Some(116));
    assert_eq!(app.sender.send_again(nth(4), B, NOW).tsn(), Tsn(4));
    assert_eq!(app.sender.lost_chunk(nth(4)), None);
    assert_eq!((app.sender.in_flight(B), app.sender.queued(B)), (116, 116));
    assert_eq!(app.sender.lost_after(first.tsn), None);
    assert!(!app.sender.is_drained());
}

#[test]
fn moved_chunk_has_the_i_bit() {
    let mut app = Application::new();
    app.enqueue(0, 100).unwrap();
    app.send_all();
    assert!(app.sender.moved(nth(1), B, NOW).flags().immediate);
    assert_eq!((app.sender.in_flight(A), app.sender.in_flight(B)), (0, 116));
}

#[test]
fn ack_of_a_duplicated_chunk_makes_no_path_ack() {
    let mut app = Application::new();
    for _ in 0..3 {
        app.enqueue(0, 50).unwrap();
    }
    app.send_all();
    let on_b = |from, app: &Application| app.sender.in_flight_elsewhere(from, B);
    assert_eq!(on_b(None, &app), nth(1));
    assert_eq!(app.sender.duplicate(nth(1)).tsn(), nth(1).wrap());
    assert_eq!(on_b(Some(nth(2)), &app), nth(2));
    assert_eq!(
        app.sender.in_flight_elsewhere(None, A),
        nth(4),
        "the next new one"
    );
    assert_eq!((app.sender.in_flight(A), app.sender.in_flight(B)), (3 * 68, 0));
    assert_eq!(app.receive_sack(1, 1_000).freed_bytes, 50);
    assert!(app.sender.path_acks().is_empty(), "{:?}", app.sender.path_acks());
    app.receive_sack(3, 1_000);
    assert_eq!(app.sender.path_acks()[0].newly_acked, 2 * 68);
}

#[test]
fn queued_bytes_and_low_water_are_reported_per_stream() {
    let mut app = Application::new();
    app.sender.set_low_water(StreamId(4), 60).unwrap();
    app.enqueue(1, 100).unwrap();
    app.enqueue(4, 50).unwrap();
    app.enqueue(4, 50).unwrap();
    assert_eq!(app.sender.queues(), [(StreamId(1), 100), (StreamId(4), 100)]);
    app.send(A, 1_000, 1_000).unwrap();
    assert_eq!(app.sender.queues(), [(StreamId(4), 100)]);
    assert_eq!(app.sender.next_low_stream(), None);
    app.send(A, 1_000, 1_000).unwrap();
    assert_eq!(app.sender.next_low_stream(), Some(StreamId(4)));
    assert_eq!(app.sender.next_low_stream(), None, "once");
    assert_eq!(
        app.sender.set_low_water(StreamId(10), 0),
        Err(SendError::InvalidStream { streams: 10 })
    );
}

//= rfc9260 6.2.1-1
#[test]
fn stale_sack_is_ignored() {
    let mut app = Application::new();
    for _ in 0..3 {
        app.enqueue(0, 100).unwrap();
    }
    app.send_all();
    app.receive_sack(2, 10_000);
    assert_eq!(app.receive_sack_with_gaps(1, &[3], 0), SackOutcome::default());
    assert_eq!(app.sender.peer_window(), 9_900);
    assert!(app.sender.path_acks().is_empty());
}

//= rfc9260 3.3.8-2
#[test]
fn shutdown_advances_only_the_cumulative_ack() {
    let mut app = Application::new();
    for _ in 0..4 {
        app.enqueue(0, 100).unwrap();
    }
    app.send_all();
    app.receive_sack_with_gaps(0, &[2, 4], 1_000);
    let window = app.sender.peer_window();
    let outcome = app.sender.on_cumulative(nth(2), &mut app.scheduler);
    assert_eq!(
        (outcome.freed_bytes, outcome.acked_bytes, outcome.reneged),
        (200, 116, 0)
    );
    assert_eq!(app.sender.peer_window(), window);
    assert_eq!(
        app.sender.in_flight(A),
        116,
        "the fourth is still reported, the third missing"
    );
    assert_eq!(
        app.sender.on_cumulative(nth(9), &mut app.scheduler),
        SackOutcome::default(),
        "never sent"
    );
    app.sender.scoreboard.check_every_record();
}

#[test]
fn messages_on_refused_streams_are_returned() {
    let mut app = Application::new();
    for stream in [0, 7, 2, 7] {
        app.enqueue(stream, 10).unwrap();
    }
    let refused = app.sender.negotiated(2, 5_000, false, &mut app.scheduler);
    let streams: Vec<_> = refused
        .iter()
        .map(|(id, message)| (id.0, message.stream.0))
        .collect();
    assert_eq!(streams, [(2, 2), (1, 7), (3, 7)]);
    assert_eq!((app.sender.unsent_bytes(), app.sender.peer_window()), (10, 5_000));
    assert_eq!(app.enqueue(2, 1), Err(SendError::InvalidStream { streams: 2 }));
    assert_eq!(app.send_all().len(), 1);
}

#[test]
fn unacknowledged_messages_are_listed() {
    let mut app = Application::new();
    for length in [100, 2_000, 100, 300] {
        app.enqueue(0, length).unwrap();
    }
    app.send_all();
    app.enqueue(1, 5_000).unwrap();
    app.send(A, 1_000, 1_000).unwrap();
    app.enqueue(2, 77).unwrap();
    app.receive_sack_with_gaps(2, &[5], 10_000);
    let left: Vec<_> = app.sender.unacknowledged().collect();
    let message = |id, stream, bytes, sent| Unacknowledged {
        message: MessageId(id),
        stream: StreamId(stream),
        bytes,
        sent,
    };
    // Six chunks were sent before the one of stream 1: 100, 984, 984, 32, 100 and 300 bytes.
    let expected = [
        message(1, 0, 1_016, true),
        message(3, 0, 300, true),
        message(4, 1, 5_000, true),
        message(5, 2, 77, false),
    ];
    assert_eq!(left, expected);
}

//= rfc9260 6.1-24
#[test]
fn stream_has_at_most_65535_outstanding_ordered_messages() {
    let config = SenderConfig {
        buffer: BufferSize::Fixed(1_000_000),
        peer_window: 1_000_000,
        ..config()
    };
    let mut app = Application::with(config);
    for _ in 0..65_536 {
        app.enqueue(0, 1).unwrap();
    }
    app.enqueue(1, 1).unwrap();
    let sent = app.send_all();
    let on = |stream| {
        sent.iter()
            .filter(|chunk| chunk.stream == StreamId(stream))
            .count()
    };
    assert_eq!((on(0), on(1)), (65_535, 1), "the other stream does not wait");
    app.receive_sack(1, 1_000_000);
    let sent = app.send_all();
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].stream, StreamId(0));
}

#[test]
fn chunks_of_a_failed_path_are_retransmitted_on_another() {
    let mut app = Application::new();
    app.enqueue(0, 100).unwrap();
    app.send_all();
    assert_eq!(app.sender.lose_all(A).chunks, 1);
    assert_eq!((app.sender.in_flight(A), app.sender.queued(A)), (0, 116));
    app.sender.send_again(nth(1), B, NOW);
    assert_eq!(app.sender.queued(A), 0, "now its id may be used again");
}

/// Sends all chunks. Returns the stream id, MID and FSN of each.
fn send_interleaved(app: &mut Application) -> Vec<(u16, u32, u32)> {
    let mut sent = Vec::new();
    while let Some(data) = app.sender.send_new(A, 1_000, 1_000, &mut app.scheduler, NOW) {
        let UserData::IData(data) = data else {
            panic!("I-DATA was agreed on")
        };
        sent.push((data.stream.0, data.mid.0, data.fsn().0));
        app.scheduler.turn();
    }
    sent
}

fn interleaving(peer_window: u32) -> Application {
    let mut app = Application::new();
    app.sender.negotiated(10, peer_window, true, &mut app.scheduler);
    app
}

//= rfc8260 2.3.2-1
#[test]
fn reset_stream_begins_with_mid_zero_of_both_kinds() {
    let mut app = interleaving(100_000);
    for _ in 0..2 {
        app.enqueue(3, 10).unwrap();
        app.enqueue_message(Message::new(StreamId(3), vec![7; 10]).unordered())
            .unwrap();
        assert_eq!(send_interleaved(&mut app), [(3, 0, 0), (3, 0, 0)]);
        app.sender.streams.begin_anew(StreamId(3));
    }
}

//= rfc8260 2.1-8, 2.2.2-1, 2.2.2-2, 2.2.2-3
#[test]
fn fragments_of_i_data_have_b_and_e_bits_at_their_ends_only() {
    let mut app = interleaving(100_000);
    app.enqueue(3, 3_500).unwrap();
    let mut bits = Vec::new();
    while let Some(UserData::IData(data)) = app.sender.send_new(A, 1_000, 1_000, &mut app.scheduler, NOW) {
        bits.push((data.flags().beginning, data.flags().ending));
    }
    assert_eq!(
        bits,
        [(true, false), (false, false), (false, false), (false, true)]
    );
}

//= rfc8260 2.2.2-5
#[test]
fn i_data_has_mids_per_stream_and_fsns_per_message() {
    let mut app = interleaving(100_000);
    app.enqueue(3, 2_500).unwrap();
    app.enqueue(3, 10).unwrap();
    app.enqueue(5, 1_500).unwrap();
    app.enqueue_message(Message::new(StreamId(5), vec![7; 10]).unordered())
        .unwrap();
    assert_eq!(
        send_interleaved(&mut app),
        [
            (3, 0, 0),
            (5, 0, 0),
            (3, 0, 1),
            (5, 0, 1),
            (3, 0, 2),
            (5, 0, 0),
            (3, 1, 0)
        ]
    );
}

#[test]
fn i_data_header_counts_in_flight() {
    let mut app = interleaving(100_000);
    app.enqueue(0, 2_500).unwrap();
    send_interleaved(&mut app);
    assert_eq!(app.sender.in_flight(A), 2_500 + 3 * 20);
}

/// Otherwise parts of messages could fill the peer's buffer, none of them complete.
#[test]
fn messages_are_begun_only_if_they_fit_the_peer_window() {
    let mut app = interleaving(5_000);
    app.enqueue(1, 3_000).unwrap();
    app.enqueue(2, 3_000).unwrap();
    app.enqueue(3, 100).unwrap();
    let sent = send_interleaved(&mut app);
    assert_eq!(
        sent,
        [(1, 0, 0), (1, 0, 1), (3, 0, 0), (1, 0, 2), (1, 0, 3), (2, 0, 0)]
    );
}

/// The peer's window is too small for the message of one path, and the message already begun belongs to the other path.
#[test]
fn started_message_stays_on_the_path_of_its_stream() {
    let mut sender = Sender::new(config());
    let mut scheduler = FixedMap::new(FixedMapParameters::DEFAULT);
    let usable = [A, B].map(|id| PathFacts {
        reachability: Reachability::Active,
        ..PathFacts::new(id, 1_016, 1_000, RttEstimator::new(RtoParameters::RFC9260))
    });
    scheduler.observe(&usable, NOW);
    sender.negotiated(2, 5_000, true, &mut scheduler);
    for stream in [0, 1] {
        let message = Message::new(StreamId(stream), vec![7; 3_000]);
        sender.enqueue(message.into(), &mut scheduler).expect("room");
    }
    let mut streams_on = |path| {
        let mut sends = || Some(sender.send_new(path, 1_000, 1_000, &mut scheduler, NOW)?.stream());
        [sends(), sends()]
    };
    assert_eq!(streams_on(B), [Some(StreamId(1)); 2]);
    assert_eq!(streams_on(A), [None; 2]);
}

#[test]
fn million_messages_leave_no_memory_allocated() {
    let mut app = Application::with(SenderConfig {
        peer_window: 1_000_000,
        ..config()
    });
    let mut rng = Seed(3).rng();
    let mut sent = 0;
    while sent < 1_000_000 {
        for _ in 0..=rng.below(200) {
            let _ = app.enqueue(rng.below(10) as u16, 64);
        }
        sent += app.send_all().len() as u64;
        let sack = ValidSack {
            cumulative: nth(sent),
            a_rwnd: 1_000_000,
            packet_count: None,
            blocks: IntervalSet::new(),
            kept: IntervalSet::new(),
            duplicates: 0,
        };
        app.sender.on_sack(&sack, &mut app.scheduler, NOW);
    }
    assert!(app.sender.is_drained());
    assert!(app.sender.scoreboard.capacity_in_bytes() + app.sender.streams.capacity_in_bytes() <= 1_024);
    assert!(size_of::<Sender>() < 576);
}
