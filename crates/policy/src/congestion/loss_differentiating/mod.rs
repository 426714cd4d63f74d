//! Loss-differentiating congestion control: CUBIC, and BBR with a loss floor on paths whose losses are random.
//!
//! Source: ours. What distinguishes losses is that of TCP Veno (Fu and Liew 2003); both algorithms are those of `cubic` and `bbr`.
//!
//! Idea: a loss-based window is fair beside others of its kind, and wastes a path whose losses do not depend on what is in flight.
//! A model of the path uses such a path, and takes more than its share where losses do depend on it. So each path has the first until
//! its losses come without a queue, twice or more in a row, and then the second, until they come with one.
//!
//! ```text
//! no queue: mean RTT ≤ least mean RTT + min(3 chunks · RTT / flight, clamp(RTT / 8, 4 ms, 16 ms)) + two standard errors of both means
//! cubic → bbr:  losses in a row without a queue, with at least half of the cwnd in flight: two if one of the last four RTTs is as short
//!               at each of them, four if at none
//! bbr → cubic:  a loss event with a queue, while the loss floor p is so low that √(3 / 2p) chunks are no less than rate · min RTT;
//!               or an ECN mark
//! ```
//!
//! While short queues are wanted, all paths have the model, whatever their losses say.
//!
//! A path that changes to `bbr` begins in Startup with its cwnd; one that changes to `cubic` in congestion avoidance with its flight.

mod evidence;

use alloc::boxed::Box;
use core::num::NonZeroU64;
use core::time::Duration;

use anabranch_types::{Instant, PathId};

use self::evidence::Evidence;
use super::bbr::{Bbr, BbrParameters};
use super::cubic::{Cubic, CubicParameters};
use crate::parameters::{Parameter, Parameters, Slot};
use crate::path_set::PathSet;
use crate::path_table::PathTable;
use crate::{
    AckSample, CongestionControl, LossCause, LossEvent, LostPackets, PathFacts, Policy, SentPacket,
    path_facts,
};

/// Parameters of [`LossDifferentiating`]: those of CUBIC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LossDifferentiatingParameters(pub CubicParameters);

impl LossDifferentiatingParameters {
    /// The default values.
    pub const DEFAULT: Self = Self(CubicParameters::DEFAULT);
}

impl Default for LossDifferentiatingParameters {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Parameters for LossDifferentiatingParameters {
    const LIST: &'static [Parameter] = CubicParameters::LIST;

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        self.0.slot(name)
    }
}

/// CUBIC or BBR on each path, by what its losses say.
#[derive(Debug)]
pub struct LossDifferentiating {
    by_loss: Cubic,
    /// The paths whose losses are random; each path is in one of both.
    by_model: Bbr,
    /// From the first acknowledgement on: most associations are idle.
    evidence: PathTable<Box<Evidence>>,
    /// While queues are to be short, the paths that have the model for that only.
    for_latency: Option<Box<PathSet>>,
}

impl LossDifferentiating {
    /// Creates a controller without paths.
    #[must_use]
    pub fn new(parameters: LossDifferentiatingParameters) -> Self {
        let model = BbrParameters {
            smoothed_rtt: true,
            loss_floor: true,
            ..BbrParameters::DEFAULT
        };
        Self {
            by_loss: Cubic::new(parameters.0),
            by_model: Bbr::new(model),
            evidence: PathTable::default(),
            for_latency: None,
        }
    }

    fn is_for_latency(&self, path: PathId) -> bool {
        let paths = self.for_latency.as_ref();
        paths.is_some_and(|paths| paths.contains(path))
    }

    fn has_model(&self, path: PathId) -> bool {
        self.by_model.state(path).is_some()
    }

    fn shorten_queues(&mut self, paths: &[PathFacts], now: Instant) {
        let mut shortened = PathSet::default();
        for path in paths {
            if self.has_model(path.id) {
                continue;
            }
            let least = self.evidence.of(path.id).and_then(|evidence| evidence.least());
            self.by_loss.remove_path(path.id);
            self.by_model.take_over_and_drain(path, least, now);
            shortened.insert(path.id);
        }
        self.for_latency = Some(Box::new(shortened));
    }

    fn end_short_queue(&mut self, path: &PathFacts, now: Instant) {
        self.by_model.remove_path(path.id);
        // A flight that the application limits says nothing about the path.
        match 2 * path.in_flight < path.cwnd {
            true => self.by_loss.add_path(path, now),
            false => self.by_loss.take_over(path, now),
        }
    }

