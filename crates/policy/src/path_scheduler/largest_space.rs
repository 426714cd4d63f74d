//! Largest-window-space path scheduler. Which path has the most unused cwnd?
//!
//! Source: "largest window space" of B. Arzani et al., "Impact of path characteristics and scheduling policies on
//! MPTCP performance", WAINA 2014.
//!
//! Idea: the path whose cwnd is farthest from full can take the most before it queues. Delay is not considered, so
//! data spreads over all paths in proportion to their cwnd.
//!
//! ```text
//! among paths that can take data: largest (cwnd − in flight); ties: smallest srtt, then id
//! ```

use core::cmp::Reverse;

use anabranch_types::Instant;

use super::open;
use crate::parameters::NoParameters;
use crate::{Backlog, PathFacts, PathScheduler, Pick, Policy};

/// Largest-window-space path scheduler.
#[derive(Debug, Default)]
pub struct LargestSpace;

impl LargestSpace {
    /// Creates the scheduler.
    #[must_use]
    pub const fn new(_: NoParameters) -> Self {
        Self
    }
}

impl Policy for LargestSpace {
    fn name(&self) -> &'static str {
        "largest-space"
    }
}

impl PathScheduler for LargestSpace {
    fn pick(&mut self, paths: &[PathFacts], _backlog: &Backlog, _now: Instant) -> Pick {
        let space = |path: &PathFacts| path.cwnd.saturating_sub(path.in_flight);
        open(paths)
            .min_by_key(|path| (Reverse(space(path)), path.srtt(), path.id))
            .map_or(Pick::Wait { until: None }, |path| Pick::On(path.id))
    }
}
