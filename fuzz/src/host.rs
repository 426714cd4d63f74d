//! Endpoint under test with the checks after every step.

use std::net::SocketAddr;

use anabranch_proto::{AssociationConfig, Endpoint, EndpointConfig, Event};
use anabranch_types::{AssociationId, Ecn, Instant, PathAddr, Seed};
use anabranch_wire::{Packet, checksum};

/// Limit of packets per step: more than a buffer full of the smallest chunks causes.
const MAX_PACKETS: usize = 5_000;

/// Limit of timers that are due at one time: more than an association has.
const MAX_TIMERS: usize = 100;

/// An endpoint with its latest association and the checks of its invariants.
#[derive(Debug)]
pub struct Host {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The association that was started or accepted last.
    pub association: Option<AssociationId>,
    limits: AssociationConfig,
}

/// A packet in flight.
#[derive(Clone, Debug)]
pub struct InFlight {
    /// The path as the sender sees it.
    pub path: PathAddr,
    /// The packet.
    pub bytes: Vec<u8>,
}

impl Host {
    /// Creates a listening host with two addresses.
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

    /// Address of host `number` on a path.
    pub fn address(number: u8, path: u8) -> SocketAddr {
        SocketAddr::from(([10, 0, path, number], 9_899))
    }

    /// Starts an association with host `peer`.
    pub fn connect(&mut self, now: Instant, peer: u8) {
        let begun = self
            .endpoint
            .connect(now, &[Self::address(peer, 0)], &self.limits);
        self.association = begun.ok().or(self.association);
    }

    /// Handles a packet that arrives.
    pub fn receive(&mut self, now: Instant, in_flight: &InFlight) {
        // Some packets are marked, as if by a router.
        let ecn = match in_flight.bytes.last() {
            Some(byte) if byte % 8 == 1 => Ecn::CongestionExperienced,
            _ => Ecn::NotCapable,
        };
        self.endpoint
            .handle_datagram(now, in_flight.path.reversed(), ecn, &in_flight.bytes);
    }

    /// Fires timers that are due, checks the invariants, and returns the packets to send. Events are passed to `on_event`.
    pub fn settle(&mut self, now: Instant, mut on_event: impl FnMut(AssociationId, Event)) -> Vec<InFlight> {
        let mut in_flight = self.transmit(now);
        let mut fired = 0;
        while self
            .endpoint
            .poll_timeout()
            .is_some_and(|deadline| deadline <= now)
        {
            self.endpoint.handle_timeout(now);
            in_flight.extend(self.transmit(now));
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
            on_event(id, event);
        }
        self.check();
        in_flight
    }

    fn transmit(&mut self, now: Instant) -> Vec<InFlight> {
        let mut in_flight = Vec::new();
        let mut buffer = Vec::new();
        while let Some(transmit) = self.endpoint.poll_transmit(now, &mut buffer, 10) {
            assert_eq!(
                transmit.size,
                buffer.len(),
                "the reported size is the number of appended bytes"
            );
            for bytes in buffer.chunks(transmit.segment_size.unwrap_or(transmit.size)) {
                check_packet(bytes, &self.limits);
                in_flight.push(InFlight {
                    path: transmit.path,
                    bytes: bytes.to_vec(),
                });
            }
            buffer.clear();
            assert!(in_flight.len() < MAX_PACKETS, "it never stops sending");
        }
        in_flight
    }

    fn check(&self) {
        assert!(self.endpoint.associations().len() <= 5);
        for association in self.endpoint.associations() {
            let statistics = association.statistics();
            // One part of a message, at most as long as the buffer, is accepted beyond it if all else waits for that part.
            assert!(statistics.send_buffer_used <= 2 * self.limits.send_buffer.max());
            // Chunks that fill gaps may take as much again as the window, and the message that all others wait for has room of
            // its own.
            let message = self.limits.max_message as u64;
            let limit = 2 * self.limits.receive_buffer.max().max(message) + message;
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
fn check_packet(bytes: &[u8], config: &AssociationConfig) {
    assert!(
        bytes.len() + 28 <= usize::from(config.mtu),
        "a packet of {} bytes",
        bytes.len()
    );
    let may_be_zero = config.zero_checksum.is_some() && checksum::is_zero(bytes);
    assert!(may_be_zero || checksum::is_valid(bytes), "a wrong checksum");
    let packet = Packet::parse_unverified(bytes).expect("a packet");
    let mut chunks = 0;
    for chunk in packet.chunks() {
        chunk.expect("a frame").decode().expect("a chunk");
        chunks += 1;
    }
    assert!(chunks > 0, "an empty packet");
}
