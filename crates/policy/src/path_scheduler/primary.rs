//! Primary-path scheduler. Which path is used, if only one is used at a time?
//!
//! Source: RFC 9260 §6.4 and §6.4.1.
//!
//! Idea: other paths stand by. While the primary path has failed, the usable path with the lowest id replaces it.
//!
//! ```text
//! path = primary if it may carry data, else the first that may
//! path can take data: On(path), else Wait
//! ```

use anabranch_types::Instant;

use crate::parameters::NoParameters;
use crate::{Backlog, PathFacts, PathScheduler, Pick, Policy, may_carry_data};

/// Primary-path scheduler.
#[derive(Debug, Default)]
pub struct Primary;

impl Primary {
    /// Creates the scheduler.
    #[must_use]
    pub const fn new(_: NoParameters) -> Self {
        Self
    }
}

impl Policy for Primary {
    fn name(&self) -> &'static str {
        "primary"
    }
}

impl PathScheduler for Primary {
    //= rfc9260 6.4-1, 6.4.1-1, 8.2-6
    fn pick(&mut self, paths: &[PathFacts], _backlog: &Backlog, _now: Instant) -> Pick {
        paths
            .iter()
            .filter(|path| may_carry_data(path, paths))
            .min_by_key(|path| (!path.primary, path.id))
            .filter(|path| path.sendable > 0)
            .map_or(Pick::Wait { until: None }, |path| Pick::On(path.id))
    }
}
