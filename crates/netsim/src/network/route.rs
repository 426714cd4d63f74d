//! Routing table. Which links does a datagram cross? Those of the sender's first route that matches both addresses.

use core::net::IpAddr;

use anabranch_types::PathAddr;

use crate::{HostId, LinkId};

/// The links to cross, in order, and the host at the end.
#[derive(Clone, Debug)]
pub(super) struct Route {
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
    pub(super) links: Box<[LinkId]>,
    pub(super) to: HostId,
}

/// Number of a route. Numbers are not reused: packets in flight keep theirs when a route is removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RouteId(u32);

/// All routes, and those of each host.
#[derive(Debug, Default)]
pub(super) struct Routes {
    all: Vec<Route>,
    by_host: Vec<Vec<RouteId>>,
}

impl Routes {
    pub(super) fn add_host(&mut self) {
        self.by_host.push(Vec::new());
    }

    pub(super) fn add(&mut self, from: HostId, route: Route) {
        let id = RouteId(self.all.len() as u32);
        self.remove(from, route.source, route.destination);
        self.all.push(route);
        self.by_host[from.index()].push(id);
    }

    pub(super) fn remove(&mut self, from: HostId, source: IpAddr, destination: IpAddr) {
        let Self { all, by_host } = self;
        by_host[from.index()].retain(|id| {
            let route = &all[id.0 as usize];
            (route.source, route.destination) != (source, destination)
        });
    }

    pub(super) fn find(&self, from: HostId, path: PathAddr) -> Option<RouteId> {
        let (source, destination) = (path.local.ip(), path.remote.ip());
        self.by_host[from.index()].iter().copied().find(|id| {
            let route = self.of(*id);
            route.destination == destination && (route.source == source || source.is_unspecified())
        })
    }

    pub(super) fn of(&self, id: RouteId) -> &Route {
        &self.all[id.0 as usize]
    }
}
