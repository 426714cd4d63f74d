//! Fuzz target `two_associations`. Do two endpoints agree over a network with loss, duplication, reordering, delay and
//! corruption?
//!
//! The bytes decide what happens to each packet and what the applications do. Corruption leaves the checksum wrong, so
//! messages must arrive intact, once, and in order within each stream; after the network recovers, all must arrive
//! unless an association ended. In a second mode the checksum of corrupted packets is repaired, as by an on-path
//! attacker: then only the invariants of each endpoint hold.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use anabranch_proto::{
    AssociationConfig, CloseReason, Event, Extent, MessagePart, ReceivedMessage, Reliability, SendError,
};
use anabranch_types::{AssociationId, Instant, MessageId, Ppid};
use anabranch_wire::checksum;

use crate::association::{self, message};
use crate::{Choices, Host, InFlight};

/// Steps of one run.
const MAX_STEPS: usize = 400;

/// Rounds without impairments at the end, each up to the next timer.
const MAX_ROUNDS: usize = 20_000;

/// Runs the test that `bytes` encode.
///
/// # Panics
///
/// If an invariant is violated.
pub fn exercise(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let forging = choices.byte() & 1 == 1;
    let mut fixture = Fixture::new(choices.byte(), forging);
    for _ in 0..MAX_STEPS {
        if choices.is_empty() {
            break;
        }
        fixture.step(&mut choices);
    }
    fixture.finish();
}

/// The configuration of both ends: as that of the target `association`, in some runs with interleaving or data sent ahead. Messages in parts
/// are longer than the buffers.
fn config(number: u8) -> AssociationConfig {
    let mut config = association::config(number);
    config.max_message = 60_000;
    let more = [
        (16, "interleaving", "on"),
        (128, "path-scheduler", "in-order-arrival"),
    ];
    for (_, point, value) in more.iter().filter(|(bit, ..)| number & bit != 0) {
        config
            .policies
            .set(point, value)
            .expect("a name of the catalogue");
    }
    config
}

struct Fixture {
    ends: [End; 2],
    now: Instant,
    forging: bool,
}

/// One host, the packets in flight towards it, and the messages that its application expects.
struct End {
    host: Host,
    inbound: VecDeque<InFlight>,
    /// The expected ordered messages, by stream and in order.
    expected: BTreeMap<u16, VecDeque<Expected>>,
    /// The expected unordered messages, by number.
    unordered: BTreeMap<u32, Expected>,
    /// Number of messages that its peer has sent to it.
    count: u32,
    /// Bytes received of messages that are delivered in parts, by stream and ordering.
    partial: BTreeMap<(u16, bool), usize>,
    /// The messages that its own application sends in parts, by stream.
    unfinished: BTreeMap<u16, Unfinished>,
    has_ended: bool,
}

/// A message of which parts are missing.
#[derive(Clone, Copy, Debug)]
struct Unfinished {
    id: MessageId,
    /// All bytes of it.
    mark: u8,
    /// Length of each part.
    length: usize,
    /// Missing parts.
    left: u8,
    optional: bool,
}

/// A message that the peer has sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Expected {
    number: u32,
    length: usize,
    /// Whether the peer may abandon it.
    optional: bool,
}

impl End {
    fn new(number: u8, settings: u8) -> Self {
        Self {
            host: Host::new(number, &config(settings)),
            inbound: VecDeque::new(),
            expected: BTreeMap::new(),
            unordered: BTreeMap::new(),
            count: 0,
            partial: BTreeMap::new(),
            unfinished: BTreeMap::new(),
            has_ended: false,
        }
    }

    fn waits(&self) -> bool {
        let ordered = self.expected.values().flatten();
        ordered
            .chain(self.unordered.values())
            .any(|message| !message.optional)
    }

    fn take(&mut self, received: &ReceivedMessage) {
        let stream = received.stream.0;
        let number = received.ppid.0 >> 8;
        let mark = received.ppid.0 as u8;
        assert!(
            received.payload.iter().all(|byte| *byte == mark),
            "the payload is wrong"
        );
        let key = (stream, received.unordered);
        let before = self.partial.remove(&key).unwrap_or_default();
        let length = before + received.payload.len();
        if received.extent == Extent::Aborted {
            return;
        }
        if received.extent.has_more() {
            self.partial.insert(key, length);
            return;
        }
        if received.unordered {
            let expected = self.unordered.remove(&number).expect("the message was sent");
            assert_eq!(expected.length, length, "message {number}");
            return;
        }
        let queue = self.expected.get_mut(&stream).expect("the stream was used");
        loop {
            let expected = queue.pop_front().expect("the message was sent");
            if expected.number == number {
                assert_eq!(expected.length, length, "message {number}");
                return;
            }
            assert!(expected.optional, "{expected:?} comes before {number}");
        }
    }
}

