//! Fuzz target `reassembly`. Are messages reassembled correctly in any order of their fragments?
//!
//! The bytes define Bob's messages and their fragmentation, then which fragment arrives next, repeatedly or never.
//! Finally all arrive once more, and Alice must read what Bob wrote.

use std::collections::VecDeque;

use anabranch_proto::{AssociationConfig, ReceivedMessage};
use anabranch_types::{Fsn, Instant, Mid, PathAddr, Ppid, Ssn, StreamId, Tsn, VerificationTag};
use anabranch_wire::{Chunk, CommonHeader, Data, DataFlags, FragmentPlace, IData, Packet, PacketBuilder};

use crate::forge::Observed;
use crate::{Choices, Flying, Host, association};

const ALICE: u8 = 1;
const BOB: u8 = 2;

/// Timers of Alice's that fire at most.
const MAX_TIMERS: u8 = 4;
/// Streams that Bob uses.
const STREAMS: u8 = 4;

/// Reads `bytes` as messages and the way in which they arrive.
///
/// # Panics
///
/// If Alice reads anything but what Bob wrote, ends the association, or does not acknowledge all of it.
pub fn exercise(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let interleaves = choices.byte() & 1 == 1;
    let mut scene = Scene::new(interleaves);
    let messages = write(&mut choices);
    let fragments = if interleaves {
        cut_between_others(&messages, &mut choices)
    } else {
        messages.iter().flat_map(Written::fragments).collect()
    };
    while !choices.is_empty() {
        scene.step(&fragments, &mut choices);
    }
    for index in 0..fragments.len() {
        scene.deliver(&fragments, index..index + 1);
    }
    scene.read();
    scene.judge(&messages, fragments.len() as u32);
}

/// A message of Bob's.
#[derive(Debug)]
struct Written {
    stream: u8,
    unordered: bool,
    /// Among the messages of its stream that are ordered or unordered as it is.
    number: u32,
    pieces: Vec<Vec<u8>>,
}

/// Up to 16 messages of up to 8 pieces: less than a receive buffer, so that no window shuts.
fn write(choices: &mut Choices<'_>) -> Vec<Written> {
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
        Written {
            stream,
            unordered,
            number,
            pieces: pieces.collect(),
        }
    });
    written.collect()
}

/// A piece of a message, with what is said of it beside its TSN.
#[derive(Clone, Copy, Debug)]
struct Fragment<'m> {
    message: &'m Written,
    piece: usize,
}

impl Written {
    fn fragments(&self) -> impl Iterator<Item = Fragment<'_>> {
        (0..self.pieces.len()).map(|piece| Fragment { message: self, piece })
    }

    /// What the application is to read.
    fn text(&self) -> Vec<u8> {
        self.pieces.concat()
    }
}

/// The fragments of each message in order, and those of the others anywhere between them. The first messages of streams
/// come first, as a sender numbers them.
fn cut_between_others<'m>(messages: &'m [Written], choices: &mut Choices<'_>) -> Vec<Fragment<'m>> {
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

struct Scene {
    alice: Host,
    now: Instant,
    header: CommonHeader,
    first_tsn: u32,
    interleaves: bool,
    read: Vec<ReceivedMessage>,
    /// Timers that fired.
    timers: u8,
    /// What Alice acknowledged last.
    cumulative: Option<Tsn>,
}

impl Scene {
    fn new(interleaves: bool) -> Self {
        let config = config(interleaves);
        let (mut alice, mut bob) = (Host::new(ALICE, &config), Host::new(BOB, &config));
        let (now, mut observed) = (Instant::ZERO, Observed::default());
        bob.connect(now, ALICE);
        for _ in 0..4 {
            for flying in bob.rest(now, |_, _| ()) {
                observed.of_peer(&flying.bytes);
                alice.receive(now, &flying);
            }
            for flying in alice.rest(now, |_, _| ()) {
                observed.of_victim(&flying.bytes);
                bob.receive(now, &flying);
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
        let what = choices.byte();
        match what {
            0..=200 => {
                let from = usize::from(choices.byte()) % fragments.len();
                let until = (from + 1 + usize::from(what & 3)).min(fragments.len());
                self.deliver(fragments, from..until);
            }
            201..=230 => self.read(),
            // Nobody answers heartbeats, so Alice must not wait for long.
            231.. if self.timers < MAX_TIMERS => {
                self.timers += 1;
                let due = self.alice.endpoint.poll_timeout();
                self.now = due.map_or(self.now, |due| self.now.max(due));
                self.listen();
            }
            231.. => {}
        }
    }

    /// One packet with these fragments.
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
        self.alice.receive(self.now, &Flying { path, bytes });
        self.listen();
    }

    fn listen(&mut self) {
        for flying in self.alice.rest(self.now, |_, _| ()) {
            let packet = Packet::parse(&flying.bytes).expect("it was checked");
            for chunk in packet.chunks().filter_map(|chunk| chunk.ok()?.decode().ok()) {
                match chunk {
                    Chunk::Sack(sack) => self.cumulative = Some(sack.cumulative),
                    Chunk::Abort(abort) => panic!("Bob did nothing wrong: {abort:?}"),
                    _ => {}
                }
            }
        }
    }

    fn read(&mut self) {
        let id = self.alice.association.expect("they are connected");
        let mut association = self.alice.endpoint.association_mut(id).expect("nobody forgot it");
        while let Some(message) = association.receive() {
            self.read.push(message);
        }
        drop(association);
        self.listen();
    }

    fn judge(&self, messages: &[Written], fragments: u32) {
        let expected = |stream: u8, unordered: bool| {
            let mut texts: Vec<Vec<u8>> = messages
                .iter()
                .filter(|message| (message.stream, message.unordered) == (stream, unordered))
                .map(Written::text)
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
        // Its SACK may be delayed; then it is not far behind.
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
        let Written {
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
        // A fragment for which the packet has no room comes later.
        let _ = if interleaves {
            packet.push(&i_data)
        } else {
            packet.push(&data)
        };
    }
}

fn config(interleaves: bool) -> AssociationConfig {
    let mut config = AssociationConfig {
        receive_buffer: 60_000,
        max_message: 20_000,
        ..association::config(0)
    };
    let choice = if interleaves { "on" } else { "off" };
    let known = config.policies.set("interleaving", choice);
    known.expect("a name of the catalogue");
    config
}
