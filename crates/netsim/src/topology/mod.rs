//! Topologies. How are hosts connected? By one path, by disjoint paths, or through a shared bottleneck.
//!
//! A path has a near end and a far end; its forward direction leads from the near end to the far end. Path number n (from 0, at
//! most 255) uses the network 10.n.0.0: the near end has the address [`near_addr`]`(n)` = 10.n.0.1, the far end
//! [`far_addr`]`(n)` = 10.n.0.2. Each function of this module numbers its paths from 0, so call only one of them per network,
//! once, or use [`connect`].

use core::net::{IpAddr, Ipv4Addr, SocketAddr};

use anabranch_types::PathAddr;

use crate::{Host, HostId, LinkConfig, LinkId, Network};

/// One of the two ends of a path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Side {
    /// The near end: the first host, which connects unless a scenario says otherwise.
    Near,
    /// The far end: the second host.
    Far,
}

impl Side {
    /// Both sides, the near one first.
    pub const BOTH: [Self; 2] = [Self::Near, Self::Far];

    /// Returns the other side.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Near => Self::Far,
            Self::Far => Self::Near,
        }
    }

    /// Returns 0 for the near side and 1 for the far side.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns `near` or `far`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Near => "near",
            Self::Far => "far",
        }
    }
}

/// A bidirectional path: two addresses and the links between them in each direction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Path {
    /// Address of the near end.
    pub near_addr: IpAddr,
    /// Address of the far end.
    pub far_addr: IpAddr,
    /// Links from the near end to the far end, in order.
    pub forward: Vec<LinkId>,
    /// Links from the far end to the near end, in order.
    pub reverse: Vec<LinkId>,
}

impl Path {
    /// The path as seen from the near end, with the same encapsulation port at both ends (0: no encapsulation).
    #[must_use]
    pub const fn addr(&self, port: u16) -> PathAddr {
        PathAddr {
            local: SocketAddr::new(self.near_addr, port),
            remote: SocketAddr::new(self.far_addr, port),
        }
    }

    /// Address of one end.
    #[must_use]
    pub const fn end(&self, side: Side) -> IpAddr {
        match side {
            Side::Near => self.near_addr,
            Side::Far => self.far_addr,
        }
    }

    /// Gives one end another address, with routes to and from it instead of the former one. Packets in flight still arrive.
    pub fn renumber<H: Host>(
        &mut self,
        network: &mut Network<H>,
        hosts: (HostId, HostId),
        side: Side,
        address: IpAddr,
    ) {
        disconnect(network, hosts, self);
        match side {
            Side::Near => self.near_addr = address,
            Side::Far => self.far_addr = address,
        }
        connect(network, hosts, self);
    }

    /// All links of the path, forward and reverse.
    pub fn links(&self) -> impl Iterator<Item = LinkId> {
        self.forward.iter().chain(&self.reverse).copied()
    }
}

/// Address of the near end of path number `path`.
#[must_use]
pub const fn near_addr(path: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, path, 0, 1))
}

/// Address of the far end of path number `path`.
#[must_use]
pub const fn far_addr(path: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, path, 0, 2))
}

/// Adds two links with the same configuration, one for each direction. Their names end in `→` and `←`.
pub fn duplex<H: Host>(network: &mut Network<H>, config: &LinkConfig) -> (LinkId, LinkId) {
    let forward = network.add_link(config.clone().named(format!("{}→", config.name)));
    let reverse = network.add_link(config.clone().named(format!("{}←", config.name)));
    (forward, reverse)
}

/// Adds the routes of `path` between two hosts, in both directions.
pub fn connect<H: Host>(network: &mut Network<H>, hosts: (HostId, HostId), path: &Path) {
    network.add_route((hosts.0, path.near_addr), &path.forward, (hosts.1, path.far_addr));
    network.add_route((hosts.1, path.far_addr), &path.reverse, (hosts.0, path.near_addr));
}

/// Removes the routes of `path` between two hosts, in both directions. Packets in flight still arrive.
pub fn disconnect<H: Host>(network: &mut Network<H>, hosts: (HostId, HostId), path: &Path) {
    network.remove_route(hosts.0, path.near_addr, path.far_addr);
    network.remove_route(hosts.1, path.far_addr, path.near_addr);
}

/// One path between two hosts.
pub fn one_path<H: Host>(network: &mut Network<H>, hosts: (HostId, HostId), config: &LinkConfig) -> Path {
    path(network, hosts, 0, config)
}

/// One path between two hosts for each configuration. They share no link, and there is no route from one path's near
/// end to another's far end.
pub fn disjoint_paths<H: Host>(
    network: &mut Network<H>,
    hosts: (HostId, HostId),
    configs: &[LinkConfig],
) -> Vec<Path> {
    (0..=u8::MAX)
        .zip(configs)
        .map(|(number, config)| path(network, hosts, number, config))
        .collect()
}

/// One path for each pair, with its own access links, all through one bottleneck:
///
/// ```text
/// 10.0.0.1 ──access──┐                ┌── 10.0.0.2
///                    ├──bottleneck────┤
/// 10.1.0.1 ──access──┘                └── 10.1.0.2
/// ```
///
/// A pair that is listed twice gets two paths, which compete at the bottleneck.
pub fn shared_bottleneck<H: Host>(
    network: &mut Network<H>,
    pairs: &[(HostId, HostId)],
    access: &LinkConfig,
    bottleneck: &LinkConfig,
) -> Vec<Path> {
    let (bottleneck_forward, bottleneck_reverse) =
        duplex(network, &with_default_name(bottleneck, || "bottleneck".into()));
    let connect_pair = |(number, hosts): (u8, &(HostId, HostId))| {
        let (access_forward, access_reverse) =
            duplex(network, &with_default_name(access, || format!("access {number}")));
        let path = Path {
            near_addr: near_addr(number),
            far_addr: far_addr(number),
            forward: vec![access_forward, bottleneck_forward],
            reverse: vec![bottleneck_reverse, access_reverse],
        };
        connect(network, *hosts, &path);
        path
    };
    (0..=u8::MAX).zip(pairs).map(connect_pair).collect()
}

fn path<H: Host>(network: &mut Network<H>, hosts: (HostId, HostId), number: u8, config: &LinkConfig) -> Path {
    let (forward, reverse) = duplex(network, &with_default_name(config, || format!("path {number}")));
    let path = Path {
        near_addr: near_addr(number),
        far_addr: far_addr(number),
        forward: vec![forward],
        reverse: vec![reverse],
    };
    connect(network, hosts, &path);
    path
}

fn with_default_name(config: &LinkConfig, name: impl FnOnce() -> String) -> LinkConfig {
    let config = config.clone();
    if config.name.is_empty() {
        config.named(name())
    } else {
        config
    }
}
