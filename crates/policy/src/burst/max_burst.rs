//! How many packets may leave at once, as the standard says? Four.
//!
//! Source: RFC 9260 §6.1 D.
//!
//! Idea: a SACK that acknowledges much at once must not release a whole window at line rate. At each moment the
//! window counts as at most what is in flight plus Max.Burst full chunks.
//!
//! ```text
//! a new moment:  limit = in flight + Max.Burst · PMDCS
//! may leave:     limit − in flight
//! ```
//!
//! Deviation: none. A driver that handles many SACKs at one moment is limited to one burst for all of them; `paced`
//! suits it better.

use anabranch_types::{Instant, PathId};

use crate::parameters::{Parameter, Parameters, Slot};
use crate::path_table::PathTable;
use crate::{BurstPolicy, PathFacts, Policy, SendAllowance};

/// Parameters of [`MaxBurst`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MaxBurstParameters {
    /// Full chunks that may leave at one moment (Max.Burst, RFC 9260 §16).
    pub packets: u16,
}

impl MaxBurstParameters {
    /// The values unless set.
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
        meaning: "full chunks that may leave at one moment (Max.Burst of RFC 9260 §16), 1 to 10000",
    }];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        Some(match name {
            "packets" => Slot::number(&mut self.packets, 1..=10_000),
            _ => return None,
        })
    }
}

/// A number of packets at each moment.
#[derive(Debug)]
pub struct MaxBurst {
    parameters: MaxBurstParameters,
    paths: PathTable<Option<Burst>>,
}

#[derive(Clone, Copy, Debug)]
struct Burst {
    at: Instant,
    limit: u64,
}

impl MaxBurst {
    /// The policy.
    #[must_use]
    pub fn new(parameters: MaxBurstParameters) -> Self {
        Self {
            parameters,
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

    fn allowance(&mut self, path: &PathFacts, now: Instant) -> SendAllowance {
        let Some(burst) = self.paths.of_mut(path.id) else {
            return SendAllowance::NONE;
        };
        let limit = match *burst {
            Some(Burst { at, limit }) if at == now => limit,
            _ => path.in_flight + u64::from(self.parameters.packets) * u64::from(path.max_data_chunk),
        };
        *burst = Some(Burst { at: now, limit });
        SendAllowance {
            bytes: limit.saturating_sub(path.in_flight),
            again_at: None,
        }
    }
}
