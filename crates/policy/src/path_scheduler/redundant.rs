//! Which path is next, if no packet may be late? The fastest with room, and the others carry copies.
//!
//! Source: ours, after the idea of the scheduler `redundant` of MPTCP (Linux, out of tree), which sends everything on all
//! subflows.
//!
//! Idea: a message that travels on all paths is as late as the luckiest copy of it. Neither a loss nor a path that dies
//! can be seen in the delay.
//!
//! ```text
//! a chunk in flight on another path is copied onto d if     copied_d + bytes ≤ share · window_d
//! new data: among paths with room, the smallest srtt; one without a sample goes first, to get one; ties by id
//! ```
//!
//! Deviations: the subflows of Multipath TCP have sequence numbers of their own, so each knows what became of its copy.
//! SCTP has one space of TSNs, and the acknowledgement of a copied chunk proves nothing about any path. So copies leave
//! a part of each window free: what is sent there beyond them goes once, and from it losses are found and windows grow.
//! Traffic that fits is redundant in full; a transfer that fills the paths is so in part, and goes on growing.

use anabranch_types::Instant;

use super::{fastest_of, open};
use crate::math::mul_div;
use crate::parameters::{Parameter, Parameters, Slot};
use crate::{Backlog, ChunkInFlight, PathFacts, PathScheduler, Pick, Policy};

/// Parameters of [`Redundant`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RedundantParameters {
    /// How much of a window copies may fill, in thousandths.
    pub share_per_mille: u32,
}

impl Default for RedundantParameters {
    fn default() -> Self {
        Self { share_per_mille: 750 }
    }
}

impl Parameters for RedundantParameters {
    const LIST: &'static [Parameter] = &[Parameter {
        name: "share",
        default: "0.75",
        meaning: "largest share of a cwnd that duplicates may fill, 0.0 to 1.0",
    }];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        Some(match name {
            "share" => Slot::thousandths(&mut self.share_per_mille, 0..=1_000),
            _ => return None,
        })
    }
}

/// Everything on the fastest path, and copies on the others.
#[derive(Debug)]
pub struct Redundant {
    parameters: RedundantParameters,
}

impl Redundant {
    /// The scheduler.
    #[must_use]
    pub const fn new(parameters: RedundantParameters) -> Self {
        Self { parameters }
    }
}

impl Policy for Redundant {
    fn name(&self) -> &'static str {
        "redundant"
    }
}

impl PathScheduler for Redundant {
    fn pick(&mut self, paths: &[PathFacts], _backlog: &Backlog, _now: Instant) -> Pick {
        fastest_of(open(paths)).map_or(Pick::Wait { until: None }, |path| Pick::On(path.id))
    }

    fn sends_duplicates(&self) -> bool {
        true
    }

    fn wants_duplicate(&self, chunk: &ChunkInFlight, onto: &PathFacts, _now: Instant) -> bool {
        let most = mul_div(onto.cwnd, self.parameters.share_per_mille.into(), 1_000);
        onto.duplicated_bytes + chunk.bytes <= most
    }
}
