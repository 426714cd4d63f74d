//! Paths of a scenario: links of their own between the two hosts, and links shared with others.

use core::net::IpAddr;

use anabranch_netsim::topology::{self, Path};
use anabranch_netsim::{HostId, LinkConfig, LinkId, Network};

use crate::AnyHost;

/// Forward and reverse link.
pub(crate) type Both = (LinkId, LinkId);

/// Adds both links; those without a name get `name` and an arrow.
pub(crate) fn add(
    network: &mut Network<AnyHost>,
    forward: &LinkConfig,
    reverse: &LinkConfig,
    name: &str,
) -> Both {
    let mut add = |link: &LinkConfig, arrow: char| {
        let link = link.clone();
        network.add_link(if link.name.is_empty() {
            link.named(format!("{name}{arrow}"))
        } else {
            link
        })
    };
    (add(forward, '→'), add(reverse, '←'))
}

/// Routes a path between two addresses over its own links, forward first, then through `shared`.
pub(crate) fn lead(
    network: &mut Network<AnyHost>,
    hosts: (HostId, HostId),
    ends: (IpAddr, IpAddr),
    own: Both,
    shared: Option<Both>,
) -> Path {
    let forward = [Some(own.0), shared.map(|(forward, _)| forward)];
    let reverse = [shared.map(|(_, reverse)| reverse), Some(own.1)];
    let path = Path {
        near_addr: ends.0,
        far_addr: ends.1,
        forward: forward.into_iter().flatten().collect(),
        reverse: reverse.into_iter().flatten().collect(),
    };
    topology::connect(network, hosts, &path);
    path
}
