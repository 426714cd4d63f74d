//! How does a datagram get from a host to a link, from link to link, and to the other host?

use core::net::SocketAddr;

use anabranch_types::Rng;

use super::World;
use super::route::RouteId;
use crate::capture::Direction;
use crate::link::Packet;
use crate::{Datagram, Fate, Host, HostId, LinkId};

/// What links carry.
#[derive(Clone, Debug)]
pub(super) enum Transit {
    /// A datagram on the link number `hop` of its route.
    Datagram {
        datagram: Datagram,
        route: RouteId,
        hop: u32,
    },
    /// A packet of cross traffic; its size is all there is to it.
    Filler,
}

impl Packet for Transit {
    fn corrupt(&mut self, rng: &mut Rng) {
        if let Self::Datagram { datagram, .. } = self {
            datagram.corrupt(rng);
        }
    }

    fn may_fragment(&self) -> bool {
        match self {
            Self::Datagram { datagram, .. } => datagram.may_fragment,
            Self::Filler => false,
        }
    }

    fn mark_congestion(&mut self) -> bool {
        match self {
            Self::Datagram { datagram, .. } => datagram.mark_congestion(),
            Self::Filler => false,
        }
    }
}

impl<H: Host> World<H> {
    /// Takes everything that a host wants to send now.
    pub(super) fn drain(&mut self, id: HostId) {
        while let Some(datagram) = self.hosts[id.index()].host.poll_transmit(self.now) {
            self.send(id, datagram);
        }
    }

    /// A packet has come to the end of a link.
    pub(super) fn arrive(&mut self, link: LinkId, transit: Transit) {
        let Transit::Datagram { datagram, route, hop } = transit else {
            return;
        };
        self.captures.at_link(self.now, link, &datagram);
        self.pass_on(datagram, route, hop + 1);
    }

    /// Offers a packet to a link, whose filter has been asked before.
    pub(super) fn offer(&mut self, link: LinkId, transit: Transit, bytes: u32) {
        self.links[link.index()].link.offer(self.now, transit, bytes);
        self.set_link_alarm(link);
    }

    fn send(&mut self, from: HostId, mut datagram: Datagram) {
        let Ok(destination) = self.nat.inward(datagram.path.remote) else {
            self.captures.at_host(self.now, from, Direction::Out, &datagram);
            self.lost.to_expired_binding += 1;
            return;
        };
        let seen = core::mem::replace(&mut datagram.path.remote, destination);
        let route = self.routes.find(from, datagram.path);
        if let Some(route) = route {
            datagram.path.local.set_ip(self.routes.of(route).source);
        }
        self.capture_outgoing(from, seen, &mut datagram);
        let Some(route) = route else {
            self.lost.without_route += 1;
            return;
        };
        datagram.path.local = self.nat.outward(datagram.path.local);
        self.pass_on(datagram, route, 0);
    }

    /// The datagram as its sender sees it, that is, with the destination `seen` by it.
    fn capture_outgoing(&mut self, from: HostId, seen: SocketAddr, datagram: &mut Datagram) {
        let actual = core::mem::replace(&mut datagram.path.remote, seen);
        self.captures.at_host(self.now, from, Direction::Out, datagram);
        datagram.path.remote = actual;
    }

    /// On to the link number `hop` of the route, or to its host after the last one.
    fn pass_on(&mut self, mut datagram: Datagram, route: RouteId, hop: u32) {
        let there = self.routes.of(route);
        let Some(&link) = there.links.get(hop as usize) else {
            let to = there.to;
            self.deliver(to, datagram);
            return;
        };
        let slot = &mut self.links[link.index()];
        let fate = slot
            .filter
            .as_mut()
            .map_or(Fate::Pass, |filter| filter(self.now, &mut datagram));
        let bytes = datagram.ip_bytes();
        match fate {
            Fate::Pass => self.offer(link, Transit::Datagram { datagram, route, hop }, bytes),
            Fate::Drop => slot.link.note_filtered(bytes),
        }
    }

    fn deliver(&mut self, to: HostId, datagram: Datagram) {
        self.captures.at_host(self.now, to, Direction::In, &datagram);
        self.hosts[to.index()].host.on_datagram(self.now, datagram);
        self.touch(to);
    }
}
