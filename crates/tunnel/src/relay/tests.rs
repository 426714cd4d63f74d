//! Tests of the relay: two of them, and queues between them. Whatever the delays, what goes in comes out.

use std::collections::{BTreeMap, VecDeque};

use anabranch_types::{Rng, Seed};

use super::*;
use crate::credit::{INITIAL_WINDOW, LARGEST_WINDOW};

/// No relay here knows a round-trip time, so the time has no effect.
fn now() -> Instant {
    Instant::now()
}

/// Two relays. Frames of a stream arrive in order, those of different streams at any time.
struct Pair {
    ends: [Relay; 2],
    /// Under way from each end, by stream.
    flying: [BTreeMap<u16, VecDeque<Frame>>; 2],
}

impl Pair {
    fn new() -> Self {
        Self {
            ends: [Relay::new(Role::Client), Relay::new(Role::Server)],
            flying: Default::default(),
        }
    }

    fn transmit(&mut self, end: usize) {
        while let Some((stream, frame)) = self.ends[end].poll_transmit() {
            // What is transmitted is what a message would carry.
            let length = frame.length();
            let (ppid, payload) = frame.encode();
            assert_eq!(payload.len(), length);
            let frame = Frame::parse(ppid, payload).unwrap();
            self.flying[end].entry(stream).or_default().push_back(frame);
        }
    }

    /// The next frame of `stream` arrives at the other end.
    fn arrive(&mut self, from: usize, stream: u16) -> Option<(ConnectionId, Target)> {
        let queue = self.flying[from].get_mut(&stream)?;
        let frame = queue.pop_front()?;
        if queue.is_empty() {
            self.flying[from].remove(&stream);
        }
        self.ends[1 - from].handle_frame(stream, frame).unwrap()
    }

    /// Transmits and delivers everything; returns the connections that were opened at either end.
    fn settle(&mut self) -> Vec<(usize, ConnectionId)> {
        let mut opened = Vec::new();
        loop {
            self.transmit(0);
            self.transmit(1);
            let next = (0..2).find_map(|end| Some((end, *self.flying[end].keys().next()?)));
            let Some((from, stream)) = next else { return opened };
            opened.extend(self.arrive(from, stream).map(|(id, _)| (1 - from, id)));
        }
    }

    /// A connection that the client has opened and the server accepted: both ends' names of it.
    fn connect(&mut self) -> [ConnectionId; 2] {
        let ours = self.ends[0].open(target(), None).unwrap();
        let theirs = self.settle()[0].1;
        self.ends[1].accept(theirs);
        self.settle();
        [ours, theirs]
    }
}

fn target() -> Target {
    "example.org:443".parse().unwrap()
}

/// Sends as much as there is room for; returns how much.
fn fill(relay: &mut Relay, id: ConnectionId) -> u64 {
    let mut sent = 0;
    while let Outbound::Room(room) = relay.outbound(id) {
        relay.send(id, Bytes::from(vec![7; room as usize]));
        sent += room;
        while relay.poll_transmit().is_some() {}
    }
    sent
}

#[test]
fn connection_is_opened_carries_both_directions_and_closes() {
    let mut pair = Pair::new();
    let [ours, theirs] = pair.connect();
    assert_eq!(pair.ends[0].is_opened(ours), Ok(true));
    pair.ends[0].send(ours, "question".into());
    pair.ends[0].finish(ours);
    pair.settle();
    assert_eq!(pair.ends[1].inbound(theirs), Inbound::Data("question".into()));
    pair.ends[1].read(theirs, 8, now());
    assert_eq!(pair.ends[1].inbound(theirs), Inbound::Finished);
    // The other direction is open still.
    pair.ends[1].send(theirs, "answer".into());
    pair.ends[1].finish(theirs);
    pair.ends[1].close(theirs, Reason::Reset);
    pair.settle();
    assert_eq!(pair.ends[0].inbound(ours), Inbound::Data("answer".into()));
    pair.ends[0].read(ours, 6, now());
    assert_eq!(pair.ends[0].inbound(ours), Inbound::Finished);
    pair.ends[0].close(ours, Reason::Reset);
    pair.settle();
    assert_eq!(pair.ends[0].connections() + pair.ends[1].connections(), 0);
    assert_eq!((pair.ends[0].grown, pair.ends[0].free.len()), (0, 512));
}

