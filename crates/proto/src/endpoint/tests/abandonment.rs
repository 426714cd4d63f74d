//! Tests of partial reliability over two paths that lose, reorder and duplicate packets: each message is received or abandoned.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use core::time::Duration;

use anabranch_policy::BufferSize;
use anabranch_types::{MessageId, PathId};

use super::partial_reliability::{interleaving, unreliable};
use super::*;
use crate::{Extent, Reliability};

/// A source of pseudo-random numbers (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// A packet in flight, and when it arrives.
struct InFlight {
    due: Instant,
    path: PathAddr,
    bytes: Vec<u8>,
}

/// Two hosts with two paths that lose, delay and duplicate packets.
struct Network {
    dice: Dice,
    now: Instant,
    hosts: [Endpoint; 2],
    inbound: [VecDeque<InFlight>; 2],
    loss: u64,
    /// Delay of the path between the second addresses. That of the first ones is zero.
    delay: Duration,
}

fn address(host: u8, path: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, path, host], DEFAULT_PORT))
}

impl Network {
    fn new(seed: u64, config: &AssociationConfig) -> Self {
        let host = |number: u8| {
            let config = EndpointConfig {
                local: vec![address(number, 0), address(number, 1)],
                accept: Some(config.clone()),
                ..EndpointConfig::default()
            };
            Endpoint::new(config, Seed(seed + u64::from(number)))
        };
        let mut network = Self {
            dice: Dice(seed * 2_654_435_761 + 1),
            now: START,
            hosts: [host(1), host(2)],
            inbound: Default::default(),
            loss: 0,
            delay: Duration::ZERO,
        };
        network.hosts[0]
            .connect(START, &[address(2, 0)], config)
            .expect("a path");
        for _ in 0..20 {
            network.step();
        }
        network
    }

    /// Exchanges the packets of about ten milliseconds.
    fn step(&mut self) {
        self.now += Duration::from_millis(10);
        for index in [0, 1] {
            let host = &mut self.hosts[index];
            if host.poll_timeout().is_some_and(|due| due <= self.now) {
                host.handle_timeout(self.now);
            }
            let mut buffer = Vec::new();
            while let Some(transmit) = host.poll_transmit(self.now, &mut buffer, 1) {
                let bytes = core::mem::take(&mut buffer);
                if self.dice.below(100) < self.loss {
                    continue;
                }
                let queue = &mut self.inbound[1 - index];
                let place = queue.len() - self.dice.below(3).min(queue.len() as u64) as usize;
                let is_slow = transmit.path.local == address(index as u8 + 1, 1);
                let in_flight = || InFlight {
                    due: self.now + if is_slow { self.delay } else { Duration::ZERO },
                    path: transmit.path.reversed(),
                    bytes: bytes.clone(),
                };
                queue.insert(place, in_flight());
                if self.dice.below(50) == 0 {
                    queue.push_back(in_flight());
                }
            }
        }
        for index in [0, 1] {
            let (due, later) = core::mem::take(&mut self.inbound[index])
                .into_iter()
                .partition(|packet| packet.due <= self.now);
            let due: VecDeque<InFlight> = due;
            self.inbound[index] = later;
            for InFlight { path, bytes, .. } in due {
                self.hosts[index].handle_datagram(self.now, path, Ecn::NotCapable, &bytes);
            }
        }
    }

    fn association(&self, host: usize) -> &Association {
        self.hosts[host].associations().next().expect("it lives")
    }
}

/// What one host sent and the other received.
#[derive(Default)]
struct Log {
    /// Stream, whether it is unordered, and whether it is reliable, by number.
    sent: Vec<(u16, bool, bool)>,
    ids: BTreeMap<MessageId, u32>,
    abandoned: BTreeSet<u32>,
    received: BTreeSet<u32>,
    last: BTreeMap<u16, u32>,
}

impl Log {
    fn send(&mut self, network: &mut Network) {
        let (stream, unordered) = (network.dice.below(3) as u16, network.dice.below(4) == 0);
        let length = [1, 100, 1_500, 6_000, 30_000][network.dice.below(5) as usize];
        let reliability = match network.dice.below(8) {
            0..2 => Reliability::Reliable,
            2..4 => Reliability::Lifetime(Duration::from_millis(network.dice.below(400))),
            4..6 => Reliability::Retransmissions(network.dice.below(3) as u16),
            _ => Reliability::Priority(network.dice.below(3) as u32),
        };
        let number = self.sent.len() as u32;
        let mut message = Message::new(StreamId(stream), vec![number as u8; length])
            .with_ppid(Ppid(number))
            .with_reliability(reliability);
        message.unordered = unordered;
        let id = network.association(0).id();
        let mut association = network.hosts[0].association_mut(id).expect("it lives");
        if let Ok(id) = association.send(message) {
            self.ids.insert(id, number);
            let is_reliable = reliability == Reliability::Reliable;
            self.sent.push((stream, unordered, is_reliable));
        }
    }

