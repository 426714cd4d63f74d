//! Fuzz target `reassembly`. Are messages reassembled correctly in any order of their fragments?
//!
//! The bytes define Bob's messages and their fragments, then the order in which fragments arrive; some arrive repeatedly or not at
//! all. Finally all arrive once more, and Alice must receive exactly the messages that Bob sent.

use std::collections::VecDeque;

use anabranch_proto::{AssociationConfig, BufferSize, ReceivedMessage};
use anabranch_types::{Fsn, Instant, Mid, PathAddr, Ppid, Ssn, StreamId, Tsn, VerificationTag};
use anabranch_wire::{Chunk, CommonHeader, Data, DataFlags, FragmentPlace, IData, Packet, PacketBuilder};

use crate::forge::Observed;
use crate::{Choices, Host, InFlight, association};

const ALICE: u8 = 1;
const BOB: u8 = 2;

/// Maximum number of Alice's timers that fire.
const MAX_TIMERS: u8 = 4;
/// Streams that Bob uses.
const STREAMS: u8 = 4;

/// Runs the test that `bytes` encode.
///
/// # Panics
///
/// If Alice receives other messages than Bob sent, ends the association, or does not acknowledge all of them.
pub fn exercise(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let interleaves = choices.byte() & 1 == 1;
    let mut fixture = Fixture::new(interleaves);
    let messages = write(&mut choices);
    let fragments = if interleaves {
        interleave(&messages, &mut choices)
    } else {
        messages.iter().flat_map(SentMessage::fragments).collect()
    };
    while !choices.is_empty() {
        fixture.step(&fragments, &mut choices);
    }
    for index in 0..fragments.len() {
        fixture.deliver(&fragments, index..index + 1);
    }
    fixture.read();
    fixture.check_delivery(&messages, fragments.len() as u32);
}

/// A message sent by Bob.
#[derive(Debug)]
struct SentMessage {
    stream: u8,
    unordered: bool,
    /// Its number among the ordered or the unordered messages of its stream.
    number: u32,
    pieces: Vec<Vec<u8>>,
}

/// Up to 16 messages of up to 8 fragments: less than a receive buffer, so that the window does not close.
fn write(choices: &mut Choices<'_>) -> Vec<SentMessage> {
    let mut counts = [[0; 2]; STREAMS as usize];
    let count = 1 + choices.below(16);
    let written = (0..count).map(|index| {
        let shape = choices.byte();
        let (stream, unordered) = (shape & 3, shape & 4 != 0);
        let counter = &mut counts[usize::from(stream)][usize::from(unordered)];
        let number = *counter;
        *counter += 1;
        let pieces = (0..=shape >> 5).map(|piece| {
            let length = 1 + usize::from(choices.byte() >> 1);
            vec![index << 4 | piece; length]
        });
        SentMessage {
            stream,
            unordered,
            number,
            pieces: pieces.collect(),
        }
    });
    written.collect()
}

/// A fragment of a message.
#[derive(Clone, Copy, Debug)]
struct Fragment<'m> {
    message: &'m SentMessage,
    piece: usize,
}

impl SentMessage {
    fn fragments(&self) -> impl Iterator<Item = Fragment<'_>> {
        (0..self.pieces.len()).map(|piece| Fragment { message: self, piece })
    }

    /// The payload of the whole message.
    fn text(&self) -> Vec<u8> {
        self.pieces.concat()
    }
}

/// Interleaves the fragments of all messages; those of each message stay in order. The first messages of streams come first, as a
/// sender numbers them.
fn interleave<'m>(messages: &'m [SentMessage], choices: &mut Choices<'_>) -> Vec<Fragment<'m>> {
    let mut left: Vec<VecDeque<Fragment<'m>>> = messages
        .iter()
        .map(|message| message.fragments().collect())
        .collect();
    let mut cut = Vec::new();
    while !left.is_empty() {
        let from = usize::from(choices.byte()) % left.len();
        cut.extend(left[from].pop_front());
        left.retain(|fragments| !fragments.is_empty());
    }
    cut
}

struct Fixture {
    alice: Host,
    now: Instant,
    header: CommonHeader,
    first_tsn: u32,
    interleaves: bool,
    read: Vec<ReceivedMessage>,
    /// Number of timers that have fired.
    timers: u8,
    /// The cumulative TSN of Alice's last SACK.
    cumulative: Option<Tsn>,
}

impl Fixture {
    fn new(interleaves: bool) -> Self {
        let config = config(interleaves);
        let (mut alice, mut bob) = (Host::new(ALICE, &config), Host::new(BOB, &config));
        let (now, mut observed) = (Instant::ZERO, Observed::default());
        bob.connect(now, ALICE);
        for _ in 0..4 {
            for in_flight in bob.settle(now, |_, _| ()) {
                observed.observe_peer(&in_flight.bytes);
                alice.receive(now, &in_flight);
            }
            for in_flight in alice.settle(now, |_, _| ()) {
                observed.observe_victim(&in_flight.bytes);
                bob.receive(now, &in_flight);
            }
        }
        let header = CommonHeader {
            source_port: observed.ports.0,
            destination_port: observed.ports.1,
            tag: VerificationTag(observed.tag),
        };
        Self {
            alice,
            now,
            header,
            first_tsn: observed.peer_tsn.wrapping_add(1),
            interleaves,
            read: Vec::new(),
            timers: 0,
            cumulative: None,
        }
    }

