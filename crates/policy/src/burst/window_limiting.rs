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
use crate::path_table::PathTable;
use crate::{BurstPolicy, PathFacts, Policy, SendAllowance};

/// A window that follows what is in flight.
#[derive(Debug)]
pub struct WindowLimiting {
    parameters: MaxBurstParameters,
    known: PathTable<()>,
}

impl WindowLimiting {
    /// The policy.
    #[must_use]
    pub fn new(parameters: MaxBurstParameters) -> Self {
        Self {
            parameters,
            known: PathTable::default(),
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
        self.known.insert(path, ());
    }

    fn remove_path(&mut self, path: PathId) {
        self.known.remove(path);
    }

    fn allowance(&mut self, path: &PathFacts, _now: Instant) -> SendAllowance {
        match self.known.of(path.id) {
            Some(()) => SendAllowance::UNLIMITED,
            None => SendAllowance::NONE,
        }
    }

    fn window_limit(&self, path: &PathFacts) -> Option<u64> {
        self.known.of(path.id)?;
        let most = u64::from(self.parameters.packets) * u64::from(path.max_data_chunk);
        Some(path.in_flight + most)
    }
}