#[test]
fn refusal_tells_its_reason() {
    let mut pair = Pair::new();
    let ours = pair.ends[0].open(target(), None).unwrap();
    let (_, theirs) = pair.settle()[0];
    pair.ends[1].close(theirs, Reason::NotPermitted);
    pair.settle();
    assert_eq!(pair.ends[0].is_opened(ours), Err(Reason::NotPermitted));
    assert_eq!(pair.ends[0].outbound(ours), Outbound::Reset(Reason::NotPermitted));
    assert_eq!(pair.ends[0].inbound(ours), Inbound::Reset(Reason::NotPermitted));
    pair.ends[0].close(ours, Reason::Reset);
    assert_eq!(pair.ends[0].free.len(), 512);
}

#[test]
fn stalled_reader_stops_its_sender_and_no_other() {
    let mut pair = Pair::new();
    let [stalled, _] = pair.connect();
    let [ours, theirs] = pair.connect();
    assert_eq!(fill(&mut pair.ends[0], stalled), INITIAL_WINDOW);
    assert_eq!(pair.ends[0].outbound(stalled), Outbound::Full);
    // A hundred windows of the other connection pass meanwhile.
    for _ in 0..100 {
        pair.ends[0].send(ours, Bytes::from(vec![7; LONGEST_DATA]));
        pair.settle();
        while let Inbound::Data(data) = pair.ends[1].inbound(theirs) {
            pair.ends[1].read(theirs, data.len() as u64, now());
        }
        pair.settle();
        assert!(matches!(pair.ends[0].outbound(ours), Outbound::Room(_)));
    }
    assert_eq!(pair.ends[0].outbound(stalled), Outbound::Full);
}

#[test]
fn queue_of_a_connection_is_limited_until_it_is_transmitted() {
    let mut pair = Pair::new();
    let [ours, theirs] = pair.connect();
    // The window has grown beyond the queue.
    for _ in 0..100 {
        pair.ends[0].send(ours, Bytes::from(vec![7; LONGEST_DATA]));
        pair.settle();
        while let Inbound::Data(data) = pair.ends[1].inbound(theirs) {
            pair.ends[1].read(theirs, data.len() as u64, now());
        }
        pair.settle();
    }
    let mut queued = 0;
    while let Outbound::Room(room) = pair.ends[0].outbound(ours) {
        pair.ends[0].send(ours, Bytes::from(vec![7; room as usize]));
        queued += room;
    }
    assert_eq!(queued, 128 << 10);
    assert!(pair.ends[0].poll_transmit().is_some());
    assert_eq!(pair.ends[0].outbound(ours), Outbound::Room(LONGEST_DATA as u64));
}

/// An association that sends `RATE` bytes in each direction in a round, the messages of the stream in their order.
struct Line {
    /// Bytes of the first message that were sent.
    sent: [u64; 2],
}

impl Line {
    const RATE: u64 = 20_000;

    fn round(&mut self, pair: &mut Pair, end: usize, stream: u16) {
        let unsent = |pair: &Pair, sent: u64| {
            let queue = pair.flying[end].get(&stream);
            queue.map_or(0, |queue| queue.iter().map(length).sum::<u64>() - sent)
        };
        while let Some((stream, frame)) = pair.ends[end].poll_transmit() {
            pair.flying[end].entry(stream).or_default().push_back(frame);
            let unsent = unsent(pair, self.sent[end]);
            pair.ends[end].handle_unsent(stream, unsent);
        }
        self.sent[end] += Self::RATE;
        while let Some(first) = pair.flying[end]
            .get(&stream)
            .and_then(VecDeque::front)
            .map(length)
            && first <= self.sent[end]
        {
            self.sent[end] -= first;
            assert_eq!(pair.arrive(end, stream), None);
        }
        if !pair.flying[end].contains_key(&stream) {
            self.sent[end] = 0;
        }
        let unsent = unsent(pair, self.sent[end]);
        pair.ends[end].handle_unsent(stream, unsent);
    }
}

