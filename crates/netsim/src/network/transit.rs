//! Forwarding. How does a datagram get from its sender over the links of its route to its receiver?

use core::net::SocketAddr;

use anabranch_types::Rng;

use super::Network;
use super::route::RouteId;
use crate::capture::Direction;
use crate::link::Packet;
use crate::{Datagram, FilterAction, Host, HostId, LinkId};

/// A packet on a link.
#[derive(Clone, Debug)]
pub(super) enum Transit {
    /// A datagram, which stays in place while it passes from queue to queue.
    Datagram(Box<Traveller>),
    /// A packet of cross traffic; only its size matters.
    CrossTraffic,
}

/// A datagram on the link number `hop` of its route.
#[derive(Clone, Debug)]
pub(super) struct Traveller {
    datagram: Datagram,
    route: RouteId,
    hop: u32,
}

impl Packet for Transit {
    fn corrupt(&mut self, rng: &mut Rng) {
        if let Self::Datagram(traveller) = self {
            traveller.datagram.corrupt(rng);
        }
    }

    fn may_fragment(&self) -> bool {
        match self {
            Self::Datagram(traveller) => traveller.datagram.may_fragment,
            Self::CrossTraffic => false,
        }
    }

    fn flow(&self) -> u64 {
        match self {
            Self::Datagram(traveller) => traveller.datagram.flow(),
            Self::CrossTraffic => 0,
        }
    }

    fn mark_congestion(&mut self) -> bool {
        match self {
            Self::Datagram(traveller) => traveller.datagram.mark_congestion(),
            Self::CrossTraffic => false,
        }
    }
}

impl<H: Host> Network<H> {
    /// Sends everything that a host has to send now.
    pub(super) fn drain(&mut self, id: HostId) {
        while let Some(datagram) = self.hosts[id.index()].host.poll_transmit(self.now) {
            self.send(id, datagram);
        }
    }

    /// Handles a packet at the end of a link.
    pub(super) fn arrive(&mut self, link: LinkId, transit: Transit) {
        let Transit::Datagram(mut traveller) = transit else {
            return;
        };
        self.captures.at_link(self.now, link, &traveller.datagram);
        traveller.hop += 1;
        self.forward(traveller);
    }

    /// Offers a packet that has passed the link's filter to the link.
    pub(super) fn offer(&mut self, link: LinkId, transit: Transit, bytes: u32) {
        let link_entry = &mut self.links[link.index()].link;
        // While a packet is in transmission, the timer is set for its arrival or earlier, and those behind it arrive later.
        let has_timer = link_entry.is_transmitting();
        link_entry.offer(self.now, transit, bytes);
        if !has_timer {
            self.set_link_timer(link);
        }
    }

    fn send(&mut self, from: HostId, mut datagram: Datagram) {
        let Ok(destination) = self.nat.inward(datagram.path.remote) else {
            self.captures.at_host(self.now, from, Direction::Out, &datagram);
            self.unroutable.expired_binding += 1;
            return;
        };
        let public_destination = core::mem::replace(&mut datagram.path.remote, destination);
        let route = self.routes.find(from, datagram.path);
        if let Some(route) = route {
            datagram.path.local.set_ip(self.routes.of(route).source);
        }
        self.capture_outgoing(from, public_destination, &mut datagram);
        let Some(route) = route else {
            self.unroutable.no_route += 1;
            return;
        };
        datagram.path.local = self.nat.outward(datagram.path.local);
        self.forward(Box::new(Traveller {
            datagram,
            route,
            hop: 0,
        }));
    }

    /// Captures the datagram with the destination that its sender sees.
    fn capture_outgoing(&mut self, from: HostId, public_destination: SocketAddr, datagram: &mut Datagram) {
        let actual = core::mem::replace(&mut datagram.path.remote, public_destination);
        self.captures.at_host(self.now, from, Direction::Out, datagram);
        datagram.path.remote = actual;
    }

    /// Forwards to the next link of the route, or to the receiving host after the last one.
    fn forward(&mut self, mut traveller: Box<Traveller>) {
        let route = self.routes.of(traveller.route);
        let Some(&link) = route.links.get(traveller.hop as usize) else {
            let to = route.to;
            self.deliver(to, traveller.datagram);
            return;
        };
        let slot = &mut self.links[link.index()];
        let action = slot.filter.as_mut().map_or(FilterAction::Pass, |filter| {
            filter(self.now, &mut traveller.datagram)
        });
        let bytes = traveller.datagram.ip_bytes();
        match action {
            FilterAction::Pass => self.offer(link, Transit::Datagram(traveller), bytes),
            FilterAction::Drop => slot.link.count_filtered(bytes),
        }
    }

    fn deliver(&mut self, to: HostId, datagram: Datagram) {
        self.captures.at_host(self.now, to, Direction::In, &datagram);
        self.hosts[to.index()].host.on_datagram(self.now, datagram);
        self.touch(to);
    }
}
