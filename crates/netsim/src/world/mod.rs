//! Who is in this world, what connects them, and what time is it?

mod agenda;
mod change;
mod nat;
mod route;
mod run;
mod transit;

use core::fmt;
use core::net::{IpAddr, SocketAddr};
use std::collections::BTreeMap;
use std::io;

use agenda::{Agenda, Alarm, Occasion};
use anabranch_types::{Instant, Seed};
pub use change::{Action, Change, Fate, Filter};
use nat::Nat;
use route::{Route, Routes};
use transit::Transit;

use crate::capture::Captures;
use crate::traffic::{Arrivals, Source};
use crate::{Host, HostId, Link, LinkChange, LinkConfig, LinkId};

/// Hosts of one type `H`, links, a clock and everything that is going to happen.
pub struct World<H> {
    now: Instant,
    seed: Seed,
    agenda: Agenda,
    hosts: Vec<HostSlot<H>>,
    links: Vec<LinkSlot>,
    sources: Vec<SourceSlot>,
    /// Changes to come, by the number that the agenda knows them by.
    changes: BTreeMap<u32, Change<H>>,
    changes_noted: u32,
    routes: Routes,
    nat: Nat,
    captures: Captures,
    lost: Lost,
    events: u64,
}

struct HostSlot<H> {
    host: H,
    alarm: Alarm,
    /// Deadlines served at one and the same moment, to notice a host that never gets past it.
    stuck: (Instant, u32),
}

struct LinkSlot {
    link: Link<Transit>,
    alarm: Alarm,
    filter: Option<Filter>,
}

struct SourceSlot {
    source: Source,
    arrivals: Arrivals,
}

/// Datagrams that never came to a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Lost {
    /// No route from the sender between their addresses.
    pub without_route: u64,
    /// Sent to an address whose translator has rebound.
    pub to_expired_binding: u64,
}

impl<H: Host> World<H> {
    /// An empty world at [`Instant::ZERO`].
    #[must_use]
    pub fn new(seed: Seed) -> Self {
        Self {
            now: Instant::ZERO,
            seed,
            agenda: Agenda::default(),
            hosts: Vec::new(),
            links: Vec::new(),
            sources: Vec::new(),
            changes: BTreeMap::new(),
            changes_noted: 0,
            routes: Routes::default(),
            nat: Nat::default(),
            captures: Captures::default(),
            lost: Lost::default(),
            events: 0,
        }
    }

    /// Adds a host, and asks it at once what it wants to send and when it wants to be called.
    pub fn add_host(&mut self, host: H) -> HostId {
        let id = HostId(self.hosts.len() as u32);
        self.hosts.push(HostSlot {
            host,
            alarm: Alarm::default(),
            stuck: (Instant::ZERO, 0),
        });
        self.routes.add_host();
        self.touch(id);
        id
    }

    /// Adds a link. Its seed depends on its name and on how many links of that name there are.
    pub fn add_link(&mut self, config: LinkConfig) -> LinkId {
        let id = LinkId(self.links.len() as u32);
        let namesakes = self
            .links
            .iter()
            .filter(|slot| slot.link.config().name == config.name)
            .count();
        let seed = self.seed.split("link").split(&config.name).nth(namesakes as u64);
        self.links.push(LinkSlot {
            link: Link::new(config, seed),
            alarm: Alarm::default(),
            filter: None,
        });
        id
    }

    /// Lets `from` reach `to`: datagrams with these addresses cross `links` in this order. Datagrams that leave
    /// their source open take the first route added for their destination, and its source. Replaces an earlier route
    /// between the same addresses.
    ///
    /// # Panics
    ///
    /// If `links` is empty: hosts that answer each other in no time would do so for ever.
    pub fn add_route(&mut self, from: (HostId, IpAddr), links: &[LinkId], to: (HostId, IpAddr)) {
        let route = Route {
            source: from.1,
            destination: to.1,
            links: links.into(),
            to: to.0,
        };
        self.routes.add(from.0, route);
    }

    /// Takes a route away. What is on its way still arrives.
    pub fn remove_route(&mut self, from: HostId, source: IpAddr, destination: IpAddr) {
        self.routes.remove(from, source, destination);
    }