    fn step(&mut self, fragments: &[Fragment<'_>], choices: &mut Choices<'_>) {
        let action = choices.byte();
        match action {
            0..=200 => {
                let from = usize::from(choices.byte()) % fragments.len();
                let until = (from + 1 + usize::from(action & 3)).min(fragments.len());
                self.deliver(fragments, from..until);
            }
            201..=230 => self.read(),
            // Heartbeats are not answered here, so few timers may fire before Alice gives up.
            231.. if self.timers < MAX_TIMERS => {
                self.timers += 1;
                let due = self.alice.endpoint.poll_timeout();
                self.now = due.map_or(self.now, |due| self.now.max(due));
                self.settle();
            }
            231.. => {}
        }
    }

    /// Delivers one packet with these fragments.
    fn deliver(&mut self, fragments: &[Fragment<'_>], which: std::ops::Range<usize>) {
        let mut bytes = Vec::new();
        let mut packet = PacketBuilder::new(&mut bytes, self.header, 1_400);
        for index in which {
            let tsn = Tsn(self.first_tsn.wrapping_add(index as u32));
            fragments[index].push(&mut packet, tsn, self.interleaves);
        }
        packet.finish();
        let path = PathAddr {
            local: Host::address(BOB, 0),
            remote: Host::address(ALICE, 0),
        };
        self.alice.receive(self.now, &InFlight { path, bytes });
        self.settle();
    }

    fn settle(&mut self) {
        for in_flight in self.alice.settle(self.now, |_, _| ()) {
            let packet = Packet::parse(&in_flight.bytes).expect("it was checked");
            for chunk in packet.chunks().filter_map(|chunk| chunk.ok()?.decode().ok()) {
                match chunk {
                    Chunk::Sack(sack) => self.cumulative = Some(sack.cumulative),
                    Chunk::Abort(abort) => panic!("ABORT of a valid transfer: {abort:?}"),
                    _ => {}
                }
            }
        }
    }

    fn read(&mut self) {
        let id = self.alice.association.expect("they are connected");
        let mut association = self
            .alice
            .endpoint
            .association_mut(id)
            .expect("it was not removed");
        while let Some(message) = association.receive() {
            self.read.push(message);
        }
        drop(association);
        self.settle();
    }

    fn check_delivery(&self, messages: &[SentMessage], fragments: u32) {
        let expected = |stream: u8, unordered: bool| {
            let mut texts: Vec<Vec<u8>> = messages
                .iter()
                .filter(|message| (message.stream, message.unordered) == (stream, unordered))
                .map(SentMessage::text)
                .collect();
            if unordered {
                texts.sort();
            }
            texts
        };
        for (stream, unordered) in (0..STREAMS).flat_map(|stream| [(stream, false), (stream, true)]) {
            let of_these = |message: &&ReceivedMessage| {
                (message.stream, message.unordered) == (StreamId(stream.into()), unordered)
            };
            let mut read: Vec<Vec<u8>> = self
                .read
                .iter()
                .filter(of_these)
                .map(|message| message.payload.to_vec())
                .collect();
            if unordered {
                read.sort();
            }
            assert_eq!(
                read,
                expected(stream, unordered),
                "stream {stream}, unordered {unordered}"
            );
        }
        assert_eq!(self.read.len(), messages.len());
        // The last SACK may be delayed, so the cumulative TSN may be two behind.
        let last = self.first_tsn.wrapping_add(fragments - 1);
        let behind = self
            .cumulative
            .map_or(1, |cumulative| last.wrapping_sub(cumulative.0));
        assert!(behind <= 2, "{behind} TSNs behind");
    }
}

impl Fragment<'_> {
    fn push(&self, packet: &mut PacketBuilder<'_>, tsn: Tsn, interleaves: bool) {
        let pieces = &self.message.pieces;
        let payload = &*pieces[self.piece];
        let (beginning, ending) = (self.piece == 0, self.piece + 1 == pieces.len());
        let SentMessage {
            unordered, number, ..
        } = *self.message;
        let stream = StreamId(self.message.stream.into());
        let place = match beginning {
            true => FragmentPlace::First(Ppid(0)),
            false => FragmentPlace::Later(Fsn(self.piece as u32)),
        };
        let immediate = false;
        let i_data = IData {
            tsn,
            stream,
            mid: Mid(number),
            place,
            ending,
            unordered,
            immediate,
            payload,
        };
        let flags = DataFlags {
            beginning,
            ending,
            unordered,
            immediate,
        };
        let data = Data {
            tsn,
            stream,
            ssn: Ssn(number as u16),
            ppid: Ppid(0),
            flags,
            payload,
        };
        // A fragment that does not fit into the packet arrives later.
        let _ = if interleaves {
            packet.push(&i_data)
        } else {
            packet.push(&data)
        };
    }
}

fn config(interleaves: bool) -> AssociationConfig {
    let mut config = AssociationConfig {
        receive_buffer: BufferSize::Fixed(60_000),
        max_message: 20_000,
        ..association::config(0)
    };
    let choice = if interleaves { "on" } else { "off" };
    let known = config.policies.set("interleaving", choice);
    known.expect("a name of the catalogue");
    config
}
