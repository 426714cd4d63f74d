//! Random scenario of a test: paths, buffers and mechanisms, drawn from a seed.

use core::time::Duration;

use anabranch_netsim::link::QueueConfig;
use anabranch_netsim::{LinkConfig, topology};
use anabranch_policy::catalog::{AddIpChoice, CATALOG, OversizeChoice, PathMtuChoice, RtoChoice};
use anabranch_policy::options::RtoParameters;
use anabranch_policy::{PROFILES, PolicyRecipe};
use anabranch_proto::{AssociationConfig, BufferSize, DEFAULT_PORT, ErrorDetection, SizeRange};
use anabranch_types::{Rate, Rng, Seed};
use anabranch_wire::chunk::kind;

use crate::app::{Conversation, LONGEST_MESSAGE};
use crate::{Scenario, Side, Simulation};

/// SCTP port of the near side.
const NEAR_PORT: u16 = 50_000;

/// Scenario to be built. All fields are plain numbers, so that it can be printed as source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Seed of the simulation's random number generator.
    pub seed: u64,
    /// Uses IP version 6 instead of 4.
    pub ipv6: bool,
    /// Uses SCTP in UDP instead of directly over IP.
    pub encapsulated: bool,
    /// Both sides connect at the same time, instead of the near one alone.
    pub collides: bool,
    /// The near side may lose all state and restart; only if it alone connects.
    pub restarts: bool,
    /// Packets that a core may write at once.
    pub segments: usize,
    /// The longest message in either direction, or part of one: the protocol does not tell the other side.
    pub max_message: usize,
    /// The paths.
    pub paths: Vec<PathShape>,
    /// The near side.
    pub near: SideShape,
    /// The far side.
    pub far: SideShape,
}

/// One path, the same in both directions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathShape {
    /// Its rate in kbit/s.
    pub kbit: u32,
    /// Its delay in milliseconds, one way.
    pub millis: u32,
    /// Queue length in packets.
    pub queue: u32,
}

/// One side's settings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SideShape {
    /// Largest IP packet in bytes.
    pub mtu: u16,
    /// Send buffer in bytes, the largest size if it sizes itself.
    pub send_buffer: u64,
    /// Receive buffer in bytes, the largest size if it sizes itself.
    pub receive_buffer: u64,
    /// Whether the buffers size themselves.
    pub self_sized: bool,
    /// Outbound streams requested.
    pub streams: u16,
    /// Inbound streams allowed.
    pub inbound_streams: u16,
    /// Initial, minimum and maximum retransmission timeout in milliseconds.
    pub rto: [u32; 3],
    /// Base profile.
    pub profile: &'static str,
    /// Differences from the profile: extension point and algorithm.
    pub policies: Vec<(&'static str, &'static str)>,
    /// Declares that packets may have a checksum of zero.
    pub zero_checksum: bool,
    /// Types of chunks that the other side has to authenticate.
    pub authenticated: Vec<u8>,
}

impl Shape {
    /// Draws a scenario from `seed`.
    #[must_use]
    pub fn draw(seed: u64) -> Self {
        let mut rng = Seed(seed).split("shape").rng();
        let rng = &mut rng;
        let paths = 1 + rng.below(4);
        let max_message = *pick(rng, &[1_500, 5_000, 20_000, 60_000]);
        let add_ip = rng.chance(1, 2).then_some(("add-ip", "on"));
        let side = |rng: &mut Rng| {
            let mut side = SideShape::draw(rng, max_message);
            side.policies.extend(add_ip);
            side
        };
        let mut shape = Self {
            seed,
            ipv6: rng.chance(1, 4),
            encapsulated: rng.chance(3, 4),
            collides: rng.chance(1, 8),
            restarts: rng.chance(1, 4),
            segments: *pick(rng, &[1, 1, 3, 64]),
            paths: (0..paths).map(|_| PathShape::draw(rng)).collect(),
            near: side(rng),
            far: side(rng),
            max_message,
        };
        // Extensions are drawn apart, so that one more leaves all else of a seed as it is.
        let mut extensions = Seed(seed).split("extensions").rng();
        let mut sizes = Seed(seed).split("sizes").rng();
        for side in Side::BOTH {
            shape.of_mut(side).draw_extensions(&mut extensions);
        }
        for side in Side::BOTH {
            shape.of_mut(side).self_sized = sizes.chance(1, 2);
        }
        // A side without authentication is refused by one that requires it.
        if extensions.chance(1, 5) {
            shape.near.authenticated = vec![kind::DATA, kind::I_DATA];
            shape.far.authenticated = vec![kind::SACK, kind::NR_SACK, kind::HEARTBEAT];
        }
        shape
    }

