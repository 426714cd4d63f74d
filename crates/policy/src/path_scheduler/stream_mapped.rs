//! Which path is next, if the stream scheduler has bound streams to paths? Any on which a stream may go.
//!
//! Source: T. Dreibholz et al., "Transmission Scheduling Optimizations for Concurrent Multipath Transfer", PFLDNeT 2010.
//!
//! Idea: nothing is left to choose but the order. A path whose streams have nothing to send has no room, and what a
//! stream has to send goes on its path or not at all, so it never pays to wait for another one.
//!
//! ```text
//! among paths with room: the one whose window is used least; ties by id
//! ```
//!
//! Without a stream scheduler that binds streams it spreads data over paths in proportion to their windows.

use anabranch_types::Instant;

use super::open;
use crate::math::mul_div;
use crate::parameters::NoParameters;
use crate::{Backlog, PathFacts, PathScheduler, Pick, Policy};

/// Any path on which a stream may go, the emptiest one first.
#[derive(Debug, Default)]
pub struct StreamMapped;

impl StreamMapped {
    /// The scheduler.
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
