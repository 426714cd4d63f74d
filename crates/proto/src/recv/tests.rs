//! Tests of the receiver: DATA chunks arrive, the application reads messages, SACKs are sent.

mod hostile;
mod interleaved;
mod model;
mod nr_sack;
mod partial;

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

use anabranch_policy::catalog::{Choice as _, NrSackChoice};
use anabranch_policy::{AckPolicy, AckWhen, Arrival, Policy, PolicyRecipe};
use anabranch_types::{Instant, PathId, Ppid, Ssn, StreamId, Tsn, VerificationTag};
use anabranch_wire::{CommonHeader, Data, DataFlags, PacketBuilder, dissect};

use super::*;
use crate::message::Extent;

const DELAY: Duration = Duration::from_millis(200);

/// RFC 9260 §6.2 and §6.7 as simply as possible: a SACK for every second packet, and at once after a gap or duplicate.
#[derive(Debug)]
struct EverySecondPacket;

impl Policy for EverySecondPacket {
    fn name(&self) -> &'static str {
        "every second packet"
    }
}

impl AckPolicy for EverySecondPacket {
    fn on_packet(&mut self, arrival: &Arrival, now: Instant) -> AckWhen {
        let unusual = arrival.lowest_missing.is_some() || arrival.gaps_changed || arrival.immediate;
        if unusual || arrival.packets_since_sack >= 2 {
            AckWhen::Now
        } else {
            AckWhen::By(now + DELAY)
        }
    }
}

/// Delays every SACK for as long as the receiver allows.
#[derive(Debug)]
struct Lazy;

impl Policy for Lazy {
    fn name(&self) -> &'static str {
        "lazy"
    }
}

impl AckPolicy for Lazy {
    fn on_packet(&mut self, _: &Arrival, _: Instant) -> AckWhen {
        AckWhen::By(Instant::MAX)
    }
}

/// A receiver and a clock.
struct Host {
    receiver: Receiver,
    recipe: PolicyRecipe,
    /// Whether the peer agreed to selected gap ack blocks.
    selects: bool,
    now: Instant,
}

impl Host {
    /// Initial TSN 10, ten streams, a buffer of 10,000 bytes, messages of at most 4,000 bytes.
    fn new() -> Self {
        Self::with(ReceiverConfig {
            initial_tsn: Tsn(10),
            buffer: 10_000,
            max_message: 4_000,
            whole: 4_000,
            inbound_streams: 10,
            interleaving: false,
        })
    }

    fn with(config: ReceiverConfig) -> Self {
        Self {
            receiver: Receiver::new(config),
            recipe: PolicyRecipe::default(),
            selects: false,
            now: Instant::ZERO,
        }
    }

    /// Receives one packet with these chunks.
    fn packet(&mut self, chunks: &[Data<'_>]) -> Vec<DataOutcome> {
        let outcomes = chunks
            .iter()
            .map(|chunk| self.receiver.on_user_data(&UserData::Data(*chunk)).unwrap())
            .collect();
        self.receiver
            .packet_done(PathId(0), &mut EverySecondPacket, self.now);
        outcomes
    }

    fn wanted(&self) -> SackWanted {
        self.receiver.sack_wanted(self.now)
    }

    /// The SACK sent now, as text.
    fn sack(&mut self) -> String {
        self.sack_within(1_200, false).expect("a SACK fits")
    }

    fn sack_within(&mut self, packet: usize, reports_packet_count: bool) -> Option<String> {
        let header = CommonHeader {
            source_port: 1,
            destination_port: 2,
            tag: VerificationTag(3),
        };
        let mut buffer = Vec::new();
        let mut builder = PacketBuilder::new(&mut buffer, header, packet);
        let form = SackForm {
            reports_packet_count,
            selects: self.selects,
            ..SackForm::of(&self.recipe)
        };
        if !self.receiver.write_sack(&mut builder, form) {
            return None;
        }
        builder.finish();
        let line = dissect::line(&buffer);
        line.find("SACK").map(|at| line[at..].to_string())
    }

    /// All messages that the application can read now.
    fn receive_all(&mut self) -> Vec<ReceivedMessage> {
        core::iter::from_fn(|| self.receiver.receive()).collect()
    }

    /// The same, payloads only.
    fn read(&mut self) -> Vec<String> {
        let text = |message: ReceivedMessage| String::from_utf8(message.payload.to_vec()).unwrap();
        self.receive_all().into_iter().map(text).collect()
    }
}

/// A whole ordered message on stream 0.
fn message(tsn: u32, ssn: u16, payload: &[u8]) -> Data<'_> {
    Data {
        tsn: Tsn(tsn),
        stream: StreamId(0),
        ssn: Ssn(ssn),
        ppid: Ppid(0),
        flags: DataFlags::WHOLE,
        payload,
    }
}

