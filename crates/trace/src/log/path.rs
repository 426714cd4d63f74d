//! Path events: the differences between the current and the previous state of each path.

use std::collections::BTreeMap;
use std::time::Duration;

use anabranch_policy::options::RtoParameters;
use anabranch_policy::{PathFacts, Reachability, RttEstimator};
use anabranch_types::{AssociationId, PathAddr, PathId};
use serde::Serialize;

/// Limits of a timeout of zero, from which that of any path differs.
const NO_TIMEOUT: RtoParameters = RtoParameters {
    initial: Duration::ZERO,
    min: Duration::ZERO,
    max: Duration::ZERO,
    margin: Duration::ZERO,
};

/// State of one path.
#[derive(Clone, Copy, Debug)]
pub struct PathView<'a> {
    /// Facts of the core.
    pub facts: &'a PathFacts,
    /// Its addresses.
    pub addr: PathAddr,
    /// Expirations of its T3-rtx timer so far.
    pub timeouts: u64,
    /// Chunks declared lost on it so far because later ones were acknowledged.
    pub fast_retransmits: u64,
    /// Chunks moved to it so far by a chunk-rescheduling policy.
    pub rescheduled: u64,
}

/// State of each path at the previous call.
#[derive(Debug, Default)]
pub(super) struct Known {
    paths: BTreeMap<(AssociationId, PathId), Before>,
}

#[derive(Clone, Debug)]
struct Before {
    facts: PathFacts,
    addr: PathAddr,
    timeouts: u64,
    fast_retransmits: u64,
    rescheduled: u64,
}

/// Data of an event about a path.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Change {
    Added(Ends),
    Moved(Ends),
    Removed { path: u8 },
    State { path: u8, old: State, new: State },
    Primary { path: u8 },
    Phase { path: u8, old: Phase, new: Phase },
    Timer(Timer),
    Lost { path: u8, count: u64, trigger: Trigger },
    Rescheduled { path: u8, count: u64 },
    Metrics(Metrics),
}

#[derive(Debug, Serialize)]
pub(super) struct Ends {
    path: u8,
    local: String,
    remote: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    Unconfirmed,
    Active,
    PotentiallyFailed,
    Inactive,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Phase {
    SlowStart,
    CongestionAvoidance,
    Recovery,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Trigger {
    Reordering,
    Timeout,
}

#[derive(Debug, Serialize)]
pub(super) struct Timer {
    path: u8,
    timer_type: &'static str,
    event_type: &'static str,
    /// New timeout in milliseconds.
    rto: f64,
}

/// Metrics that changed. Times in milliseconds, sizes in bytes.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct Metrics {
    path: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    congestion_window: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ssthresh: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    smoothed_rtt: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rtt_variance: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_rtt: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rto: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_in_flight: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_queued: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_packet: Option<u16>,
}

impl Change {
    /// The name of the event.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Added(_) => "sctp:path_added",
            Self::Moved(_) => "sctp:path_moved",
            Self::Removed { .. } => "sctp:path_removed",
            Self::State { .. } => "sctp:path_state_updated",
            Self::Primary { .. } => "sctp:primary_path_updated",
            Self::Phase { .. } => "sctp:congestion_state_updated",
            Self::Timer(_) => "sctp:timer_updated",
            Self::Lost { .. } => "sctp:chunks_lost",
            Self::Rescheduled { .. } => "sctp:chunks_rescheduled",
            Self::Metrics(_) => "sctp:recovery_metrics_updated",
        }
    }
}

