//! SCTP as the transport of a simulation: what its scenarios have in addition to paths and applications.

use core::net::{IpAddr, SocketAddr};

use anabranch_netsim::topology::Path;
use anabranch_policy::{PathFacts, PolicyRecipe};
use anabranch_proto::{
    Association, AssociationConfig, AssociationStatistics, DEFAULT_PORT, EndpointConfig, PathCounters,
};
use anabranch_types::{AssociationId, Instant, Seed};

use crate::app::Conversation;
use crate::measurement::{
    DataCounters, Duplicates, HostCounters, HostState, PathState, SackCounters, SendBufferState, path_between,
};
use crate::transport::{HostSetup, Transport};
use crate::{AnyHost, Outcome, ProcessorModel, Scenario, SctpHost, Side, Simulation};

/// SCTP (RFC 9260), in UDP (RFC 6951) or directly over IP.
#[derive(Clone, Debug)]
pub struct Sctp {
    encapsulation_port: u16,
    segments: usize,
    processors: [Option<ProcessorModel>; 2],
    accepts: [bool; 2],
    checksum_offload: bool,
    is_traced: bool,
}

impl Default for Sctp {
    fn default() -> Self {
        Self {
            encapsulation_port: DEFAULT_PORT,
            segments: 1,
            processors: [None; 2],
            accepts: [false, true],
            checksum_offload: false,
            is_traced: true,
        }
    }
}

impl Transport for Sctp {
    type Host = SctpHost;
    type Config = AssociationConfig;
    type App = Conversation;
    type Id = AssociationId;

    fn port(&self) -> u16 {
        self.encapsulation_port
    }

    fn host(&self, setup: HostSetup<'_, Self>) -> SctpHost {
        let side = setup.side.index();
        let port = self.encapsulation_port;
        let addresses = setup.addresses.iter();
        let config = EndpointConfig {
            local: addresses.map(|ip| SocketAddr::new(*ip, port)).collect(),
            accept: self.accepts[side].then(|| setup.config.clone()),
            checksum_offload: self.checksum_offload && !setup.is_captured,
            ..EndpointConfig::default()
        };
        let host = SctpHost::new(config, setup.seed, setup.app)
            .with_segments(self.segments)
            .with_processor(self.processors[side]);
        if self.is_traced { host } else { host.untraced() }
    }

    fn of(host: &AnyHost) -> &SctpHost {
        host.as_sctp().expect("invariant: this host speaks SCTP")
    }

    fn of_mut(host: &mut AnyHost) -> &mut SctpHost {
        host.as_sctp_mut().expect("invariant: this host speaks SCTP")
    }

    fn connect(
        host: &mut SctpHost,
        now: Instant,
        _local: IpAddr,
        remotes: &[SocketAddr],
        config: AssociationConfig,
        app: Conversation,
    ) -> AssociationId {
        let connected = host.connect(now, remotes, &config, app);
        connected.expect("invariant: a scenario's addresses can be connected")
    }

    // A refusal shows in the path states.
    fn add_address(host: &mut SctpHost, now: Instant, address: SocketAddr) {
        let _ = host.join(now, address);
    }

    fn remove_address(host: &mut SctpHost, now: Instant, address: SocketAddr) {
        let _ = host.leave(now, address);
    }

    fn path_facts(host: &SctpHost) -> &[PathFacts] {
        host.newest().map_or(&[], Association::path_facts)
    }

    fn bytes_read(host: &SctpHost) -> u64 {
        let conversations = host.associations().filter_map(|id| host.conversation(id));
        conversations
            .map(|conversation| conversation.inbox().bytes())
            .sum()
    }

    fn count_overhead(host: &mut SctpHost) {
        host.count_overhead();
    }

    fn state(host: &SctpHost, paths: &[Path]) -> Option<HostState> {
        let association = host.newest()?;
        state(host, association, &association.statistics(), paths)
    }

    fn counters(host: &SctpHost, paths: &[Path]) -> Option<HostCounters> {
        let association = host.newest()?;
        let statistics = association.statistics();
        let meter = host.newest_conversation()?.inbox().meter();
        let streams = meter.into_iter().flat_map(|meter| meter.streams());
        let mut data = DataCounters::default();
        statistics
            .paths
            .iter()
            .for_each(|path| data += of_path(&path.counters));
        let on_path = |index| {
            let path = find_path(&statistics, paths, index)?;
            Some(of_path(&statistics.paths[path].counters))
        };
        Some(HostCounters {
            state: state(host, association, &statistics, paths)?,
            data,
            paths: (0..paths.len())
                .map(|index| on_path(index).unwrap_or_default())
                .collect(),
            streams: streams
                .map(|(stream, meter)| (stream.0.into(), meter.clone()))
                .collect(),
            duplicates: Some(Duplicates::Chunks(statistics.duplicates_received)),
            sacks: Some(SackCounters {
                received: statistics.sacks_received,
                elements_visited: statistics.sack_elements_visited,
                reported: host.sack_statistics().cloned().unwrap_or_default(),
            }),
            processor: host.processor().cloned(),
            overhead: host.overhead().copied(),
            ..HostCounters::default()
        })
    }
}

