//! Two endpoints in virtual time that pass packets to each other in memory.

use std::net::SocketAddr;
use std::time::Duration;

use anabranch_proto::{AssociationConfig, Endpoint, EndpointConfig, Event, Transmit};
use anabranch_types::{AssociationId, Ecn, Instant, PathAddr, Seed};

/// As many segments as fit into one UDP datagram with segmentation offload.
const MAX_SEGMENTS: usize = 44;

/// Two endpoints and the virtual time.
#[derive(Debug)]
pub struct Pair {
    /// The one that connects.
    pub alice: Endpoint,
    /// The one that accepts.
    pub bob: Endpoint,
    /// Passes only when told to.
    pub now: Instant,
    buffer: Vec<u8>,
    carried: u64,
}

/// Who sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Alice to Bob.
    There,
    /// Bob to Alice.
    Back,
}

impl Pair {
    /// Two endpoints with `paths` addresses each. Bob accepts with `config`.
    #[must_use]
    pub fn new(paths: u8, config: &AssociationConfig) -> Self {
        Self {
            alice: endpoint(1, paths, config),
            bob: endpoint(2, paths, config),
            now: Instant::ZERO,
            buffer: Vec::new(),
            carried: 0,
        }
    }

    /// Begins an association from Alice to Bob's first address.
    ///
    /// # Panics
    ///
    /// If the endpoint refuses.
    pub fn connect(&mut self, config: &AssociationConfig) -> AssociationId {
        self.alice
            .connect(self.now, &[address(2, 0)], config)
            .expect("a path and a free port")
    }

    /// Sets up an association and gives its numbers with Alice and with Bob.
    ///
    /// # Panics
    ///
    /// If the handshake fails.
    pub fn associate(&mut self, config: &AssociationConfig) -> (AssociationId, AssociationId) {
        let ours = self.connect(config);
        self.settle();
        (ours, connected(&mut self.bob).expect("the handshake completes"))
    }

    /// Carries packets both ways until nobody has anything to say at this moment; the number of packets.
    pub fn settle(&mut self) -> u64 {
        let mut total = 0;
        loop {
            let there = self.carry(Direction::There, |_, _| ());
            let back = self.carry(Direction::Back, |_, _| ());
            total += there + back;
            if there + back == 0 {
                return total;
            }
        }
    }

    /// Hands over what one side wants to send now, packet by packet, and calls `after_each` with the receiver
    /// after each; the number of packets.
    pub fn carry(&mut self, direction: Direction, mut after_each: impl FnMut(&mut Endpoint, Instant)) -> u64 {
        let (from, to) = match direction {
            Direction::There => (&mut self.alice, &mut self.bob),
            Direction::Back => (&mut self.bob, &mut self.alice),
        };
        let mut packets = 0;
        while let Some(transmit) = transmit(from, self.now, &mut self.buffer) {
            for packet in self.buffer.chunks(transmit.segment_size.unwrap_or(transmit.size)) {
                packets += 1;
                to.handle_datagram(self.now, transmit.path.reversed(), Ecn::NotCapable, packet);
                after_each(to, self.now);
            }
        }
        self.carried += packets;
        packets
    }

    /// Packets handed over until now, both ways.
    #[must_use]
    pub const fn carried(&self) -> u64 {
        self.carried
    }

    /// Lets `step` pass, or more if nothing happens before the next deadline and `idle` is set. Fires timers.
    pub fn pass(&mut self, step: Duration, idle: bool) {
        self.now += step;
        if idle && let Some(deadline) = self.next_deadline() {
            self.now = self.now.max(deadline);
        }
        for endpoint in [&mut self.alice, &mut self.bob] {
            if endpoint
                .poll_timeout()
                .is_some_and(|deadline| deadline <= self.now)
            {
                endpoint.handle_timeout(self.now);
            }
        }
    }

    /// When the next timer fires.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        let deadlines = [self.alice.poll_timeout(), self.bob.poll_timeout()];
        deadlines.into_iter().flatten().min()
    }

    /// Throws away all events, as an application without interest in them.
    pub fn ignore_events(&mut self) {
        while self.alice.poll_event().is_some() {}
        while self.bob.poll_event().is_some() {}
    }

    /// The path between the two ends' addresses with this number, as Alice sees it.
    #[must_use]
    pub fn path(number: u8) -> PathAddr {
        PathAddr {
            local: address(1, number),
            remote: address(2, number),
        }
    }

    /// Takes what one side wants to send now, and loses it.
    pub fn steal(&mut self, direction: Direction, mut look: impl FnMut(&[u8])) {
        let from = match direction {
            Direction::There => &mut self.alice,
            Direction::Back => &mut self.bob,
        };
        while let Some(transmit) = transmit(from, self.now, &mut self.buffer) {
            self.buffer
                .chunks(transmit.segment_size.unwrap_or(transmit.size))
                .for_each(&mut look);
        }
    }
}

fn transmit(from: &mut Endpoint, now: Instant, buffer: &mut Vec<u8>) -> Option<Transmit> {
    buffer.clear();
    from.poll_transmit(now, buffer, MAX_SEGMENTS)
}

fn endpoint(host: u8, paths: u8, config: &AssociationConfig) -> Endpoint {
    let config = EndpointConfig {
        local: (0..paths).map(|path| address(host, path)).collect(),
        accept: Some(config.clone()),
        ..EndpointConfig::default()
    };
    Endpoint::new(config, Seed(u64::from(host)))
}

fn address(host: u8, path: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, path, host], 9_899))
}

fn connected(endpoint: &mut Endpoint) -> Option<AssociationId> {
    std::iter::from_fn(|| endpoint.poll_event())
        .find(|(_, event)| matches!(event, Event::Connected { .. }))
        .map(|(id, _)| id)
}
