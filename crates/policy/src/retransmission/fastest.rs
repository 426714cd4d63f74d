//! Fastest retransmission policy. The path that is expected to deliver a lost chunk first.
//!
//! Source: ours.
//!
//! Idea: what was sent after a lost chunk holds the buffers until it arrives. So its delay counts, and not what else the path could
//! carry. A path that may lose it again takes longer on average.
//!
//! ```text
//! among paths that may carry data: those that can take it first,
//! then the smallest srtt / (1 − loss rate), then the lowest id
//! ```
//!
//! The RTT of a path without a sample counts as its RTO.

use anabranch_types::PathId;

use super::best_path;
use crate::parameters::NoParameters;
use crate::{LostChunk, PathFacts, Policy, RetransmissionPolicy};

/// The path with the shortest expected delay that can take data.
#[derive(Debug, Default)]
pub struct Fastest;

impl Fastest {
    /// Creates the policy.
    #[must_use]
    pub const fn new(_: NoParameters) -> Self {
        Self
    }
}

/// Expected time until the chunk is acknowledged, in nanoseconds, if each loss takes a round trip.
fn expected_delay(path: &PathFacts) -> u128 {
    let arriving = 1_000_000_u32.saturating_sub(path.loss_per_million).max(1);
    path.srtt.unwrap_or(path.rto).as_nanos() * 1_000_000 / u128::from(arriving)
}

impl Policy for Fastest {
    fn name(&self) -> &'static str {
        "fastest"
    }
}

impl RetransmissionPolicy for Fastest {
    fn path_for(&mut self, _chunk: &LostChunk, paths: &[PathFacts]) -> Option<PathId> {
        best_path(paths, expected_delay)
    }
}