fn unordered(tsn: u32, payload: &[u8]) -> Data<'_> {
    let flags = DataFlags {
        unordered: true,
        ..DataFlags::WHOLE
    };
    Data {
        flags,
        ..message(tsn, 0, payload)
    }
}

/// A fragment on stream 0; `part` is "B", "" or "E".
fn fragment<'a>(tsn: u32, ssn: u16, part: &str, payload: &'a [u8]) -> Data<'a> {
    let flags = DataFlags {
        beginning: part == "B",
        ending: part == "E",
        ..DataFlags::default()
    };
    Data {
        flags,
        ..message(tsn, ssn, payload)
    }
}

#[test]
fn messages_received_in_order_are_delivered_in_order() {
    let mut host = Host::new();
    assert_eq!(host.sack(), "SACK cum=9 rwnd=10000");
    host.packet(&[message(10, 0, b"one"), message(11, 1, b"two")]);
    host.packet(&[message(12, 2, b"three")]);
    assert!(host.receiver.readable());
    assert_eq!(host.receiver.held_bytes(), 11);
    assert_eq!(host.sack(), "SACK cum=12 rwnd=9989");
    assert_eq!(host.read(), ["one", "two", "three"]);
    assert!(!host.receiver.readable());
    assert_eq!(host.sack(), "SACK cum=12 rwnd=10000");
}

#[test]
fn delivered_message_has_its_stream_and_ppid() {
    let mut host = Host::new();
    let flags = DataFlags {
        unordered: true,
        ..DataFlags::WHOLE
    };
    host.packet(&[Data {
        stream: StreamId(7),
        ppid: Ppid(42),
        flags,
        ..message(10, 0, b"hello")
    }]);
    let expected = ReceivedMessage {
        extent: Extent::Whole,
        stream: StreamId(7),
        ppid: Ppid(42),
        unordered: true,
        payload: b"hello".as_slice().into(),
    };
    assert_eq!(host.receive_all(), [expected]);
}

/// SCTP does not use the PPID (RFC 9260 §3.3.1), so a difference is not worth an association.
#[test]
fn message_has_the_ppid_of_its_first_fragment_in_any_order_of_arrival() {
    let part = |tsn, part, ppid, payload| Data {
        ppid: Ppid(ppid),
        ..fragment(tsn, 0, part, payload)
    };
    let parts = [
        part(10, "B", 1, b"a"),
        part(11, "", 2, b"b"),
        part(12, "E", 3, b"c"),
    ];
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [2, 0, 1]] {
        let mut host = Host::new();
        for index in order {
            host.packet(&[parts[index]]);
        }
        let messages = host.receive_all();
        let [message] = &messages[..] else {
            panic!("{messages:?}")
        };
        assert_eq!(
            (&message.payload[..], message.ppid),
            (&b"abc"[..], Ppid(1)),
            "{order:?}"
        );
    }
}

//= rfc9260 6.2-17
#[test]
fn gap_is_reported_until_it_is_filled() {
    let mut host = Host::new();
    host.packet(&[message(10, 0, b"a")]);
    host.packet(&[message(12, 2, b"c")]);
    host.packet(&[message(13, 3, b"d")]);
    host.packet(&[message(15, 5, b"f")]);
    assert!(host.receiver.has_gaps());
    assert_eq!(host.sack(), "SACK cum=10 rwnd=9996 gaps=2-3,5-5");
    host.packet(&[message(11, 1, b"b")]);
    assert_eq!(host.sack(), "SACK cum=13 rwnd=9995 gaps=2-2");
    host.packet(&[message(14, 4, b"e")]);
    assert!(!host.receiver.has_gaps());
    assert_eq!(host.receiver.cumulative(), Tsn(15));
    assert_eq!(host.read(), ["a", "b", "c", "d", "e", "f"]);
}

