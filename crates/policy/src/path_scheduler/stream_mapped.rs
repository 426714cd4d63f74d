//! Stream-mapped path scheduler. Which path is next, if the stream scheduler binds streams to paths?
//!
//! Source: T. Dreibholz et al., "Transmission Scheduling Optimizations for Concurrent Multipath Transfer", PFLDNeT 2010.
//!
//! Idea: only the order is left to choose. A path whose streams have nothing to send cannot take data, and the data of a
//! stream is sent on its path or not at all, so waiting for another path never helps.
//!
//! ```text
//! among paths that can take data: the smallest (in flight / cwnd); ties by id
//! ```
//!
//! Without a stream scheduler that binds streams it spreads data over the paths in proportion to their cwnd.

use anabranch_types::Instant;

use super::open;
use crate::math::mul_div;
use crate::parameters::NoParameters;
use crate::{Backlog, PathFacts, PathScheduler, Pick, Policy};

/// Stream-mapped path scheduler: the path with the smallest share of its cwnd in flight first.
#[derive(Debug, Default)]
pub struct StreamMapped;

impl StreamMapped {
    /// Creates the scheduler.
    #[must_use]
    pub const fn new(_: NoParameters) -> Self {
        Self
    }
}

impl Policy for StreamMapped {
    fn name(&self) -> &'static str {
        "stream-mapped"
    }
}

impl PathScheduler for StreamMapped {
    fn pick(&mut self, paths: &[PathFacts], _backlog: &Backlog, _now: Instant) -> Pick {
        let used = |path: &PathFacts| mul_div(path.in_flight, 1_000, path.cwnd.max(1));
        open(paths)
            .min_by_key(|path| (used(path), path.id))
            .map_or(Pick::Wait { until: None }, |path| Pick::On(path.id))
    }
}
