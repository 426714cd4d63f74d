//! Handover between BBR and a loss-based congestion control. How does a model begin on a path in use, and when do losses say
//! congestion again?
//!
//! Source: ours; M. Mathis et al., "The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm", 1997, for the cwnd that
//! losses leave.

use anabranch_types::{Instant, PathId};

use super::super::modelled::PathModel;
use super::{Bbr, BbrState};
use crate::PathFacts;

impl Bbr {
    /// Adds `path`, which another congestion control has used: Startup begins with its cwnd.
    pub(in crate::congestion) fn take_over(&mut self, path: &PathFacts, now: Instant) {
        let mut state = self.algorithm().start(path, now);
        state.begin_with(path);
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

    fn meets_congestion(&self) -> bool {
        let product = self.product(self.max_rate(), 100);
        let floor = self.loss_floor.as_ref();
        !self.min_rtt.is_at_floor() && floor.is_some_and(|floor| floor.lets_reno_fill(product, self.chunk))
    }
}
