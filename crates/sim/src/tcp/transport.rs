//! TCP and Multipath TCP as transports of a simulation: what their scenarios have in addition to paths and applications.

use core::net::{IpAddr, SocketAddr};

use anabranch_netsim::LinkConfig;
use anabranch_netsim::topology::Path;
use anabranch_policy::PathFacts;
use anabranch_tcp::{Connection, ConnectionId, ConnectionStatistics, State, TcpConfig, TcpCounters};
use anabranch_types::{Instant, PathAddr, Seed};

use super::{TCP_PORT, TcpApp, TcpHost};
use crate::app::StreamMeter;
use crate::measurement::{
    DataCounters, Duplicates, HostCounters, HostState, PathState, SendBufferState, path_between,
};
use crate::scenario::addresses_v6;
use crate::transport::{HostSetup, Transport};
use crate::{AnyHost, Scenario, Side, Simulation};

/// TCP (RFC 9293) and Multipath TCP (RFC 8684).
#[derive(Clone, Copy, Debug, Default)]
pub struct Tcp {
    checksum_offload: bool,
}

/// A scenario of two TCP hosts.
pub type TcpScenario = Scenario<Tcp>;

/// A running scenario of two TCP hosts.
pub type TcpSimulation = Simulation<Tcp>;

impl Transport for Tcp {
    type Host = TcpHost;
    type Config = TcpConfig;
    type App = TcpApp;
    type Id = ConnectionId;

    fn port(&self) -> u16 {
        TCP_PORT
    }

    /// Multipath TCP advertises all addresses except the first, unless the configuration names others.
    fn configure(mut config: TcpConfig, addresses: &[IpAddr]) -> TcpConfig {
        if let Some(mptcp) = config.mptcp.as_mut().filter(|mptcp| mptcp.local.is_empty()) {
            mptcp.local = addresses.iter().skip(1).copied().collect();
        }
        config
    }

    fn host(&self, setup: HostSetup<'_, Self>) -> TcpHost {
        let mut host = match setup.side {
            Side::Near => TcpHost::new(setup.seed, TcpApp::reader()),
            Side::Far => TcpHost::new(setup.seed, setup.app),
        };
        if setup.side == Side::Far {
            host.listen(setup.config.clone());
        }
        if self.checksum_offload && !setup.is_captured {
            host.offload_checksums()
        } else {
            host
        }
    }

    fn of(host: &AnyHost) -> &TcpHost {
        host.as_tcp().expect("invariant: this host speaks TCP")
    }

    fn of_mut(host: &mut AnyHost) -> &mut TcpHost {
        host.as_tcp_mut().expect("invariant: this host speaks TCP")
    }

    fn connect(
        host: &mut TcpHost,
        now: Instant,
        local: IpAddr,
        remotes: &[SocketAddr],
        config: TcpConfig,
        app: TcpApp,
    ) -> ConnectionId {
        host.connect(now, SocketAddr::new(local, 0), remotes[0], config, app)
    }

    /// Addresses are advertised only when a connection is established.
    fn add_address(_host: &mut TcpHost, _now: Instant, _address: SocketAddr) {}

    fn remove_address(host: &mut TcpHost, now: Instant, address: SocketAddr) {
        let ids: Vec<ConnectionId> = host.apps().map(|(id, _)| id).collect();
        for id in ids {
            host.talk(now, id, |_, connection| {
                connection.remove_local_address(address.ip());
            });
        }
    }

    fn path_facts(host: &TcpHost) -> &[PathFacts] {
        let newest = host.endpoint().connections().next_back();
        newest.map_or(&[], |(_, connection)| connection.path_facts())
    }

    fn bytes_read(host: &TcpHost) -> u64 {
        host.apps().map(|(_, app)| app.bytes_read()).sum()
    }

    fn count_overhead(host: &mut TcpHost) {
        host.count_overhead();
    }

    fn state(host: &TcpHost, paths: &[Path]) -> Option<HostState> {
        let mut state = HostState {
            applications: host.apps().len() as u64,
            messages_read: messages(host),
            bytes_read: Self::bytes_read(host),
            last_read_at: host.apps().filter_map(|(_, app)| app.last_read_at()).max(),
            finished_at: finished_at(host),
            paths: vec![PathState::default(); paths.len()],
            ..HostState::default()
        };
        for (_, connection) in host.endpoint().connections() {
            let statistics = connection.statistics();
            state.send_buffers.push(SendBufferState {
                used: statistics.send_buffer_used,
                sent: statistics.send_buffer_sent,
                peer_window: None,
            });
            let held = connection.unread() + statistics.out_of_order_bytes;
            state.receive_buffers.push(held);
            for subflow in subflows(connection, &statistics, paths) {
                if subflow.state != State::Closed {
                    // A segment is sent only if it fits the window completely.
                    let next = subflow.facts.in_flight + u64::from(subflow.facts.max_data_chunk);
                    let is_full = next > subflow.facts.cwnd;
                    state.paths[subflow.path].facts.push((subflow.facts, is_full));
                }
            }
        }
        Some(state)
    }

