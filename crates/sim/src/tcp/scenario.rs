//! Who talks TCP to whom, over which network, and what comes of it?

use core::time::Duration;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use anabranch_netsim::topology::{self, Path};
use anabranch_netsim::{HostId, LinkChange, LinkConfig, World};
use anabranch_tcp::{Connection, ConnectionId, TcpConfig};
use anabranch_types::{Instant, Seed};

use super::{TCP_PORT, TcpApp, TcpHost};
use crate::rival::RivalHosts;
use crate::{AnyHost, Rival, Side};

/// A simulation to be built: two hosts, the network between them, and an application on each.
pub struct TcpScenario {
    seed: Seed,
    there: LinkConfig,
    back: LinkConfig,
    /// There and back.
    bottleneck: Option<(LinkConfig, LinkConfig)>,
    rivals: Vec<Rival>,
    configs: [TcpConfig; 2],
    apps: [TcpApp; 2],
    ends: (IpAddr, IpAddr),
    captures: Vec<(Side, Box<dyn io::Write + Send>)>,
}

impl TcpScenario {
    /// Two hosts with one path between them. Both read and say nothing.
    #[must_use]
    pub fn new(seed: Seed, link: LinkConfig) -> Self {
        Self {
            seed,
            there: link.clone(),
            back: link,
            bottleneck: None,
            rivals: Vec::new(),
            configs: Default::default(),
            apps: [TcpApp::reader(), TcpApp::reader()],
            ends: (topology::near(0), topology::far(0)),
            captures: Vec::new(),
        }
    }

    /// The path is different on the way back.
    #[must_use]
    pub fn with_way_back(self, back: LinkConfig) -> Self {
        Self { back, ..self }
    }

    /// Leads the path through one further link, there and back.
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
        let address = |host| IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, host));
        Self {
            ends: (address(1), address(2)),
            ..self
        }
    }

    /// Records what one side sends and receives, in pcapng format.
    #[must_use]
    pub fn capture(mut self, side: Side, sink: impl io::Write + Send + 'static) -> Self {
        self.captures.push((side, Box::new(sink)));
        self
    }

    /// Builds it; nothing has happened yet.
    #[must_use]
    pub fn build(self) -> TcpSimulation {
        let mut world = World::new(self.seed);
        let [near_config, far_config] = self.configs;
        let [near_app, far_app] = self.apps;
        let near = TcpHost::new(self.seed.split("near"), TcpApp::reader());
        let near = world.add_host(near.into());
        let mut host = TcpHost::new(self.seed.split("far"), far_app);
        host.listen(far_config);
        let far = world.add_host(host.into());
        let named = |link: LinkConfig, name: &str| {
            if link.name.is_empty() {
                link.named(name.to_owned())
            } else {
                link
            }
        };
        let shared = self.bottleneck.map(|(there, back)| {
            let there = world.add_link(named(there, "bottleneck→"));
            (there, world.add_link(named(back, "bottleneck←")))
        });
        let own = world.add_link(named(self.there, "path 0→"));
        let home = world.add_link(named(self.back, "path 0←"));
        let path = Path {
            near: self.ends.0,
            far: self.ends.1,
            there: [Some(own), shared.map(|(there, _)| there)]
                .into_iter()
                .flatten()
                .collect(),
            back: [shared.map(|(_, back)| back), Some(home)]
                .into_iter()
                .flatten()
                .collect(),
        };
        topology::connect(&mut world, (near, far), &path);
        let rivals = (0..=u8::MAX).zip(self.rivals);
        let rivals = rivals.map(|(number, rival)| rival.build(&mut world, self.seed, number, shared));
        let rivals = rivals.collect();
        for (side, sink) in self.captures {
            world.capture_host([near, far][side.index()], side.name(), sink);
        }
        TcpSimulation {
            world,
            hosts: [near, far],
            path,
            near: (near_config, near_app),
            rivals,
        }
    }
}

/// A running scenario.
pub struct TcpSimulation {
    world: World<AnyHost>,
    hosts: [HostId; 2],
    path: Path,
    near: (TcpConfig, TcpApp),
    rivals: Vec<RivalHosts>,
}

impl TcpSimulation {
    /// The near side connects once more, and its application begins.
    pub fn connect(&mut self) -> ConnectionId {
        let (config, app) = self.near.clone();
        let local = SocketAddr::new(self.path.near, 0);
        let remote = SocketAddr::new(self.path.far, TCP_PORT);
        self.act(Side::Near, |host, now| {
            host.connect(now, local, remote, config, app)
        })
    }

    /// The near side connects `count` times, each time when the connection before is open.
    pub fn connect_in_turn(&mut self, count: u64) {
        let (config, app) = self.near.clone();
        let local = SocketAddr::new(self.path.near, 0);
        let remote = SocketAddr::new(self.path.far, TCP_PORT);
        self.act(Side::Near, |host, now| {
            host.connect_in_turn(now, count, (local, remote), config, app);
        });
    }

    /// The rivals connect, and their applications begin.
    pub fn connect_rivals(&mut self) {
        for rival in &self.rivals {
            rival.connect(&mut self.world);
        }
    }

    /// Bytes that the far end of a rival, counted from 0, has read.
    #[must_use]
    pub fn delivered_by_rival(&self, number: usize) -> u64 {
        let rival = self.rivals.get(number);
        rival.map_or(0, |rival| rival.delivered(&self.world))
    }

    /// The time.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.world.now()
    }

    /// The network.
    #[must_use]
    pub const fn world(&self) -> &World<AnyHost> {
        &self.world
    }

    /// The network, to be changed in ways that have no method here.
    pub const fn world_mut(&mut self) -> &mut World<AnyHost> {
        &mut self.world
    }

    /// The path between the two.
    #[must_use]
    pub const fn path(&self) -> &Path {
        &self.path
    }

    /// The host of one side.
    #[must_use]
    pub fn host(&self, side: Side) -> &TcpHost {
        self.world.host(self.hosts[side.index()]).tcp()
    }

    /// Lets the user act on a host, and the host send what follows from it.
    pub fn act<R>(&mut self, side: Side, action: impl FnOnce(&mut TcpHost, Instant) -> R) -> R {
        self.world
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

    /// Both directions of the path's own link change.
    pub fn change(&mut self, change: &LinkChange) {
        let own = [self.path.there.first(), self.path.back.last()];
        for link in own.into_iter().flatten() {
            self.world.change_link(*link, change.clone());
        }
    }

    /// Lets this much time pass.
    pub fn run_for(&mut self, time: Duration) {
        self.world.run_until(self.now() + time);
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
        self.world.finish_captures()
    }
}
