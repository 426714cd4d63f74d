//! Capacity path scheduler. Which path is next, if no path is to be filled beyond its estimated capacity?
//!
//! Source: F. Yang, "Non-Renegable Selective Acknowledgments and Scheduling for TCP and Multipath TCP", University of
//! Delaware 2015, §4.3 (figures 4.2 and 4.3); first in F. Yang, P. Amer, N. Ekiz, "A Scheduler for MPTCP", ICCCN 2013.
//!
//! Idea: a cwnd grows until the path loses a packet, so a scheduler that fills every cwnd overflows the shortest
//! queue again and again. The capacity of a path lies between the cwnd that caused a loss and the cwnd after it, and
//! is found there by binary search, as in BI-TCP.
//!
//! ```text
//! all in packets; capacity of d: unbounded at first
//! after a loss:                       max = 2 · ssthresh, min = ssthresh
//! else capacity ≤ in flight < max:    min = in flight                      it carried more than estimated
//! else in flight ≥ max:               max = cwnd, min = in flight          it carries more than before the loss
//! in all three cases:                 capacity = (max + min) / 2
//!
//! occupied_d = (in flight + 1) / capacity of d
//! candidates: paths that can take data with occupied ≤ δ;  none: Wait
//! some with occupied ≤ γ: smallest srtt among them, else smallest occupied
//! ```
//!
//! With δ = 1.0 the search ends one packet below the cwnd that caused the last loss, and stays there until the next
//! one: a path that becomes wider is not noticed. A larger δ probes, at the cost of losses.
//!
//! In the paper a retransmission between subflows never goes back to the subflow of the original. Here the
//! retransmission policy decides that: `rtx-policy = other`.
//!
//! Deviations: a packet is the size of a full chunk. The estimate grows only while the path can take data: what is still
//! in flight just after a loss does not show that the path carries it. A path with nothing in flight is a candidate
//! whatever its capacity, or a small δ would keep it idle for ever.

use anabranch_types::{Instant, PathId};

use super::open;
use crate::math::mul_div;
use crate::parameters::{Parameter, Parameters, Slot};
use crate::path_table::PathTable;
use crate::{Backlog, LossEvent, PathFacts, PathScheduler, Pick, Policy};

/// Parameters of [`Capacity`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CapacityParameters {
    /// Up to this share of its capacity a path is not congested (γ), in thousandths.
    pub gamma_per_mille: u32,
    /// Above this share of its capacity a path would lose packets (δ), in thousandths.
    pub delta_per_mille: u32,
}

impl Default for CapacityParameters {
    fn default() -> Self {
        Self {
            gamma_per_mille: 500,
            delta_per_mille: 1_000,
        }
    }
}

impl Parameters for CapacityParameters {
    const LIST: &'static [Parameter] = &[
        Parameter {
            name: "gamma",
            default: "0.5",
            meaning: "share of its capacity up to which a path is not congested, 0.0 to 10.0",
        },
        Parameter {
            name: "delta",
            default: "1.0",
            meaning: "share of its capacity above which a path gets no new data, 0.0 to 10.0",
        },
    ];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        let limits = 0..=10_000;
        Some(match name {
            "gamma" => Slot::thousandths(&mut self.gamma_per_mille, limits),
            "delta" => Slot::thousandths(&mut self.delta_per_mille, limits),
            _ => return None,
        })
    }
}

/// The estimated capacity of a path, in packets in flight.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    min: u64,
    max: u64,
    /// A loss happened whose ssthresh has not been read yet.
    lost: bool,
}

impl Estimate {
    const UNBOUNDED: Self = Self {
        min: u64::MAX,
        max: u64::MAX,
        lost: false,
    };

    const fn capacity(self) -> u64 {
        self.min.midpoint(self.max)
    }

    fn update(&mut self, path: &PathFacts) {
        let packet = u64::from(path.max_data_chunk);
        let in_flight = packets_in_flight(path);
        if core::mem::take(&mut self.lost) {
            self.max = path.ssthresh.saturating_mul(2) / packet;
            self.min = path.ssthresh / packet;
        }
        if path.sendable == 0 {
            return;
        }
        if in_flight >= self.max {
            self.max = path.cwnd / packet;
            self.min = in_flight;
        } else if in_flight >= self.capacity() {
            self.min = in_flight;
        }
    }
}

fn packets_in_flight(path: &PathFacts) -> u64 {
    path.in_flight.div_ceil(u64::from(path.max_data_chunk))
}

/// The fastest path below its estimated capacity.
#[derive(Debug)]
pub struct Capacity {
    parameters: CapacityParameters,
    estimates: PathTable<Estimate>,
}

impl Capacity {
    /// Creates the scheduler.
    #[must_use]
    pub fn new(parameters: CapacityParameters) -> Self {
        Self {
            parameters,
            estimates: PathTable::default(),
        }
    }

    /// The share of its capacity that `path` would use with one more chunk, in thousandths.
    fn occupied(&self, path: &PathFacts) -> u64 {
        let estimate = self.estimates.of(path.id).unwrap_or(&Estimate::UNBOUNDED);
        mul_div(packets_in_flight(path) + 1, 1_000, estimate.capacity())
    }
}

impl Policy for Capacity {
    fn name(&self) -> &'static str {
        "capacity"
    }
}

impl PathScheduler for Capacity {
    fn add_path(&mut self, path: PathId) {
        self.estimates.insert(path, Estimate::UNBOUNDED);
    }

    fn remove_path(&mut self, path: PathId) {
        self.estimates.remove(path);
    }

    fn on_loss(&mut self, loss: &LossEvent, _paths: &[PathFacts], _now: Instant) {
        if let Some(estimate) = self.estimates.of_mut(loss.path) {
            estimate.lost = true;
        }
    }

    fn pick(&mut self, paths: &[PathFacts], _backlog: &Backlog, _now: Instant) -> Pick {
        for path in paths {
            if let Some(estimate) = self.estimates.of_mut(path.id) {
                estimate.update(path);
            }
        }
        let gamma = u64::from(self.parameters.gamma_per_mille);
        let delta = u64::from(self.parameters.delta_per_mille);
        open(paths)
            .map(|path| (self.occupied(path), path))
            .filter(|(occupied, path)| *occupied <= delta || path.in_flight == 0)
            .min_by_key(|(occupied, path)| match *occupied {
                occupied if occupied <= gamma => (0, path.srtt(), path.id),
                // Never equal to the first kind, whose first element is 0.
                occupied => (occupied.max(1), None, path.id),
            })
            .map_or(Pick::Wait { until: None }, |(_, path)| Pick::On(path.id))
    }
}
