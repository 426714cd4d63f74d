//! How fast is the core alone? Two endpoints in one thread, packets handed over in memory.
//!
//! `cargo run --release -p anabranch-proto --example in_memory -- [message bytes] [window bytes] [seconds]`
//!
//! Prints goodput, messages and packets per second of wall time. Virtual time advances by a microsecond per
//! round, so timers play no part.

use std::net::SocketAddr;
use std::time::Instant as Wall;

use anabranch_proto::{AssociationConfig, Endpoint, EndpointConfig, Event, Message, SendError, Transmit};
use anabranch_types::{AssociationId, Instant, Seed, StreamId};
use bytes::Bytes;

struct Link {
    buffer: Vec<u8>,
    packets: u64,
}

impl Link {
    /// Hands everything that `from` wants to send to `to`; tells whether there was anything.
    fn carry(&mut self, from: &mut Endpoint, to: &mut Endpoint, now: Instant) -> bool {
        let mut any = false;
        loop {
            self.buffer.clear();
            let Some(Transmit {
                path,
                ecn,
                size,
                segment_size,
            }) = from.poll_transmit(now, &mut self.buffer, 44)
            else {
                return any;
            };
            any = true;
            for packet in self.buffer[..size].chunks(segment_size.unwrap_or(size)) {
                self.packets += 1;
                to.handle_datagram(now, path.reversed(), ecn, packet);
            }
        }
    }
}

fn endpoint(address: &str, seed: u64, config: &AssociationConfig) -> Endpoint {
    let local: SocketAddr = address.parse().expect("an address");
    let config = EndpointConfig {
        local: vec![local],
        accept: Some(config.clone()),
        ..EndpointConfig::default()
    };
    Endpoint::new(config, Seed(seed))
}

fn argument(index: usize, default: u64) -> u64 {
    std::env::args()
        .nth(index)
        .map_or(default, |text| text.parse().expect("a number"))
}

fn connected(endpoint: &mut Endpoint) -> Option<AssociationId> {
    std::iter::from_fn(|| endpoint.poll_event())
        .find(|(_, event)| matches!(event, Event::Connected { .. }))
        .map(|(id, _)| id)
}

fn main() {
    let size = usize::try_from(argument(1, 1_400)).expect("a size");
    let window = argument(2, 128 << 10);
    let seconds = argument(3, 3);
    let config = AssociationConfig {
        receive_buffer: window,
        send_buffer: window,
        max_message: 64 << 10,
        ..AssociationConfig::default()
    };
    let mut alice = endpoint("10.0.0.1:9899", 1, &config);
    let mut bob = endpoint("10.0.0.2:9899", 2, &config);
    let mut link = Link {
        buffer: Vec::new(),
        packets: 0,
    };
    let mut now = Instant::ZERO;
    let id = alice
        .connect(now, &["10.0.0.2:9899".parse().expect("an address")], &config)
        .expect("a path");
    while link.carry(&mut alice, &mut bob, now) | link.carry(&mut bob, &mut alice, now) {}
    let theirs = connected(&mut bob).expect("the handshake completes");
    let payload = Bytes::from(vec![7; size]);
    let start = Wall::now();
    let mut received = 0_u64;
    while start.elapsed().as_secs() < seconds {
        for _ in 0..64 {
            let mut association = alice.association_mut(id).expect("it exists");
            while match association.send(Message::new(StreamId(0), payload.clone())) {
                Ok(_) => true,
                Err(SendError::BufferFull) => false,
                Err(error) => panic!("{error}"),
            } {}
            drop(association);
            link.carry(&mut alice, &mut bob, now);
            let mut association = bob.association_mut(theirs).expect("it exists");
            while association.receive().is_some() {
                received += 1;
            }
            drop(association);
            link.carry(&mut bob, &mut alice, now);
            now += std::time::Duration::from_micros(1);
            if alice.poll_timeout().is_some_and(|deadline| deadline <= now) {
                alice.handle_timeout(now);
            }
            if bob.poll_timeout().is_some_and(|deadline| deadline <= now) {
                bob.handle_timeout(now);
            }
            while alice.poll_event().is_some() {}
            while bob.poll_event().is_some() {}
        }
    }
    let elapsed = start.elapsed().as_secs_f64();
    let rate = |count: f64| count / elapsed;
    println!(
        "{size} bytes, window {window}: {:.2} Gbit/s, {:.3} M messages/s, {:.0} k packets/s",
        rate(received as f64 * size as f64 * 8.0) / 1e9,
        rate(received as f64) / 1e6,
        rate(link.packets as f64) / 1e3,
    );
    println!("{:?}", alice.association(id).expect("it exists").statistics());
}
