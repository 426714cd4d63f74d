//! Tests of two sets of streams that exchange messages, without a network.

use std::task::Waker;

use anabranch_proto::{Extent, ReceivedMessage};
use anabranch_types::{Ppid, Rng, Seed, StreamId};
use bytes::Bytes;

use super::super::frame::{CONTROL, INITIAL_WINDOW, charge};
use super::super::outbound::Refusal;
use super::*;

/// Two ends that pass on what the other one sends.
struct Ends([StreamSet; 2]);

const WHOLE: usize = 1_000;

fn message(stream: StreamId, ppid: Ppid, payload: Bytes) -> ReceivedMessage {
    ReceivedMessage {
        stream,
        ppid,
        unordered: false,
        extent: Extent::Whole,
        payload,
    }
}

impl Ends {
    fn new(limits: StreamLimits) -> Self {
        let end = |parity| {
            let mut set = StreamSet::new(&limits);
            set.begin(parity, limits.streams);
            set
        };
        Self([end(0), end(1)])
    }

    fn of(streams: u16) -> Self {
        Self::new(StreamLimits {
            streams,
            ..StreamLimits::default()
        })
    }

    /// Exchanges control messages until both ends are silent.
    fn exchange(&mut self) {
        let mut is_silent = false;
        while !is_silent {
            is_silent = true;
            for from in 0..2 {
                while let Some((key, id, control)) = self.0[from].control() {
                    self.0[from].on_control_sent(key, control);
                    let sent = message(id, CONTROL, control.encode());
                    self.0[1 - from].handle_message(sent).unwrap();
                    is_silent = false;
                }
            }
        }
    }

    /// Sends a message of `WHOLE` bytes from one end, if the stream has credit.
    fn send(&mut self, from: usize, key: Key) -> Result<(), Refusal> {
        let stream = self.0[from].stream_mut(key).unwrap();
        stream.outbound.check()?;
        stream.outbound.on_sent(charge(WHOLE), false, true);
        let sent = message(stream.id, Ppid(0), Bytes::from(vec![7; WHOLE]));
        self.0[1 - from].handle_message(sent).unwrap();
        Ok(())
    }

    /// Sends until there is no credit; returns the number of messages.
    fn fill(&mut self, from: usize, key: Key) -> u64 {
        let mut count = 0;
        while self.send(from, key) != Err(Refusal::NoCredit) {
            count += 1;
        }
        count
    }

    /// A stream that the first end has opened, as both ends know it.
    fn pair(&mut self) -> (Key, Key) {
        let ours = self.0[0].open().unwrap();
        self.send(0, ours).unwrap();
        let theirs = self.0[1].accept().unwrap();
        assert!(self.0[1].receive(theirs).is_some());
        (ours, theirs)
    }
}

#[test]
fn a_reader_that_never_reads_stops_its_own_stream_only() {
    let mut ends = Ends::of(8);
    let (slow, _) = ends.pair();
    let (fast, fast_reader) = ends.pair();
    let count = ends.fill(0, slow);
    assert_eq!(count, INITIAL_WINDOW.div_ceil(charge(WHOLE)) - 1);
    for _ in 0..10_000 {
        ends.send(0, fast).unwrap();
        assert!(ends.0[1].receive(fast_reader).is_some());
        ends.exchange();
    }
    assert_eq!(ends.send(0, slow), Err(Refusal::NoCredit));
    assert_eq!(ends.0[1].statistics().unread, count * charge(WHOLE));
}

#[test]
fn windows_of_readers_that_keep_up_grow_within_the_budget() {
    let budget = 64 << 20;
    let mut ends = Ends::new(StreamLimits {
        streams: 200,
        budget,
        ..StreamLimits::default()
    });
    let pairs: Vec<_> = (0..100).map(|_| ends.pair()).collect();
    for (sender, reader) in &pairs {
        for _ in 0..20 {
            let count = ends.fill(0, *sender);
            for _ in 0..count {
                assert!(ends.0[1].receive(*reader).is_some());
            }
            ends.exchange();
        }
    }
    let mut held = 0;
    for (sender, _) in &pairs {
        held += ends.fill(0, *sender) * charge(WHOLE);
    }
    let initial = 100 * INITIAL_WINDOW;
    assert!(held > initial + budget / 2, "{held}");
    assert!(held <= initial + budget + 100 * charge(WHOLE), "{held}");
}

