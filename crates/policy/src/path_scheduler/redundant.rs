//! Redundant path scheduler. Which path is next, if no packet may be late?
//!
//! Source: ours, after the idea of the scheduler `redundant` of MPTCP (Linux, out of tree), which sends everything on all
//! subflows.
//!
//! Idea: a message that is sent on all paths arrives with the first of its duplicates. Neither a loss nor a failing path
//! shows in its delay.
//!
//! ```text
//! a chunk in flight on another path is duplicated onto d if     duplicated_d + bytes ≤ share · cwnd_d
//! new data: among paths that can take data, the smallest srtt; a path without a sample comes first; ties by id
//! ```
//!
//! Deviations: the subflows of Multipath TCP have their own sequence numbers, so each knows what became of its duplicate.
//! SCTP has one TSN space, and the acknowledgement of a duplicated chunk proves nothing about any path. So duplicates
//! leave a part of each cwnd free: data sent there beyond them is sent once, and reveals losses and lets the cwnd grow.
//! Traffic that fits is fully redundant; a transfer that fills the paths is redundant in part, and its cwnd still grows.

use anabranch_types::Instant;

use super::{fastest_of, open};
use crate::math::mul_div;
use crate::parameters::{Parameter, Parameters, Slot};
use crate::{Backlog, ChunkInFlight, PathFacts, PathScheduler, Pick, Policy};

/// Share of a cwnd that duplicates may fill unless set, in thousandths.
const SHARE_PER_MILLE: u32 = 750;

/// Whether a duplicate of `chunk` on `onto` leaves a quarter of the cwnd to other data: the answer of all other path schedulers for the
/// chunks of redundant streams.
pub(crate) fn leaves_a_quarter(chunk: &ChunkInFlight, onto: &PathFacts) -> bool {
    fits(chunk, onto, SHARE_PER_MILLE)
}

fn fits(chunk: &ChunkInFlight, onto: &PathFacts, share_per_mille: u32) -> bool {
    let most = mul_div(onto.cwnd, share_per_mille.into(), 1_000);
    onto.duplicated_bytes + chunk.bytes <= most
}

/// Parameters of [`Redundant`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RedundantParameters {
    /// Largest share of a cwnd that duplicates may fill, in thousandths.
    pub share_per_mille: u32,
}

impl Default for RedundantParameters {
    fn default() -> Self {
        Self {
            share_per_mille: SHARE_PER_MILLE,
        }
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

/// Redundant path scheduler: all data on the fastest path, with duplicates on the others.
#[derive(Debug)]
pub struct Redundant {
    parameters: RedundantParameters,
}

impl Redundant {
    /// Creates the scheduler.
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
        fits(chunk, onto, self.parameters.share_per_mille)
    }
}