    /// Whether there are NATs before the near side. They translate ports, so there are none without UDP. A host that must accept
    /// connections cannot be behind a NAT, and a restarted host cannot be recognised behind one.
    pub(super) const fn has_translators(&self) -> bool {
        self.encapsulated && !self.collides && !self.restarts
    }

    /// Whether both sides follow a path of the near side to another public address.
    pub(super) fn may_translate(&self) -> bool {
        self.has_translators() && self.changes_addresses()
    }

    /// Whether both sides follow an uplink of either side to another address. A restarted host begins with the addresses of the scenario.
    pub(super) fn may_renumber(&self) -> bool {
        !self.collides && !self.restarts && self.changes_addresses()
    }

    fn changes_addresses(&self) -> bool {
        let follows = |side: &SideShape| matches!(side.recipe().add_ip, AddIpChoice::On(_));
        follows(&self.near) && follows(&self.far)
    }

    /// Whether both sides do path MTU discovery, so that the network may change the MTU.
    pub(super) fn searches_sizes(&self) -> bool {
        let searches = |side: &SideShape| matches!(side.recipe().path_mtu, PathMtuChoice::Search(_));
        searches(&self.near) && searches(&self.far)
    }

    /// Whether packets have a checksum of zero (RFC 9653).
    pub(super) const fn lacks_checksums(&self) -> bool {
        self.near.zero_checksum && self.far.zero_checksum
    }

    /// Whether both sides find smaller packet sizes and divide chunks that have become too large, so that holes do not stop a
    /// transfer.
    pub(super) fn survives_holes(&self) -> bool {
        let divides = |side: &SideShape| matches!(side.recipe().oversize, OversizeChoice::Split(_));
        self.searches_sizes() && divides(&self.near) && divides(&self.far)
    }

    pub(super) const fn may_restart(&self) -> bool {
        self.restarts && !self.collides
    }

    /// The two hosts and their paths.
    pub(super) fn build(&self) -> Simulation {
        let port = if self.encapsulated { DEFAULT_PORT } else { 0 };
        let scenario = Scenario::new(Seed(self.seed).split("world"))
            .encapsulation_port(port)
            .segments(self.segments)
            .config_of(Side::Near, self.config(Side::Near))
            .config_of(Side::Far, self.config(Side::Far))
            .accepts(Side::Near, self.collides);
        let add = |scenario: Scenario, (number, path): (u8, &PathShape)| {
            let link = path.link();
            if self.ipv6 {
                scenario.path_v6(link)
            } else {
                let ends = (topology::near_addr(number), topology::far_addr(number));
                scenario.path_between(link.clone(), link, ends)
            }
        };
        (0..=u8::MAX).zip(&self.paths).fold(scenario, add).build()
    }

    /// Association configuration of one side. The near side always connects from the same port, so that it can restart.
    pub(super) fn config(&self, side: Side) -> AssociationConfig {
        let config = self.of(side).config(self.max_message);
        let port = if self.collides {
            config.peer_sctp_port
        } else {
            NEAR_PORT
        };
        AssociationConfig {
            local_sctp_port: Some(port),
            max_message: if self.sends_in_parts() {
                LONGEST_MESSAGE
            } else {
                self.max_message
            },
            partial_reliability: self.is_partially_reliable(),
            reconfiguration: self.is_reconfigurable(),
            ..config
        }
    }

    /// Whether both sides support partial reliability, as in a third of the tests.
    pub(super) const fn is_partially_reliable(&self) -> bool {
        self.seed.is_multiple_of(3)
    }

    /// Whether both sides require chunks other than address changes to be authenticated (RFC 4895).
    pub(super) const fn authenticates(&self) -> bool {
        !self.near.authenticated.is_empty() && !self.far.authenticated.is_empty()
    }

    /// Whether some messages are sent in parts, and may be longer than the buffers, as in a quarter of the tests.
    pub(super) const fn sends_in_parts(&self) -> bool {
        self.seed % 4 == 1
    }

    /// Whether both sides support stream reconfiguration, as in half of the tests.
    pub(super) const fn is_reconfigurable(&self) -> bool {
        self.seed.is_multiple_of(2)
    }

    /// Connects the sides that are to connect.
    pub(super) fn connect(&self, simulation: &mut Simulation) {
        simulation.connect_from(Side::Near, &self.config(Side::Near), Conversation::default());
        if self.collides {
            simulation.connect_from(Side::Far, &self.config(Side::Far), Conversation::default());
        }
    }

    /// One side's settings, mutable.
    pub const fn of_mut(&mut self, side: Side) -> &mut SideShape {
        match side {
            Side::Near => &mut self.near,
            Side::Far => &mut self.far,
        }
    }

    pub(super) const fn of(&self, side: Side) -> &SideShape {
        match side {
            Side::Near => &self.near,
            Side::Far => &self.far,
        }
    }
}