#[test]
fn more_than_the_credit_is_a_violation() {
    let mut set = StreamSet::new(&StreamLimits::default());
    set.begin(1, 8);
    let begun = (0..100).find(|_| {
        let sent = message(StreamId(0), Ppid(0), Bytes::from(vec![7; WHOLE]));
        set.handle_message(sent).is_err()
    });
    let most = 2 * INITIAL_WINDOW / charge(WHOLE) + 1;
    assert_eq!(begun, Some(most));
}

#[test]
fn id_is_used_again_when_both_ends_have_read_everything() {
    let mut ends = Ends::of(2);
    for life in 0..1_000 {
        let ours = ends.0[0].open().unwrap_or_else(|| panic!("life {life}"));
        ends.send(0, ours).unwrap();
        ends.0[0].finish(ours);
        assert_eq!(ends.0[0].open(), None, "one stream at a time");
        let theirs = ends.0[1].accept().unwrap();
        ends.send(1, theirs).unwrap();
        ends.0[1].finish(theirs);
        ends.exchange();
        assert!(ends.0[1].receive(theirs).is_some());
        ends.exchange();
        assert_eq!(ends.0[0].open(), None, "the answer is unread");
        assert!(ends.0[0].receive(ours).is_some());
        ends.exchange();
        for (set, key) in ends.0.iter_mut().zip([ours, theirs]) {
            set.drop_sender(key);
            set.drop_receiver(key);
        }
        ends.exchange();
        assert!(ends.0.iter().all(|set| set.streams.is_empty()));
    }
}

#[test]
fn stop_of_the_reader_resets_the_stream() {
    let mut ends = Ends::of(8);
    let (ours, theirs) = ends.pair();
    ends.send(0, ours).unwrap();
    ends.0[1].stop(theirs, 9);
    ends.exchange();
    assert_eq!(ends.send(0, ours), Err(Refusal::Stopped(9)));
    let stream = ends.0[1].stream(theirs).unwrap();
    assert_eq!(stream.inbound.ended(), Some(PeerEnd::Reset(9)));
    assert_eq!(ends.0[1].statistics().unread, 0);
}

#[test]
fn abandoned_messages_use_no_credit_for_ever() {
    let mut ends = Ends::of(8);
    let (ours, theirs) = ends.pair();
    // All of them are lost.
    let stream = ends.0[0].stream_mut(ours).unwrap();
    while stream.outbound.check().is_ok() {
        stream.outbound.on_sent(charge(WHOLE), false, false);
    }
    ends.0[0].await_credit(ours, Waker::noop().clone());
    ends.exchange();
    ends.send(0, ours).unwrap();
    assert!(ends.0[1].receive(theirs).is_some());
}

#[test]
fn end_waits_for_unordered_messages() {
    let mut ends = Ends::of(8);
    let (ours, theirs) = ends.pair();
    let stream = ends.0[0].stream_mut(ours).unwrap();
    stream.outbound.on_sent(charge(WHOLE), true, true);
    ends.0[0].finish(ours);
    ends.exchange();
    assert_eq!(ends.0[1].stream(theirs).unwrap().inbound.ended(), None);
    let straggler = ReceivedMessage {
        unordered: true,
        ..message(StreamId(0), Ppid(0), Bytes::from(vec![7; WHOLE]))
    };
    ends.0[1].handle_message(straggler).unwrap();
    let ended = ends.0[1].stream(theirs).unwrap().inbound.ended();
    assert_eq!(ended, Some(PeerEnd::Finished));
    assert!(ends.0[1].receive(theirs).is_some());
}

/// A straggler of an earlier life would be taken for a message of the next one.
#[test]
fn id_with_possible_stragglers_is_not_used_again() {
    let mut ends = Ends::of(2);
    let (ours, theirs) = ends.pair();
    let stream = ends.0[0].stream_mut(ours).unwrap();
    stream.outbound.on_sent(charge(WHOLE), true, false);
    ends.0[0].finish(ours);
    ends.0[1].finish(theirs);
    ends.exchange();
    assert_eq!(ends.0[0].open(), None);
    let straggler = message(StreamId(0), Ppid(0), Bytes::from(vec![7; WHOLE]));
    ends.0[1].handle_message(straggler).unwrap();
    assert_eq!(ends.0[1].accept(), None);
}