//= rfc9260 6.2-22, 6.2-23
#[test]
fn duplicates_are_sacked_at_once_and_reported_once_each() {
    let mut host = Host::new();
    host.packet(&[message(10, 0, b"a")]);
    host.sack();
    let again = host.packet(&[message(10, 0, b"a"), message(10, 0, b"a")]);
    assert_eq!(again, [DataOutcome::Duplicate, DataOutcome::Duplicate]);
    assert_eq!(host.wanted(), SackWanted::Must);
    assert_eq!(host.sack(), "SACK cum=10 rwnd=9999 dup=2");
    assert_eq!(host.sack(), "SACK cum=10 rwnd=9999");
    host.packet(&[message(12, 2, b"c")]);
    assert_eq!(host.packet(&[message(12, 2, b"c")]), [DataOutcome::Duplicate]);
    assert_eq!(host.read(), ["a"]);
    assert_eq!(host.receiver.statistics().duplicates, 3);
}

//= rfc9260 6.2-1, 6.2-8, 6.2-9, 6.2-10
#[test]
fn first_packet_is_sacked_with_delay_and_the_second_at_once() {
    let mut host = Host::new();
    assert_eq!(host.wanted(), SackWanted::No);
    host.packet(&[message(10, 0, b"a")]);
    assert_eq!(host.wanted(), SackWanted::May);
    assert_eq!(host.receiver.sack_deadline(), Some(Instant::ZERO + DELAY));
    host.now = Instant::ZERO + DELAY;
    assert_eq!(host.wanted(), SackWanted::Must);
    assert_eq!(
        host.sack_within(1_200, true).unwrap(),
        "SACK cum=10 rwnd=9999 packets=1"
    );
    assert_eq!(host.wanted(), SackWanted::No);
    assert_eq!(host.receiver.sack_deadline(), None);
    host.packet(&[message(11, 1, b"b")]);
    host.packet(&[message(12, 2, b"c")]);
    assert_eq!(host.wanted(), SackWanted::Must);
    assert_eq!(host.receiver.sack_deadline(), None, "what is due needs no timer");
    assert_eq!(
        host.sack_within(1_200, true).unwrap(),
        "SACK cum=12 rwnd=9997 packets=2"
    );
}

//= rfc9260 6.2-14, 6.2-15
#[test]
fn no_policy_delays_a_sack_beyond_500_ms() {
    let mut host = Host::new();
    let mut packet = |chunk: Data<'_>| {
        host.receiver.on_user_data(&UserData::Data(chunk)).unwrap();
        host.receiver.packet_done(PathId(0), &mut Lazy, host.now);
        (host.wanted(), host.receiver.sack_deadline())
    };
    let half_a_second = Instant::ZERO + Duration::from_millis(500);
    assert_eq!(
        packet(message(10, 0, b"a")),
        (SackWanted::May, Some(half_a_second))
    );
    assert_eq!(
        packet(message(12, 2, b"c")),
        (SackWanted::May, Some(half_a_second))
    );
    assert_eq!(
        packet(message(10, 0, b"a")),
        (SackWanted::Must, None),
        "duplicates and nothing new"
    );
}

#[test]
fn forced_sack_is_sent_at_once() {
    let mut host = Host::new();
    host.packet(&[message(10, 0, b"a")]);
    host.receiver.force_sack();
    assert_eq!(host.wanted(), SackWanted::Must);
}

//= rfc9260 6.2-20, 6.2-21
#[test]
fn i_bit_is_sacked_at_once() {
    let mut host = Host::new();
    let flags = DataFlags {
        immediate: true,
        ..DataFlags::WHOLE
    };
    host.packet(&[Data {
        flags,
        ..message(10, 0, b"now")
    }]);
    assert_eq!(host.wanted(), SackWanted::Must);
}

//= rfc9260 6.7-2
#[test]
fn path_of_the_last_data_is_recorded() {
    let mut host = Host::new();
    host.receiver
        .on_user_data(&UserData::Data(message(10, 0, b"a")))
        .unwrap();
    host.receiver
        .packet_done(PathId(3), &mut EverySecondPacket, host.now);
    assert_eq!(host.receiver.last_data_path(), PathId(3));
}

