//! Connection: socket buffers, and the protocol behind them.
//!
//! Plain TCP has one control block. Multipath TCP has one for each subflow and a data sequence space above them. The application
//! sees no difference, so both have the same socket buffers.

mod commands;
mod plain;
mod socket_buffers;

use alloc::boxed::Box;
use alloc::vec::Vec;

use anabranch_policy::{PathFacts, Reachability, RttEstimator};
use anabranch_types::{Instant, PathId};

use plain::PlainTcp;
pub(crate) use socket_buffers::SocketBuffers;

use crate::TcpConfig;
use crate::endpoint::FourTuple;
use crate::mptcp::{DataStatistics, MptcpConnection, NewSubflow, PendingJoin, TupleChange};
use crate::sequence::SequenceNumber;
use crate::tcb::{CloseReason, ControlBlock, OpenParameters, State, TcpCounters};
use crate::wire::{Key, PrimaryOption, Segment, Token};

/// Connection event.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Event {
    /// The connection is established.
    Connected,
    /// New data can be read.
    Readable,
    /// The send buffer has room again after it was full.
    Writable,
    /// The peer has closed its direction and everything has arrived; the rest can still be read.
    PeerFinished,
    /// A further subflow is established on its own path.
    PathOpened(PathId),
    /// A subflow has closed; the connection continues.
    PathClosed(PathId, CloseReason),
    /// The connection is closed.
    Closed(CloseReason),
}

/// A TCP or Multipath TCP connection.
#[derive(Debug)]
pub struct Connection {
    config: TcpConfig,
    buffers: SocketBuffers,
    protocol: Protocol,
}

/// The protocol behind the socket buffers.
#[derive(Debug)]
enum Protocol {
    /// Plain TCP.
    Tcp(Box<PlainTcp>),
    /// Multipath TCP.
    Mptcp(Box<MptcpConnection>),
}

/// Statistics of a connection.
#[derive(Clone, Debug)]
pub struct ConnectionStatistics {
    /// TCP state.
    pub state: State,
    /// Counters, summed over all subflows.
    pub counters: TcpCounters,
    /// Bytes received in order.
    pub bytes_received: u64,
    /// Bytes received that wait for a gap before them.
    pub out_of_order_bytes: u64,
    /// Bytes of the send buffer in use.
    pub send_buffer_used: u64,
    /// Bytes of the send buffer that were sent: the retransmission queue.
    pub send_buffer_sent: u64,
    /// Capacity of the send buffer.
    pub send_buffer_size: u64,
    /// Round-trip time, window and more, of the first subflow.
    pub facts: PathFacts,
    /// Counters at data level, for Multipath TCP.
    pub data: Option<DataStatistics>,
}

/// Parameters of a new connection.
pub(crate) struct NewConnection {
    pub(crate) tuple: FourTuple,
    pub(crate) iss: SequenceNumber,
    pub(crate) config: TcpConfig,
}

/// Path facts of a subflow before its handshake.
pub(crate) fn initial_facts(parameters: &OpenParameters, config: &TcpConfig) -> PathFacts {
    let rtt = RttEstimator::new(config.rto());
    let mut facts = PathFacts::new(parameters.id, config.mtu, parameters.mss, rtt);
    facts.reachability = Reachability::Unconfirmed;
    facts
}

impl Connection {
    /// Creates a connection that sends a SYN. `key` is called for Multipath TCP only.
    pub(crate) fn connect(new_connection: NewConnection, key: impl FnOnce() -> Key) -> Self {
        let protocol = match &new_connection.config.mptcp {
            None => Protocol::Tcp(Box::new(PlainTcp::new(&new_connection, ControlBlock::connect))),
            Some(settings) => Protocol::Mptcp(Box::new(MptcpConnection::connect(
                &new_connection,
                settings,
                key(),
            ))),
        };
        Self::new(new_connection.config, protocol)
    }

    /// Creates a connection that answers `syn`; `None` if that lacks a required option.
    pub(crate) fn accept(
        new_connection: NewConnection,
        syn: &Segment<'_>,
        key: impl FnOnce() -> Key,
    ) -> Option<Self> {
        let protocol = match &new_connection.config.mptcp {
            None => {
                let tcb = |parameters, config: &TcpConfig| ControlBlock::accept(parameters, syn, config);
                Protocol::Tcp(Box::new(PlainTcp::new(&new_connection, tcb)))
            }
            Some(settings) if matches!(syn.options.mptcp.primary, Some(PrimaryOption::MpCapable(_))) => {
                Protocol::Mptcp(Box::new(MptcpConnection::accept(
                    &new_connection,
                    settings,
                    key(),
                    syn,
                )))
            }
            Some(_) => return None,
        };
        Some(Self::new(new_connection.config, protocol))
    }

