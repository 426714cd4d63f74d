//! One flow of several paths. How do paths that share a bottleneck share one cwnd?
//!
//! Source: ours, after RFC 8699 (coupled congestion control for RTP media) and ctrlTCP of S. Islam et al., INFOCOM workshops 2018: flows
//! that share a bottleneck are controlled as one.
//!
//! Idea: a group is one flow of the algorithm for single paths, with one state. Each path holds a share of its cwnd. What is acknowledged
//! on any path is acknowledged for the flow, and losses of all paths within a round trip are one loss event.
//!
//! ```text
//! acked:  the flow grows as one path would;  what its cwnd exceeds the sum of the shares goes to the smallest share that is fully used
//! loss:   the flow is cut as one path would be, once for each round trip;  the path that lost pays up to half of its share, and the
//!         others the rest in proportion
//! timeout, idleness: the share of the path is lost, and the others take it as they grow
//! idleness of all:   the flow has been idle as one path would
//! timeouts of all:   the flow is cut as one path would be, once;  it returns from what is left of the shares in slow start
//! ```
//!
//! Shares that move to another flow together keep what they have and what is known of it: the group has another leader, no other cwnd.
//!
//! The path that lost pays most, so that shares differ in time: two queues that only seemed to be one differ, too.

use core::time::Duration;

use anabranch_types::{Instant, PathId};

use super::independent::{Acked, SinglePath};
use super::window::{Utilisation, quantum};
use crate::path_table::PathTable;
use crate::{LossCause, LossEvent, PathFacts};

/// A path's share of the cwnd of its flow.
#[derive(Debug)]
pub(super) struct Share {
    leader: PathId,
    cwnd: u64,
    utilisation: Utilisation,
    /// A timer expired, and nothing has been acknowledged on the path since.
    timed_out: bool,
}

impl Share {
    pub(super) const fn leader(&self) -> PathId {
        self.leader
    }

    pub(super) const fn cwnd(&self) -> u64 {
        self.cwnd
    }

    /// The path is part of the flow of `leader` from now on.
    pub(super) const fn follow(&mut self, leader: PathId) {
        self.leader = leader;
    }

    pub(super) const fn is_full(&self) -> bool {
        self.utilisation.is_full()
    }

    pub(super) const fn timed_out(&self) -> bool {
        self.timed_out
    }

    pub(super) const fn grow(&mut self, bytes: u64) {
        self.cwnd += bytes;
    }

    /// Takes up to `bytes`, so that `floor` are left; returns what was taken.
    pub(super) fn cut(&mut self, bytes: u64, floor: u64) -> u64 {
        let taken = bytes.min(self.cwnd.saturating_sub(floor));
        self.cwnd -= taken;
        taken
    }
}

/// One flow.
#[derive(Debug)]
pub(super) struct Flow<S> {
    state: S,
    members: usize,
    /// The sum of all shares.
    granted: u64,
    cut_at: Option<Instant>,
    acked_at: Option<Instant>,
    /// How long a path was idle that sends again, until the next acknowledgement says whether the flow was.
    idle: Option<Duration>,
}

/// The flows of several paths, by the path that leads each.
#[derive(Debug)]
pub(super) struct Flows<A: SinglePath>(PathTable<Flow<A::State>>);

impl<S> Flow<S> {
    /// Whether nothing was acknowledged since the flow was cut.
    fn is_silent(&self) -> bool {
        self.cut_at
            .is_some_and(|cut_at| self.acked_at.is_none_or(|acked_at| acked_at <= cut_at))
    }
}

impl<A: SinglePath> Default for Flows<A> {
    fn default() -> Self {
        Self(PathTable::default())
    }
}

impl<A: SinglePath> Flows<A> {
    /// Adds a path with `state` to the flow of `leader`.
    pub(super) fn join(&mut self, leader: PathId, state: &A::State) -> Share {
        let cwnd = A::cwnd(state);
        let flow = Flow {
            state: A::continued(state, cwnd),
            members: 1,
            granted: cwnd,
            cut_at: None,
            acked_at: None,
            idle: None,
        };
        self.merge(leader, flow);
        Share {
            leader,
            cwnd,
            utilisation: Utilisation::default(),
            timed_out: false,
        }
    }

    /// `part` is the flow of `leader` from now on, or part of it. Two flows become one with the larger cwnd of both.
    pub(super) fn merge(&mut self, leader: PathId, part: Flow<A::State>) {
        let Some(flow) = self.0.of_mut(leader) else {
            self.0.insert(leader, part);
            return;
        };
        flow.state = A::continued(&flow.state, flow.granted.max(part.granted));
        flow.members += part.members;
        flow.granted += part.granted;
        flow.cut_at = flow.cut_at.max(part.cut_at);
        flow.acked_at = flow.acked_at.max(part.acked_at);
    }

    /// Removes so many shares of `bytes` from the flow of `leader`. Returns the flow that they are: the same one if no other is left.
    pub(super) fn part(&mut self, leader: PathId, members: usize, bytes: u64) -> Option<Flow<A::State>> {
        let flow = self.0.of_mut(leader)?;
        if members >= flow.members {
            return self.0.remove(leader);
        }
        let part = Flow {
            state: A::continued(&flow.state, bytes),
            members,
            granted: bytes,
            ..*flow
        };
        flow.members -= members;
        flow.granted = flow.granted.saturating_sub(bytes);
        flow.state = A::continued(&flow.state, flow.granted);
        Some(part)
    }

