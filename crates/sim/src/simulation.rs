//! Running simulation: two hosts, the network between them, and scheduled network events.

use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use std::io;

use anabranch_netsim::topology::Path;
use anabranch_netsim::{Change, HostId, LinkChange, Network, Side};
use anabranch_types::Instant;

use crate::cross_traffic::CrossTrafficHosts;
use crate::{AnyHost, HostCounters, HostState, Probe, Sctp, Step, Transport};

/// A running scenario.
pub struct Simulation<T: Transport = Sctp> {
    pub(crate) network: Network<AnyHost>,
    pub(crate) hosts: [HostId; 2],
    pub(crate) paths: Vec<Path>,
    /// Paths that neither side uses when it connects.
    pub(crate) spare: Vec<bool>,
    pub(crate) port: u16,
    /// How the near side connects, and its application.
    pub(crate) near: (T::Config, T::App),
    pub(crate) cross_traffic: Vec<CrossTrafficHosts>,
    pub(crate) probes: Vec<Probe>,
}

impl<T: Transport> Simulation<T> {
    /// Connects the near side to the far side and starts its application: over SCTP to all addresses, over TCP to the address of
    /// the first path.
    ///
    /// # Panics
    ///
    /// If the endpoint refuses the connection, which happens only for addresses that no scenario creates.
    pub fn connect(&mut self) -> T::Id {
        let (config, app) = self.near.clone();
        self.start(Side::Near, config, app)
    }

    pub(crate) fn start(&mut self, side: Side, config: T::Config, app: T::App) -> T::Id {
        let local = self.end_of(0, side).ip();
        let remotes = self.addresses(side.other());
        self.act(side, |host, now| {
            T::connect(host, now, local, &remotes, config, app)
        })
    }

    /// Connects the cross-traffic hosts and starts their applications.
    pub fn connect_cross_traffic(&mut self) {
        for hosts in &self.cross_traffic {
            hosts.connect(&mut self.network);
        }
    }

    /// Connects the hosts of a cross-traffic flow and starts their applications at `at`; flows are counted from 0.
    pub fn schedule_cross_traffic(&mut self, number: usize, at: Instant) {
        if let Some(hosts) = self.cross_traffic.get(number).cloned() {
            let connect = move |network: &mut Network<AnyHost>| hosts.connect(network);
            self.network.schedule(at, Change::act(connect));
        }
    }

    /// Bytes read so far by the receiver of a cross-traffic flow; flows are counted from 0.
    #[must_use]
    pub fn delivered_by_cross_traffic(&self, number: usize) -> u64 {
        let hosts = self.cross_traffic.get(number);
        hosts.map_or(0, |hosts| hosts.delivered(&self.network))
    }

    /// Addresses of one side with the encapsulation port, in path order. Spare paths are left out.
    #[must_use]
    pub fn addresses(&self, side: Side) -> Vec<SocketAddr> {
        let mut addresses: Vec<SocketAddr> = Vec::new();
        for (path, spare) in self.spare.iter().enumerate() {
            let address = self.end_of(path, side);
            if !spare && !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        addresses
    }

    /// Address of one side on a path, with the encapsulation port.
    #[must_use]
    pub fn end_of(&self, path: usize, side: Side) -> SocketAddr {
        SocketAddr::new(self.paths[path].end(side), self.port)
    }

    /// Current virtual time.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.network.now()
    }

    /// The network.
    #[must_use]
    pub const fn network(&self) -> &Network<AnyHost> {
        &self.network
    }

    /// The network, for changes that have no method here.
    pub const fn network_mut(&mut self) -> &mut Network<AnyHost> {
        &mut self.network
    }

    /// The paths, in the order of the scenario.
    #[must_use]
    pub fn paths(&self) -> &[Path] {
        &self.paths
    }

    /// The host of one side.
    #[must_use]
    pub fn host(&self, side: Side) -> &T::Host {
        T::of(self.network.host(self.hosts[side.index()]))
    }

    /// Runs `action` on a host, then sends the resulting packets.
    pub fn act<R>(&mut self, side: Side, action: impl FnOnce(&mut T::Host, Instant) -> R) -> R {
        self.network
            .act(self.hosts[side.index()], |host, now| action(T::of_mut(host), now))
    }

