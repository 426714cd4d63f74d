//! Fuzz target `two_associations`. Do two endpoints agree over a network with loss, duplication, reordering, delay and
//! corruption?
//!
//! The bytes decide what happens to each packet and what the applications do. Corruption leaves the checksum wrong, so
//! messages must arrive intact, once, and in order within each stream; after the network recovers, all must arrive
//! unless an association ended. In a second mode the checksum of corrupted packets is repaired, as by an on-path
//! attacker: then only the invariants of each endpoint hold.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use anabranch_proto::{AssociationConfig, CloseReason, Event, ReceivedMessage, Reliability};
use anabranch_types::{AssociationId, Instant, Ppid};
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

/// The configuration of both ends: as that of the target `association`, in some runs with interleaving or data sent ahead.
fn config(number: u8) -> AssociationConfig {
    let mut config = association::config(number);
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
    has_ended: bool,
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
        let (stream, length) = (received.stream.0, received.payload.len());
        let number = received.ppid.0 >> 8;
        let mark = received.ppid.0 as u8;
        assert!(
            received.payload.iter().all(|byte| *byte == mark),
            "the payload is wrong"
        );
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
            118..124 => self.take(index, usize::from(choices.below(8))),
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
        let Some(mut association) = association.filter(|association| association.is_connected()) else {
            return;
        };
        let expected = Expected {
            number,
            length,
            optional: is_unreliable && association.is_partially_reliable(),
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
            if self.forging || self.has_ended() || !self.ends.iter().any(End::waits) {
                return;
            }
            self.skip_to_next_timer();
            self.settle();
        }
        panic!("messages never arrived");
    }
}
