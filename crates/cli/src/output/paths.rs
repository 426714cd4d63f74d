//! Path reports: addresses, state, counters, and the rate since the previous report.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anabranch::{Association, PathStatistics, Reachability};
use serde::Serialize;

/// State of a path.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct PathReport {
    pub(crate) path: u64,
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    pub(crate) state: &'static str,
    /// The state in plain words, for users.
    pub(crate) description: &'static str,
    /// Whether it carries nothing, because a path of smaller cost is active.
    pub(crate) resting: bool,
    pub(crate) cost: u8,
    /// What it may carry in each direction; `None` for no limit.
    pub(crate) limit_bit_s: Option<u64>,
    pub(crate) primary: bool,
    /// Largest IP packet sent, in bytes.
    pub(crate) mtu: u16,
    /// Smoothed RTT with microsecond precision; `None` before the first measurement.
    pub(crate) rtt_ms: Option<f64>,
    pub(crate) cwnd_bytes: u64,
    pub(crate) payload_sent: u64,
    pub(crate) payload_retransmitted: u64,
    /// Of redundant streams: what was sent on other paths first.
    pub(crate) payload_duplicated: u64,
    pub(crate) payload_received: u64,
    /// Rate of user data in both directions since the previous report, retransmissions included; zero in the first.
    pub(crate) rate_bit_s: f64,
}

impl PathReport {
    fn new(statistics: &PathStatistics) -> Self {
        let counters = statistics.counters;
        Self {
            path: statistics.id.0.into(),
            local: statistics.addr.local,
            remote: statistics.addr.remote,
            state: state_name(statistics.reachability),
            description: describe(statistics),
            resting: statistics.resting,
            cost: statistics.preference.cost,
            limit_bit_s: statistics
                .preference
                .limit
                .map(|limit| limit.get().saturating_mul(8)),
            primary: statistics.primary,
            mtu: statistics.mtu,
            rtt_ms: statistics.srtt.map(|srtt| srtt.as_micros() as f64 / 1e3),
            cwnd_bytes: statistics.cwnd,
            payload_sent: counters.payload_sent,
            payload_retransmitted: counters.payload_retransmitted,
            payload_duplicated: counters.payload_duplicated,
            payload_received: counters.payload_received,
            rate_bit_s: 0.0,
        }
    }

    /// The paths of an association, without rates.
    pub(crate) fn all(association: &Association) -> Vec<Self> {
        let statistics = association.statistics();
        statistics.paths.iter().map(Self::new).collect()
    }

    /// User data sent and received over the path.
    pub(crate) const fn carried(&self) -> u64 {
        self.payload_sent + self.payload_retransmitted + self.payload_duplicated + self.payload_received
    }
}

/// Description of a path that carries data.
pub(crate) const WORKS: &str = "works";

const fn describe(path: &PathStatistics) -> &'static str {
    let counters = &path.counters;
    let carried = counters.payload_sent + counters.payload_retransmitted + counters.payload_received;
    match path.reachability {
        Reachability::Unconfirmed => "never answered",
        Reachability::Active if path.resting => "works, rests",
        Reachability::Active if carried == 0 => "works, was not needed",
        Reachability::Active => WORKS,
        Reachability::PotentiallyFailed => "does not answer at the moment",
        Reachability::Inactive => "failed",
    }
}

pub(crate) const fn state_name(reachability: Reachability) -> &'static str {
    match reachability {
        Reachability::Unconfirmed => "unconfirmed",
        Reachability::Active => "active",
        Reachability::PotentiallyFailed => "potentially-failed",
        Reachability::Inactive => "inactive",
    }
}

/// Computes path reports with rates.
#[derive(Debug)]
pub(crate) struct PathMonitor {
    last: Vec<PathReport>,
    updated: Instant,
}

impl PathMonitor {
    /// Takes the first report, without rates.
    pub(crate) fn start(association: &Association) -> Self {
        Self {
            last: PathReport::all(association),
            updated: Instant::now(),
        }
    }

    /// The latest report.
    pub(crate) fn latest(&self) -> &[PathReport] {
        &self.last
    }

    /// Takes a report, with rates since the previous one.
    pub(crate) fn update(&mut self, association: &Association) -> &[PathReport] {
        let since = self.updated.elapsed();
        self.updated = Instant::now();
        self.last = with_rates(PathReport::all(association), &self.last, since);
        self.latest()
    }
}

/// What the paths have carried between two reports.
pub(crate) fn paths_between(now: &[PathReport], before: &[PathReport], since: Duration) -> Vec<PathReport> {
    let mut paths = with_rates(now.to_vec(), before, since);
    for path in &mut paths {
        if let Some(before) = before.iter().find(|known| known.path == path.path) {
            path.payload_sent = path.payload_sent.saturating_sub(before.payload_sent);
            path.payload_received = path.payload_received.saturating_sub(before.payload_received);
            path.payload_retransmitted = path
                .payload_retransmitted
                .saturating_sub(before.payload_retransmitted);
        }
    }
    paths
}

/// A report with rates since `began`.
pub(crate) fn paths_since(association: &Association, began: Instant) -> Vec<PathReport> {
    with_rates(PathReport::all(association), &[], began.elapsed())
}

fn with_rates(mut paths: Vec<PathReport>, last: &[PathReport], since: Duration) -> Vec<PathReport> {
    for path in &mut paths {
        let before = last
            .iter()
            .find(|known| known.path == path.path)
            .map_or(0, PathReport::carried);
        let bits = path.carried().saturating_sub(before) as f64 * 8.0;
        path.rate_bit_s = (bits / since.as_secs_f64().max(1e-9)).round();
    }
    paths
}
