//! Pair of endpoints in virtual time, which exchange packets in memory.

use std::net::SocketAddr;
use std::time::Duration;

use anabranch_proto::{AssociationConfig, Endpoint, EndpointConfig, Event, Transmit};
use anabranch_types::{AssociationId, Ecn, Instant, PathAddr, Seed};

/// As many segments as fit into one UDP datagram with segmentation offload.
const MAX_SEGMENTS: usize = 44;

/// Two endpoints and the virtual time.
#[derive(Debug)]
pub struct Pair {
    /// The initiator.
    pub alice: Endpoint,
    /// The listener.
    pub bob: Endpoint,
    /// The virtual time; only [`Pair::pass`] advances it.
    pub now: Instant,
    /// Number of the paths that carry packets; all others lose them.
    pub carrying: u8,
    /// The host number of the last initiator.
    initiators: u8,
    buffer: Vec<u8>,
    carried: u64,
}

/// Direction of packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From Alice to Bob.
    Forward,
    /// From Bob to Alice.
    Reverse,
}

impl Pair {
    /// Two endpoints with `paths` addresses each. Bob accepts with `config`.
    #[must_use]
    pub fn new(paths: u8, config: &AssociationConfig) -> Self {
        Self {
            alice: endpoint(1, paths, config),
            bob: endpoint(2, paths, config),
            now: Instant::ZERO,
            carrying: paths,
            initiators: 2,
            buffer: Vec::new(),
            carried: 0,
        }
    }

    /// Puts another initiator in the place of Alice, with other addresses. Returns the one before, which gets no more packets.
    pub fn replace_alice(&mut self, paths: u8, config: &AssociationConfig) -> Endpoint {
        self.initiators += 1;
        std::mem::replace(&mut self.alice, endpoint(self.initiators, paths, config))
    }

    /// Starts an association from Alice to Bob's first address.
    ///
    /// # Panics
    ///
    /// If the endpoint refuses.
    pub fn connect(&mut self, config: &AssociationConfig) -> AssociationId {
        self.alice
            .connect(self.now, &[address(2, 0)], config)
            .expect("a path and a free port")
    }

    /// Sets up an association; returns its ids at Alice and at Bob.
    ///
    /// # Panics
    ///
    /// If the handshake fails.
    pub fn associate(&mut self, config: &AssociationConfig) -> (AssociationId, AssociationId) {
        let ours = self.connect(config);
        self.settle();
        (ours, connected(&mut self.bob).expect("the handshake completes"))
    }

    /// Exchanges packets until both ends are idle at this time; returns the number of packets.
    pub fn settle(&mut self) -> u64 {
        let mut total = 0;
        loop {
            let forward = self.carry(Direction::Forward, |_, _| ());
            let reverse = self.carry(Direction::Reverse, |_, _| ());
            total += forward + reverse;
            if forward + reverse == 0 {
                return total;
            }
        }
    }

    /// Delivers all packets of one direction that can be sent now, and calls `after_each` with the receiver after each packet;
    /// returns the number of packets.
    pub fn carry(&mut self, direction: Direction, mut after_each: impl FnMut(&mut Endpoint, Instant)) -> u64 {
        let (from, to) = match direction {
            Direction::Forward => (&mut self.alice, &mut self.bob),
            Direction::Reverse => (&mut self.bob, &mut self.alice),
        };
        let mut packets = 0;
        while let Some(transmit) = transmit(from, self.now, &mut self.buffer) {
            let SocketAddr::V4(local) = transmit.path.local else {
                continue;
            };
            if local.ip().octets()[2] >= self.carrying {
                continue;
            }
            for packet in self.buffer.chunks(transmit.segment_size.unwrap_or(transmit.size)) {
                packets += 1;
                to.handle_datagram(self.now, transmit.path.reversed(), Ecn::NotCapable, packet);
                after_each(to, self.now);
            }
        }
        self.carried += packets;
        packets
    }

    /// Packets delivered so far, in both directions.
    #[must_use]
    pub const fn carried(&self) -> u64 {
        self.carried
    }

    /// Advances the time by `step`, or to the next deadline if `idle` is set and that is later. Fires timers that are due.
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

    /// The time at which the next timer fires.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        let deadlines = [self.alice.poll_timeout(), self.bob.poll_timeout()];
        deadlines.into_iter().flatten().min()
    }

    /// Discards all events of both endpoints.
    pub fn ignore_events(&mut self) {
        while self.alice.poll_event().is_some() {}
        while self.bob.poll_event().is_some() {}
    }

    /// Path number `number`, as Alice sees it.
    #[must_use]
    pub fn path(number: u8) -> PathAddr {
        PathAddr {
            local: address(1, number),
            remote: address(2, number),
        }
    }

    /// Takes all packets of one direction that can be sent now, shows them to `look`, and drops them.
    pub fn discard(&mut self, direction: Direction, mut look: impl FnMut(&[u8])) {
        let from = match direction {
            Direction::Forward => &mut self.alice,
            Direction::Reverse => &mut self.bob,
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
        max_associations: usize::MAX,
        max_associations_per_prefix: usize::MAX,
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
