//! Cross traffic: further pairs of hosts, each with its own path through the bottleneck or over the link of one path.

use core::net::{IpAddr, SocketAddr};

use anabranch_netsim::topology::{self, Path};
use anabranch_netsim::{HostId, LinkConfig, Network};
use anabranch_proto::{AssociationConfig, DEFAULT_PORT, EndpointConfig};
use anabranch_types::Seed;

use crate::app::Conversation;
use crate::network::{self, Both};
use crate::tcp::{TCP_PORT, Tcp, TcpApp, TcpConfig, TcpHost};
use crate::{AnyHost, Sctp, SctpHost, Transport};

/// Label of the random numbers of these hosts and their link. Another label would change the results of all runs with cross
/// traffic.
const SEED_LABEL: &str = "rival";

/// Two hosts independent of the scenario's hosts, except that their only path crosses a link of its own and then the scenario's
/// bottleneck. They use either transport, whatever the scenario uses, and are measured, not checked.
#[derive(Clone, Debug)]
pub struct CrossTraffic {
    link: LinkConfig,
    talk: Talk,
    /// Number of the path whose own link it crosses, instead of the bottleneck.
    through: Option<u8>,
    checksum_offload: bool,
}

#[derive(Clone, Debug)]
enum Talk {
    Sctp {
        config: Box<AssociationConfig>,
        conversation: Box<Conversation>,
        port: u16,
    },
    Tcp {
        config: Box<TcpConfig>,
        app: Box<TcpApp>,
        connections: u64,
    },
}

/// Adds cross traffic to a network with these paths and this bottleneck.
pub(crate) fn build(
    all: Vec<CrossTraffic>,
    network: &mut Network<AnyHost>,
    seed: Seed,
    paths: &[Path],
    bottleneck: Option<Both>,
) -> Vec<CrossTrafficHosts> {
    let own = |path: &Path| Some((*path.forward.first()?, *path.reverse.last()?));
    let numbered = (0..=u8::MAX).zip(all);
    numbered
        .map(|(number, cross_traffic)| {
            let shared = match cross_traffic.through {
                Some(path) => paths.get(usize::from(path)).and_then(own),
                None => bottleneck,
            };
            cross_traffic.build(network, seed, number, shared)
        })
        .collect()
}

impl CrossTraffic {
    /// Two hosts with an association; the near one sends and the far one reads.
    #[must_use]
    pub fn sctp(link: LinkConfig, config: AssociationConfig, conversation: Conversation) -> Self {
        let talk = Talk::Sctp {
            config: Box::new(config),
            conversation: Box::new(conversation.metered()),
            port: DEFAULT_PORT,
        };
        Self::new(link, talk)
    }

    const fn new(link: LinkConfig, talk: Talk) -> Self {
        Self {
            link,
            talk,
            through: None,
            checksum_offload: false,
        }
    }

    /// Two hosts with a TCP connection; the near one sends and the far one reads.
    #[must_use]
    pub fn tcp(link: LinkConfig, config: TcpConfig, app: TcpApp) -> Self {
        let talk = Talk::Tcp {
            config: Box::new(config),
            app: Box::new(app),
            connections: 1,
        };
        Self::new(link, talk)
    }

    /// Sets the number of TCP connections, which are opened one after another.
    #[must_use]
    pub fn with_connections(mut self, count: u64) -> Self {
        if let Talk::Tcp { connections, .. } = &mut self.talk {
            *connections = count;
        }
        self
    }

    /// Sets the port for the UDP encapsulation of SCTP; 0 for none.
    #[must_use]
    pub fn encapsulation_port(mut self, number: u16) -> Self {
        if let Talk::Sctp { port, .. } = &mut self.talk {
            *port = number;
        }
        self
    }

    /// Sends over the link of the scenario's path number `path`, counted from 0, instead of the bottleneck.
    #[must_use]
    pub const fn through_path(mut self, path: u8) -> Self {
        self.through = Some(path);
        self
    }

    /// Both hosts leave out checksums, since the network damages no packets.
    #[must_use]
    pub const fn offload_checksums(mut self) -> Self {
        self.checksum_offload = true;
        self
    }

    /// Adds cross traffic number `number` to the network; `shared` is the shared forward and reverse link.
    fn build(
        self,
        network: &mut Network<AnyHost>,
        seed: Seed,
        number: u8,
        shared: Option<Both>,
    ) -> CrossTrafficHosts {
        // Allocated from the other end of the range than the paths of the scenario.
        let subnet = u8::MAX - number;
        let ends = (topology::near_addr(subnet), topology::far_addr(subnet));
        let seed = seed.split(SEED_LABEL).nth(u64::from(number));
        let hosts = self.hosts(ends, seed);
        let hosts = (network.add_host(hosts.0), network.add_host(hosts.1));
        let own = topology::duplex(network, &self.link.named(format!("{SEED_LABEL} {number}")));
        network::lead(network, hosts, ends, own, shared);
        CrossTrafficHosts {
            near: hosts.0,
            far: hosts.1,
            ends,
            talk: self.talk,
        }
    }

    /// The client and the server.
    fn hosts(&self, ends: (IpAddr, IpAddr), seed: Seed) -> (AnyHost, AnyHost) {
        match &self.talk {
            Talk::Sctp { config, port, .. } => {
                let host = |name, ip, accept| {
                    let config = EndpointConfig {
                        local: vec![SocketAddr::new(ip, *port)],
                        accept,
                        checksum_offload: self.checksum_offload,
                        ..EndpointConfig::default()
                    };
                    let answering = Conversation::default().metered();
                    SctpHost::new(config, seed.split(name), answering)
                        .untraced()
                        .into()
                };
                let accept = AssociationConfig::clone(config);
                (host("near", ends.0, None), host("far", ends.1, Some(accept)))
            }
            Talk::Tcp { config, .. } => {
                let host = |name| {
                    let host = TcpHost::new(seed.split(name), TcpApp::reader());
                    if self.checksum_offload {
                        host.offload_checksums()
                    } else {
                        host
                    }
                };
                let mut far = host("far");
                far.listen(TcpConfig::clone(config));
                (host("near").into(), far.into())
            }
        }
    }
}

/// Cross traffic in the network.
#[derive(Clone)]
pub(crate) struct CrossTrafficHosts {
    near: HostId,
    far: HostId,
    ends: (IpAddr, IpAddr),
    talk: Talk,
}

impl CrossTrafficHosts {
    pub(crate) fn connect(&self, network: &mut Network<AnyHost>) {
        let (near, far) = self.ends;
        network.act(self.near, |host, now| match &self.talk {
            Talk::Sctp {
                config,
                conversation,
                port,
            } => {
                let remotes = [SocketAddr::new(far, *port)];
                let conversation = Conversation::clone(conversation);
                let connected = Sctp::of_mut(host).connect(now, &remotes, config, conversation);
                connected.expect("invariant: its address can be connected");
            }
            Talk::Tcp {
                config,
                app,
                connections,
            } => {
                let ends = (SocketAddr::new(near, 0), SocketAddr::new(far, TCP_PORT));
                let (config, app) = (TcpConfig::clone(config), TcpApp::clone(app));
                Tcp::of_mut(host).connect_in_turn(now, *connections, ends, config, app);
            }
        });
    }

    /// Bytes read by the far end.
    pub(crate) fn delivered(&self, network: &Network<AnyHost>) -> u64 {
        match network.host(self.far) {
            AnyHost::Sctp(host) => Sctp::bytes_read(host),
            AnyHost::Tcp(host) => Tcp::bytes_read(host),
        }
    }
}
