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
/// Limits of segments per step, and of timers that are due at one time.
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
    let mut fixture = Fixture::new(choices.byte());
    for _ in 0..choices.below(8) {
        fixture.exchange();
    }
    for _ in 0..MAX_STEPS {
        if choices.is_empty() {
            break;
        }
        fixture.step(&mut choices);
    }
}

fn config(number: u8) -> TcpConfig {
    let mut policies = PolicyRecipe::default();
    let congestion = ["reno", "lia", "olia", "balia"][usize::from(number & 3)];
    // A name that does not exist leaves the default.
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

type InFlight = (AddressPair, Vec<u8>);

struct Fixture {
    /// Alice, the active opener, and Bob.
    ends: [End; 2],
    now: Instant,
    forging: bool,
}

struct End {
    endpoint: Endpoint,
    id: Option<ConnectionId>,
    /// Segments in flight towards this end.
    inbound: Vec<InFlight>,
    /// The last segment sent by this end.
    last: Option<InFlight>,
    /// Bytes that the application has written and read; each byte is its offset modulo 256.
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

    /// Fires timers that are due, checks the invariants, and returns the segments to send.
    fn settle(&mut self, now: Instant) -> Vec<InFlight> {
        let mut in_flight = self.transmit(now);
        let mut fired = 0;
        while self.endpoint.poll_timeout().is_some_and(|due| due <= now) {
            self.endpoint.handle_timeout(now);
            in_flight.extend(self.transmit(now));
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
        in_flight
    }

    fn transmit(&mut self, now: Instant) -> Vec<InFlight> {
        let mut in_flight = Vec::new();
        let mut bytes = Vec::new();
        while let Some(addresses) = self.endpoint.poll_transmit(now, &mut bytes) {
            let segment = Segment::parse(&bytes, addresses.source, addresses.destination);
            segment.expect("sent segments are well-formed");
            in_flight.push((addresses, std::mem::take(&mut bytes)));
            assert!(in_flight.len() < MAX_SEGMENTS, "it never stops sending");
        }
        self.last = in_flight.last().cloned().or(self.last.take());
        in_flight
    }
}

impl Fixture {
    fn new(number: u8) -> Self {
        let address = |host| SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, host)), 80);
        let (mut alice, mut bob) = (Endpoint::new(Seed(1)), Endpoint::new(Seed(2)));
        bob.listen(80, config(number.rotate_left(3)));
        let id = alice
            .connect(address(1), address(2), config(number))
            .expect("a free port");
        let mut fixture = Self {
            ends: [End::new(alice, Some(id)), End::new(bob, None)],
            now: Instant::ZERO,
            forging: number & 64 != 0,
        };
        fixture.settle();
        fixture
    }

    fn settle(&mut self) {
        for side in [0, 1] {
            let in_flight = self.ends[side].settle(self.now);
            self.ends[1 - side].inbound.extend(in_flight);
        }
    }

    /// Delivers all segments in flight.
    fn exchange(&mut self) {
        for side in [0, 1] {
            for (addresses, bytes) in std::mem::take(&mut self.ends[side].inbound) {
                self.ends[side]
                    .endpoint
                    .handle_segment(self.now, addresses, &bytes);
            }
        }
        self.settle();
    }

    fn step(&mut self, choices: &mut Choices<'_>) {
        let action = choices.byte();
        let side = usize::from(action & 1);
        match action {
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
        self.settle();
    }

    fn call(&mut self, side: usize, choices: &mut Choices<'_>) {
        let (action, amount) = (choices.byte(), choices.byte());
        let end = &mut self.ends[side];
        let Some(id) = end.id else { return };
        match action % 16 {
            0..8 => {
                let length = u64::from(amount) * 40;
                let text: Vec<u8> = (end.written..end.written + length).map(|at| at as u8).collect();
                let refused = end
                    .endpoint
                    .with(id, |connection| connection.write(Bytes::from(text)));
                let refused = refused.map_or(length, |refused| refused.len() as u64);
                end.written += length - refused;
            }
            8..14 => self.read(side, id, usize::from(amount) * 100),
            14 if amount < 64 => {
                end.endpoint.with(id, anabranch_tcp::Connection::close);
            }
            15 if amount < 16 => {
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

    /// Delivers a copy of the other end's last segment in which the bytes have changed some fields.
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
            segment.sequence.0 = choices.around(segment.sequence.0);
        }
        if changes & 32 != 0 {
            segment.acknowledgement = segment.acknowledgement.map(|mut number| {
                number.0 = choices.around(number.0);
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
                block.start.0 = choices.around(base);
                block.end.0 = choices.around(base);
                block
            });
            segment.options.sack = blocks.collect();
        }
        let length = choices.byte();
        segment.payload = choices.slice(length.into());
        // Options that do not fit are dropped, because no real segment could carry them.
        let _ = segment.options.fit();
        let mut forged = Vec::new();
        segment.write(addresses.source, addresses.destination, &mut forged);
        self.ends[side]
            .endpoint
            .handle_segment(self.now, addresses, &forged);
    }
}
