//! Scenario: a builder for one simulation with its hosts, paths, applications and scheduled events.

use core::net::{IpAddr, Ipv6Addr, SocketAddr};
use core::time::Duration;
use std::io;

use anabranch_netsim::topology::{self, Path};
use anabranch_netsim::{HostId, LinkChange, LinkConfig, Network};
use anabranch_types::{Instant, Seed};

use crate::cross_traffic::{self, CrossTraffic};
use crate::network::{self, Both};
use crate::transport::{HostSetup, Transport};
use crate::{AnyHost, Probe, Sctp, Side, Simulation};

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
///     .near_app(Conversation::new([bulk]))
///     .build();
/// simulation.connect();
/// simulation.run_for(Duration::from_secs(2));
/// assert_eq!(simulation.outcome().forward.messages, 100);
/// ```
pub struct Scenario<T: Transport = Sctp> {
    pub(crate) transport: T,
    seed: Seed,
    pub(crate) paths: Vec<PathConfig>,
    /// Forward and reverse link.
    bottleneck: Option<(LinkConfig, LinkConfig)>,
    cross_traffic: Vec<CrossTraffic>,
    pub(crate) configs: [T::Config; 2],
    pub(crate) apps: [T::App; 2],
    script: Vec<(Duration, Step)>,
    probes: Vec<Probe>,
    captures: Vec<(Side, Box<dyn io::Write + Send>)>,
    counts_overhead: bool,
}

/// One path to be built.
pub(crate) struct PathConfig {
    forward: LinkConfig,
    reverse: LinkConfig,
    pub(crate) near_addr: IpAddr,
    pub(crate) far_addr: IpAddr,
    /// The path exists in the network, but the hosts do not use its addresses yet.
    spare: bool,
}

/// The two addresses of path number `number`, of IP version 6.
pub(crate) fn addresses_v6(number: u8) -> (IpAddr, IpAddr) {
    let address = |host| IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, number.into(), 0, 0, 0, 0, host));
    (address(1), address(2))
}

/// Network events of a scenario. Paths are counted from 0.
#[derive(Clone, PartialEq, Debug)]
pub enum Step {
    /// A path fails: it loses all packets, in both directions.
    Cut(usize),
    /// The path is restored.
    Heal(usize),
    /// Both links of a path change.
    Change(usize, LinkChange),
    /// The NAT before the near end of a path assigns it another port.
    Rebind(usize, u16),
    /// A NAT translates the near end's source address on a path to this one and drops the previous binding.
    Translate(usize, SocketAddr),
    /// A side adds its address of a path, to its newest association too.
    Join(Side, usize),
    /// A side removes its address of a path.
    Leave(Side, usize),
}

impl<T: Transport> Scenario<T> {
    /// Two hosts without any path yet.
    pub(crate) fn with_transport(seed: Seed, transport: T) -> Self {
        Self {
            transport,
            seed,
            paths: Vec::new(),
            bottleneck: None,
            cross_traffic: Vec::new(),
            configs: Default::default(),
            apps: Default::default(),
            script: Vec::new(),
            probes: Vec::new(),
            captures: Vec::new(),
            counts_overhead: false,
        }
    }

    /// Adds a path between two new addresses: [`topology::near_addr`] and [`topology::far_addr`].
    #[must_use]
    pub fn path(self, link: LinkConfig) -> Self {
        self.asymmetric_path(link.clone(), link)
    }

    /// Adds a path with different forward and reverse links.
    #[must_use]
    pub fn asymmetric_path(self, forward: LinkConfig, reverse: LinkConfig) -> Self {
        let number = self.next_number();
        self.path_between(
            forward,
            reverse,
            (topology::near_addr(number), topology::far_addr(number)),
        )
    }

    /// Replaces the reverse link of the path that was added last.
    #[must_use]
    pub fn with_link_back(mut self, reverse: LinkConfig) -> Self {
        if let Some(path) = self.paths.last_mut() {
            path.reverse = reverse;
        }
        self
    }

    /// Adds a path between two IP version 6 addresses.
    #[must_use]
    pub fn path_v6(self, link: LinkConfig) -> Self {
        let ends = addresses_v6(self.next_number());
        self.path_between(link.clone(), link, ends)
    }

    /// Adds a path to the far address of path 0, so that the far host has one link less than the near one.
    #[must_use]
    pub fn path_to_the_same_address(self, link: LinkConfig) -> Self {
        let near = topology::near_addr(self.next_number());
        let far = self
            .paths
            .first()
            .map_or(topology::far_addr(0), |first| first.far_addr);
        self.path_between(link.clone(), link, (near, far))
    }

    /// Adds a path between any two addresses. Each pair may have only one.
    #[must_use]
    pub fn path_between(mut self, forward: LinkConfig, reverse: LinkConfig, ends: (IpAddr, IpAddr)) -> Self {
        let (near_addr, far_addr) = ends;
        self.paths.push(PathConfig {
            forward,
            reverse,
            near_addr,
            far_addr,
            spare: false,
        });
        self
    }

