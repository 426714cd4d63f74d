//! Who talks TCP to whom, over which network, and what comes of it?

use core::time::Duration;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use anabranch_netsim::topology::{self, Path};
use anabranch_netsim::{HostId, LinkChange, LinkConfig, Network};
use anabranch_tcp::{Connection, ConnectionId, TcpConfig};
use anabranch_types::{Instant, Seed};

use super::{TCP_PORT, TcpApp, TcpHost};
use crate::network;
use crate::rival::{self, RivalHosts};
use crate::{AnyHost, Rival, Side};

/// A simulation to be built: two hosts, the network between them, and an application on each.
pub struct TcpScenario {
    seed: Seed,
    /// There and back; one path for TCP, one or more for Multipath TCP.
    paths: Vec<(LinkConfig, LinkConfig)>,
    /// There and back.
    bottleneck: Option<(LinkConfig, LinkConfig)>,
    rivals: Vec<Rival>,
    configs: [TcpConfig; 2],
    apps: [TcpApp; 2],
    ipv6: bool,
    captures: Vec<(Side, Box<dyn io::Write + Send>)>,
}

impl TcpScenario {
    /// Two hosts with one path between them. Both read and say nothing.
    #[must_use]
    pub fn new(seed: Seed, link: LinkConfig) -> Self {
        Self {
            seed,
            paths: vec![(link.clone(), link)],
            bottleneck: None,
            rivals: Vec::new(),
            configs: Default::default(),
            apps: [TcpApp::reader(), TcpApp::reader()],
            ipv6: false,
            captures: Vec::new(),
        }
    }

    /// The path that was added last is different on the way back.
    #[must_use]
    pub fn with_way_back(mut self, way_back: LinkConfig) -> Self {
        if let Some((_, back)) = self.paths.last_mut() {
            *back = way_back;
        }
        self
    }

    /// Adds a path between further addresses of both hosts, for Multipath TCP: each end tells the other of its own,
    /// unless its configuration names some.
    #[must_use]
    pub fn path(mut self, link: LinkConfig) -> Self {
        self.paths.push((link.clone(), link));
        self
    }

    /// Leads all paths through one further link, there and back.
    #[must_use]
    pub fn bottleneck(self, there: LinkConfig, back: LinkConfig) -> Self {
        Self {
            bottleneck: Some((there, back)),
            ..self
        }
    }

    /// Adds two other hosts that send through the bottleneck. [`TcpSimulation::connect_rivals`] lets them begin.
    #[must_use]
    pub fn rival(mut self, rival: Rival) -> Self {
        self.rivals.push(rival);
        self
    }

    /// How both sides set up connections.
    #[must_use]
    pub fn config(self, config: TcpConfig) -> Self {
        Self {
            configs: [config.clone(), config],
            ..self
        }
    }

    /// How one side sets up connections.
    #[must_use]
    pub fn config_of(mut self, side: Side, config: TcpConfig) -> Self {
        self.configs[side.index()] = config;
        self
    }

    /// What the near application does on each connection.
    #[must_use]
    pub fn near_talks(mut self, app: TcpApp) -> Self {
        self.apps[0] = app;
        self
    }

    /// What the far application does on each connection.
    #[must_use]
    pub fn far_talks(mut self, app: TcpApp) -> Self {
        self.apps[1] = app;
        self
    }

    /// The addresses are of IP version 6.
    #[must_use]
    pub fn v6(self) -> Self {
        Self { ipv6: true, ..self }
    }

    fn ends(&self, path: u8) -> (IpAddr, IpAddr) {
        let address = |host| IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, path.into(), 0, 0, 0, host));
        if self.ipv6 {
            (address(1), address(2))
        } else {
            (topology::near(path), topology::far(path))
        }
    }

    /// Records what one side sends and receives, in pcapng format.
    #[must_use]
    pub fn capture(mut self, side: Side, sink: impl io::Write + Send + 'static) -> Self {
        self.captures.push((side, Box::new(sink)));
        self
    }

    /// How a side sets up connections, with its addresses.
    fn config_at(&self, side: Side) -> TcpConfig {
        let mut config = self.configs[side.index()].clone();
        if let Some(mptcp) = config.mptcp.as_mut().filter(|known| known.local.is_empty()) {
            let further = (0..=u8::MAX).zip(&self.paths).skip(1);
            let ends = further.map(|(number, _)| self.ends(number));
            mptcp.local = ends
                .map(|(near, far)| if side == Side::Near { near } else { far })
                .collect();
        }
        config
    }

    /// Builds it; nothing has happened yet.
    #[must_use]
    pub fn build(self) -> TcpSimulation {
        let mut network = Network::new(self.seed);
        let near = TcpHost::new(self.seed.split("near"), TcpApp::reader());
        let near = network.add_host(near.into());
        let mut far = TcpHost::new(self.seed.split("far"), self.apps[1].clone());
        far.listen(self.config_at(Side::Far));
        let far = network.add_host(far.into());
        let bottleneck = self.bottleneck.as_ref();
        let shared = bottleneck.map(|(there, back)| network::add(&mut network, there, back, "bottleneck"));
        let mut paths = Vec::new();
        for (number, (there, back)) in (0..=u8::MAX).zip(&self.paths) {
            let own = network::add(&mut network, there, back, &format!("path {number}"));
            let ends = self.ends(number);
            paths.push(network::lead(&mut network, (near, far), ends, own, shared));
        }
        let near_config = self.config_at(Side::Near);
        let rivals = rival::build(self.rivals, &mut network, self.seed, &paths, shared);
        let [near_app, _] = self.apps;
        for (side, sink) in self.captures {
            network.capture_host([near, far][side.index()], side.name(), sink);
        }
        TcpSimulation {
            network,
            hosts: [near, far],
            paths,
            near: (near_config, near_app),
            rivals,
        }
    }
}