fn length(frame: &Frame) -> u64 {
    frame.length() as u64
}

/// Bytes of a download in 1,000 rounds, alone or beside an upload on the same connection that has lasted for 2,000.
fn download(with_upload: bool) -> u64 {
    let mut pair = Pair::new();
    let [ours, theirs] = pair.connect();
    let (mut line, mut downloaded) = (Line { sent: [0; 2] }, 0);
    for round in 0..3_000 {
        let is_wanted = [with_upload, round >= 2_000];
        for (end, id) in [(0, ours), (1, theirs)] {
            while let Outbound::Room(room) = pair.ends[end].outbound(id)
                && is_wanted[end]
            {
                pair.ends[end].send(id, Bytes::from(vec![7; room as usize]));
            }
        }
        for (end, id) in [(0, ours), (1, theirs)] {
            line.round(&mut pair, 1 - end, ours.stream());
            while let Inbound::Data(data) = pair.ends[end].inbound(id) {
                downloaded += if end == 0 { data.len() as u64 } else { 0 };
                pair.ends[end].read(id, data.len() as u64, now());
            }
        }
    }
    downloaded
}

/// Credit for the download waits behind little of the upload only.
#[test]
fn upload_does_not_stop_the_download_of_its_connection() {
    let (alone, beside) = (download(false), download(true));
    assert!(alone > 950 * Line::RATE, "{alone}");
    assert!(beside > 900 * Line::RATE, "{beside} instead of {alone}");
}

#[test]
fn streams_with_data_take_turns() {
    let mut pair = Pair::new();
    let [first, _] = pair.connect();
    let [second, _] = pair.connect();
    for id in [first, first, second, second] {
        pair.ends[0].send(id, "x".into());
    }
    let order: Vec<u16> = std::iter::from_fn(|| pair.ends[0].poll_transmit())
        .map(|(stream, _)| stream)
        .collect();
    assert_eq!(order, [0, 2, 0, 2]);
}

#[test]
fn connections_beyond_the_streams_are_refused() {
    let mut relay = Relay::new(Role::Server);
    for stream in (1..STREAMS).step_by(2) {
        assert_eq!(relay.open(target(), None).unwrap().stream(), stream);
    }
    assert_eq!(relay.open(target(), None), None);
}

/// Frames of the first connection that arrive late mean nothing to the second one of its stream.
#[test]
fn late_credit_does_not_reach_the_next_connection() {
    let mut pair = Pair::new();
    let [ours, theirs] = pair.connect();
    pair.ends[1].send(theirs, Bytes::from(vec![7; LONGEST_DATA]));
    pair.settle();
    // Both ends give it up at the same moment, with credit under way.
    pair.ends[0].read(ours, LONGEST_DATA as u64, now());
    pair.transmit(0);
    pair.ends[0].close(ours, Reason::Reset);
    pair.ends[1].close(theirs, Reason::Reset);
    pair.settle();
    let [again, accepted] = pair.connect();
    assert_eq!(again.stream(), ours.stream());
    assert_eq!(fill(&mut pair.ends[1], accepted), INITIAL_WINDOW);
    assert_eq!(pair.ends[0].inbound(ours), Inbound::Reset(Reason::Reset));
}

#[test]
fn connection_given_up_before_its_open_is_transmitted_is_closed() {
    let mut pair = Pair::new();
    let ours = pair.ends[0].open(target(), None).unwrap();
    pair.ends[0].send(ours, "early".into());
    pair.ends[0].close(ours, Reason::Reset);
    let (_, theirs) = pair.settle()[0];
    assert_eq!(pair.ends[1].inbound(theirs), Inbound::Data("early".into()));
    assert_eq!(pair.ends[1].inbound(theirs), Inbound::Reset(Reason::Reset));
    assert_eq!(pair.ends[0].free.len(), 511);
    pair.ends[1].accept(theirs);
    pair.ends[1].close(theirs, Reason::Reset);
    pair.settle();
    assert_eq!(pair.ends[0].free.len(), 512);
}

