//! Who else wants the bottleneck? Further pairs of hosts, each with one path of its own through it.

use core::net::SocketAddr;

use anabranch_netsim::topology::{self, Path};
use anabranch_netsim::{HostId, LinkConfig, LinkId, World};
use anabranch_proto::{AssociationConfig, EndpointConfig};
use anabranch_types::Seed;

use crate::SctpHost;
use crate::app::Conversation;

/// Two hosts with one path between them, which leads through the scenario's bottleneck.
#[derive(Clone, Debug)]
pub(crate) struct Rival {
    pub(crate) link: LinkConfig,
    pub(crate) config: AssociationConfig,
    pub(crate) conversation: Conversation,
}

/// A rival in the world.
pub(crate) struct RivalHosts {
    near: HostId,
    far: HostId,
    remote: SocketAddr,
    config: AssociationConfig,
    conversation: Conversation,
}

impl Rival {
    /// Puts rival number `number` into the world; `shared` is the bottleneck, there and back.
    pub(crate) fn build(
        self,
        world: &mut World<SctpHost>,
        seed: Seed,
        number: u8,
        port: u16,
        shared: Option<(LinkId, LinkId)>,
    ) -> RivalHosts {
        // From the other end than the paths of the scenario.
        let network = u8::MAX - number;
        let (near, far) = (topology::near(network), topology::far(network));
        let seed = seed.split("rival").nth(u64::from(number));
        let mut host = |name, ip, accept| {
            let config = EndpointConfig {
                local: vec![SocketAddr::new(ip, port)],
                accept,
                ..EndpointConfig::default()
            };
            world.add_host(SctpHost::new(config, seed.split(name), Conversation::default()))
        };
        let hosts = (
            host("near", near, None),
            host("far", far, Some(self.config.clone())),
        );
        let (out, home) = topology::duplex(world, &self.link.named(format!("rival {number}")));
        let path = Path {
            near,
            far,
            there: [Some(out), shared.map(|(there, _)| there)]
                .into_iter()
                .flatten()
                .collect(),
            back: [shared.map(|(_, back)| back), Some(home)]
                .into_iter()
                .flatten()
                .collect(),
        };
        topology::connect(world, hosts, &path);
        RivalHosts {
            near: hosts.0,
            far: hosts.1,
            remote: SocketAddr::new(far, port),
            config: self.config,
            conversation: self.conversation,
        }
    }
}

impl RivalHosts {
    pub(crate) fn connect(&self, world: &mut World<SctpHost>) {
        let connected = world.act(self.near, |host, now| {
            host.connect(now, &[self.remote], &self.config, self.conversation.clone())
        });
        connected.expect("invariant: a rival's address can be connected");
    }

    /// What the far end reads; `None` before the rival has connected.
    pub(crate) fn reader<'w>(&self, world: &'w World<SctpHost>) -> Option<&'w Conversation> {
        let far = world.host(self.far);
        far.conversation(far.associations().next_back()?)
    }
}
