//! Simulated network: hosts, links, routes, clock and event queue. What does the network consist of?

mod change;
mod event_queue;
mod nat;
mod route;
mod run;
mod transit;

use core::fmt;
use core::net::{IpAddr, SocketAddr};
use std::collections::BTreeMap;
use std::io;

use anabranch_types::{Instant, Seed};
pub use change::{Action, Change, Filter, FilterAction};
use event_queue::{EventKind, EventQueue, Timer};
use nat::Nat;
use route::{Route, Routes};
use transit::Transit;

use crate::capture::Captures;
use crate::traffic::{Arrivals, Source};
use crate::{Host, HostId, Link, LinkChange, LinkConfig, LinkId};

/// A simulated network: hosts of type `H`, links, routes, a clock and the event queue.
pub struct Network<H> {
    now: Instant,
    seed: Seed,
    event_queue: EventQueue,
    hosts: Vec<HostSlot<H>>,
    links: Vec<LinkSlot>,
    sources: Vec<SourceSlot>,
    /// Scheduled changes, by the number in their event.
    changes: BTreeMap<u32, Change<H>>,
    next_change: u32,
    routes: Routes,
    nat: Nat,
    captures: Captures,
    unroutable: Unroutable,
    events: u64,
}

struct HostSlot<H> {
    host: H,
    timer: Timer,
    /// Time of the last deadline, and how many more fell at the same time: detects a host that is stuck at one time.
    deadlines_now: (Instant, u32),
}

struct LinkSlot {
    link: Link<Transit>,
    timer: Timer,
    filter: Option<Filter>,
}

struct SourceSlot {
    source: Source,
    arrivals: Arrivals,
}

/// Counts of datagrams that could not be routed to a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Unroutable {
    /// The sender has no route between the two addresses.
    pub no_route: u64,
    /// Sent to an address that a NAT no longer maps.
    pub expired_binding: u64,
}

impl<H: Host> Network<H> {
    /// Creates an empty network at time [`Instant::ZERO`].
    #[must_use]
    pub fn new(seed: Seed) -> Self {
        Self {
            now: Instant::ZERO,
            seed,
            event_queue: EventQueue::default(),
            hosts: Vec::new(),
            links: Vec::new(),
            sources: Vec::new(),
            changes: BTreeMap::new(),
            next_change: 0,
            routes: Routes::default(),
            nat: Nat::default(),
            captures: Captures::default(),
            unroutable: Unroutable::default(),
            events: 0,
        }
    }

    /// Adds a host, and polls it at once for datagrams and its deadline.
    pub fn add_host(&mut self, host: H) -> HostId {
        let id = HostId(self.hosts.len() as u32);
        self.hosts.push(HostSlot {
            host,
            timer: Timer::default(),
            deadlines_now: (Instant::ZERO, 0),
        });
        self.routes.add_host();
        self.touch(id);
        id
    }