    /// Adds a path that neither side uses until [`Step::Join`].
    #[must_use]
    pub fn spare_path(self, link: LinkConfig) -> Self {
        self.path(link).with_last_path_spare()
    }

    /// Makes the last path that was added a spare one: neither side uses it until [`Step::Join`].
    #[must_use]
    pub fn with_last_path_spare(mut self) -> Self {
        if let Some(path) = self.paths.last_mut() {
            path.spare = true;
        }
        self
    }

    /// Routes all paths through one shared bottleneck link in each direction.
    #[must_use]
    pub fn bottleneck(self, link: LinkConfig) -> Self {
        let name = if link.name.is_empty() {
            "bottleneck"
        } else {
            &link.name
        };
        let [forward, reverse] = ["→", "←"].map(|arrow| link.clone().named(format!("{name}{arrow}")));
        self.asymmetric_bottleneck(forward, reverse)
    }

    /// Routes all paths through a shared bottleneck with different forward and reverse links.
    #[must_use]
    pub fn asymmetric_bottleneck(self, forward: LinkConfig, reverse: LinkConfig) -> Self {
        Self {
            bottleneck: Some((forward, reverse)),
            ..self
        }
    }

    /// Adds two other hosts that send through the bottleneck. [`Simulation::connect_cross_traffic`] starts them.
    #[must_use]
    pub fn cross_traffic(mut self, cross_traffic: CrossTraffic) -> Self {
        self.cross_traffic.push(cross_traffic);
        self
    }

    /// Configuration of associations or connections on both sides.
    #[must_use]
    pub fn config(self, config: T::Config) -> Self {
        Self {
            configs: [config.clone(), config],
            ..self
        }
    }

    /// Configuration of associations or connections on one side.
    #[must_use]
    pub fn config_of(mut self, side: Side, config: T::Config) -> Self {
        self.configs[side.index()] = config;
        self
    }

    /// The near application on each association or connection.
    #[must_use]
    pub fn near_app(mut self, app: T::App) -> Self {
        self.apps[0] = app;
        self
    }

    /// The far application on each association or connection.
    #[must_use]
    pub fn far_app(mut self, app: T::App) -> Self {
        self.apps[1] = app;
        self
    }

    /// Schedules a network event at `at`.
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

    /// Counts the protocol overhead of both hosts.
    #[must_use]
    pub fn count_overhead(self) -> Self {
        Self {
            counts_overhead: true,
            ..self
        }
    }

    /// Builds the simulation, in its initial state.
    #[must_use]
    pub fn build(mut self) -> Simulation<T> {
        let mut network = Network::new(self.seed);
        for side in Side::BOTH {
            let config = core::mem::take(&mut self.configs[side.index()]);
            self.configs[side.index()] = T::configure(config, &self.addresses(side));
        }
        let hosts = Side::BOTH.map(|side| network.add_host(self.host(side).into()));
        let bottleneck = self.bottleneck.as_ref();
        let shared =
            bottleneck.map(|(forward, reverse)| network::add(&mut network, forward, reverse, "bottleneck"));
        let paths = self.add_paths(&mut network, (hosts[0], hosts[1]), shared);
        let cross_traffic = cross_traffic::build(self.cross_traffic, &mut network, self.seed, &paths, shared);
        for (side, sink) in self.captures {
            network.capture_host(hosts[side.index()], side.name(), sink);
        }
        let ([config, _], [app, _]) = (self.configs, self.apps);
        let mut simulation = Simulation {
            network,
            hosts,
            paths,
            spare: self.paths.iter().map(|path| path.spare).collect(),
            port: self.transport.port(),
            near: (config, app),
            cross_traffic,
            probes: self.probes,
        };
        for (at, step) in self.script {
            simulation.schedule(Instant::ZERO + at, step);
        }
        simulation
    }

    fn host(&self, side: Side) -> T::Host {
        let mut host = self.transport.host(HostSetup {
            side,
            seed: self.seed.split(side.name()),
            addresses: self.addresses(side),
            config: &self.configs[side.index()],
            app: self.apps[side.index()].clone(),
            is_captured: !self.captures.is_empty(),
        });
        if self.counts_overhead {
            T::count_overhead(&mut host);
        }
        host
    }

    fn addresses(&self, side: Side) -> Vec<IpAddr> {
        let mut addresses = Vec::new();
        for path in self.paths.iter().filter(|path| !path.spare) {
            let address = match side {
                Side::Near => path.near_addr,
                Side::Far => path.far_addr,
            };
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
        for (number, path) in self.paths.iter().enumerate() {
            let own = network::add(network, &path.forward, &path.reverse, &format!("path {number}"));
            paths.push(network::lead(
                network,
                hosts,
                (path.near_addr, path.far_addr),
                own,
                shared,
            ));
        }
        paths
    }

    fn next_number(&self) -> u8 {
        u8::try_from(self.paths.len()).expect("invariant: a scenario has at most 256 paths")
    }
}