    fn new(config: TcpConfig, protocol: Protocol) -> Self {
        Self {
            buffers: SocketBuffers::new(&config),
            config,
            protocol,
        }
    }

    /// Addresses of its first subflow.
    pub(crate) fn tuple(&self) -> FourTuple {
        match &self.protocol {
            Protocol::Tcp(tcp) => tcp.tuple(),
            Protocol::Mptcp(mptcp) => mptcp.tuple(),
        }
    }

    /// Addresses of all its subflows.
    pub(crate) fn tuples(&self) -> Vec<FourTuple> {
        match &self.protocol {
            Protocol::Tcp(tcp) => [tcp.tuple()].into(),
            Protocol::Mptcp(mptcp) => mptcp.paths().map(|path| path.tuple).collect(),
        }
    }

    /// Token that further subflows use to join it, if it may have any.
    pub(crate) fn token(&self) -> Option<Token> {
        match &self.protocol {
            Protocol::Tcp(_) => None,
            Protocol::Mptcp(mptcp) => Some(mptcp.token()),
        }
    }

    /// Whether the connection is closed, apart from data that the application has not read.
    pub(crate) fn is_gone(&self) -> bool {
        match &self.protocol {
            Protocol::Tcp(tcp) => tcp.is_gone(),
            Protocol::Mptcp(mptcp) => mptcp.is_gone(),
        }
    }

    /// Addresses that its subflows acquired or released, in order.
    pub(crate) fn next_tuple_change(&mut self) -> Option<TupleChange> {
        match &mut self.protocol {
            Protocol::Tcp(_) => None,
            Protocol::Mptcp(mptcp) => mptcp.next_tuple_change(),
        }
    }

    /// A further subflow to be opened now.
    pub(crate) fn next_pending_join(&mut self, now: Instant) -> Option<PendingJoin> {
        match &mut self.protocol {
            Protocol::Tcp(_) => None,
            Protocol::Mptcp(mptcp) => mptcp.next_pending_join(now),
        }
    }

    /// Opens a further subflow.
    pub(crate) fn join(&mut self, new_subflow: NewSubflow) {
        if let Protocol::Mptcp(mptcp) = &mut self.protocol {
            mptcp.join(new_subflow, &self.config);
        }
    }

    /// Accepts a further subflow that the peer opens with `syn`. Returns whether it is accepted.
    pub(crate) fn accept_join(&mut self, new_subflow: NewSubflow, syn: &Segment<'_>) -> bool {
        match &mut self.protocol {
            Protocol::Tcp(_) => false,
            Protocol::Mptcp(mptcp) => mptcp.accept_join(new_subflow, syn, &self.config),
        }
    }

    /// Processes a segment of a subflow of this connection. Returns whether it must be answered by a reset.
    pub(crate) fn handle_segment(&mut self, now: Instant, path: PathId, segment: &Segment<'_>) -> bool {
        self.begin_burst();
        let Self {
            config,
            buffers,
            protocol,
        } = self;
        match protocol {
            Protocol::Tcp(tcp) => tcp.handle_segment(now, segment, buffers, config),
            Protocol::Mptcp(mptcp) => mptcp.handle_segment(now, path, segment, buffers, config),
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.begin_burst();
        let Self {
            config,
            buffers,
            protocol,
        } = self;
        match protocol {
            Protocol::Tcp(tcp) => tcp.handle_timeout(now, buffers, config),
            Protocol::Mptcp(mptcp) => mptcp.handle_timeout(now, buffers, config),
        }
    }

    /// A transmission opportunity: the segments sent until the next one form one burst.
    fn begin_burst(&mut self) {
        match &mut self.protocol {
            Protocol::Tcp(tcp) => tcp.policies.burst.on_transmission_opportunity(),
            Protocol::Mptcp(mptcp) => mptcp.policies.burst.on_transmission_opportunity(),
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        match &self.protocol {
            Protocol::Tcp(tcp) => tcp.tcb().deadline(),
            Protocol::Mptcp(mptcp) => mptcp.deadline(),
        }
    }

    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        self.buffers.next_event()
    }

    /// Appends the next segment to `out`, without checksum, and returns its addresses; `None` if there is none now.
    pub(crate) fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<FourTuple> {
        let Self {
            config,
            buffers,
            protocol,
        } = self;
        match protocol {
            Protocol::Tcp(tcp) => {
                let left = tcp.poll_transmit(now, buffers, config, out);
                left.then(|| tcp.tuple())
            }
            Protocol::Mptcp(mptcp) => mptcp.poll_transmit(now, buffers, config, out),
        }
    }
}