/// A running scenario.
pub struct TcpSimulation {
    network: Network<AnyHost>,
    hosts: [HostId; 2],
    paths: Vec<Path>,
    near: (TcpConfig, TcpApp),
    rivals: Vec<RivalHosts>,
}

impl TcpSimulation {
    /// The near side connects once more, and its application begins.
    pub fn connect(&mut self) -> ConnectionId {
        let (config, app) = self.near.clone();
        let (local, remote) = self.first_ends();
        self.act(Side::Near, |host, now| {
            host.connect(now, local, remote, config, app)
        })
    }

    /// The near side connects `count` times, each time when the connection before is open.
    pub fn connect_in_turn(&mut self, count: u64) {
        let (config, app) = self.near.clone();
        let (local, remote) = self.first_ends();
        self.act(Side::Near, |host, now| {
            host.connect_in_turn(now, count, (local, remote), config, app);
        });
    }

    fn first_ends(&self) -> (SocketAddr, SocketAddr) {
        let first = &self.paths[0];
        let local = SocketAddr::new(first.near, 0);
        (local, SocketAddr::new(first.far, TCP_PORT))
    }

    /// The rivals connect, and their applications begin.
    pub fn connect_rivals(&mut self) {
        for rival in &self.rivals {
            rival.connect(&mut self.network);
        }
    }

    /// Bytes that the far end of a rival, counted from 0, has read.
    #[must_use]
    pub fn delivered_by_rival(&self, number: usize) -> u64 {
        let rival = self.rivals.get(number);
        rival.map_or(0, |rival| rival.delivered(&self.network))
    }

    /// The time.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.network.now()
    }

    /// The network.
    #[must_use]
    pub const fn network(&self) -> &Network<AnyHost> {
        &self.network
    }

    /// The network, to be changed in ways that have no method here.
    pub const fn network_mut(&mut self) -> &mut Network<AnyHost> {
        &mut self.network
    }

    /// The paths between the two, in the order in which they were added. The first one is where connections begin.
    #[must_use]
    pub fn paths(&self) -> &[Path] {
        &self.paths
    }

    /// The host of one side.
    #[must_use]
    pub fn host(&self, side: Side) -> &TcpHost {
        self.network.host(self.hosts[side.index()]).tcp()
    }

    /// Lets the user act on a host, and the host send what follows from it.
    pub fn act<R>(&mut self, side: Side, action: impl FnOnce(&mut TcpHost, Instant) -> R) -> R {
        self.network
            .act(self.hosts[side.index()], |host, now| action(host.tcp_mut(), now))
    }

    /// Lets the user act on a side's connection number `nth`, counted from 0, and its application.
    pub fn talk<R>(
        &mut self,
        side: Side,
        nth: usize,
        act: impl FnOnce(&mut TcpApp, &mut Connection, Instant) -> R,
    ) -> Option<R> {
        let (id, _) = self.host(side).apps().nth(nth)?;
        self.act(side, |host, now| {
            host.talk(now, id, |app, connection| act(app, connection, now))
        })
    }

    /// A side's connection number `nth`, counted from 0.
    #[must_use]
    pub fn connection(&self, side: Side, nth: usize) -> Option<&Connection> {
        let (id, _) = self.host(side).apps().nth(nth)?;
        self.host(side).endpoint().connection(id)
    }

    /// The application on it.
    #[must_use]
    pub fn app(&self, side: Side, nth: usize) -> Option<&TcpApp> {
        let (_, app) = self.host(side).apps().nth(nth)?;
        Some(app)
    }

    /// Both directions of the first path's own link change.
    pub fn change(&mut self, change: &LinkChange) {
        self.change_path(0, change);
    }

    /// Both directions of the own link of path number `path` change.
    ///
    /// # Panics
    ///
    /// If there is no such path.
    pub fn change_path(&mut self, path: usize, change: &LinkChange) {
        let path = &self.paths[path];
        let own = [path.there.first().copied(), path.back.last().copied()];
        for link in own.into_iter().flatten() {
            self.network.change_link(link, change.clone());
        }
    }

    /// Lets this much time pass.
    pub fn run_for(&mut self, time: Duration) {
        self.network.run_until(self.now() + time);
    }

    /// Lets time pass until `done` says so, but not more than `limit`. Returns whether it said so. It is asked every
    /// millisecond.
    pub fn run_until(&mut self, limit: Duration, mut done: impl FnMut(&Self) -> bool) -> bool {
        const TICK: Duration = Duration::from_millis(1);
        let end = self.now() + limit;
        while !done(self) {
            if self.now() >= end {
                return false;
            }
            self.run_for(TICK.min(end - self.now()));
        }
        true
    }

    /// Ends the captures.
    ///
    /// # Errors
    ///
    /// The first error of a sink.
    pub fn finish_captures(&mut self) -> io::Result<()> {
        self.network.finish_captures()
    }
}
