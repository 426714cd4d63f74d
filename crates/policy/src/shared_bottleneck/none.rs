//! No detection of shared bottlenecks.
//!
//! Source: ours.
//!
//! Idea: the congestion control alone decides which paths it couples.
//!
//! ```text
//! no path has a known bottleneck
//! ```

use anabranch_types::{Instant, PathId};

use crate::parameters::NoParameters;
use crate::{AckSample, LossEvent, PathFacts, Policy, SharedBottleneck};

/// No detection: nothing is known of bottlenecks.
#[derive(Debug, Default)]
pub struct NoDetection;

impl NoDetection {
    /// Creates the policy.
    #[must_use]
    pub const fn new(_: NoParameters) -> Self {
        Self
    }
}

impl Policy for NoDetection {
    fn name(&self) -> &'static str {
        "none"
    }
}

impl SharedBottleneck for NoDetection {
    fn detects(&self) -> bool {
        false
    }

    fn remove_path(&mut self, _path: PathId) {}

    fn on_ack(&mut self, _ack: &AckSample<'_>, _paths: &[PathFacts], _now: Instant) -> bool {
        false
    }

    fn on_loss(&mut self, _loss: &LossEvent, _paths: &[PathFacts], _now: Instant) {}

    fn group(&self, _path: PathId) -> Option<PathId> {
        None
    }
}
