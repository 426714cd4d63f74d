//! Who talks to whom, over which paths, how, and what happens meanwhile? A builder for one simulation.

use core::net::{IpAddr, Ipv6Addr, SocketAddr};
use core::time::Duration;
use std::io;

use anabranch_netsim::topology::{self, Path};
use anabranch_netsim::{HostId, LinkChange, LinkConfig, Network};
use anabranch_policy::PolicyRecipe;
use anabranch_proto::{AssociationConfig, DEFAULT_PORT, EndpointConfig};
use anabranch_types::{Instant, Seed};

use crate::app::Conversation;
use crate::network;
use crate::network::Both;
use crate::rival::{self, Rival};
use crate::{AnyHost, Probe, ProcessorModel, SctpHost, Side, Simulation};

/// A simulation to be built: two hosts, the paths between them, applications and a script.
///
/// ```
/// use anabranch_netsim::LinkConfig;
/// use anabranch_sim::{Scenario, app::{Bulk, Conversation, Streams, Workload}};
/// use anabranch_types::{Rate, Seed};
/// use std::time::Duration;
/// let dsl = LinkConfig::new(Rate::mbit(10), Duration::from_millis(20));
/// let bulk = Workload::Bulk(Bulk::new(1_400, Streams::one(0)).messages(100));
/// let mut simulation = Scenario::new(Seed(7))
///     .path(dsl.clone())
///     .path(dsl)
///     .near_talks(Conversation::new([bulk]))
///     .build();
/// simulation.connect();
/// simulation.run_for(Duration::from_secs(2));
/// assert_eq!(simulation.outcome().forward.messages, 100);
/// ```
pub struct Scenario {
    seed: Seed,
    lanes: Vec<Lane>,
    /// There and back.
    bottleneck: Option<(LinkConfig, LinkConfig)>,
    rivals: Vec<Rival>,
    port: u16,
    segments: usize,
    processors: [Option<ProcessorModel>; 2],
    configs: [AssociationConfig; 2],
    conversations: [Conversation; 2],
    accepts: [bool; 2],
    script: Vec<(Duration, Step)>,
    probes: Vec<Probe>,
    captures: Vec<(Side, Box<dyn io::Write + Send>)>,
    checksum_offload: bool,
    is_traced: bool,
}

/// One path to be built.
struct Lane {
    there: LinkConfig,
    back: LinkConfig,
    near: IpAddr,
    far: IpAddr,
    /// The network has it, and the hosts do not know of their addresses yet.
    spare: bool,
}

/// What happens to the network in the course of a scenario. Paths are counted from 0.
#[derive(Clone, PartialEq, Debug)]
pub enum Step {
    /// A path loses everything, in both directions.
    Cut(usize),
    /// It works again.
    Heal(usize),
    /// Both directions of a path change.
    Change(usize, LinkChange),
    /// The translator before the near end of a path gives it another port.
    Rebind(usize, u16),
    /// A side begins to use its end of a path, in its newest association too.
    Join(Side, usize),
    /// A side uses its end of a path no more.
    Leave(Side, usize),
}

impl Scenario {
    /// Two hosts with nothing between them yet.
    #[must_use]
    pub fn new(seed: Seed) -> Self {
        Self {
            seed,
            lanes: Vec::new(),
            bottleneck: None,
            rivals: Vec::new(),
            port: DEFAULT_PORT,
            segments: 1,
            processors: [None; 2],
            configs: Default::default(),
            conversations: Default::default(),
            accepts: [false, true],
            script: Vec::new(),
            probes: Vec::new(),
            captures: Vec::new(),
            checksum_offload: false,
            is_traced: true,
        }
    }

    /// Adds a path between two addresses of its own: [`topology::near`] and [`topology::far`].
    #[must_use]
    pub fn path(self, link: LinkConfig) -> Self {
        self.asymmetric_path(link.clone(), link)
    }

    /// Adds a path that is different there and back.
    #[must_use]
    pub fn asymmetric_path(self, there: LinkConfig, back: LinkConfig) -> Self {
        let number = self.next_number();
        self.path_between(there, back, (topology::near(number), topology::far(number)))
    }

