//! Reading of an association: what its statistics say that the live view shows.

use std::net::SocketAddr;
use std::time::Duration;

use anabranch::{AssociationStatistics, PathPreference, PathStatistics, Reachability};

/// State and counters of an association.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Reading {
    /// Bytes that wait to be sent for the first time.
    pub(crate) unsent: u64,
    /// The peer's receive window, less outstanding bytes.
    pub(crate) peer_window: u64,
    pub(crate) paths: Vec<PathReading>,
}

/// State and counters of a path. Bytes count user data.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct PathReading {
    pub(crate) path: u64,
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    pub(crate) reachability: Reachability,
    pub(crate) primary: bool,
    pub(crate) preference: PathPreference,
    /// It carries nothing, because a path of smaller cost is active.
    pub(crate) resting: bool,
    pub(crate) mtu: u16,
    pub(crate) srtt: Option<Duration>,
    pub(crate) min_rtt: Option<Duration>,
    pub(crate) cwnd: u64,
    pub(crate) in_flight: u64,
    pub(crate) pacing_limited: bool,
    /// Sent for the first time.
    pub(crate) sent: u64,
    /// Sent again, duplicates of chunks on other paths included.
    pub(crate) retransmitted: u64,
    pub(crate) received: u64,
    pub(crate) sent_chunks: u64,
    pub(crate) lost_chunks: u64,
    pub(crate) timeouts: u64,
}

impl From<&AssociationStatistics> for Reading {
    fn from(statistics: &AssociationStatistics) -> Self {
        Self {
            unsent: statistics
                .send_buffer_used
                .saturating_sub(statistics.send_buffer_sent),
            peer_window: statistics.peer_window,
            paths: statistics.paths.iter().map(PathReading::from).collect(),
        }
    }
}

impl From<&PathStatistics> for PathReading {
    fn from(path: &PathStatistics) -> Self {
        let counters = path.counters;
        Self {
            path: path.id.0.into(),
            local: path.addr.local,
            remote: path.addr.remote,
            reachability: path.reachability,
            primary: path.primary,
            preference: path.preference,
            resting: path.resting,
            mtu: path.mtu,
            srtt: path.srtt,
            min_rtt: path.min_rtt,
            cwnd: path.cwnd,
            in_flight: path.in_flight,
            pacing_limited: path.pacing_limited,
            sent: counters.payload_sent,
            retransmitted: counters.payload_retransmitted + counters.payload_duplicated,
            received: counters.payload_received,
            sent_chunks: path.sent_chunks,
            lost_chunks: path.lost_chunks,
            timeouts: counters.timeouts,
        }
    }
}