impl PathShape {
    fn draw(rng: &mut Rng) -> Self {
        Self {
            kbit: *pick(rng, &[500, 1_000, 3_000, 10_000, 40_000, 100_000]),
            millis: *pick(rng, &[0, 1, 5, 10, 30, 100, 300]),
            queue: *pick(rng, &[5, 20, 50, 100]),
        }
    }

    fn link(&self) -> LinkConfig {
        let rate = Rate::bits_per_second(u64::from(self.kbit) * 1_000);
        LinkConfig::new(rate, Duration::from_millis(self.millis.into()))
            .queue(QueueConfig::Packets(self.queue))
    }
}

impl SideShape {
    fn draw(rng: &mut Rng, max_message: usize) -> Self {
        let buffer =
            |rng: &mut Rng| (*pick(rng, &[5_000, 20_000, 100_000, 1_000_000])).max(max_message as u64);
        Self {
            mtu: *pick(rng, &[576, 577, 800, 1_280, 1_499, 1_500]),
            send_buffer: buffer(rng),
            receive_buffer: buffer(rng),
            self_sized: false,
            streams: *pick(rng, &[1, 2, 10, 1_000]),
            inbound_streams: *pick(rng, &[1, 3, 100, u16::MAX]),
            rto: *pick(
                rng,
                &[[1_000, 1_000, 60_000], [1_000, 400, 10_000], [300, 100, 2_000]],
            ),
            profile: pick(rng, PROFILES).name,
            policies: if rng.chance(1, 2) {
                draw_policies(rng)
            } else {
                Vec::new()
            },
            zero_checksum: false,
            authenticated: Vec::new(),
        }
    }

    /// Draws the extensions that this side offers: most of them in most tests, so that both sides often agree.
    fn draw_extensions(&mut self, rng: &mut Rng) {
        self.zero_checksum = rng.chance(2, 3);
        self.policies.extend(rng.chance(1, 2).then_some(("ecn", "on")));
    }

    /// A side with a large buffer and an even MTU, as most have, delivers long messages in parts.
    fn partial_delivery_point(&self, max_message: usize) -> usize {
        if self.receive_buffer.is_multiple_of(100_000) && self.mtu.is_multiple_of(2) {
            1 + max_message / 10
        } else {
            max_message
        }
    }

    fn config(&self, max_message: usize) -> AssociationConfig {
        let [initial, min, max] = self.rto.map(|millis| Duration::from_millis(millis.into()));
        AssociationConfig {
            mtu: self.mtu,
            send_buffer: self.size(self.send_buffer),
            receive_buffer: self.size(self.receive_buffer),
            max_message,
            partial_delivery_point: self.partial_delivery_point(max_message),
            outbound_streams: self.streams,
            max_inbound_streams: self.inbound_streams,
            zero_checksum: self.zero_checksum.then_some(ErrorDetection::Dtls),
            authenticated_chunks: self.authenticated.clone(),
            policies: PolicyRecipe {
                rto: RtoChoice::Rfc9260(RtoParameters {
                    initial,
                    min,
                    max,
                    ..RtoParameters::RFC9260
                }),
                ..self.recipe()
            },
            ..AssociationConfig::default()
        }
    }

    /// A buffer of `max` bytes at most.
    fn size(&self, max: u64) -> BufferSize {
        if self.self_sized {
            SizeRange {
                initial: max / 8,
                max,
            }
            .into()
        } else {
            BufferSize::Fixed(max)
        }
    }

    fn recipe(&self) -> PolicyRecipe {
        let mut recipe =
            PolicyRecipe::profile(self.profile).expect("invariant: profiles are drawn from their list");
        for (point, algorithm) in &self.policies {
            let known = recipe.set(point, algorithm);
            known.expect("invariant: policies are drawn from the catalog");
        }
        recipe
    }
}

/// One algorithm for each extension point, but not the constant window: it does not react to losses, so its delivery over a short
/// queue is not guaranteed. ECN is drawn with the extensions.
fn draw_policies(rng: &mut Rng) -> Vec<(&'static str, &'static str)> {
    let draw = |point: &anabranch_policy::catalog::ExtensionPoint| {
        let names: Vec<_> = point
            .algorithms
            .iter()
            .map(|algorithm| algorithm.name)
            .filter(|name| (point.name, *name) != ("cc", "fixed"))
            .collect();
        (point.name, *pick(rng, &names))
    };
    CATALOG
        .iter()
        .filter(|point| point.name != "ecn")
        .map(draw)
        .collect()
}

pub(super) fn pick<'a, T>(rng: &mut Rng, from: &'a [T]) -> &'a T {
    &from[rng.below(from.len() as u64) as usize]
}