    /// Adds a path between two addresses of IP version 6.
    #[must_use]
    pub fn path_v6(self, link: LinkConfig) -> Self {
        let number = u16::from(self.next_number());
        let address = |host| IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, number, 0, 0, 0, 0, host));
        self.path_between(link.clone(), link, (address(1), address(2)))
    }

    /// Adds a path to the far address of path 0: the far host has one link less than the near one.
    #[must_use]
    pub fn path_to_the_same_address(self, link: LinkConfig) -> Self {
        let near = topology::near(self.next_number());
        let far = self.lanes.first().map_or(topology::far(0), |first| first.far);
        self.path_between(link.clone(), link, (near, far))
    }

    /// Adds a path between any two addresses. Each pair may have one.
    #[must_use]
    pub fn path_between(mut self, there: LinkConfig, back: LinkConfig, ends: (IpAddr, IpAddr)) -> Self {
        let (near, far) = ends;
        self.lanes.push(Lane {
            there,
            back,
            near,
            far,
            spare: false,
        });
        self
    }

    /// Adds a path whose ends neither side uses until [`Step::Join`] says so.
    #[must_use]
    pub fn spare_path(self, link: LinkConfig) -> Self {
        self.path(link).with_last_path_spare()
    }

    /// The same, with neither side using the last path that was added until [`Step::Join`] says so.
    #[must_use]
    pub fn with_last_path_spare(mut self) -> Self {
        if let Some(lane) = self.lanes.last_mut() {
            lane.spare = true;
        }
        self
    }

    /// Leads all paths through one further link in each direction.
    #[must_use]
    pub fn bottleneck(self, link: LinkConfig) -> Self {
        let name = if link.name.is_empty() {
            "bottleneck"
        } else {
            &link.name
        };
        let [there, back] = ["→", "←"].map(|arrow| link.clone().named(format!("{name}{arrow}")));
        self.asymmetric_bottleneck(there, back)
    }

    /// Leads all paths through one further link that is different there and back.
    #[must_use]
    pub fn asymmetric_bottleneck(self, there: LinkConfig, back: LinkConfig) -> Self {
        Self {
            bottleneck: Some((there, back)),
            ..self
        }
    }

    /// Adds two other hosts that send through the bottleneck. [`Simulation::connect_rivals`] lets them begin.
    #[must_use]
    pub fn rival(mut self, rival: Rival) -> Self {
        self.rivals.push(rival);
        self
    }

    /// Port of the UDP encapsulation at both ends; 0 for SCTP directly over IP. 9899 unless set.
    #[must_use]
    pub fn encapsulation_port(self, port: u16) -> Self {
        Self { port, ..self }
    }

    /// How many packets a core may write at once, as segmentation offload lets it: 1 unless set. The network carries
    /// them one by one.
    #[must_use]
    pub fn segments(self, segments: usize) -> Self {
        Self { segments, ..self }
    }

    /// The host of one side takes time for what it does; nothing takes any unless set.
    #[must_use]
    pub fn processor(mut self, side: Side, model: ProcessorModel) -> Self {
        self.processors[side.index()] = Some(model);
        self
    }

    /// How both sides set up associations.
    #[must_use]
    pub fn config(self, config: AssociationConfig) -> Self {
        Self {
            configs: [config.clone(), config],
            ..self
        }
    }

    /// How one side sets up associations.
    #[must_use]
    pub fn config_of(mut self, side: Side, config: AssociationConfig) -> Self {
        self.configs[side.index()] = config;
        self
    }

    /// The mechanisms of both sides.
    #[must_use]
    pub fn policies(mut self, policies: PolicyRecipe) -> Self {
        for config in &mut self.configs {
            config.policies = policies;
        }
        self
    }

    /// What the near application does.
    #[must_use]
    pub fn near_talks(mut self, conversation: Conversation) -> Self {
        self.conversations[0] = conversation;
        self
    }

    /// What the far application does.
    #[must_use]
    pub fn far_talks(mut self, conversation: Conversation) -> Self {
        self.conversations[1] = conversation;
        self
    }

    /// Whether a side lets others connect: the far one does and the near one does not, unless set.
    #[must_use]
    pub fn accepts(mut self, side: Side, accepts: bool) -> Self {
        self.accepts[side.index()] = accepts;
        self
    }

    /// Something happens to the network at `at`.
    #[must_use]
    pub fn at(mut self, at: Duration, step: Step) -> Self {
        self.script.push((at, step));
        self
    }

    /// Samples the paths of one side.
    #[must_use]
    pub fn probe(mut self, side: Side, every: Duration) -> Self {
        self.probes.push(Probe::new(side, every));
        self
    }

    /// Records what one side sends and receives, in pcapng format.
    #[must_use]
    pub fn capture(mut self, side: Side, sink: impl io::Write + Send + 'static) -> Self {
        self.captures.push((side, Box::new(sink)));
        self
    }

    /// Both hosts leave checksums to the network, which damages nothing: an eighth less time to wait. Unless packets are
    /// captured; whoever reads them expects checksums.
    #[must_use]
    pub fn offload_checksums(self) -> Self {
        Self {
            checksum_offload: true,
            ..self
        }
    }

    /// No number stands for all packets of a host ([`crate::Tally::trace_hash`]): where nobody compares them, it is work for
    /// nothing.
    #[must_use]
    pub fn untraced(self) -> Self {
        Self {
            is_traced: false,
            ..self
        }
    }

    /// Builds it; nothing has happened yet.
    #[must_use]
    pub fn build(self) -> Simulation {
        let mut network = Network::new(self.seed);
        let hosts = [Side::Near, Side::Far].map(|side| network.add_host(self.host(side).into()));
        let bottleneck = self.bottleneck.as_ref();
        let shared = bottleneck.map(|(there, back)| network::add(&mut network, there, back, "bottleneck"));
        let paths = self.add_paths(&mut network, (hosts[0], hosts[1]), shared);
        let rivals = rival::build(self.rivals, &mut network, self.seed, &paths, shared);
        for (side, sink) in self.captures {
            network.capture_host(hosts[side.index()], side.name(), sink);
        }
        let [near_config, _] = self.configs;
        let [near_conversation, _] = self.conversations;
        let mut simulation = Simulation::new(network, hosts, paths, self.port);
        let spare = self.lanes.iter().map(|lane| lane.spare);
        simulation.set_spare(spare.collect());
        simulation.set_near(near_config, near_conversation);
        simulation.set_rivals(rivals);
        simulation.set_probes(self.probes);
        for (at, step) in self.script {
            simulation.schedule(Instant::ZERO + at, step);
        }
        simulation
    }

    fn host(&self, side: Side) -> SctpHost {
        let config = EndpointConfig {
            local: self.addresses(side),
            accept: self.accepts[side.index()].then(|| self.configs[side.index()].clone()),
            checksum_offload: self.checksum_offload && self.captures.is_empty(),
            ..EndpointConfig::default()
        };
        let answering = self.conversations[side.index()].clone();
        let host = SctpHost::new(config, self.seed.split(side.name()), answering)
            .with_segments(self.segments)
            .with_processor(self.processors[side.index()]);
        if self.is_traced { host } else { host.untraced() }
    }

    fn addresses(&self, side: Side) -> Vec<SocketAddr> {
        let mut addresses: Vec<SocketAddr> = Vec::new();
        for lane in self.lanes.iter().filter(|lane| !lane.spare) {
            let ip = match side {
                Side::Near => lane.near,
                Side::Far => lane.far,
            };
            let address = SocketAddr::new(ip, self.port);
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        addresses
    }

    fn add_paths(
        &self,
        network: &mut Network<AnyHost>,
        hosts: (HostId, HostId),
        shared: Option<Both>,
    ) -> Vec<Path> {
        let mut paths = Vec::new();
        for (number, lane) in self.lanes.iter().enumerate() {
            let own = network::add(network, &lane.there, &lane.back, &format!("path {number}"));
            paths.push(network::lead(network, hosts, (lane.near, lane.far), own, shared));
        }
        paths
    }

    fn next_number(&self) -> u8 {
        u8::try_from(self.lanes.len()).expect("invariant: a scenario has at most 256 paths")
    }
}