//= rfc9260 6.6-1, 6.6-2
#[test]
fn ordered_messages_wait_only_for_their_own_stream() {
    let mut host = Host::new();
    host.packet(&[message(11, 1, b"second"), unordered(12, b"urgent")]);
    host.packet(&[Data {
        stream: StreamId(1),
        ..message(13, 0, b"elsewhere")
    }]);
    assert_eq!(host.read(), ["urgent", "elsewhere"]);
    host.packet(&[message(10, 0, b"first")]);
    assert_eq!(host.read(), ["first", "second"]);
}

//= rfc9260 6-11, 6-12, 6.9-1, 6.9-15
#[test]
fn fragments_are_reassembled_in_any_order_of_arrival() {
    let fragments = [
        fragment(10, 0, "B", b"to"),
        fragment(11, 0, "", b"ge"),
        fragment(12, 0, "", b"th"),
        fragment(13, 0, "E", b"er"),
    ];
    for order in [
        [0, 1, 2, 3],
        [3, 2, 1, 0],
        [0, 2, 3, 1],
        [1, 3, 0, 2],
        [2, 0, 1, 3],
        [3, 0, 2, 1],
    ] {
        let mut host = Host::new();
        for (arrived, index) in order.into_iter().enumerate() {
            assert!(!host.receiver.readable(), "{order:?} was whole after {arrived}");
            host.packet(&[fragments[index]]);
        }
        assert_eq!(host.read(), ["together"], "{order:?}");
        assert_eq!(host.receiver.held_bytes(), 0);
        assert_eq!(host.receiver.a_rwnd(), 10_000);
    }
}

#[test]
fn fragmented_message_is_delivered_in_stream_order() {
    let mut host = Host::new();
    host.packet(&[fragment(11, 1, "B", b"la"), fragment(12, 1, "E", b"ter")]);
    assert_eq!(host.read(), Vec::<String>::new());
    host.packet(&[message(10, 0, b"sooner")]);
    assert_eq!(host.read(), ["sooner", "later"]);
}

//= rfc9260 3.3.1-2, 6.6-3
#[test]
fn ssn_of_unordered_fragments_is_ignored() {
    let mut host = Host::new();
    let part = |tsn, ssn, part, payload| {
        let fragment = fragment(tsn, ssn, part, payload);
        Data {
            flags: DataFlags {
                unordered: true,
                ..fragment.flags
            },
            ..fragment
        }
    };
    host.packet(&[part(11, 5, "E", b"way"), part(10, 9, "B", b"any")]);
    assert_eq!(host.read(), ["anyway"]);
}

//= rfc9260 1.6-5
#[test]
fn received_stream_sequence_numbers_wrap() {
    let mut host = Host::new();
    for count in 0..70_000_u32 {
        let ssn = count as u16;
        // Each pair arrives in reverse order.
        let swapped = count ^ 1;
        host.receiver
            .on_user_data(&UserData::Data(message(
                10 + swapped,
                ssn ^ 1,
                &swapped.to_be_bytes(),
            )))
            .unwrap();
        if count % 2 == 1 {
            let pair = host.receive_all();
            assert_eq!(pair[0].payload[..], (count - 1).to_be_bytes());
            assert_eq!(pair[1].payload[..], count.to_be_bytes());
        }
    }
}

//= rfc9260 1.6-1
#[test]
fn transmission_sequence_numbers_wrap() {
    let mut host = Host::with(ReceiverConfig {
        initial_tsn: Tsn(u32::MAX - 2),
        buffer: 10_000,
        max_message: 1_000,
        whole: 1_000,
        inbound_streams: 1,
        interleaving: false,
    });
    host.packet(&[
        message(u32::MAX - 2, 0, b"a"),
        message(1, 4, b"e"),
        message(u32::MAX, 2, b"c"),
    ]);
    assert_eq!(host.sack(), "SACK cum=4294967293 rwnd=9997 gaps=2-2,4-4");
    host.packet(&[
        message(u32::MAX - 1, 1, b"b"),
        message(0, 3, b"d"),
        message(2, 5, b"f"),
    ]);
    assert_eq!(host.sack(), "SACK cum=2 rwnd=9994");
    assert_eq!(
        host.packet(&[message(u32::MAX, 2, b"c")]),
        [DataOutcome::Duplicate]
    );
    assert_eq!(host.read().concat(), "abcdef");
}

