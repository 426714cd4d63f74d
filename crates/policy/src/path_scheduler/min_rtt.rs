//! Lowest-RTT path scheduler. Which path is fastest and can take data?
//!
//! Source: the default scheduler of MPTCP (RFC 8684 leaves it open; Linux "default").
//!
//! Idea: fill the cwnd of the path with the lowest smoothed RTT, then that of the next one.
//!
//! ```text
//! among paths that can take data: smallest srtt; a path without a sample comes first, to get one; ties by id
//! ```

use anabranch_types::Instant;

use super::{fastest_of, open};
use crate::parameters::NoParameters;
use crate::{Backlog, PathFacts, PathScheduler, Pick, Policy};

/// Lowest-RTT path scheduler.
#[derive(Debug, Default)]
pub struct MinRtt;

impl MinRtt {
    /// Creates the scheduler.
    #[must_use]
    pub const fn new(_: NoParameters) -> Self {
        Self
    }
}

impl Policy for MinRtt {
    fn name(&self) -> &'static str {
        "min-rtt"
    }
}

impl PathScheduler for MinRtt {
    fn pick(&mut self, paths: &[PathFacts], _backlog: &Backlog, _now: Instant) -> Pick {
        fastest_of(open(paths)).map_or(Pick::Wait { until: None }, |path| Pick::On(path.id))
    }
}