/// As Linux does with TCP: a server refuses an upload with an answer, and resets the connection.
#[test]
fn what_was_sent_before_a_reset_is_received() {
    let mut pair = Pair::new();
    let [ours, theirs] = pair.connect();
    pair.ends[0].send(ours, "upload".into());
    pair.settle();
    pair.ends[1].send(theirs, "413".into());
    pair.ends[1].close(theirs, Reason::Reset);
    pair.settle();
    assert_eq!(pair.ends[0].outbound(ours), Outbound::Reset(Reason::Reset));
    assert_eq!(pair.ends[0].inbound(ours), Inbound::Data("413".into()));
    assert_eq!(pair.ends[0].inbound(ours), Inbound::Reset(Reason::Reset));
}

#[test]
fn stream_is_not_opened_again_before_the_answer_has_left() {
    let mut server = Relay::new(Role::Server);
    let (id, _) = server
        .handle_frame(0, Frame::Open(target(), None))
        .unwrap()
        .unwrap();
    server.close(id, Reason::Refused);
    let mut early = server.handle_frame(0, Frame::Open(target(), None));
    assert_eq!(early, Err(Violation::InUse));
    assert_eq!(server.poll_transmit(), Some((0, Frame::Reset(Reason::Refused))));
    early = server.handle_frame(0, Frame::Open(target(), None));
    assert!(matches!(early, Ok(Some(_))));
}

/// What a peer that breaks the rules is told.
#[test]
fn violations_are_recognised() {
    let data = |bytes: u64| Frame::Data(Bytes::from(vec![0; bytes as usize]));
    let open = || Frame::Open(target(), None);
    // Frames to a server, whose connections are accepted at once.
    let cases: [(&[(u16, Frame)], Violation); 10] = [
        (&[(STREAMS, open())], Violation::NoSuchStream(STREAMS)),
        (&[(1, open())], Violation::WrongEnd),
        (&[(0, data(1))], Violation::NotOpen),
        (&[(0, open()), (0, open())], Violation::InUse),
        (&[(0, open()), (0, Frame::Opened)], Violation::WrongEnd),
        (&[(0, open()), (0, Frame::Closed)], Violation::WrongEnd),
        (
            &[(0, open()), (0, Frame::Finished), (0, data(1))],
            Violation::AfterFinished,
        ),
        (
            &[(0, open()), (0, Frame::Reset(Reason::Reset)), (0, data(1))],
            Violation::AfterEnd,
        ),
        (
            &[(0, open()), (0, data(INITIAL_WINDOW)), (0, data(1))],
            Violation::BeyondCredit,
        ),
        (
            &[(0, open()), (0, Frame::Credit(u32::MAX))],
            Violation::TooMuchCredit,
        ),
    ];
    for (frames, violation) in cases {
        let mut server = Relay::new(Role::Server);
        let mut result = Ok(None);
        for (stream, frame) in frames {
            result = server.handle_frame(*stream, frame.clone());
            if let Ok(Some((id, _))) = &result {
                server.accept(*id);
            }
        }
        assert_eq!(result, Err(violation), "{frames:?}");
    }
}

/// What an acceptor that breaks the rules is told.
#[test]
fn violations_of_an_acceptor_are_recognised() {
    let cases: [(&[Frame], Violation); 5] = [
        (&[Frame::Data("x".into())], Violation::BeforeOpened),
        (&[Frame::Credit(1)], Violation::BeforeOpened),
        (&[Frame::Opened, Frame::Opened], Violation::OpenedTwice),
        (
            &[Frame::Opened, Frame::Finished, Frame::Closed],
            Violation::ClosedEarly,
        ),
        (
            &[Frame::Opened, Frame::Reset(Reason::Reset), Frame::Closed],
            Violation::AfterEnd,
        ),
    ];
    for (frames, violation) in cases {
        let mut client = Relay::new(Role::Client);
        client.open(target(), None).unwrap();
        let results: Vec<_> = frames
            .iter()
            .map(|frame| client.handle_frame(0, frame.clone()))
            .collect();
        assert_eq!(results.last(), Some(&Err(violation)), "{frames:?}");
    }
}

