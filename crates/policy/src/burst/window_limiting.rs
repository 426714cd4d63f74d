//! Cwnd-based burst limit, as in FreeBSD. The cwnd is reduced before more than Max.Burst packets are sent at once.
//!
//! Source: the formula of RFC 9260 §6.1 D, but applied for good and not temporarily; `net.inet.sctp.use_cwnd_based_maxburst`
//! of FreeBSD, which is on by default, and `congestionWindowLimiting` of INET.
//!
//! Idea: when much was acknowledged at once, the cwnd itself is reduced to what is in flight and Max.Burst full chunks,
//! and ssthresh is raised to the former cwnd, so that the cwnd returns in slow start within a few round trips. The cost
//! arises after each recovery, in which little was in flight: the path restarts from there, and meets the queue that it
//! has just overrun at twice the rate.
//!
//! ```text
//! before data is sent:  limit = in flight + Max.Burst · PMDCS
//! cwnd > limit:         ssthresh = max(ssthresh, cwnd);  cwnd = limit
//! ```

use anabranch_types::{Instant, PathId};

use super::max_burst::MaxBurstParameters;
use super::unlimited::Unlimited;
use crate::parameters::NoParameters;
use crate::{BurstPolicy, PathFacts, Policy, SendAllowance};

/// Limits the cwnd to what is in flight plus a burst.
#[derive(Debug)]
pub struct WindowLimiting {
    parameters: MaxBurstParameters,
    /// Within the cwnd, everything may be sent at once.
    within: Unlimited,
}

impl WindowLimiting {
    /// Creates the policy.
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