impl Fixture {
    fn new(settings: u8, forging: bool) -> Self {
        let mut fixture = Self {
            ends: [End::new(1, settings), End::new(2, settings)],
            now: Instant::ZERO,
            forging,
        };
        fixture.ends[0].host.connect(fixture.now, 2);
        if settings & 64 != 0 {
            fixture.ends[1].host.connect(fixture.now, 1);
        }
        fixture.settle();
        fixture
    }

    fn settle(&mut self) {
        for index in [0, 1] {
            let end = &mut self.ends[index];
            let has_ended = &mut end.has_ended;
            let in_flight = end.host.settle(self.now, |_, event| match event {
                // A restarted peer has lost the undelivered messages.
                Event::Closed(CloseReason::Finished) => {}
                Event::Closed(_) | Event::Restarted { .. } => *has_ended = true,
                _ => {}
            });
            self.ends[1 - index].inbound.extend(in_flight);
        }
    }

    fn step(&mut self, choices: &mut Choices<'_>) {
        let action = choices.byte();
        let index = usize::from(action & 1);
        match action >> 1 {
            0..50 => self.deliver(index),
            50..58 => drop(self.ends[index].inbound.pop_front()),
            58..64 => self.ends[index]
                .inbound
                .rotate_left(usize::from(self.ends[index].inbound.len() > 1)),
            64..68 => {
                let repeated = self.ends[index].inbound.front().cloned();
                self.ends[index].inbound.extend(repeated);
            }
            68..76 => self.damage(index, choices),
            76..86 => self.now += Duration::from_millis(u64::from(choices.byte()).pow(2) / 8),
            86..92 => self.skip_to_next_timer(),
            92..118 => self.send(index, choices),
            118..123 => self.take(index, usize::from(choices.below(8))),
            123 => self.send_part(index, choices),
            124 if choices.byte() < 16 => self.shut_down(index),
            _ => (0..4).for_each(|_| self.deliver(index)),
        }
        self.settle();
    }

    fn deliver(&mut self, index: usize) {
        let end = &mut self.ends[index];
        if let Some(in_flight) = end.inbound.pop_front() {
            end.host.receive(self.now, &in_flight);
        }
        self.settle();
    }

    fn damage(&mut self, index: usize, choices: &mut Choices<'_>) {
        let (at, change) = (usize::from(choices.byte()), choices.byte() | 1);
        let Some(in_flight) = self.ends[index].inbound.front_mut() else {
            return;
        };
        let at = at % in_flight.bytes.len();
        in_flight.bytes[at] ^= change;
        if self.forging {
            checksum::seal(&mut in_flight.bytes);
        }
    }

    fn id(&self, index: usize) -> Option<AssociationId> {
        self.ends[index].host.association
    }

    fn send(&mut self, index: usize, choices: &mut Choices<'_>) {
        let (flags, length) = (choices.byte(), usize::from(choices.byte()) * 30);
        let Some(id) = self.id(index) else { return };
        let number = self.ends[1 - index].count;
        let message = message(length, flags).with_ppid(Ppid(u32::from(flags) | number << 8));
        let (stream, unordered) = (message.stream.0, message.unordered);
        let is_unreliable = message.reliability != Reliability::Reliable;
        let association = self.ends[index].host.endpoint.association_mut(id);
        let Some(mut association) = association.filter(|association| !association.is_closed()) else {
            return;
        };
        // Before the handshake is complete it is not known whether the peer supports partial reliability.
        let may_abandon = !association.is_connected() || association.is_partially_reliable();
        let expected = Expected {
            number,
            length,
            optional: is_unreliable && may_abandon,
        };
        let sent = association.send(message).is_ok();
        drop(association);
        let peer = &mut self.ends[1 - index];
        peer.count += 1;
        if sent && unordered {
            peer.unordered.insert(number, expected);
        } else if sent {
            peer.expected.entry(stream).or_default().push_back(expected);
        }
    }

