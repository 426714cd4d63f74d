//! How are hosts connected? By one path, by several that share nothing, or through one bottleneck.
//!
//! Path number n (from 0, at most 255 of them) runs in the network 10.n.0.0: its near end is [`near`]`(n)` = 10.n.0.1,
//! its far end [`far`]`(n)` = 10.n.0.2. The functions of this module number their paths from 0 each time they are
//! called, so call one of them once per world or use [`connect`].

use core::net::{IpAddr, Ipv4Addr, SocketAddr};

use anabranch_types::PathAddr;

use crate::{Host, HostId, LinkConfig, LinkId, World};

/// Two addresses and the links that join them, in both directions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Path {
    /// Address of the first host.
    pub near: IpAddr,
    /// Address of the second host.
    pub far: IpAddr,
    /// Links from the first host to the second, in the order of crossing.
    pub there: Vec<LinkId>,
    /// Links from the second host to the first, in the order of crossing.
    pub back: Vec<LinkId>,
}

impl Path {
    /// The path as the first host sees it, with the same encapsulation port at both ends; 0 for none.
    #[must_use]
    pub const fn addr(&self, port: u16) -> PathAddr {
        PathAddr {
            local: SocketAddr::new(self.near, port),
            remote: SocketAddr::new(self.far, port),
        }
    }

    /// All its links, there and back.
    pub fn links(&self) -> impl Iterator<Item = LinkId> {
        self.there.iter().chain(&self.back).copied()
    }
}

/// Address of the first host on path number `path`.
#[must_use]
pub const fn near(path: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, path, 0, 1))
}

/// Address of the second host on path number `path`.
#[must_use]
pub const fn far(path: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, path, 0, 2))
}

/// Two links with the same configuration, one there and one back. Their names end in `→` and `←`.
pub fn duplex<H: Host>(world: &mut World<H>, config: &LinkConfig) -> (LinkId, LinkId) {
    let there = world.add_link(config.clone().named(format!("{}→", config.name)));
    let back = world.add_link(config.clone().named(format!("{}←", config.name)));
    (there, back)
}

/// Adds the routes of `path` between two hosts, in both directions.
pub fn connect<H: Host>(world: &mut World<H>, hosts: (HostId, HostId), path: &Path) {
    world.add_route((hosts.0, path.near), &path.there, (hosts.1, path.far));
    world.add_route((hosts.1, path.far), &path.back, (hosts.0, path.near));
}

/// One path between two hosts.
pub fn one_path<H: Host>(world: &mut World<H>, hosts: (HostId, HostId), config: &LinkConfig) -> Path {
    path(world, hosts, 0, config)
}

/// As many paths between two hosts as there are configurations. They share no link, and there is no way from one
/// path's near end to another's far end.
pub fn disjoint_paths<H: Host>(
    world: &mut World<H>,
    hosts: (HostId, HostId),
    configs: &[LinkConfig],
) -> Vec<Path> {
    (0..=u8::MAX)
        .zip(configs)
        .map(|(number, config)| path(world, hosts, number, config))
        .collect()
}

/// One path for each pair, each over access links of its own and all through one bottleneck:
///
/// ```text
/// 10.0.0.1 ──access──┐                ┌── 10.0.0.2
///                    ├──bottleneck────┤
/// 10.1.0.1 ──access──┘                └── 10.1.0.2
/// ```
///
/// A pair that is listed twice has two paths that compete at the bottleneck.
pub fn shared_bottleneck<H: Host>(
    world: &mut World<H>,
    pairs: &[(HostId, HostId)],
    access: &LinkConfig,
    bottleneck: &LinkConfig,
) -> Vec<Path> {
    let (through, returning) = duplex(world, &with_default_name(bottleneck, || "bottleneck".into()));
    let connect_pair = |(number, hosts): (u8, &(HostId, HostId))| {
        let (out, home) = duplex(world, &with_default_name(access, || format!("access {number}")));
        let path = Path {
            near: near(number),
            far: far(number),
            there: vec![out, through],
            back: vec![returning, home],
        };
        connect(world, *hosts, &path);
        path
    };
    (0..=u8::MAX).zip(pairs).map(connect_pair).collect()
}

fn path<H: Host>(world: &mut World<H>, hosts: (HostId, HostId), number: u8, config: &LinkConfig) -> Path {
    let (there, back) = duplex(world, &with_default_name(config, || format!("path {number}")));
    let path = Path {
        near: near(number),
        far: far(number),
        there: vec![there],
        back: vec![back],
    };
    connect(world, hosts, &path);
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