#[test]
fn streams_are_lost_with_a_restart_and_new_ones_follow() {
    let mut ends = Ends::of(8);
    let (ours, theirs) = ends.pair();
    ends.fill(0, ours);
    for (set, parity) in ends.0.iter_mut().zip([1, 0]) {
        set.lose_all(Lost::Restarted);
        set.begin(parity, 8);
    }
    assert_eq!(ends.0[1].stream(theirs).unwrap().lost, Some(Lost::Restarted));
    let (again, _) = ends.pair();
    assert_eq!(ends.0[0].stream(again).unwrap().id, StreamId(1));
    assert!(ends.fill(0, again) > 0);
}

/// A peer that keeps to no rule, and an application that opens, accepts, reads and drops.
struct Hostile {
    set: StreamSet,
    handles: Vec<Key>,
    rng: Rng,
}

impl Hostile {
    /// `false` if the peer has exceeded its credit, for which its association is aborted.
    fn step(&mut self) -> bool {
        let id = StreamId(self.rng.below(8) as u16);
        match self.rng.below(12) {
            0..6 => self.control(id),
            6 | 7 => self.data(id),
            8 => {
                self.handles.extend(self.set.accept());
                true
            }
            9 => {
                self.handles.extend(self.set.open());
                true
            }
            _ => {
                self.use_handle();
                true
            }
        }
    }

    fn control(&mut self, id: StreamId) -> bool {
        let position = match self.rng.below(3) {
            0 => self.rng.below(1 << 20),
            1 => u64::MAX - self.rng.below(1 << 20),
            _ => self.rng.next_u64(),
        };
        let (code, unordered) = (7, self.rng.next_u64() as u32);
        let control = match self.rng.below(6) {
            0 => Control::Credit(position),
            1 => Control::Position(position),
            2 => Control::Finished { position, unordered },
            3 => Control::Reset {
                position,
                code,
                unordered,
            },
            4 => Control::Stop(code),
            _ => Control::Closed,
        };
        let sent = message(id, CONTROL, control.encode());
        self.set.handle_message(sent).is_ok()
    }

    fn data(&mut self, id: StreamId) -> bool {
        let payload = Bytes::from(vec![0; self.rng.below(LONGEST as u64 + 1) as usize]);
        let sent = ReceivedMessage {
            unordered: self.rng.chance(1, 2),
            ..message(id, Ppid(0), payload)
        };
        self.set.handle_message(sent).is_ok()
    }

    fn use_handle(&mut self) {
        let at = self.rng.below(self.handles.len().max(1) as u64) as usize;
        let Some(key) = self.handles.get(at).copied() else {
            return;
        };
        match self.rng.below(3) {
            0 => drop(self.set.receive(key)),
            1 => self.set.drop_sender(key),
            _ => self.set.drop_receiver(key),
        }
    }
}

const LONGEST: usize = 65_536;

/// Whatever a peer sends, memory has a bound, credit is not made up, and control messages come to an end.
#[test]
fn hostile_peer_stays_within_its_limits() {
    for seed in 0..2_000 {
        let limits = StreamLimits {
            streams: 8,
            ..StreamLimits::default()
        };
        let mut set = StreamSet::new(&limits);
        set.begin(0, limits.streams);
        let mut peer = Hostile {
            set,
            handles: Vec::new(),
            rng: Seed(seed).rng(),
        };
        let mut steps = 0;
        while steps < 300 && peer.step() {
            steps += 1;
            let mut sent = 0;
            while let Some((key, _, control)) = peer.set.control() {
                peer.set.on_control_sent(key, control);
                sent += 1;
                assert!(sent <= 100, "seed {seed}: control messages without end");
            }
            let statistics = peer.set.statistics();
            assert!(statistics.spare <= limits.budget, "seed {seed}: {statistics:?}");
            let windows = limits.budget - statistics.spare + 8 * INITIAL_WINDOW;
            let bound = 2 * windows + 8 * charge(LONGEST);
            assert!(statistics.unread <= bound, "seed {seed}: {statistics:?}");
        }
    }
}
