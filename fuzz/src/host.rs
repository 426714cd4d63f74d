//! Endpoint under test with the checks after every step.

use std::net::SocketAddr;

use anabranch_proto::{AssociationConfig, Endpoint, EndpointConfig, Event};
use anabranch_types::{AssociationId, Ecn, Instant, PathAddr, Seed};
use anabranch_wire::{Packet, checksum};

/// Packets that one step may set free: a buffer full of the smallest chunks, and to spare.
const MAX_PACKETS: usize = 5_000;

/// Timers of one association that can be due at one moment, and to spare.
const MAX_TIMERS: usize = 100;

/// An endpoint, its last association, and the checks.
#[derive(Debug)]
pub struct Host {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The association that it began or accepted last.
    pub association: Option<AssociationId>,
    limits: AssociationConfig,
}

/// A packet on the wire.
#[derive(Clone, Debug)]
pub struct Flying {
    /// As the sender sees it.
    pub path: PathAddr,
    /// The packet.
    pub bytes: Vec<u8>,
}

impl Host {
    /// With two addresses, and listening.
    pub fn new(number: u8, config: &AssociationConfig) -> Self {
        let endpoint = EndpointConfig {
            local: (0..2).map(|path| Self::address(number, path)).collect(),
            accept: Some(config.clone()),
            max_associations: 4,
            ..EndpointConfig::default()
        };
        Self {
            endpoint: Endpoint::new(endpoint, Seed(u64::from(number))),
            association: None,
            limits: config.clone(),
        }
    }

    /// Where the host `number` is on a path.
    pub fn address(number: u8, path: u8) -> SocketAddr {
        SocketAddr::from(([10, 0, path, number], 9_899))
    }

    /// Begins an association with the host `peer`.
    pub fn connect(&mut self, now: Instant, peer: u8) {
        let begun = self
            .endpoint
            .connect(now, &[Self::address(peer, 0)], &self.limits);
        self.association = begun.ok().or(self.association);
    }

    /// A packet arrives.
    pub fn receive(&mut self, now: Instant, flying: &Flying) {
        self.endpoint
            .handle_datagram(now, flying.path.reversed(), Ecn::NotCapable, &flying.bytes);
    }

    /// Fires what is due, takes what is to be sent, checks everything. The events are told to `hear`.
    pub fn rest(&mut self, now: Instant, mut hear: impl FnMut(AssociationId, Event)) -> Vec<Flying> {
        let mut flying = self.transmit(now);
        let mut fired = 0;
        while self
            .endpoint
            .poll_timeout()
            .is_some_and(|deadline| deadline <= now)
        {
            self.endpoint.handle_timeout(now);
            flying.extend(self.transmit(now));
            fired += 1;
            assert!(
                fired < MAX_TIMERS,
                "timers that are always due: {:?}",
                self.endpoint
            );
        }
        while let Some((id, event)) = self.endpoint.poll_event() {
            if matches!(event, Event::Connected { .. }) {
                self.association = Some(id);
            }
            hear(id, event);
        }
        self.check();
        flying
    }

    fn transmit(&mut self, now: Instant) -> Vec<Flying> {
        let mut flying = Vec::new();
        let mut buffer = Vec::new();
        while let Some(transmit) = self.endpoint.poll_transmit(now, &mut buffer, 10) {
            assert_eq!(transmit.size, buffer.len(), "it appended what it says");
            for bytes in buffer.chunks(transmit.segment_size.unwrap_or(transmit.size)) {
                check_packet(bytes, usize::from(self.limits.mtu));
                flying.push(Flying {
                    path: transmit.path,
                    bytes: bytes.to_vec(),
                });
            }
            buffer.clear();
            assert!(flying.len() < MAX_PACKETS, "it never stops sending");
        }
        flying
    }

    fn check(&self) {
        assert!(self.endpoint.associations().len() <= 5);
        for association in self.endpoint.associations() {
            let statistics = association.statistics();
            assert!(statistics.send_buffer_used <= self.limits.send_buffer);
            // Chunks that fill gaps find as much room again as the window had, and the message that all others wait for
            // finds room of its own.
            let message = self.limits.max_message as u64;
            let limit = 2 * self.limits.receive_buffer.max(message) + message;
            assert!(
                statistics.receive_buffer_used <= limit,
                "{} bytes held",
                statistics.receive_buffer_used
            );
            for facts in association.path_facts() {
                assert!(facts.in_flight <= facts.queued, "{facts:?}");
                assert!(facts.cwnd > 0, "{facts:?}");
            }
        }
    }
}

/// Checks that a sent packet is well-formed.
fn check_packet(bytes: &[u8], mtu: usize) {
    assert!(bytes.len() + 28 <= mtu, "a packet of {} bytes", bytes.len());
    assert!(checksum::is_valid(bytes), "a wrong checksum");
    let packet = Packet::parse(bytes).expect("a packet");
    let mut chunks = 0;
    for chunk in packet.chunks() {
        chunk.expect("a frame").decode().expect("a chunk");
        chunks += 1;
    }
    assert!(chunks > 0, "an empty packet");
}