    /// Begins a message in parts on a stream, or sends the next part of the one that has begun.
    fn send_part(&mut self, index: usize, choices: &mut Choices<'_>) {
        let (flags, length) = (choices.byte(), usize::from(choices.byte()) * 30);
        let Some(id) = self.id(index) else { return };
        let first = message(length, flags);
        let stream = first.stream.0;
        if self.ends[index].unfinished.contains_key(&stream) {
            return self.go_on(index, stream);
        }
        let number = self.ends[1 - index].count;
        let first = first.with_ppid(Ppid(u32::from(flags) | number << 8));
        let (unordered, is_unreliable) = (first.unordered, first.reliability != Reliability::Reliable);
        let association = self.ends[index].host.endpoint.association_mut(id);
        let Some(mut association) = association.filter(|association| association.is_connected()) else {
            return;
        };
        let optional = is_unreliable && association.is_partially_reliable();
        let Ok(id) = association.send(MessagePart::Beginning(first)) else {
            return;
        };
        drop(association);
        let left = 1 + (flags ^ length as u8) % 5;
        self.ends[index].unfinished.insert(
            stream,
            Unfinished {
                id,
                mark: flags,
                length,
                left,
                optional,
            },
        );
        let expected = Expected {
            number,
            length: length * usize::from(1 + left),
            optional,
        };
        let peer = &mut self.ends[1 - index];
        peer.count += 1;
        if unordered {
            peer.unordered.insert(number, expected);
        } else {
            peer.expected.entry(stream).or_default().push_back(expected);
        }
    }

    /// Sends the next part of the unfinished message on `stream`.
    fn go_on(&mut self, index: usize, stream: u16) {
        let is_honest = !self.forging && !self.has_ended();
        let Some(id) = self.id(index) else { return };
        let end = &mut self.ends[index];
        let (Some(unfinished), Some(mut association)) = (
            end.unfinished.get_mut(&stream),
            end.host.endpoint.association_mut(id),
        ) else {
            return;
        };
        let payload = vec![unfinished.mark; unfinished.length].into();
        let sent = association.send(match unfinished.left {
            1 => MessagePart::End(unfinished.id, payload),
            _ => MessagePart::Middle(unfinished.id, payload),
        });
        match sent {
            Ok(_) => unfinished.left -= 1,
            Err(SendError::BufferFull) => {}
            Err(error) => {
                assert!(
                    unfinished.optional || !is_honest,
                    "a part was refused: {error}, {unfinished:?}"
                );
                unfinished.left = 0;
            }
        }
        if unfinished.left == 0 {
            end.unfinished.remove(&stream);
        }
    }

    fn take(&mut self, index: usize, most: usize) {
        let Some(id) = self.id(index) else { return };
        let is_honest = !self.forging && !self.has_ended();
        for _ in 0..most {
            let association = self.ends[index].host.endpoint.association_mut(id);
            let Some(received) = association.and_then(|mut association| association.receive()) else {
                return;
            };
            if is_honest {
                self.ends[index].take(&received);
            }
        }
    }

    fn has_ended(&self) -> bool {
        self.ends.iter().any(|end| end.has_ended)
    }

    fn shut_down(&mut self, index: usize) {
        let Some(id) = self.id(index) else { return };
        if let Some(mut association) = self.ends[index].host.endpoint.association_mut(id) {
            association.shutdown();
        }
    }

    fn skip_to_next_timer(&mut self) {
        let timeouts = self
            .ends
            .iter()
            .filter_map(|end| end.host.endpoint.poll_timeout());
        self.now = timeouts.min().map_or(self.now, |deadline| self.now.max(deadline));
    }

    /// Removes impairments: all outstanding messages must arrive.
    fn finish(&mut self) {
        for _ in 0..MAX_ROUNDS {
            while self.ends.iter().any(|end| !end.inbound.is_empty()) {
                self.deliver(0);
                self.deliver(1);
            }
            self.take(0, usize::MAX);
            self.take(1, usize::MAX);
            for index in [0, 1] {
                let streams: Vec<u16> = self.ends[index].unfinished.keys().copied().collect();
                for stream in streams {
                    self.go_on(index, stream);
                }
            }
            self.settle();
            if self.forging || self.has_ended() || !self.ends.iter().any(End::waits) {
                return;
            }
            self.skip_to_next_timer();
            self.settle();
        }
        panic!("messages never arrived");
    }
}
