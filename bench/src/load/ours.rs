//! Our implementation under load.

use std::time::Duration;

use anabranch_proto::{AssociationConfig, BufferSize, Endpoint, Message, SendError};
use anabranch_types::{AssociationId, Ecn, Instant, PathAddr, StreamId};
use bytes::Bytes;

use super::{BACKLOG, Delivered, LARGEST_PACKET, Load, ROUND_MICROS};
use crate::{Direction, Pair};

/// IP and UDP headers.
const OVERHEAD: u16 = 28;

struct Ours {
    pair: Pair,
    alice: AssociationId,
    bob: AssociationId,
    payload: Bytes,
    answers: Option<Answers>,
}

/// Packets of the receiver in flight.
#[derive(Default)]
struct Answers {
    bytes: Vec<u8>,
    packets: Vec<(PathAddr, usize)>,
}

/// Polls the receiver after each packet, as the other implementations: a SACK for every second packet.
pub(super) fn answer_each_packet(message: usize, window: usize) -> Box<dyn Load> {
    Box::new(Ours::new(message, window, Some(Answers::default())))
}

/// Polls the receiver after all packets that arrive together, as a driver with sockets does: a SACK for each batch.
pub(super) fn answer_each_batch(message: usize, window: usize) -> Box<dyn Load> {
    Box::new(Ours::new(message, window, None))
}

impl Ours {
    fn new(message: usize, window: usize, answers: Option<Answers>) -> Self {
        let config = AssociationConfig {
            receive_buffer: BufferSize::Fixed(window as u64),
            send_buffer: BufferSize::Fixed((window + BACKLOG) as u64),
            max_message: window.min(64 << 10),
            mtu: LARGEST_PACKET + OVERHEAD,
            ..AssociationConfig::default()
        };
        let mut pair = Pair::new(1, &config);
        let (alice, bob) = pair.associate(&config);
        Self {
            pair,
            alice,
            bob,
            payload: Bytes::from(vec![7; message]),
            answers,
        }
    }

    fn fill(&mut self) {
        let association = self.pair.alice.association_mut(self.alice);
        let mut association = association.expect("nobody ends it");
        loop {
            match association.send(Message::new(StreamId(0), self.payload.clone())) {
                Ok(_) => {}
                Err(SendError::BufferFull) => return,
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn take(&mut self) -> u64 {
        let association = self.pair.bob.association_mut(self.bob);
        let mut association = association.expect("nobody ends it");
        std::iter::from_fn(|| association.receive()).count() as u64
    }
}

impl Load for Ours {
    fn round(&mut self) -> Delivered {
        self.fill();
        let packets = match &mut self.answers {
            Some(answers) => self
                .pair
                .carry(Direction::Forward, |bob, now| answers.collect(bob, now)),
            None => self.pair.carry(Direction::Forward, |_, _| ()),
        };
        let messages = self.take();
        let collected = self
            .answers
            .as_mut()
            .map_or(0, |answers| answers.deliver(&mut self.pair));
        let answers = collected + self.pair.carry(Direction::Reverse, |_, _| ());
        self.pair
            .pass(Duration::from_micros(ROUND_MICROS), packets + answers == 0);
        self.pair.ignore_events();
        Delivered {
            messages,
            packets,
            answers,
        }
    }
}

impl Answers {
    fn collect(&mut self, bob: &mut Endpoint, now: Instant) {
        while let Some(transmit) = bob.poll_transmit(now, &mut self.bytes, 1) {
            self.packets.push((transmit.path, transmit.size));
        }
    }

    fn deliver(&mut self, pair: &mut Pair) -> u64 {
        let mut at = 0;
        for (path, size) in &self.packets {
            let packet = &self.bytes[at..at + size];
            pair.alice
                .handle_datagram(pair.now, path.reversed(), Ecn::NotCapable, packet);
            at += size;
        }
        let count = self.packets.len() as u64;
        self.packets.clear();
        self.bytes.clear();
        count
    }
}
