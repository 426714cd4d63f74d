//! Parameters of reachability probes.

use core::time::Duration;

use crate::parameters::{Parameter, Parameters, Slot};

/// Parameters of frequent probes of paths that do not respond.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProbingParameters {
    /// The longest time between two heartbeats on such a path while data waits.
    pub interval: Duration,
}

impl ProbingParameters {
    /// The default values.
    pub const DEFAULT: Self = Self {
        interval: Duration::from_secs(1),
    };
}

impl Default for ProbingParameters {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Parameters for ProbingParameters {
    const LIST: &'static [Parameter] = &[Parameter {
        name: "interval",
        default: "1s",
        meaning: "longest time between two heartbeats on a path that does not respond while data waits, 100ms to 3600s",
    }];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        let range = Duration::from_millis(100)..=Duration::from_secs(3_600);
        (name == "interval").then(|| Slot::time(&mut self.interval, range))
    }
}
