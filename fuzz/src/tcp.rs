//! Fuzz target `tcp`. Can segments, timers and calls make a TCP connection panic, loop or exceed its memory?
//!
//! Alice and Bob connect. Then the bytes select forged variants of their segments, genuine or lost segments, time steps
//! and calls of the application. Without forgery, everything written must be read.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use anabranch_policy::PolicyRecipe;
use anabranch_tcp::wire::{Kind, SackBlock, Segment, Timestamps};
use anabranch_tcp::{AddressPair, ConnectionId, Endpoint, State, TcpConfig};
use anabranch_types::{Instant, Seed};
use bytes::Bytes;

use crate::Choices;

/// Steps of one run; longer inputs find nothing that shorter ones do not.
const MAX_STEPS: usize = 300;
/// Segments that one step may set free, and timers that one moment.
const MAX_SEGMENTS: usize = 5_000;
const MAX_TIMERS: usize = 100;
const BUFFER: u64 = 20_000;

/// Runs the test that `bytes` encode.
///
/// # Panics
///
/// If an invariant is violated.
pub fn exercise(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let mut scene = Scene::new(choices.byte());
    for _ in 0..choices.below(8) {
        scene.exchange();
    }
    for _ in 0..MAX_STEPS {
        if choices.is_empty() {
            break;
        }
        scene.step(&mut choices);
    }
}

fn config(number: u8) -> TcpConfig {
    let mut policies = PolicyRecipe::default();
    let congestion = ["reno", "lia", "olia", "balia"][usize::from(number & 3)];
    // Names that there are not are left alone.
    let _ = policies.set("cc", congestion);
    TcpConfig {
        policies,
        send_buffer: BUFFER,
        receive_buffer: BUFFER,
        sack: number & 4 == 0,
        timestamps: number & 8 == 0,
        window_scaling: number & 16 == 0,
        nagle: number & 32 == 0,
        ..TcpConfig::default()
    }
}

type Flying = (AddressPair, Vec<u8>);

struct Scene {
    /// Alice, who connects, and Bob.
    ends: [End; 2],
    now: Instant,
    forging: bool,
}

struct End {
    endpoint: Endpoint,
    id: Option<ConnectionId>,
    /// What flies towards it.
    inbound: Vec<Flying>,
    /// The last segment that it sent.
    last: Option<Flying>,
    /// Bytes that its application wrote and read: they are counted off.
    written: u64,
    read: u64,
}

impl End {
    fn new(endpoint: Endpoint, id: Option<ConnectionId>) -> Self {
        Self {
            endpoint,
            id,
            inbound: Vec::new(),
            last: None,
            written: 0,
            read: 0,
        }
    }

    /// Fires what is due and takes what is to be sent.
    fn rest(&mut self, now: Instant) -> Vec<Flying> {
        let mut flying = self.transmit(now);
        let mut fired = 0;
        while self.endpoint.poll_timeout().is_some_and(|due| due <= now) {
            self.endpoint.handle_timeout(now);
            flying.extend(self.transmit(now));
            fired += 1;
            assert!(
                fired < MAX_TIMERS,
                "timers that are always due: {:?}",
                self.endpoint
            );
        }
        while let Some((id, _)) = self.endpoint.poll_event() {
            self.id = Some(id);
        }
        for (_, connection) in self.endpoint.connections() {
            let statistics = connection.statistics();
            assert!(statistics.out_of_order_bytes <= BUFFER, "{statistics:?}");
            let is_open = statistics.state == State::Established;
            assert!(!is_open || statistics.facts.cwnd > 0, "{statistics:?}");
        }
        flying
    }

    fn transmit(&mut self, now: Instant) -> Vec<Flying> {
        let mut flying = Vec::new();
        let mut bytes = Vec::new();
        while let Some(addresses) = self.endpoint.poll_transmit(now, &mut bytes) {
            let segment = Segment::parse(&bytes, addresses.source, addresses.destination);
            segment.expect("what we send is well formed");
            flying.push((addresses, std::mem::take(&mut bytes)));
            assert!(flying.len() < MAX_SEGMENTS, "it never stops sending");
        }
        self.last = flying.last().cloned().or(self.last.take());
        flying
    }
}