//= rfc9260 6.5-2
#[test]
fn data_on_an_invalid_stream_is_acknowledged_and_discarded() {
    let mut host = Host::new();
    let outcome = host.packet(&[Data {
        stream: StreamId(10),
        ..message(10, 0, b"nowhere")
    }]);
    assert_eq!(outcome, [DataOutcome::InvalidStream]);
    assert_eq!(host.sack(), "SACK cum=10 rwnd=10000");
    assert!(!host.receiver.readable());
}

//= rfc9260 6.2-2, 6.2-4, 6.2-5, 6.2-25, 6.2-27, 6.2-28
#[test]
fn receive_window_closes_and_reopens() {
    let mut host = Host::new();
    let kilobyte = [b'x'; 1_000];
    for count in 0..10 {
        host.packet(&[message(10 + count, count as u16, &kilobyte)]);
    }
    assert_eq!(host.sack(), "SACK cum=19 rwnd=0");
    assert_eq!(host.packet(&[message(20, 10, b"probe")]), [DataOutcome::NoRoom]);
    assert_eq!(
        host.wanted(),
        SackWanted::Must,
        "RFC 9260 §6.2: a drop is answered immediately"
    );
    assert_eq!(host.sack(), "SACK cum=19 rwnd=0");
    assert_eq!(host.read().len(), 10);
    assert_eq!(host.wanted(), SackWanted::Must, "the peer waits for this");
    assert_eq!(host.sack(), "SACK cum=19 rwnd=10000");
    assert_eq!(host.wanted(), SackWanted::No);
    assert_eq!(host.packet(&[message(20, 10, b"probe")]), [DataOutcome::Accepted]);
    assert_eq!(host.receiver.statistics().dropped, 1);
}

//= rfc9260 6.2-31
#[test]
fn closed_window_accepts_data_that_fills_a_gap() {
    let mut host = Host::new();
    let kilobyte = [b'x'; 1_000];
    for count in 1..11 {
        host.packet(&[message(10 + count, count as u16, &kilobyte)]);
    }
    assert_eq!(host.sack(), "SACK cum=9 rwnd=0 gaps=2-11");
    assert_eq!(host.packet(&[message(21, 11, b"above")]), [DataOutcome::NoRoom]);
    assert_eq!(host.packet(&[message(10, 0, b"below")]), [DataOutcome::Accepted]);
    assert_eq!(host.read().len(), 11);
}

//= rfc9260 6.2-6, 6.2-13, 6.2-24
#[test]
fn window_updates_avoid_the_silly_window_syndrome() {
    let mut host = Host::new();
    let half_kilobyte = [b'x'; 500];
    for count in 0..20 {
        host.packet(&[message(10 + count, count as u16, &half_kilobyte)]);
    }
    assert_eq!(host.sack(), "SACK cum=29 rwnd=0");
    for taken in 1..6 {
        host.receiver.receive();
        assert_eq!(host.wanted(), SackWanted::No, "after {taken}");
        assert_eq!(host.receiver.a_rwnd(), 0, "a window of {} is silly", taken * 500);
    }
    host.receiver.receive();
    assert_eq!(host.wanted(), SackWanted::Must);
    assert_eq!(host.sack(), "SACK cum=29 rwnd=3000");
    assert_eq!(host.wanted(), SackWanted::No);
}

#[test]
fn window_opens_for_the_rest_of_a_started_message() {
    let mut host = Host::with(ReceiverConfig {
        initial_tsn: Tsn(10),
        buffer: 5_000,
        max_message: 5_000,
        whole: 5_000,
        inbound_streams: 1,
        interleaving: false,
    });
    let kilobyte = [b'x'; 1_000];
    host.packet(&[message(10, 0, &kilobyte)]);
    for (tsn, part) in [(11, "B"), (12, ""), (13, ""), (14, "")] {
        host.packet(&[fragment(tsn, 1, part, &kilobyte)]);
    }
    assert_eq!(host.sack(), "SACK cum=14 rwnd=0");
    assert_eq!(host.read().len(), 1);
    assert_eq!(
        host.wanted(),
        SackWanted::Must,
        "reading will not open it further"
    );
    assert_eq!(host.sack(), "SACK cum=14 rwnd=1000");
    host.packet(&[fragment(15, 1, "E", b"the end")]);
    assert_eq!(host.read().len(), 1);
}