#[test]
fn windows_of_all_connections_stay_within_the_budget() {
    let mut relay = Relay::new(Role::Server);
    let mut ids = Vec::new();
    for stream in (0..STREAMS).step_by(2) {
        ids.extend(
            relay
                .handle_frame(stream, Frame::Open(target(), None))
                .unwrap()
                .map(|(id, _)| id),
        );
    }
    // All readers keep up for a while.
    let data = Bytes::from(vec![0; LONGEST_DATA]);
    for _ in 0..100 {
        for id in &ids {
            relay.accept(*id);
            relay
                .handle_frame(id.stream(), Frame::Data(data.clone()))
                .unwrap();
            while let Inbound::Data(data) = relay.inbound(*id) {
                relay.read(*id, data.len() as u64, now());
            }
            while relay.poll_transmit().is_some() {}
        }
    }
    // The first ones have grown, and each later one found an eighth of the rest at least.
    assert!((BUDGET / 2..=BUDGET).contains(&relay.grown), "{}", relay.grown);
    for id in ids {
        relay.close(id, Reason::Reset);
    }
    assert_eq!(relay.grown, 0);
}

/// One direction of a connection in a randomized test.
#[derive(Default)]
struct Half {
    sent: u64,
    received: u64,
    has_finished: bool,
    saw_end: bool,
}

/// A connection in a randomized test, by the opener's end.
struct Watched {
    opener: usize,
    names: [Option<ConnectionId>; 2],
    /// From the opener, and to it.
    halves: [Half; 2],
    /// It is to be given up early by either end, or its reader stalls for ever.
    is_rough: bool,
    closed: [bool; 2],
}

/// The byte at a place of a direction.
fn byte_at(number: usize, direction: usize, place: u64) -> u8 {
    (place.wrapping_mul(31) as usize + number * 7 + direction * 3 + (place >> 8) as usize) as u8
}

struct Fixture {
    pair: Pair,
    rng: Rng,
    watched: Vec<Watched>,
}

impl Fixture {
    fn step(&mut self) {
        match self.rng.below(12) {
            0 => self.open(),
            1..=5 => self.arrive(),
            _ if self.watched.is_empty() => {}
            _ => {
                let number = self.rng.below(self.watched.len() as u64) as usize;
                let end = self.rng.below(2) as usize;
                self.act(number, end);
            }
        }
        let end = self.rng.below(2) as usize;
        // Too much or not, on one of the streams that are used first.
        let (stream, unsent) = (self.rng.below(64) as u16, self.rng.below(300_000));
        self.pair.ends[end].handle_unsent(stream, unsent);
        if self.rng.chance(1, 2) {
            self.pair.transmit(end);
        }
    }

    fn open(&mut self) {
        let opener = self.rng.below(2) as usize;
        let number = self.watched.len();
        let target = Target::new("192.0.2.1".parse().unwrap(), number as u16 + 1).unwrap();
        let Some(id) = self.pair.ends[opener].open(target, None) else {
            return;
        };
        let mut names = [None; 2];
        names[opener] = Some(id);
        self.watched.push(Watched {
            opener,
            names,
            halves: Default::default(),
            is_rough: self.rng.chance(1, 3),
            closed: [false; 2],
        });
    }

    fn arrive(&mut self) {
        let from = self.rng.below(2) as usize;
        let streams: Vec<u16> = self.pair.flying[from].keys().copied().collect();
        if streams.is_empty() {
            return;
        }
        let stream = streams[self.rng.below(streams.len() as u64) as usize];
        if let Some((id, target)) = self.pair.arrive(from, stream) {
            let watched = &mut self.watched[usize::from(target.port) - 1];
            watched.names[1 - from] = Some(id);
            self.pair.ends[1 - from].accept(id);
        }
    }

