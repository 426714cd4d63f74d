//! How many packets may leave at once, as FreeBSD says? As many as its window lets through, which shrinks first.
//!
//! Source: RFC 9260 §6.1 D, whose formula this is, without its word "temporarily"; `net.inet.sctp.use_cwnd_based_maxburst`
//! of FreeBSD, which is on unless set, and `congestionWindowLimiting` of INET.
//!
//! Idea: when much was acknowledged at once, the window itself comes down to what is in flight and Max.Burst full chunks,
//! and the slow-start threshold goes up to what the window was. So nothing is lost for good: in slow start the window is back
//! within a few round trips. The price is paid after each recovery, in which little was in flight: the path begins anew from
//! there, and meets the queue that it has just overrun at twice the rate.
//!
//! ```text
//! before data leaves:  limit = in flight + Max.Burst · PMDCS
//! window > limit:      threshold = max(threshold, window);  window = limit
//! ```

use anabranch_types::{Instant, PathId};

use super::max_burst::MaxBurstParameters;
use super::unlimited::Unlimited;
use crate::parameters::NoParameters;
use crate::{BurstPolicy, PathFacts, Policy, SendAllowance};

/// A window that follows what is in flight.
#[derive(Debug)]
pub struct WindowLimiting {
    parameters: MaxBurstParameters,
    /// What the window lets through may leave at once.
    within: Unlimited,
}

impl WindowLimiting {
    /// The policy.
    #[must_use]
    pub fn new(parameters: MaxBurstParameters) -> Self {
        Self {
            parameters,
            within: Unlimited::new(NoParameters),
        }
    }
}

impl Policy for WindowLimiting {
    fn name(&self) -> &'static str {
        "window-limiting"
    }
}

impl BurstPolicy for WindowLimiting {
    fn add_path(&mut self, path: PathId) {
        self.within.add_path(path);
    }

    fn remove_path(&mut self, path: PathId) {
        self.within.remove_path(path);
    }

    fn allowance(&mut self, path: &PathFacts, now: Instant) -> SendAllowance {
        self.within.allowance(path, now)
    }

    fn window_limit(&self, path: &PathFacts) -> Option<u64> {
        let most = u64::from(self.parameters.packets) * u64::from(path.max_data_chunk);
        Some(path.in_flight + most)
    }
}