    /// What all shares of the flow of `leader` exceed its cwnd by.
    pub(super) fn excess(&self, leader: PathId) -> u64 {
        let flow = self.0.of(leader);
        flow.map_or(0, |flow| flow.granted.saturating_sub(A::cwnd(&flow.state)))
    }

    /// Removes a share. Returns the state with which its path continues alone.
    pub(super) fn leave(&mut self, share: &Share) -> Option<A::State> {
        let alone = self.part(share.leader, 1, share.cwnd)?;
        Some(A::continued(&alone.state, share.cwnd))
    }

    /// Returns by how much a share of the flow may grow.
    pub(super) fn on_ack(&mut self, algorithm: &A, share: &mut Share, acked: Acked<'_>) -> u64 {
        let Some(flow) = self.0.of_mut(share.leader) else {
            return 0;
        };
        let raised = quantum(acked.path).saturating_sub(share.cwnd);
        share.cwnd += raised;
        flow.granted += raised;
        let full = share.utilisation.was_full(share.cwnd, acked.ack, acked.path);
        let round_trip = acked.path.srtt().unwrap_or_default();
        let recovers = flow.cut_at.is_some_and(|cut_at| acked.now - cut_at < round_trip);
        let since = flow
            .acked_at
            .map_or(Duration::ZERO, |acked_at| acked.now - acked_at);
        if let Some(idle) = flow.idle.take() {
            algorithm.on_idle(&mut flow.state, acked.path, idle.min(since));
        }
        if acked.ack.newly_acked > 0 {
            flow.acked_at = Some(acked.now);
            share.timed_out = false;
        }
        let acked = acked.judged(full, recovers);
        algorithm.on_ack(&mut flow.state, &acked);
        if !full || !acked.may_grow {
            return 0;
        }
        let spare = A::cwnd(&flow.state).saturating_sub(flow.granted);
        let growth = spare.min(acked.ack.newly_acked);
        flow.granted += growth;
        growth
    }

    /// Cuts the share of the path that lost. Returns by how much those of the others are to be cut. `others_timed_out` says whether
    /// none of them has delivered anything since its timer expired.
    pub(super) fn on_loss(
        &mut self,
        algorithm: &A,
        share: &mut Share,
        loss: &LossEvent,
        (path, now): (&PathFacts, Instant),
        others_timed_out: bool,
    ) -> u64 {
        let Some(flow) = self.0.of_mut(share.leader) else {
            return 0;
        };
        let floor = quantum(path);
        let round_trip = path.srtt().unwrap_or_default();
        let is_timeout = loss.cause == LossCause::Timeout;
        let repeats = is_timeout && share.timed_out;
        share.timed_out |= is_timeout;
        // A timeout after a timeout says nothing new (RFC 5681 §3.1), and nor does one while nothing shows what the last cut has left.
        let restarts = is_timeout && flow.is_silent();
        let is_later = flow.cut_at.is_none_or(|cut_at| now - cut_at > round_trip);
        let is_new = is_later && !repeats && !restarts;
        let mut excess = 0;
        if is_new {
            flow.cut_at = Some(now);
            // A timeout on one path says less of the others, unless it is the last one that delivered.
            let cause = match loss.cause {
                LossCause::Timeout if !others_timed_out => LossCause::FastRetransmit,
                cause => cause,
            };
            algorithm.on_loss(&mut flow.state, &LossEvent { cause, ..*loss }, path);
            excess = flow.granted.saturating_sub(A::cwnd(&flow.state));
        }
        let taken = match loss.cause {
            LossCause::Timeout => share.cut(u64::MAX, floor),
            _ => share.cut(excess.min(share.cwnd / 2), floor),
        };
        flow.granted = flow.granted.saturating_sub(taken);
        if restarts {
            A::on_burst_limit(&mut flow.state, flow.granted);
        }
        share.utilisation = Utilisation::default();
        excess.saturating_sub(taken)
    }

    /// `bytes` were taken from shares of the flow of `leader`.
    pub(super) fn took(&mut self, leader: PathId, bytes: u64) {
        if let Some(flow) = self.0.of_mut(leader) {
            flow.granted = flow.granted.saturating_sub(bytes);
        }
    }

    /// Halves the share of an idle path once per RTO, down to four full chunks. The flow is idle if no other path delivers meanwhile.
    pub(super) fn on_idle(&mut self, share: &mut Share, path: &PathFacts, idle: Duration) {
        let periods = idle.as_nanos() / path.rto().as_nanos().max(1);
        let left = share.cwnd >> periods.min(63);
        let floor = share.cwnd.min(4 * quantum(path));
        self.limit(share, left.max(floor));
        if let Some(flow) = self.0.of_mut(share.leader) {
            flow.idle = Some(flow.idle.map_or(idle, |other| other.min(idle)));
        }
    }

    /// Reduces a share to `limit`.
    pub(super) fn limit(&mut self, share: &mut Share, limit: u64) {
        let taken = share.cut(share.cwnd.saturating_sub(limit), 0);
        self.took(share.leader, taken);
    }
}

#[cfg(test)]
mod tests;
