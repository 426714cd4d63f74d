//! Max.Burst (RFC 9260 §6.1 D). At most four packets are sent at once.
//!
//! Source: RFC 9260 §6.1 D.
//!
//! Idea: a SACK that acknowledges much at once must not release a whole cwnd at line rate. At each transmission
//! opportunity, the cwnd counts as at most what is in flight plus Max.Burst full chunks.
//!
//! ```text
//! new transmission opportunity:  limit = in flight + Max.Burst · PMDCS
//! may be sent:                   limit − in flight
//! ```
//!
//! Deviation: RFC 9260 does not define a transmission opportunity. Here it is a packet that was handled, a timer that
//! expired, or new data of an idle application; it is not a point in time, of which a real clock has one between any two
//! packets. With nothing in flight, from which no acknowledgement would come, every call is one.

use anabranch_types::{Instant, PathId};

use crate::parameters::{Parameter, Parameters, Slot};
use crate::path_table::PathTable;
use crate::{BurstPolicy, PathFacts, Policy, SendAllowance};

/// Parameters of [`MaxBurst`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MaxBurstParameters {
    /// Full chunks per transmission opportunity (Max.Burst, RFC 9260 §16).
    pub packets: u16,
}

impl MaxBurstParameters {
    /// The default values.
    pub const DEFAULT: Self = Self { packets: 4 };
}

impl Default for MaxBurstParameters {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Parameters for MaxBurstParameters {
    const LIST: &'static [Parameter] = &[Parameter {
        name: "packets",
        default: "4",
        meaning: "full chunks per transmission opportunity (Max.Burst of RFC 9260 §16), 1 to 10000",
    }];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        Some(match name {
            "packets" => Slot::number(&mut self.packets, 1..=10_000),
            _ => return None,
        })
    }
}

/// Limits the number of packets per transmission opportunity.
#[derive(Debug)]
pub struct MaxBurst {
    parameters: MaxBurstParameters,
    /// Transmission opportunities so far.
    opportunity: u64,
    paths: PathTable<Option<Burst>>,
}

#[derive(Clone, Copy, Debug)]
struct Burst {
    opportunity: u64,
    limit: u64,
}

impl MaxBurst {
    /// Creates the policy.
    #[must_use]
    pub fn new(parameters: MaxBurstParameters) -> Self {
        Self {
            parameters,
            opportunity: 0,
            paths: PathTable::default(),
        }
    }
}

impl Policy for MaxBurst {
    fn name(&self) -> &'static str {
        "max-burst"
    }
}

impl BurstPolicy for MaxBurst {
    fn add_path(&mut self, path: PathId) {
        self.paths.insert(path, None);
    }

    fn remove_path(&mut self, path: PathId) {
        self.paths.remove(path);
    }

    fn on_transmission_opportunity(&mut self) {
        self.opportunity += 1;
    }

    //= rfc9260 6.1-15, 6.1-16
    fn allowance(&mut self, path: &PathFacts, _now: Instant) -> SendAllowance {
        let opportunity = self.opportunity;
        let Some(burst) = self.paths.of_mut(path.id) else {
            return SendAllowance::NONE;
        };
        let same = burst.filter(|burst| burst.opportunity == opportunity && path.in_flight > 0);
        let most = u64::from(self.parameters.packets) * u64::from(path.max_data_chunk);
        let limit = same.map_or(path.in_flight + most, |burst| burst.limit);
        *burst = Some(Burst { opportunity, limit });
        SendAllowance {
            bytes: limit.saturating_sub(path.in_flight),
            again_at: None,
        }
    }
}