#[test]
fn message_larger_than_the_buffer_is_delivered() {
    let mut host = Host::with(ReceiverConfig {
        initial_tsn: Tsn(10),
        buffer: 1_000,
        max_message: 5_000,
        whole: 5_000,
        inbound_streams: 1,
        interleaving: false,
    });
    let kilobyte = [b'x'; 1_000];
    for (tsn, part) in [(10, "B"), (11, ""), (12, ""), (13, ""), (14, "E")] {
        assert_eq!(
            host.packet(&[fragment(tsn, 0, part, &kilobyte)]),
            [DataOutcome::Accepted]
        );
    }
    assert_eq!(host.read()[0].len(), 5_000);
}

//= rfc9260 6.2-18, 6.7-6, 6.7-7
#[test]
fn truncated_sack_keeps_the_lowest_gap_blocks() {
    let mut host = Host::new();
    for count in 1..9_u16 {
        host.packet(&[message(10 + 2 * u32::from(count), 2 * count, b"x")]);
    }
    host.packet(&[message(12, 2, b"x")]);
    // Common header 12, SACK 16, three entries of 4 bytes; then a packet with room for one, then one without room for a SACK.
    assert_eq!(
        host.sack_within(12 + 16 + 12, false).unwrap(),
        "SACK cum=9 rwnd=9992 gaps=3-3,5-5,7-7"
    );
    host.packet(&[message(12, 2, b"x")]);
    let all = "SACK cum=9 rwnd=9992 gaps=3-3,5-5,7-7,9-9,11-11,13-13,15-15,17-17 dup=1";
    assert_eq!(host.sack_within(12 + 16 + 36, false).unwrap(), all);
    host.packet(&[message(12, 2, b"x")]);
    assert_eq!(host.sack_within(12 + 12, false), None);
    assert_eq!(host.wanted(), SackWanted::Must, "it is still owed");
}

#[test]
fn sack_without_room_for_all_has_the_lowest_and_the_latest_gap_blocks_if_agreed() {
    let mut host = Host::new();
    let arrives = |host: &mut Host, tsn: u32| host.packet(&[message(tsn, (tsn - 10) as u16, b"x")]);
    for count in 1..=60 {
        arrives(&mut host, 10 + 2 * count);
    }
    // Each of these joins two gap ack blocks.
    arrives(&mut host, 51);
    arrives(&mut host, 71);
    host.selects = true;
    // Room for eight blocks, of which half are those of 128, 130, 51 and 71.
    assert_eq!(
        host.sack_within(12 + 16 + 8 * 4, false).unwrap(),
        "SACK cum=9 rwnd=9938 gaps=3-3,5-5,7-7,9-9,41-43,61-63,119-119,121-121"
    );
    arrives(&mut host, 13);
    assert_eq!(
        host.sack_within(12 + 16 + 8 * 4, false).unwrap(),
        "SACK cum=9 rwnd=9937 gaps=3-5,7-7,9-9,11-11,41-43,61-63,121-121",
        "a recent one that is among the lowest is reported once"
    );
    host.selects = false;
    arrives(&mut host, 91);
    assert_eq!(
        host.sack_within(12 + 16 + 4 * 4, false).unwrap(),
        "SACK cum=9 rwnd=9936 gaps=3-5,7-7,9-9,11-11"
    );
}

#[test]
fn unread_messages_survive_a_restart_of_the_peer() {
    let mut host = Host::new();
    host.packet(&[message(10, 0, b"from before")]);
    let config = ReceiverConfig {
        initial_tsn: Tsn(500),
        buffer: 10_000,
        max_message: 5_000,
        whole: 5_000,
        inbound_streams: 1,
        interleaving: false,
    };
    host.receiver = host.receiver.restart(config);
    assert_eq!(host.receiver.held_bytes(), 11);
    host.packet(&[message(500, 0, b"from after")]);
    assert_eq!(host.read(), ["from before", "from after"]);
    assert_eq!(host.receiver.held_bytes(), 0);
}

#[test]
fn idle_receiver_takes_at_most_512_bytes() {
    assert!(size_of::<Receiver>() <= 512, "{} bytes", size_of::<Receiver>());
    let host = Host::new();
    assert_eq!(host.receiver.statistics(), ReceiveStatistics::default());
}
