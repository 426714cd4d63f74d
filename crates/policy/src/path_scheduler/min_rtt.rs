//! Which path is next, if delay matters most? The fastest with room.
//!
//! Source: the default scheduler of MPTCP (RFC 8684 leaves it open; Linux "default").
//!
//! Idea: fill the window of the path with the lowest smoothed round-trip time, then that of the next one.
//!
//! ```text
//! among paths with room: smallest srtt; one without a sample goes first, to get one; ties by id
//! ```

use anabranch_types::Instant;

use super::{fastest_of, open};
use crate::parameters::NoParameters;
use crate::{Backlog, PathFacts, PathScheduler, Pick, Policy};

/// The path with the lowest smoothed round-trip time.
#[derive(Debug, Default)]
pub struct MinRtt;

impl MinRtt {
    /// The scheduler.
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