/// Path of the association that corresponds to path number `index` of the scenario.
fn find_path(statistics: &AssociationStatistics, paths: &[Path], index: usize) -> Option<usize> {
    let mut all = statistics.paths.iter();
    all.position(|path| path_between(paths, path.addr) == Some(index))
}

fn of_path(counters: &PathCounters) -> DataCounters {
    DataCounters {
        timeouts: Some(counters.timeouts),
        fast_retransmits: Some(counters.fast_retransmits),
        rescheduled: Some(counters.rescheduled),
        sent: Some(counters.payload_sent + counters.payload_retransmitted),
        retransmitted: Some(counters.payload_retransmitted),
        redundant: 0,
        received: Some(counters.payload_received),
    }
}

fn state(
    host: &SctpHost,
    association: &Association,
    statistics: &AssociationStatistics,
    paths: &[Path],
) -> Option<HostState> {
    let inbox = host.newest_conversation()?.inbox();
    let facts = association.path_facts();
    let on_path = |index| {
        let id = statistics.paths[find_path(statistics, paths, index)?].id;
        let facts = facts.iter().find(|facts| facts.id == id)?;
        // The last packet may exceed the window (RFC 9260 §6.1 B).
        Some((facts.clone(), facts.in_flight >= facts.cwnd))
    };
    let paths = (0..paths.len()).map(|index| PathState {
        facts: on_path(index).into_iter().collect(),
    });
    Some(HostState {
        applications: 1,
        messages_read: inbox.messages(),
        bytes_read: inbox.bytes(),
        last_read_at: inbox.last_at(),
        finished_at: None,
        send_buffers: vec![SendBufferState {
            used: statistics.send_buffer_used,
            sent: statistics.send_buffer_sent,
            peer_window: Some(statistics.peer_window),
        }],
        receive_buffers: vec![statistics.receive_buffer_used],
        paths: paths.collect(),
    })
}

impl Scenario<Sctp> {
    /// Two hosts without any path yet. Neither application sends.
    #[must_use]
    pub fn new(seed: Seed) -> Self {
        Self::with_transport(seed, Sctp::default())
    }

    /// Port of the UDP encapsulation at both ends; 0 for SCTP directly over IP. Default: 9899.
    #[must_use]
    pub const fn encapsulation_port(mut self, port: u16) -> Self {
        self.transport.encapsulation_port = port;
        self
    }

    /// How many packets a core may write at once, as with segmentation offload. Default: 1. The network carries them one by one.
    #[must_use]
    pub const fn segments(mut self, segments: usize) -> Self {
        self.transport.segments = segments;
        self
    }

    /// Gives one side a processor that takes time for each packet. By default processing takes no time.
    #[must_use]
    pub fn processor(mut self, side: Side, model: ProcessorModel) -> Self {
        self.transport.processors[side.index()] = Some(model);
        self
    }

    /// The mechanisms of both sides.
    #[must_use]
    pub fn policies(mut self, policies: PolicyRecipe) -> Self {
        for config in &mut self.configs {
            config.policies = policies;
        }
        self
    }

    /// Whether a side accepts associations. By default the far side does and the near side does not.
    #[must_use]
    pub fn accepts(mut self, side: Side, accepts: bool) -> Self {
        self.transport.accepts[side.index()] = accepts;
        self
    }

    /// Both hosts leave out checksums, since the network damages no packets: an eighth less computation. Ignored where packets
    /// are captured, since readers of captures expect checksums.
    #[must_use]
    pub const fn offload_checksums(mut self) -> Self {
        self.transport.checksum_offload = true;
        self
    }

    /// Disables the hash over all packets of a host ([`crate::Tally::trace_hash`]), which saves time where runs are not compared.
    #[must_use]
    pub const fn untraced(mut self) -> Self {
        self.transport.is_traced = false;
        self
    }
}

impl Simulation<Sctp> {
    /// Connects one side to all addresses of the other.
    ///
    /// # Panics
    ///
    /// As [`Simulation::connect`].
    pub fn connect_from(
        &mut self,
        side: Side,
        config: &AssociationConfig,
        conversation: Conversation,
    ) -> AssociationId {
        self.start(side, config.clone(), conversation)
    }

    /// Gives access to the newest association of one side; `None` if there is none.
    pub fn talk<R>(
        &mut self,
        side: Side,
        act: impl FnOnce(&mut Conversation, &mut Association, Instant) -> R,
    ) -> Option<R> {
        let id = self.host(side).associations().next_back()?;
        self.act(side, |host, now| {
            host.talk(now, id, |conversation, association| {
                act(conversation, association, now)
            })
        })
    }

    /// The newest association of one side.
    #[must_use]
    pub fn association(&self, side: Side) -> Option<&Association> {
        self.host(side).newest()
    }

    /// The application on the newest association of one side.
    #[must_use]
    pub fn conversation(&self, side: Side) -> Option<&Conversation> {
        self.host(side).newest_conversation()
    }

    /// Results so far.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        Outcome::of(self)
    }
}