    /// One end does something with a connection.
    fn act(&mut self, number: usize, end: usize) {
        let watched = &mut self.watched[number];
        let Some(id) = watched.names[end].filter(|_| !watched.closed[end]) else {
            return;
        };
        let relay = &mut self.pair.ends[end];
        let outgoing = usize::from(end != watched.opener);
        let choice = self.rng.below(40);
        let is_done = watched.halves[outgoing].has_finished && watched.halves[1 - outgoing].saw_end;
        if is_done || (watched.is_rough && choice == 0) {
            relay.close(id, Reason::Reset);
            watched.closed[end] = true;
        } else if choice < 18 {
            if let Outbound::Room(room) = relay.outbound(id)
                && !watched.halves[outgoing].has_finished
            {
                let half = &mut watched.halves[outgoing];
                // Mostly small ones, and sometimes all that there is room for.
                let most = if self.rng.chance(1, 16) {
                    room
                } else {
                    room.min(500)
                };
                let length = 1 + self.rng.below(most);
                let bytes = (half.sent..half.sent + length).map(|place| byte_at(number, outgoing, place));
                relay.send(id, bytes.collect());
                half.sent += length;
            }
        } else if choice == 18 && !watched.halves[outgoing].has_finished {
            relay.finish(id);
            watched.halves[outgoing].has_finished = true;
        } else {
            self.read(number, end);
        }
    }

    fn read(&mut self, number: usize, end: usize) {
        let watched = &mut self.watched[number];
        let Some(id) = watched.names[end] else { return };
        let incoming = usize::from(end == watched.opener);
        let half = &mut watched.halves[incoming];
        match self.pair.ends[end].inbound(id) {
            Inbound::Data(data) => {
                let all_right = (half.received..)
                    .zip(data.iter())
                    .all(|(place, byte)| *byte == byte_at(number, incoming, place));
                assert!(all_right, "connection {number} has got other bytes");
                half.received += data.len() as u64;
                self.pair.ends[end].read(id, data.len() as u64, now());
            }
            Inbound::Finished => {
                assert_eq!(
                    (half.received, half.has_finished),
                    (half.sent, true),
                    "connection {number}"
                );
                half.saw_end = true;
            }
            Inbound::Reset(_) => {
                assert!(watched.is_rough, "connection {number} was reset without cause");
                self.pair.ends[end].close(id, Reason::Reset);
                watched.closed[end] = true;
            }
            Inbound::Nothing => {}
        }
    }

    /// Everything comes to an end: all finish, read and give up.
    fn end(&mut self) {
        for relay in &mut self.pair.ends {
            for stream in 0..STREAMS {
                relay.handle_unsent(stream, 0);
            }
        }
        for _ in 0..10_000 {
            self.pair.settle_into(&mut self.watched);
            let mut all_closed = true;
            for number in 0..self.watched.len() {
                for end in 0..2 {
                    let watched = &mut self.watched[number];
                    let Some(id) = watched.names[end].filter(|_| !watched.closed[end]) else {
                        continue;
                    };
                    all_closed = false;
                    let outgoing = usize::from(end != watched.opener);
                    self.pair.ends[end].finish(id);
                    watched.halves[outgoing].has_finished = true;
                    if watched.halves[1 - outgoing].saw_end {
                        self.pair.ends[end].close(id, Reason::Reset);
                        watched.closed[end] = true;
                    } else {
                        self.read(number, end);
                    }
                }
            }
            if all_closed {
                return;
            }
        }
        panic!("some connections never end");
    }
}

impl Pair {
    fn settle_into(&mut self, watched: &mut [Watched]) {
        loop {
            self.transmit(0);
            self.transmit(1);
            let next = (0..2).find_map(|end| Some((end, *self.flying[end].keys().next()?)));
            let Some((from, stream)) = next else { return };
            if let Some((id, target)) = self.arrive(from, stream) {
                watched[usize::from(target.port) - 1].names[1 - from] = Some(id);
                self.ends[1 - from].accept(id);
            }
        }
    }
}

/// Connections opened, used, finished and given up at both ends at random, with any delay of each stream: every direction carries what was
/// sent, nobody breaks a rule, and in the end all streams are free again.
#[test]
fn randomized_connections_carry_what_was_sent() {
    for seed in 0..150 {
        let mut fixture = Fixture {
            pair: Pair::new(),
            rng: Seed(seed).rng(),
            watched: Vec::new(),
        };
        for _ in 0..1_500 {
            fixture.step();
        }
        fixture.end();
        for (number, watched) in fixture.watched.iter().enumerate() {
            for half in watched.halves.iter().filter(|_| !watched.is_rough) {
                assert!(
                    half.saw_end && half.received == half.sent,
                    "seed {seed}, connection {number}"
                );
            }
        }
        fixture.pair.settle();
        for relay in &fixture.pair.ends {
            assert_eq!(
                (relay.free.len(), relay.grown, relay.connections()),
                (512, 0, 0),
                "seed {seed}"
            );
            assert!(relay.ready.is_empty());
        }
    }
}