    /// Changes the algorithm of `path` if this loss says so. Returns whether it has.
    fn differentiate(&mut self, loss: &LossEvent, path: &PathFacts, now: Instant) -> bool {
        if self.is_for_latency(path.id) {
            return false;
        }
        if !self.has_model(path.id) {
            let counts = loss.cause == LossCause::FastRetransmit;
            let evidence = self.evidence.of_mut(path.id).filter(|_| counts);
            if evidence.is_some_and(|evidence| evidence.on_loss(path)) {
                self.by_loss.remove_path(path.id);
                self.by_model.take_over(path, now);
            }
            return self.has_model(path.id);
        }
        let is_congestion = match loss.cause {
            LossCause::Mark => true,
            LossCause::FastRetransmit => self.by_model.meets_congestion(path.id),
            LossCause::Timeout | LossCause::Reschedule => false,
        };
        if is_congestion {
            self.by_model.remove_path(path.id);
            self.by_loss.take_over(path, now);
            if let Some(evidence) = self.evidence.of_mut(path.id) {
                evidence.forget_losses(now);
            }
        }
        is_congestion
    }
}

impl Policy for LossDifferentiating {
    fn name(&self) -> &'static str {
        "loss-differentiating"
    }
}

impl CongestionControl for LossDifferentiating {
    fn add_path(&mut self, path: &PathFacts, now: Instant) {
        match &mut self.for_latency {
            Some(paths) => {
                paths.insert(path.id);
                self.by_model.take_over_and_drain(path, None, now);
            }
            None => self.by_loss.add_path(path, now),
        }
    }

    fn remove_path(&mut self, path: PathId) {
        if let Some(paths) = &mut self.for_latency {
            paths.remove(path);
        }
        self.by_loss.remove_path(path);
        self.by_model.remove_path(path);
        self.evidence.remove(path);
    }

    fn on_ack(&mut self, ack: &AckSample<'_>, paths: &[PathFacts], now: Instant) {
        self.by_loss.on_ack(ack, paths, now);
        self.by_model.on_ack(ack, paths, now);
        for ack in ack.paths {
            let Some(path) = path_facts(paths, ack.path).filter(|path| !self.has_model(path.id)) else {
                continue;
            };
            if self.evidence.of(path.id).is_none() {
                self.evidence.insert(path.id, Box::new(Evidence::new(now)));
            }
            if let Some(evidence) = self.evidence.of_mut(path.id) {
                evidence.on_ack(ack, path, now);
            }
        }
    }

    fn on_loss(&mut self, loss: &LossEvent, paths: &[PathFacts], now: Instant) {
        if let Some(path) = path_facts(paths, loss.path)
            && self.differentiate(loss, path, now)
        {
            self.by_loss.on_bottlenecks(paths);
        }
        self.by_loss.on_loss(loss, paths, now);
        self.by_model.on_loss(loss, paths, now);
    }

    fn on_bottlenecks(&mut self, paths: &[PathFacts]) {
        self.by_loss.on_bottlenecks(paths);
    }

    fn set_low_latency(&mut self, low_latency: bool, paths: &[PathFacts], now: Instant) {
        if low_latency == self.for_latency.is_some() {
            return;
        }
        match self.for_latency.take() {
            None => self.shorten_queues(paths, now),
            Some(shortened) => paths
                .iter()
                .filter(|path| shortened.contains(path.id))
                .for_each(|path| self.end_short_queue(path, now)),
        }
        self.by_loss.on_bottlenecks(paths);
    }

    fn on_idle(&mut self, path: &PathFacts, idle: Duration) {
        self.by_loss.on_idle(path, idle);
        self.by_model.on_idle(path, idle);
    }

    fn on_burst_limit(&mut self, path: PathId, limit: u64) {
        self.by_loss.on_burst_limit(path, limit);
        self.by_model.on_burst_limit(path, limit);
    }

    fn measures_rates(&self) -> bool {
        self.by_model.measures_rates()
    }

    fn may_measure_rates(&self) -> bool {
        true
    }

    fn on_sent(&mut self, sent: &SentPacket, path: &PathFacts, now: Instant) {
        self.by_model.on_sent(sent, path, now);
    }

    fn on_lost(&mut self, lost: &LostPackets, path: &PathFacts, now: Instant) {
        self.by_model.on_lost(lost, path, now);
    }

    fn on_application_limited(&mut self, path: &PathFacts) {
        self.by_model.on_application_limited(path);
    }

    fn pacing_rate(&self, path: PathId) -> Option<NonZeroU64> {
        self.by_model.pacing_rate(path)
    }

    // A path is unknown to one of both, whose cwnd is then 0 and whose ssthresh is unset.
    fn cwnd(&self, path: PathId) -> u64 {
        self.by_loss.cwnd(path).max(self.by_model.cwnd(path))
    }

    fn ssthresh(&self, path: PathId) -> u64 {
        self.by_loss.ssthresh(path).min(self.by_model.ssthresh(path))
    }
}

#[cfg(test)]
mod tests;
