//! Loss detection that adapts to reordering. A chunk is lost after three miss indications, or by time where packets overtake one
//! another.
//!
//! Source: RFC 8985 §6.2, which waits for three later arrivals until a path has reordered packets, and for time from then on.
//!
//! Idea: three miss indications find a loss soonest, and where packets keep their order nothing else makes three. Where their delays
//! vary, three packets overtake a fourth all the time; there only time tells. A path reorders if a chunk is acknowledged after one that
//! was sent later, and both were sent once.
//!
//! ```text
//! newest = the acknowledged chunk sent last among those sent once
//! SACK acknowledges a chunk sent once before newest:  the path reorders, until the association ends
//! lost: on a path that reorders as `rack` says, with `loss.variation`; else as `miss-count` says
//! ```
//!
//! Gap ack blocks that a SACK had no room for do not look like reordering: it leaves out the highest TSNs, and chunks that a path
//! carries for the first time are sent in the order of TSNs.

use anabranch_types::{Instant, PathId};

use super::miss_count::{FastRetransmitOnce, MissCount, MissCountParameters};
use super::rack::{Rack, RackParameters};
use crate::parameters::{Parameter, Parameters, Slot};
use crate::path_table::PathTable;
use crate::{AckSample, LossDetection, LossThreshold, PathAck, PathFacts, Policy, SentOnce};

/// Parameters of [`ReorderingAware`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReorderingParameters {
    /// Whether a retransmission may be declared lost again, on paths that keep the order.
    pub fr_once: FastRetransmitOnce,
    /// The reordering window is at least this many times the mean deviation of the RTT.
    pub variation: u16,
}

impl ReorderingParameters {
    /// Four mean deviations, as many as the retransmission timeout waits (RFC 9260 §6.3.1).
    pub const DEFAULT: Self = Self {
        fr_once: FastRetransmitOnce::PerPathOrder,
        variation: 4,
    };
}

impl Default for ReorderingParameters {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Parameters for ReorderingParameters {
    const LIST: &'static [Parameter] = &[
        Parameter {
            name: "fr-once",
            default: "per-path-order",
            meaning: "as of `miss-count`, on paths that keep the order: always, per-path-order, on-path-change or per-rtt",
        },
        Parameter {
            name: "variation",
            default: "4",
            meaning: "on paths that reorder, the reordering window is at least this many times the mean deviation of the RTT, beyond its mean, 0 to 16",
        },
    ];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        Some(match name {
            "fr-once" => Slot::text(&mut self.fr_once),
            "variation" => Slot::number(&mut self.variation, 0..=16),
            _ => return None,
        })
    }
}

/// What is known about the order on a path.
#[derive(Clone, Copy, Debug)]
enum Order {
    /// Kept so far; the newest acknowledged chunk that was sent once.
    Kept(SentOnce),
    /// Not kept; what was lost by miss indications until then stays lost.
    Varies { lost_before: LossThreshold },
}

/// Three miss indications until a path reorders, then RACK.
#[derive(Debug)]
pub struct ReorderingAware {
    by_count: MissCount,
    by_time: Rack,
    order: PathTable<Order>,
}

impl ReorderingAware {
    /// Creates a detector without paths.
    #[must_use]
    pub fn new(parameters: ReorderingParameters) -> Self {
        let ReorderingParameters { fr_once, variation } = parameters;
        let rack = RackParameters {
            variation,
            ..RackParameters::default()
        };
        Self {
            by_count: MissCount::new(MissCountParameters { fr_once }),
            by_time: Rack::new(rack),
            order: PathTable::default(),
        }
    }

    fn reorders(&self, path: PathId) -> bool {
        matches!(self.order.of(path), Some(Order::Varies { .. }))
    }

    fn watch_order(&mut self, ack: &PathAck, now: Instant) {
        let (Some(newest), Some(earliest)) = (ack.rtt_sample, ack.earliest_sent_once) else {
            return;
        };
        match self.order.of_mut(ack.path) {
            None => self.order.insert(ack.path, Order::Kept(newest)),
            Some(Order::Kept(known)) if earliest >= known.sent_at => *known = newest.max(*known),
            Some(order @ Order::Kept(_)) => {
                let lost_before = self.by_count.loss_threshold(ack.path, now);
                *order = Order::Varies { lost_before };
                self.by_time.add_path(ack.path);
            }
            Some(Order::Varies { .. }) => {}
        }
    }
}

impl Policy for ReorderingAware {
    fn name(&self) -> &'static str {
        "reordering-aware"
    }
}

impl LossDetection for ReorderingAware {
    /// The first acknowledgement makes the state of a path: most associations are idle.
    fn add_path(&mut self, _path: PathId) {}

    fn remove_path(&mut self, path: PathId) {
        self.by_count.remove_path(path);
        self.by_time.remove_path(path);
        self.order.remove(path);
    }

    fn on_ack(&mut self, ack: &AckSample<'_>, paths: &[PathFacts], now: Instant) {
        for path_ack in ack.paths {
            self.watch_order(path_ack, now);
        }
        self.by_count.on_ack(ack, paths, now);
        if ack.paths.iter().any(|path_ack| self.reorders(path_ack.path)) {
            self.by_time.on_ack(ack, paths, now);
        }
    }

    fn on_timeout(&mut self, path: PathId) {
        self.by_count.on_timeout(path);
        self.by_time.on_timeout(path);
        if let Some(Order::Varies { lost_before }) = self.order.of_mut(path) {
            *lost_before = LossThreshold::NONE;
        }
    }

    fn loss_threshold(&self, path: PathId, now: Instant) -> LossThreshold {
        match self.order.of(path) {
            Some(Order::Varies { lost_before }) => {
                let LossThreshold { late, again_at, .. } = self.by_time.loss_threshold(path, now);
                LossThreshold {
                    late,
                    again_at,
                    ..*lost_before
                }
            }
            Some(Order::Kept(_)) | None => self.by_count.loss_threshold(path, now),
        }
    }
}