    /// Adds a link. Its seed depends on its name and on the number of links with the same name.
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
            timer: Timer::default(),
            filter: None,
        });
        id
    }

    /// Adds a route: datagrams with these two addresses cross `links` in this order. A datagram with an unspecified
    /// source address takes the first route to its destination, and that route's source address. Replaces an earlier
    /// route between the same addresses.
    ///
    /// # Panics
    ///
    /// If `links` is empty: hosts without a delay between them could exchange packets for ever.
    pub fn add_route(&mut self, from: (HostId, IpAddr), links: &[LinkId], to: (HostId, IpAddr)) {
        let route = Route {
            source: from.1,
            destination: to.1,
            links: links.into(),
            to: to.0,
        };
        self.routes.add(from.0, route);
    }

    /// Removes a route. Packets in flight still arrive.
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
        self.schedule_source(index, first);
    }

    /// Schedules a change for `at`, or for now if that time has passed.
    pub fn schedule(&mut self, at: Instant, change: Change<H>) {
        let number = self.next_change;
        self.next_change += 1;
        self.changes.insert(number, change);
        self.event_queue.push(at.max(self.now), EventKind::Change(number));
    }

    /// Applies a change to a link now.
    pub fn change_link(&mut self, id: LinkId, change: LinkChange) {
        self.links[id.index()].link.apply(self.now, change);
        self.set_link_timer(id);
    }

    /// Rebinds a NAT now, see [`Change::Rebind`].
    pub fn rebind(&mut self, inside: SocketAddr, outside: SocketAddr) {
        self.nat.rebind(inside, outside);
    }

    /// Passes every datagram through `filter` before the link takes it. Replaces an earlier filter.
    pub fn set_filter(&mut self, id: LinkId, filter: Filter) {
        self.links[id.index()].filter = Some(filter);
    }

    /// Removes the filter of a link.
    pub fn remove_filter(&mut self, id: LinkId) {
        self.links[id.index()].filter = None;
    }

    /// Captures what a host sends and receives, from its own view, in pcapng format: one interface for each of its
    /// addresses, named `name` and the address.
    pub fn capture_host(&mut self, id: HostId, name: &str, sink: impl io::Write + Send + 'static) {
        self.captures.of_host(id, name, Box::new(sink));
    }

    /// Captures the datagrams that arrive at the far end of a link, in pcapng format. Cross traffic is not captured.
    pub fn capture_link(&mut self, id: LinkId, sink: impl io::Write + Send + 'static) {
        let name = match self.links[id.index()].link.config().name.as_str() {
            "" => format!("{id:?}"),
            name => name.to_owned(),
        };
        self.captures.of_link(id, &name, Box::new(sink));
    }

    /// Finishes all captures.
    ///
    /// # Errors
    ///
    /// The first error of a sink. The capture into that sink stopped there.
    pub fn finish_captures(&mut self) -> io::Result<()> {
        self.captures.finish()
    }

    /// Current simulated time.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Returns a host.
    #[must_use]
    pub fn host(&self, id: HostId) -> &H {
        &self.hosts[id.index()].host
    }

    /// Returns a host for changes. Call [`Network::touch`] afterwards, or use [`Network::act`] instead.
    pub fn host_mut(&mut self, id: HostId) -> &mut H {
        &mut self.hosts[id.index()].host
    }

    /// Applies `action` to a host, then polls the host for datagrams and its deadline.
    pub fn act<R>(&mut self, id: HostId, action: impl FnOnce(&mut H, Instant) -> R) -> R {
        let result = action(&mut self.hosts[id.index()].host, self.now);
        self.touch(id);
        result
    }

    /// All hosts, in the order in which they were added.
    pub fn hosts(&self) -> impl ExactSizeIterator<Item = (HostId, &H)> {
        self.hosts
            .iter()
            .enumerate()
            .map(|(index, slot)| (HostId(index as u32), &slot.host))
    }

    /// Returns a link with its configuration and statistics, which are current when the network is not running.
    #[must_use]
    pub fn link(&self, id: LinkId) -> &Link<impl crate::link::Packet + use<H>> {
        &self.links[id.index()].link
    }

    /// All links, in the order in which they were added.
    pub fn link_ids(&self) -> impl ExactSizeIterator<Item = LinkId> + use<H> {
        (0..self.links.len() as u32).map(LinkId)
    }

    /// Datagrams that could not be routed to a link.
    #[must_use]
    pub const fn unroutable(&self) -> Unroutable {
        self.unroutable
    }

    /// Number of events so far: arrivals at the end of a link, deadlines, changes, packets of cross traffic.
    #[must_use]
    pub const fn events(&self) -> u64 {
        self.events
    }
}

impl<H> fmt::Debug for Network<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network")
            .field("now", &self.now)
            .field("hosts", &self.hosts.len())
            .field("links", &self.links.len())
            .field("events", &self.events)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