    /// Current windows and buffers of one side; `None` while it has no association.
    #[must_use]
    pub fn state(&self, side: Side) -> Option<HostState> {
        T::state(self.host(side), &self.paths)
    }

    /// All counters of one side; `None` while it has no association.
    #[must_use]
    pub fn counters(&self, side: Side) -> Option<HostCounters> {
        T::counters(self.host(side), &self.paths)
    }

    /// Advances the simulation by this duration.
    pub fn run_for(&mut self, time: Duration) {
        let end = self.now() + time;
        while self.now() < end {
            self.sample();
            let probed = self.probes.iter().map(Probe::next).min();
            self.network.run_until(probed.map_or(end, |next| next.min(end)));
        }
        self.sample();
    }

    /// Advances the simulation until `done` returns true, at most by `limit`. Returns whether it did. `done` is called every
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

    fn sample(&mut self) {
        let mut probes = core::mem::take(&mut self.probes);
        for probe in probes.iter_mut().filter(|probe| probe.next() <= self.now()) {
            probe.take(self);
        }
        self.probes = probes;
    }

    /// The probes of the scenario, in order.
    #[must_use]
    pub fn probes(&self) -> &[Probe] {
        &self.probes
    }

    /// Applies a step to the network now.
    pub fn happens(&mut self, step: Step) {
        for change in self.changes(step) {
            match change {
                Change::Link(link, change) => self.network.change_link(link, change),
                Change::Rebind { inside, outside } => self.network.rebind(inside, outside),
                Change::Do(action) => action(&mut self.network),
            }
        }
    }

    /// Gives one side another address on a path now, as when an uplink moves to another network. The host adds the new address, and removes
    /// the former one, which no packet reaches any more.
    pub fn renumber(&mut self, side: Side, path: usize, address: IpAddr) {
        let former = self.end_of(path, side);
        let Self {
            network,
            paths,
            hosts: [near, far],
            ..
        } = self;
        for path in paths.iter_mut().filter(|path| path.end(side) == former.ip()) {
            path.renumber(network, (*near, *far), side, address);
        }
        let address = SocketAddr::new(address, self.port);
        self.act(side, |host, now| {
            T::add_address(host, now, address);
            T::remove_address(host, now, former);
        });
    }

    /// Schedules a step of the network for time `at`.
    pub fn schedule(&mut self, at: Instant, step: Step) {
        for change in self.changes(step) {
            self.network.schedule(at, change);
        }
    }

    fn changes(&self, step: Step) -> Vec<Change<AnyHost>> {
        let both_ways = |path: usize, change: &LinkChange| {
            let links = [self.paths[path].forward[0], self.own_link_back(path)];
            links.map(|link| Change::Link(link, change.clone())).into()
        };
        match step {
            Step::Cut(path) => both_ways(path, &LinkChange::Cut),
            Step::Heal(path) => both_ways(path, &LinkChange::Heal),
            Step::Change(path, change) => both_ways(path, &change),
            Step::Rebind(path, port) => {
                let inside = SocketAddr::new(self.paths[path].near_addr, self.port);
                vec![Change::Rebind {
                    inside,
                    outside: SocketAddr::new(inside.ip(), port),
                }]
            }
            Step::Translate(path, outside) => {
                let inside = SocketAddr::new(self.paths[path].near_addr, self.port);
                vec![Change::Rebind { inside, outside }]
            }
            Step::Join(side, path) => vec![self.change_address(side, path, T::add_address)],
            Step::Leave(side, path) => vec![self.change_address(side, path, T::remove_address)],
        }
    }

    fn change_address(
        &self,
        side: Side,
        path: usize,
        change: fn(&mut T::Host, Instant, SocketAddr),
    ) -> Change<AnyHost> {
        let (host, address) = (self.hosts[side.index()], self.end_of(path, side));
        Change::act(move |network: &mut Network<AnyHost>| {
            network.act(host, |host, now| change(T::of_mut(host), now, address));
        })
    }

    /// The link back that belongs to this path alone: the last one, behind a shared bottleneck.
    fn own_link_back(&self, path: usize) -> anabranch_netsim::LinkId {
        let links = &self.paths[path].reverse;
        links[links.len() - 1]
    }

    /// Finishes the packet captures.
    ///
    /// # Errors
    ///
    /// The first error of a capture sink.
    pub fn finish_captures(&mut self) -> io::Result<()> {
        self.network.finish_captures()
    }
}