    /// Adds a source of cross traffic.
    pub fn add_source(&mut self, source: Source) {
        let index = self.sources.len() as u32;
        let seed = self.seed.split("source").nth(u64::from(index));
        let mut arrivals = Arrivals::new(source.pattern, source.rate, source.packet_bytes, seed);
        let first = source.from.max(self.now) + arrivals.next_gap();
        self.sources.push(SourceSlot { source, arrivals });
        self.note_source(index, first);
    }

    /// Makes something happen at `at`, or at once if that has passed.
    pub fn schedule(&mut self, at: Instant, change: Change<H>) {
        let number = self.changes_noted;
        self.changes_noted += 1;
        self.changes.insert(number, change);
        self.agenda.note(at.max(self.now), Occasion::Change(number));
    }

    /// Changes a link now.
    pub fn change_link(&mut self, id: LinkId, change: LinkChange) {
        self.links[id.index()].link.apply(self.now, change);
        self.set_link_alarm(id);
    }

    /// Rebinds a translator now, see [`Change::Rebind`].
    pub fn rebind(&mut self, inside: SocketAddr, outside: SocketAddr) {
        self.nat.rebind(inside, outside);
    }

    /// Shows every datagram to `filter` before the link takes it. Replaces an earlier filter.
    pub fn set_filter(&mut self, id: LinkId, filter: Filter) {
        self.links[id.index()].filter = Some(filter);
    }

    /// Takes the filter of a link away.
    pub fn remove_filter(&mut self, id: LinkId) {
        self.links[id.index()].filter = None;
    }

    /// Records what a host sends and receives, as it sees it, in pcapng format: one interface for each of its
    /// addresses, called `name` and the address.
    pub fn capture_host(&mut self, id: HostId, name: &str, sink: impl io::Write + Send + 'static) {
        self.captures.of_host(id, name, Box::new(sink));
    }

    /// Records the datagrams that arrive at the far end of a link, in pcapng format. Cross traffic is left out.
    pub fn capture_link(&mut self, id: LinkId, sink: impl io::Write + Send + 'static) {
        let name = match self.links[id.index()].link.config().name.as_str() {
            "" => format!("{id:?}"),
            name => name.to_owned(),
        };
        self.captures.of_link(id, &name, Box::new(sink));
    }

    /// Ends all captures.
    ///
    /// # Errors
    ///
    /// The first error that a sink has met; recording into that sink ended there.
    pub fn finish_captures(&mut self) -> io::Result<()> {
        self.captures.finish()
    }

    /// The time.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// A host.
    #[must_use]
    pub fn host(&self, id: HostId) -> &H {
        &self.hosts[id.index()].host
    }

    /// A host to change; afterwards call [`World::touch`], or use [`World::act`] in the first place.
    pub fn host_mut(&mut self, id: HostId) -> &mut H {
        &mut self.hosts[id.index()].host
    }

    /// Lets the user act on a host, and the host send what follows from it.
    pub fn act<R>(&mut self, id: HostId, action: impl FnOnce(&mut H, Instant) -> R) -> R {
        let result = action(&mut self.hosts[id.index()].host, self.now);
        self.touch(id);
        result
    }

    /// All hosts, in the order of adding.
    pub fn hosts(&self) -> impl ExactSizeIterator<Item = (HostId, &H)> {
        self.hosts
            .iter()
            .enumerate()
            .map(|(index, slot)| (HostId(index as u32), &slot.host))
    }

    /// A link: its configuration and statistics. They are those of [`World::now`] when no run is going on.
    #[must_use]
    pub fn link(&self, id: LinkId) -> &Link<impl crate::link::Packet + use<H>> {
        &self.links[id.index()].link
    }

    /// All links, in the order of adding.
    pub fn link_ids(&self) -> impl ExactSizeIterator<Item = LinkId> + use<H> {
        (0..self.links.len() as u32).map(LinkId)
    }

    /// Datagrams that never came to a link.
    #[must_use]
    pub const fn lost(&self) -> Lost {
        self.lost
    }

    /// Events so far: arrivals at the end of a link, deadlines, changes, packets of cross traffic.
    #[must_use]
    pub const fn events(&self) -> u64 {
        self.events
    }
}

impl<H> fmt::Debug for World<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World")
            .field("now", &self.now)
            .field("hosts", &self.hosts.len())
            .field("links", &self.links.len())
            .field("events", &self.events)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
