//! Round-robin path scheduler. Which path is next, if all paths take turns?
//!
//! Source: what FreeBSD's CMT does (`sctp_output.c`), as described in D. Sarnow, "SACK Handling
//! for CMT-SCTP in the FreeBSD Kernel", HAW Hamburg 2017.
//!
//! Idea: an output call begins at the path after the one where the last call began, and fills the cwnd of each path
//! before it goes on to the next. Neither delay nor bandwidth is considered.
//!
//! ```text
//! round begins: start = next path after start that can take data
//! pick:         first path that can take data, counted from start
//! ```

use anabranch_types::{Instant, PathId};

use super::open;
use crate::parameters::NoParameters;
use crate::{Backlog, PathFacts, PathScheduler, Pick, Policy};

/// Round-robin path scheduler.
#[derive(Debug)]
pub struct RoundRobin {
    start: PathId,
    /// A round has begun and its first path is not chosen yet.
    turn: bool,
}

impl RoundRobin {
    /// Creates a scheduler that begins with path 0.
    #[must_use]
    pub const fn new(_: NoParameters) -> Self {
        Self {
            start: PathId(u8::MAX),
            turn: true,
        }
    }
}

impl Policy for RoundRobin {
    fn name(&self) -> &'static str {
        "round-robin"
    }
}

impl PathScheduler for RoundRobin {
    fn pick(&mut self, paths: &[PathFacts], _backlog: &Backlog, _now: Instant) -> Pick {
        let from = self.start.0.wrapping_add(u8::from(self.turn));
        let Some(path) = open(paths).min_by_key(|path| path.id.0.wrapping_sub(from)) else {
            return Pick::Wait { until: None };
        };
        if self.turn {
            self.start = path.id;
            self.turn = false;
        }
        Pick::On(path.id)
    }

    fn on_round(&mut self) {
        self.turn = true;
    }
}
