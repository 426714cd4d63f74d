//! State and counters of one host, in one form for SCTP, TCP and real hosts.

use core::ops::AddAssign;
use std::collections::BTreeMap;

use anabranch_netsim::topology::Path;
use anabranch_policy::PathFacts;
use anabranch_types::{Instant, PathAddr};

use crate::app::StreamMeter;
use crate::{Overhead, ProcessorTally, SackStatistics};

/// Windows, buffers and applications of a host at one moment: for SCTP of the newest association, for TCP of all connections.
#[derive(Clone, Debug, Default)]
pub struct HostState {
    /// Applications, one on each association or connection.
    pub applications: u64,
    /// Messages that the applications have read.
    pub messages_read: u64,
    /// Bytes that the applications have read.
    pub bytes_read: u64,
    /// When the last of them was read.
    pub last_read_at: Option<Instant>,
    /// When every peer had closed its direction and everything was read; never over SCTP, which has no half-close.
    pub finished_at: Option<Instant>,
    /// Send buffer of each association or connection.
    pub send_buffers: Vec<SendBufferState>,
    /// Bytes in the receive buffer of each association or connection.
    pub receive_buffers: Vec<u64>,
    /// State of each path of the scenario: one entry for each association or connection that uses it.
    pub paths: Vec<PathState>,
}

/// A send buffer at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SendBufferState {
    /// Bytes in use.
    pub used: u64,
    /// Bytes in use that were sent: the retransmission queue.
    pub sent: u64,
    /// Bytes that the peer's window allows; `None` where it is counted per segment (TCP).
    pub peer_window: Option<u64>,
}

/// One path at one moment.
#[derive(Clone, Debug, Default)]
pub struct PathState {
    /// State of each association or connection on it, and whether its congestion window is full.
    pub facts: Vec<(PathFacts, bool)>,
}

/// All counters of a host. Values that a transport or stack does not count are `None`.
#[derive(Clone, Debug, Default)]
pub struct HostCounters {
    /// Windows, buffers and applications.
    pub state: HostState,
    /// Data sent and received over all paths.
    pub data: DataCounters,
    /// Data sent and received over each path of the scenario.
    pub paths: Vec<DataCounters>,
    /// Data received on each stream of SCTP, or over each connection of TCP.
    pub streams: BTreeMap<u32, StreamMeter>,
    /// Duplicate data received.
    pub duplicates: Option<Duplicates>,
    /// SACKs received (SCTP).
    pub sacks: Option<SackCounters>,
    /// Segments retransmitted (TCP).
    pub segments_retransmitted: Option<u64>,
    /// Data reinjected: sent on one subflow after another had carried it (Multipath TCP).
    pub reinjections: Option<u64>,
    /// Work of the processor, if it has a model.
    pub processor: Option<ProcessorTally>,
    /// Protocol overhead, if counted.
    pub overhead: Option<Overhead>,
}

/// Data on one path, or on all paths, in bytes unless stated otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DataCounters {
    /// Expiries of the retransmission timer.
    pub timeouts: Option<u64>,
    /// Chunks or segments declared lost because later ones were acknowledged.
    pub fast_retransmits: Option<u64>,
    /// Chunks moved to another path by chunk rescheduling (SCTP).
    pub rescheduled: Option<u64>,
    /// Sent, retransmissions included.
    pub sent: Option<u64>,
    /// Retransmitted on the same path.
    pub retransmitted: Option<u64>,
    /// Sent on this path after, or in addition to, another subflow (Multipath TCP).
    pub redundant: u64,
    /// Received, duplicates included.
    pub received: Option<u64>,
}

impl AddAssign for DataCounters {
    fn add_assign(&mut self, other: Self) {
        let add = |sum: &mut Option<u64>, more: Option<u64>| {
            *sum = more.map_or(*sum, |more| Some(sum.unwrap_or(0) + more));
        };
        add(&mut self.timeouts, other.timeouts);
        add(&mut self.fast_retransmits, other.fast_retransmits);
        add(&mut self.rescheduled, other.rescheduled);
        add(&mut self.sent, other.sent);
        add(&mut self.retransmitted, other.retransmitted);
        add(&mut self.received, other.received);
        self.redundant += other.redundant;
    }
}

/// Data received more than once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Duplicates {
    /// Counted in DATA chunks (SCTP).
    Chunks(u64),
    /// Counted in bytes (TCP).
    Bytes(u64),
}

impl Duplicates {
    /// Chunks, or segments of `mss` bytes, received since `before`.
    #[must_use]
    pub fn since(self, before: Option<Self>, mss: u32) -> f64 {
        let count = |duplicates| match duplicates {
            Self::Chunks(count) | Self::Bytes(count) => count,
        };
        let grown = (count(self) - before.map_or(0, count)) as f64;
        match self {
            Self::Chunks(_) => grown,
            Self::Bytes(_) => grown / f64::from(mss),
        }
    }
}

/// SACKs that a host received.
#[derive(Clone, Debug, Default)]
pub struct SackCounters {
    /// Number of SACKs.
    pub received: u64,
    /// Elements of the retransmission queue visited to process them.
    pub elements_visited: u64,
    /// Their contents, if counted.
    pub reported: SackStatistics,
}

/// The one of `paths` that connects these two addresses, in either direction.
pub(crate) fn path_between(paths: &[Path], addr: PathAddr) -> Option<usize> {
    let (local, remote) = (addr.local.ip(), addr.remote.ip());
    paths.iter().position(|path| {
        [path.near_addr, path.far_addr] == [local, remote]
            || [path.far_addr, path.near_addr] == [local, remote]
    })
}