/// Changes since the previous call; replaces the stored state.
pub(super) fn differences(
    known: &mut Known,
    association: AssociationId,
    paths: &[PathView<'_>],
) -> Vec<Change> {
    let mut changes = Vec::new();
    known.paths.retain(|(owner, path), _| {
        let stays = *owner != association || paths.iter().any(|view| view.facts.id == *path);
        if !stays {
            changes.push(Change::Removed { path: path.0 });
        }
        stays
    });
    for view in paths {
        let key = (association, view.facts.id);
        match known.paths.get_mut(&key) {
            Some(before) => {
                compare(before, view, &mut changes);
                before.update(view);
            }
            None => {
                changes.push(Change::Added(ends(view)));
                let blank = PathFacts::new(view.facts.id, 0, 0, RttEstimator::new(NO_TIMEOUT));
                let mut before = Before::of(&PathView {
                    facts: &blank,
                    ..*view
                });
                compare(&before, view, &mut changes);
                before.update(view);
                known.paths.insert(key, before);
            }
        }
    }
    changes
}

impl Before {
    fn of(view: &PathView<'_>) -> Self {
        Self {
            facts: view.facts.clone(),
            addr: view.addr,
            timeouts: view.timeouts,
            fast_retransmits: view.fast_retransmits,
            rescheduled: view.rescheduled,
        }
    }

    fn update(&mut self, view: &PathView<'_>) {
        *self = Self::of(view);
    }
}

fn compare(before: &Before, now: &PathView<'_>, changes: &mut Vec<Change>) {
    let path = now.facts.id.0;
    let (old, new) = (&before.facts, now.facts);
    if before.addr != now.addr {
        changes.push(Change::Moved(ends(now)));
    }
    if old.reachability != new.reachability {
        let (old, new) = (state(old.reachability), state(new.reachability));
        changes.push(Change::State { path, old, new });
    }
    if new.primary && !old.primary {
        changes.push(Change::Primary { path });
    }
    losses(before, now, changes);
    if phase(old) != phase(new) {
        let (old, new) = (phase(old), phase(new));
        changes.push(Change::Phase { path, old, new });
    }
    let metrics = metrics(old, new);
    if metrics
        != (Metrics {
            path,
            ..Metrics::default()
        })
    {
        changes.push(Change::Metrics(metrics));
    }
}

fn losses(before: &Before, now: &PathView<'_>, changes: &mut Vec<Change>) {
    let path = now.facts.id.0;
    let reordered = now.fast_retransmits.saturating_sub(before.fast_retransmits);
    let all = now.facts.lost_chunks.saturating_sub(before.facts.lost_chunks);
    if now.timeouts > before.timeouts {
        changes.push(Change::Timer(Timer {
            path,
            timer_type: "t3_rtx",
            event_type: "expired",
            rto: milliseconds(now.facts.rto()),
        }));
    }
    for (count, trigger) in [
        (reordered, Trigger::Reordering),
        (all.saturating_sub(reordered), Trigger::Timeout),
    ] {
        if count > 0 {
            changes.push(Change::Lost { path, count, trigger });
        }
    }
    let rescheduled = now.rescheduled.saturating_sub(before.rescheduled);
    if rescheduled > 0 {
        changes.push(Change::Rescheduled {
            path,
            count: rescheduled,
        });
    }
}

fn metrics(old: &PathFacts, new: &PathFacts) -> Metrics {
    let time = |old, new: Duration| (old != new).then(|| milliseconds(new));
    let maybe = |old: Option<Duration>, new: Option<Duration>| new.filter(|_| old != new).map(milliseconds);
    let size = |old: u64, new: u64| (old != new).then_some(new);
    // `u64::MAX` stands for no threshold and is not logged.
    let threshold = new.ssthresh;
    Metrics {
        path: new.id.0,
        congestion_window: size(old.cwnd, new.cwnd),
        ssthresh: size(old.ssthresh, threshold).filter(|threshold| *threshold < u64::MAX),
        smoothed_rtt: maybe(old.srtt(), new.srtt()),
        rtt_variance: time(old.rttvar(), new.rttvar()),
        min_rtt: maybe(old.min_rtt(), new.min_rtt()),
        rto: time(old.rto(), new.rto()),
        bytes_in_flight: size(old.in_flight, new.in_flight),
        bytes_queued: size(old.queued, new.queued),
        max_packet: (old.max_packet != new.max_packet).then_some(new.max_packet),
    }
}

fn ends(view: &PathView<'_>) -> Ends {
    Ends {
        path: view.facts.id.0,
        local: view.addr.local.to_string(),
        remote: view.addr.remote.to_string(),
    }
}

const fn state(reachability: Reachability) -> State {
    match reachability {
        Reachability::Unconfirmed => State::Unconfirmed,
        Reachability::Active => State::Active,
        Reachability::PotentiallyFailed => State::PotentiallyFailed,
        Reachability::Inactive => State::Inactive,
    }
}

const fn phase(facts: &PathFacts) -> Phase {
    if facts.in_recovery {
        Phase::Recovery
    } else if facts.cwnd < facts.ssthresh {
        Phase::SlowStart
    } else {
        Phase::CongestionAvoidance
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}
