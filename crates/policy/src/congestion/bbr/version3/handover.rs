//! Handover between BBR and a loss-based congestion control. How does a model begin on a path in use, and when do losses say
//! congestion again?
//!
//! Source: ours; M. Mathis et al., "The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm", 1997, for the cwnd that
//! losses leave.

use core::time::Duration;

use anabranch_types::{Instant, PathId};

use super::super::modelled::PathModel;
use super::{Bbr, BbrState, Phase, rate_of};
use crate::PathFacts;

impl Bbr {
    /// Adds `path`, which another congestion control has used: Startup begins with its cwnd.
    pub(in crate::congestion) fn take_over(&mut self, path: &PathFacts, now: Instant) {
        let mut state = self.algorithm().start(path, now);
        state.begin_with(path);
        self.insert(path.id, state, now);
    }

    /// Adds `path`, whose queue is to be short. Another congestion control may have filled it: then Drain begins with the rate that it has,
    /// and with `least` as its round-trip time without a queue. A path that is not full begins in Startup.
    pub(in crate::congestion) fn take_over_and_drain(
        &mut self,
        path: &PathFacts,
        least: Option<Duration>,
        now: Instant,
    ) {
        let mut state = self.algorithm().start(path, now);
        state.begin_with(path);
        state.short_queues = true;
        if let Some((srtt, least)) = path.srtt().zip(least.or_else(|| path.min_rtt()))
            && 2 * path.in_flight >= path.cwnd
        {
            state.drain_at(rate_of(path.in_flight, srtt), least, now);
        }
        self.insert(path.id, state, now);
    }

    /// Whether losses on `path` come with a queue, and those without one would let a loss-based congestion control fill it.
    pub(in crate::congestion) fn meets_congestion(&self, path: PathId) -> bool {
        self.state(path).is_some_and(BbrState::meets_congestion)
    }
}

impl BbrState {
    fn begin_with(&mut self, path: &PathFacts) {
        self.cwnd = path.cwnd.max(self.chunk);
        self.initial_cwnd = self.cwnd;
        self.pacing_rate = 0;
        self.initial_pacing_rate(path);
    }

    fn drain_at(&mut self, rate: u64, least: Duration, now: Instant) {
        (self.max_rates[0], self.rate) = (rate, rate);
        self.min_rtt.begin_with(least, now);
        self.pipe.reached = true;
        self.phase = Phase::Drain;
        self.drain_began = self.rounds.count;
        self.set_pacing_rate(Phase::Drain.pacing_gain());
    }

    fn meets_congestion(&self) -> bool {
        let product = self.product(self.max_rate(), 100);
        let floor = self.loss_floor.as_ref();
        !self.min_rtt.is_at_floor() && floor.is_some_and(|floor| floor.lets_reno_fill(product, self.chunk))
    }
}