impl Scene {
    fn new(number: u8) -> Self {
        let address = |host| SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, host)), 80);
        let (mut alice, mut bob) = (Endpoint::new(Seed(1)), Endpoint::new(Seed(2)));
        bob.listen(80, config(number.rotate_left(3)));
        let id = alice
            .connect(address(1), address(2), config(number))
            .expect("a free port");
        let mut scene = Self {
            ends: [End::new(alice, Some(id)), End::new(bob, None)],
            now: Instant::ZERO,
            forging: number & 64 != 0,
        };
        scene.rest();
        scene
    }

    fn rest(&mut self) {
        for side in [0, 1] {
            let flying = self.ends[side].rest(self.now);
            self.ends[1 - side].inbound.extend(flying);
        }
    }

    /// What is in flight arrives.
    fn exchange(&mut self) {
        for side in [0, 1] {
            for (addresses, bytes) in std::mem::take(&mut self.ends[side].inbound) {
                self.ends[side]
                    .endpoint
                    .handle_segment(self.now, addresses, &bytes);
            }
        }
        self.rest();
    }

    fn step(&mut self, choices: &mut Choices<'_>) {
        let what = choices.byte();
        let side = usize::from(what & 1);
        match what {
            0..100 if self.forging => self.forge(side, choices),
            0..120 => self.exchange(),
            120..140 => {
                // One of those in flight is lost, comes again, or comes late.
                let inbound = &mut self.ends[side].inbound;
                if !inbound.is_empty() {
                    let at = usize::from(choices.byte()) % inbound.len();
                    let chosen = inbound.remove(at);
                    let copies = choices.below(3);
                    inbound.extend((0..copies).map(|_| chosen.clone()));
                }
            }
            140..160 => self.now += Duration::from_millis(u64::from(choices.byte()).pow(2) / 4),
            160..180 => {
                let due = self.ends[side].endpoint.poll_timeout();
                self.now = due.map_or(self.now, |due| self.now.max(due));
            }
            180..250 => self.call(side, choices),
            250.. => self.ends.iter_mut().for_each(|end| end.inbound.clear()),
        }
        self.rest();
    }

    fn call(&mut self, side: usize, choices: &mut Choices<'_>) {
        let (what, how_much) = (choices.byte(), choices.byte());
        let end = &mut self.ends[side];
        let Some(id) = end.id else { return };
        match what % 16 {
            0..8 => {
                let length = u64::from(how_much) * 40;
                let text: Vec<u8> = (end.written..end.written + length).map(|at| at as u8).collect();
                let refused = end
                    .endpoint
                    .with(id, |connection| connection.write(Bytes::from(text)));
                let refused = refused.map_or(length, |refused| refused.len() as u64);
                end.written += length - refused;
            }
            8..14 => self.read(side, id, usize::from(how_much) * 100),
            14 if how_much < 64 => {
                end.endpoint.with(id, anabranch_tcp::Connection::close);
            }
            15 if how_much < 16 => {
                end.endpoint.with(id, anabranch_tcp::Connection::abort);
            }
            _ => {}
        }
    }

    fn read(&mut self, side: usize, id: ConnectionId, most: usize) {
        let end = &mut self.ends[side];
        let read = end
            .endpoint
            .with(id, |connection| connection.read(most))
            .flatten();
        let Some(bytes) = read else { return };
        if !self.forging {
            assert!(
                bytes.iter().zip(end.read..).all(|(byte, at)| *byte == at as u8),
                "other bytes"
            );
        }
        end.read += bytes.len() as u64;
        let (read, written) = (self.ends[side].read, self.ends[1 - side].written);
        assert!(self.forging || read <= written, "more read than written");
    }

    /// A segment like the last one of the other end, with some fields as the bytes decide.
    fn forge(&mut self, side: usize, choices: &mut Choices<'_>) {
        let Some((addresses, bytes)) = self.ends[1 - side].last.clone() else {
            return;
        };
        let Ok(mut segment) = Segment::parse(&bytes, addresses.source, addresses.destination) else {
            return;
        };
        let changes = choices.byte();
        segment.kind =
            [Kind::Plain, Kind::Plain, Kind::Fin, Kind::Syn, Kind::Reset][usize::from(changes % 5)];
        if changes & 16 != 0 {
            segment.sequence.0 = choices.near(segment.sequence.0);
        }
        if changes & 32 != 0 {
            segment.acknowledgement = segment.acknowledgement.map(|mut number| {
                number.0 = choices.near(number.0);
                number
            });
        }
        if changes & 64 != 0 {
            segment.window = choices.short();
            segment.options.timestamps = Some(Timestamps {
                value: choices.long(),
                echo: choices.long(),
            });
        }
        if changes & 128 != 0 {
            let base = segment.acknowledgement.map_or(0, |number| number.0);
            let blocks = (0..choices.below(5)).map(|_| {
                let mut block = SackBlock::default();
                block.start.0 = choices.near(base);
                block.end.0 = choices.near(base);
                block
            });
            segment.options.sack = blocks.collect();
        }
        let length = choices.byte();
        segment.payload = choices.slice(length.into());
        // More than fits was never on a wire.
        let _ = segment.options.fit();
        let mut forged = Vec::new();
        segment.write(addresses.source, addresses.destination, &mut forged);
        self.ends[side]
            .endpoint
            .handle_segment(self.now, addresses, &forged);
    }
}