    fn counters(host: &TcpHost, paths: &[Path]) -> Option<HostCounters> {
        let mut counters = HostCounters {
            state: Self::state(host, paths)?,
            paths: vec![DataCounters::default(); paths.len()],
            overhead: host.overhead().copied(),
            ..HostCounters::default()
        };
        let (mut duplicate_bytes, mut retransmissions) = (0, 0);
        for (_, connection) in host.endpoint().connections() {
            let statistics = connection.statistics();
            duplicate_bytes += statistics.counters.duplicate_bytes;
            retransmissions += statistics.counters.retransmissions;
            counters.data += of_counters(&statistics.counters);
            if let Some(data) = statistics.data {
                duplicate_bytes += data.duplicate_bytes;
                *counters.reinjections.get_or_insert(0) += data.reinjections;
            }
            for subflow in subflows(connection, &statistics, paths) {
                counters.paths[subflow.path] += of_counters(&subflow.counters);
            }
            let redundant = connection.paths();
            counters.data.redundant += redundant
                .map(|subflow| subflow.reinjected_bytes + subflow.duplicated_bytes)
                .sum::<u64>();
        }
        counters.duplicates = Some(Duplicates::Bytes(duplicate_bytes));
        counters.segments_retransmitted = Some(retransmissions);
        let streams = host.apps().map(|(id, app)| (id.0, of_app(app)));
        counters.streams = streams.collect();
        Some(counters)
    }
}

/// One Multipath TCP subflow, or plain TCP, on a path of the scenario.
struct Subflow {
    path: usize,
    state: State,
    counters: TcpCounters,
    facts: PathFacts,
}

/// Subflows of a connection on each path; plain TCP uses the first.
fn subflows(connection: &Connection, statistics: &ConnectionStatistics, paths: &[Path]) -> Vec<Subflow> {
    let subflows = connection.paths().map(|subflow| {
        let addr = PathAddr {
            local: subflow.tuple.local,
            remote: subflow.tuple.remote,
        };
        Some(Subflow {
            path: path_between(paths, addr)?,
            state: subflow.state,
            counters: subflow.counters,
            facts: subflow.facts,
        })
    });
    let subflows: Vec<Option<Subflow>> = subflows.collect();
    if subflows.is_empty() {
        return vec![Subflow {
            path: 0,
            state: statistics.state,
            counters: statistics.counters,
            facts: statistics.facts.clone(),
        }];
    }
    subflows.into_iter().flatten().collect()
}

const fn of_counters(counters: &TcpCounters) -> DataCounters {
    DataCounters {
        timeouts: Some(counters.timeouts),
        fast_retransmits: Some(counters.found_lost),
        rescheduled: None,
        sent: Some(counters.bytes_sent + counters.bytes_retransmitted),
        retransmitted: Some(counters.bytes_retransmitted),
        redundant: 0,
        received: Some(counters.bytes_received),
    }
}

fn of_app(app: &TcpApp) -> StreamMeter {
    let meter = app.meter();
    StreamMeter {
        messages: meter.map_or(0, super::TcpMeter::messages),
        bytes: app.bytes_read(),
        delays: meter.map(|meter| meter.delays().clone()).unwrap_or_default(),
        last_at: app.last_read_at(),
    }
}

fn messages(host: &TcpHost) -> u64 {
    let meters = host.apps().filter_map(|(_, app)| app.meter());
    meters.map(super::TcpMeter::messages).sum()
}

/// When the last connection had delivered everything; `None` before.
fn finished_at(host: &TcpHost) -> Option<Instant> {
    let finished = host.apps().map(|(_, app)| app.finished_at());
    finished.collect::<Option<Vec<_>>>()?.into_iter().max()
}

impl Scenario<Tcp> {
    /// Two hosts with one path between them. Both applications only read. Each further path connects further addresses of both
    /// hosts, for Multipath TCP.
    #[must_use]
    pub fn over(seed: Seed, link: LinkConfig) -> Self {
        Self::tcp(seed).path(link)
    }

    /// Two hosts without any path yet. Both applications only read.
    #[must_use]
    pub fn tcp(seed: Seed) -> Self {
        Self::with_transport(seed, Tcp::default())
            .near_app(TcpApp::reader())
            .far_app(TcpApp::reader())
    }

    /// Both hosts leave out checksums, since the network damages no packets. Ignored where packets are captured, since readers of
    /// captures expect checksums.
    #[must_use]
    pub const fn offload_checksums(mut self) -> Self {
        self.transport.checksum_offload = true;
        self
    }

    /// Uses IP version 6 addresses on all paths added so far.
    #[must_use]
    pub fn v6(mut self) -> Self {
        for (number, path) in (0..=u8::MAX).zip(&mut self.paths) {
            (path.near_addr, path.far_addr) = addresses_v6(number);
        }
        self
    }
}

impl Simulation<Tcp> {
    /// The near side opens `count` connections, each when the previous one is established.
    pub fn connect_in_turn(&mut self, count: u64) {
        let (config, app) = self.near.clone();
        let local = SocketAddr::new(self.end_of(0, Side::Near).ip(), 0);
        let ends = (local, self.end_of(0, Side::Far));
        self.act(Side::Near, |host, now| {
            host.connect_in_turn(now, count, ends, config, app);
        });
    }

    /// Gives access to connection number `nth` of a side, counted from 0, and its application.
    pub fn talk<R>(
        &mut self,
        side: Side,
        nth: usize,
        act: impl FnOnce(&mut TcpApp, &mut Connection, Instant) -> R,
    ) -> Option<R> {
        let (id, _) = self.host(side).apps().nth(nth)?;
        self.act(side, |host, now| {
            host.talk(now, id, |app, connection| act(app, connection, now))
        })
    }

    /// Connection number `nth` of a side, counted from 0.
    #[must_use]
    pub fn connection(&self, side: Side, nth: usize) -> Option<&Connection> {
        let (id, _) = self.host(side).apps().nth(nth)?;
        self.host(side).endpoint().connection(id)
    }

    /// The application on that connection.
    #[must_use]
    pub fn app(&self, side: Side, nth: usize) -> Option<&TcpApp> {
        let (_, app) = self.host(side).apps().nth(nth)?;
        Some(app)
    }
}