/// Any frame, mostly small ones on few streams.
fn any_frame(rng: &mut Rng) -> (u16, Frame) {
    let stream = if rng.chance(1, 50) {
        rng.next_u32() as u16
    } else {
        rng.below(6) as u16
    };
    let frame = match rng.below(8) {
        0 | 1 => Frame::Open(target(), None),
        2 => Frame::Opened,
        3 => Frame::Finished,
        4 => Frame::Credit(rng.next_u32() >> rng.below(32)),
        5 => Frame::Reset(Reason::Reset),
        6 => Frame::Closed,
        _ => Frame::Data(Bytes::from(vec![0; 1 + rng.below(5_000) as usize])),
    };
    (stream, frame)
}

/// What waits at a stream and what is unread have few messages, and no more bytes than the windows.
fn assert_memory(relay: &Relay) {
    // OPEN or OPENED, credit, FINISHED and the answer; of two data frames, one has 1,024 bytes at least.
    const MAX_MESSAGES: usize = 5 + 2 * (192 << 10) / 1_024;
    for stream in &relay.streams {
        assert!(
            stream.queue.messages() <= MAX_MESSAGES,
            "{}",
            stream.queue.messages()
        );
        if let Use::Open(connection) = &stream.usage {
            let window = INITIAL_WINDOW + connection.window.grown();
            // A frame was taken, and not read yet.
            assert!(connection.unread.bytes() <= connection.window.unread());
            assert!(connection.window.unread() <= window);
            assert!(connection.unread.messages() as u64 <= 2 + 2 * window / 1_024);
            assert!(connection.queued < 192 << 10);
        }
    }
}

/// Whatever a peer sends, memory stays within its limits, and nothing panics. A violation would end its association; here it goes on all
/// the same.
#[test]
fn random_frames_leave_memory_within_its_limits() {
    for seed in 0..20 {
        let mut rng = Seed(seed).rng();
        let mut relay = Relay::new(if seed % 2 == 0 { Role::Server } else { Role::Client });
        let mut ids = Vec::new();
        for _ in 0..5_000 {
            let (stream, frame) = any_frame(&mut rng);
            if let Ok(Some((id, _))) = relay.handle_frame(stream, frame) {
                ids.push(id);
                relay.accept(id);
            }
            ids.extend((rng.chance(1, 8)).then(|| relay.open(target(), None)).flatten());
            if let Some(id) = ids.get(rng.below(ids.len().max(1) as u64) as usize).copied() {
                match rng.below(6) {
                    0 => relay.finish(id),
                    1 => relay.close(id, Reason::Failed),
                    2 => relay.send(id, "data".into()),
                    _ => {
                        if let Inbound::Data(data) = relay.inbound(id) {
                            relay.read(id, data.len() as u64, now());
                        }
                    }
                }
            }
            if rng.chance(1, 8) {
                relay.handle_unsent(rng.below(6) as u16, rng.below(300_000));
            }
            while rng.chance(3, 4) && relay.poll_transmit().is_some() {}
            assert!(relay.grown <= BUDGET, "seed {seed}");
            assert_memory(&relay);
        }
        for id in ids {
            relay.close(id, Reason::Failed);
        }
        assert_eq!((relay.connections(), relay.grown), (0, 0), "seed {seed}");
    }
}

#[test]
fn largest_window_is_reached_by_a_fast_reader() {
    let mut pair = Pair::new();
    let [ours, theirs] = pair.connect();
    for _ in 0..1_000 {
        pair.ends[0].send(ours, Bytes::from(vec![7; LONGEST_DATA]));
        pair.settle();
        while let Inbound::Data(data) = pair.ends[1].inbound(theirs) {
            pair.ends[1].read(theirs, data.len() as u64, now());
        }
        pair.settle();
    }
    assert_eq!(pair.ends[1].grown, LARGEST_WINDOW - INITIAL_WINDOW);
}