    fn look(&mut self, network: &mut Network) {
        while let Some((_, event)) = network.hosts[0].poll_event() {
            assert!(!matches!(event, Event::Closed(_)), "{event:?}");
            if let Event::Abandoned { message, .. } = event {
                assert!(self.abandoned.insert(self.ids[&message]), "abandoned once");
            }
        }
        while let Some((_, event)) = network.hosts[1].poll_event() {
            assert!(!matches!(event, Event::Closed(_)), "{event:?}");
        }
        let id = network.association(1).id();
        let mut association = network.hosts[1].association_mut(id).expect("it lives");
        while let Some(message) = association.receive() {
            let number = message.ppid.0;
            // A message that fills the small receive buffer is delivered in parts, and is received with the last one.
            if !matches!(message.extent, Extent::Whole | Extent::End) {
                continue;
            }
            assert!(message.payload.iter().all(|byte| *byte == number as u8));
            assert!(self.received.insert(number), "{number} arrives twice");
            if !message.unordered {
                let last = self.last.insert(message.stream.0, number);
                assert!(last.is_none_or(|last| last < number), "{number} after {last:?}");
            }
        }
    }
}

/// Plays one network; returns the numbers of messages sent, abandoned and received.
fn play(seed: u64, config: &AssociationConfig, delay: Duration) -> (usize, usize, usize) {
    let mut network = Network::new(seed, config);
    network.delay = delay;
    assert!(network.association(0).is_partially_reliable());
    let mut log = Log::default();
    for _ in 0..150 {
        network.loss = [0, 5, 30, 100][network.dice.below(4) as usize];
        for _ in 0..network.dice.below(4) {
            log.send(&mut network);
        }
        for _ in 0..network.dice.below(8) {
            network.step();
            log.look(&mut network);
        }
    }
    network.loss = 0;
    for _ in 0..12_000 {
        network.step();
        log.look(&mut network);
        if network.association(0).is_flushed() {
            break;
        }
    }
    let sender = network.association(0);
    assert!(sender.is_connected() && sender.is_flushed(), "seed {seed}");
    let counted = sender.abandoned();
    assert_eq!(
        counted.sent + counted.unsent,
        log.abandoned.len() as u64,
        "seed {seed}"
    );
    for (number, (_, _, is_reliable)) in (0..).zip(&log.sent) {
        let is_here = log.received.contains(&number);
        assert!(
            is_here || log.abandoned.contains(&number),
            "seed {seed}: {number} is lost"
        );
        assert!(!is_reliable || is_here, "seed {seed}: {number} is reliable");
    }
    assert_eq!(network.association(1).path_facts()[0].id, PathId(0));
    (log.sent.len(), log.abandoned.len(), log.received.len())
}

fn play_all(base: &AssociationConfig, delay: Duration) {
    let (mut sent, mut abandoned, mut received) = (0, 0, 0);
    for seed in 1..=60 {
        let config = AssociationConfig {
            send_buffer: BufferSize::Fixed([40_000, 400_000][seed as usize % 2]),
            receive_buffer: BufferSize::Fixed([60_000, 400_000][seed as usize / 2 % 2]),
            max_message: 30_000,
            local_sctp_port: None,
            ..base.clone()
        };
        let counts = play(seed, &config, delay);
        (sent, abandoned, received) = (sent + counts.0, abandoned + counts.1, received + counts.2);
    }
    assert!(
        abandoned > sent / 20 && received > sent / 2,
        "{sent} {abandoned} {received}"
    );
}

#[test]
fn random_losses_leave_each_message_received_or_abandoned() {
    for base in [unreliable(), interleaving()] {
        play_all(&base, Duration::ZERO);
    }
}

/// The slow path carries later messages than the fast one, so that TSNs are not in the order of messages.
#[test]
fn messages_sent_ahead_are_received_or_abandoned() {
    for mut base in [unreliable(), interleaving()] {
        let scheduler = ("path-scheduler", "in-order-arrival");
        base.policies.set(scheduler.0, scheduler.1).expect("an algorithm");
        play_all(&base, Duration::from_millis(100));
    }
}
