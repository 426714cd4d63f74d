//! What is going on now, and what next? Two hosts on their network, and the hand of whoever plays fate.

use core::net::SocketAddr;
use core::time::Duration;
use std::io;

use anabranch_netsim::topology::Path;
use anabranch_netsim::{Change, HostId, LinkChange, Network, Side};
use anabranch_proto::{AddressError, Association, AssociationConfig};
use anabranch_types::{AssociationId, Instant};

use crate::app::Conversation;
use crate::rival::RivalHosts;
use crate::{AnyHost, Outcome, Probe, SctpHost, Step};

/// A running scenario.
///
/// [`Simulation::association`] and [`Simulation::conversation`] are about the newest association of a side.
pub struct Simulation {
    network: Network<AnyHost>,
    hosts: [HostId; 2],
    paths: Vec<Path>,
    /// Which of them nobody calls the other on.
    spare: Vec<bool>,
    port: u16,
    near: (AssociationConfig, Conversation),
    rivals: Vec<RivalHosts>,
    probes: Vec<Probe>,
}

impl Simulation {
    pub(crate) fn new(network: Network<AnyHost>, hosts: [HostId; 2], paths: Vec<Path>, port: u16) -> Self {
        Self {
            network,
            hosts,
            spare: Vec::new(),
            paths,
            port,
            near: Default::default(),
            rivals: Vec::new(),
            probes: Vec::new(),
        }
    }

    pub(crate) fn set_near(&mut self, config: AssociationConfig, conversation: Conversation) {
        self.near = (config, conversation);
    }

    pub(crate) fn set_spare(&mut self, spare: Vec<bool>) {
        self.spare = spare;
    }

    pub(crate) fn set_probes(&mut self, probes: Vec<Probe>) {
        self.probes = probes;
    }

    pub(crate) fn set_rivals(&mut self, rivals: Vec<RivalHosts>) {
        self.rivals = rivals;
    }

    /// The near side connects to all addresses of the far side, and its application begins.
    ///
    /// # Panics
    ///
    /// If the endpoint refuses; it does so only for addresses that no scenario makes.
    pub fn connect(&mut self) -> AssociationId {
        let (config, conversation) = self.near.clone();
        self.connect_from(Side::Near, &config, conversation)
    }

    /// One side connects to all addresses of the other.
    ///
    /// # Panics
    ///
    /// As [`Simulation::connect`].
    pub fn connect_from(
        &mut self,
        side: Side,
        config: &AssociationConfig,
        conversation: Conversation,
    ) -> AssociationId {
        let remotes = self.addresses(side.other());
        let connected = self.act(side, |host, now| {
            host.connect(now, &remotes, config, conversation)
        });
        connected.expect("invariant: a scenario's addresses can be connected")
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

    /// Addresses of one side with the encapsulation port, in the order of the paths. Those of spare paths are left out.
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

    /// The address of one side's end of a path, with the encapsulation port.
    #[must_use]
    pub fn end_of(&self, path: usize, side: Side) -> SocketAddr {
        let ip = match side {
            Side::Near => self.paths[path].near,
            Side::Far => self.paths[path].far,
        };
        SocketAddr::new(ip, self.port)
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

    /// The paths, in the order of the scenario.
    #[must_use]
    pub fn paths(&self) -> &[Path] {
        &self.paths
    }

    /// The host of one side.
    #[must_use]
    pub fn host(&self, side: Side) -> &SctpHost {
        self.network.host(self.hosts[side.index()]).sctp()
    }

    /// Lets the user act on a host, and the host send what follows from it.
    pub fn act<R>(&mut self, side: Side, action: impl FnOnce(&mut SctpHost, Instant) -> R) -> R {
        self.network
            .act(self.hosts[side.index()], |host, now| action(host.sctp_mut(), now))
    }

    /// Lets the user act on the newest association of one side; `None` if there is none.
    pub fn talk<R>(
        &mut self,
        side: Side,
        act: impl FnOnce(&mut Conversation, &mut Association, Instant) -> R,
    ) -> Option<R> {
        let id = self.newest(side)?;
        self.act(side, |host, now| {
            host.talk(now, id, |conversation, association| {
                act(conversation, association, now)
            })
        })
    }

    /// The newest association of one side.
    #[must_use]
    pub fn association(&self, side: Side) -> Option<&Association> {
        self.host(side).association(self.newest(side)?)
    }

    /// The application on the newest association of one side.
    #[must_use]
    pub fn conversation(&self, side: Side) -> Option<&Conversation> {
        self.host(side).conversation(self.newest(side)?)
    }

    fn newest(&self, side: Side) -> Option<AssociationId> {
        self.host(side).associations().next_back()
    }

    /// Lets this much time pass.
    pub fn run_for(&mut self, time: Duration) {
        let end = self.now() + time;
        while self.now() < end {
            self.sample();
            let probed = self.probes.iter().map(Probe::next).min();
            self.network.run_until(probed.map_or(end, |next| next.min(end)));
        }
        self.sample();
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

    /// Something happens to the network now.
    pub fn happens(&mut self, step: Step) {
        for change in self.changes(step) {
            match change {
                Change::Link(link, change) => self.network.change_link(link, change),
                Change::Rebind { inside, outside } => self.network.rebind(inside, outside),
                Change::Do(action) => action(&mut self.network),
            }
        }
    }

    /// Something happens to the network at `at`.
    pub fn schedule(&mut self, at: Instant, step: Step) {
        for change in self.changes(step) {
            self.network.schedule(at, change);
        }
    }

    fn changes(&self, step: Step) -> Vec<Change<AnyHost>> {
        let both_ways = |path: usize, change: &LinkChange| {
            let links = [self.paths[path].there[0], self.own_link_back(path)];
            links.map(|link| Change::Link(link, change.clone())).into()
        };
        match step {
            Step::Cut(path) => both_ways(path, &LinkChange::Cut),
            Step::Heal(path) => both_ways(path, &LinkChange::Heal),
            Step::Change(path, change) => both_ways(path, &change),
            Step::Rebind(path, port) => {
                let inside = SocketAddr::new(self.paths[path].near, self.port);
                vec![Change::Rebind {
                    inside,
                    outside: SocketAddr::new(inside.ip(), port),
                }]
            }
            Step::Join(side, path) => vec![self.change_address(side, path, SctpHost::join)],
            Step::Leave(side, path) => vec![self.change_address(side, path, SctpHost::leave)],
        }
    }

    fn change_address(
        &self,
        side: Side,
        path: usize,
        change: fn(&mut SctpHost, Instant, SocketAddr) -> Result<(), AddressError>,
    ) -> Change<AnyHost> {
        let (host, address) = (self.hosts[side.index()], self.end_of(path, side));
        Change::act(move |network: &mut Network<AnyHost>| {
            // A refusal shows in what becomes of the paths.
            let _ = network.act(host, |host, now| change(host.sctp_mut(), now, address));
        })
    }

    /// The link back that is this path's alone: the last one, behind a shared bottleneck.
    fn own_link_back(&self, path: usize) -> anabranch_netsim::LinkId {
        let links = &self.paths[path].back;
        links[links.len() - 1]
    }

    /// Ends the captures.
    ///
    /// # Errors
    ///
    /// The first error of a sink.
    pub fn finish_captures(&mut self) -> io::Result<()> {
        self.network.finish_captures()
    }

    /// What came out so far.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        Outcome::of(self)
    }
}
