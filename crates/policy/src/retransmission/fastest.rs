//! Fastest retransmission policy. The path that is expected to deliver a lost chunk first.
//!
//! Source: ours.
//!
//! Idea: what was sent after a lost chunk holds the buffers until it arrives. So its delay counts, and not what else the path could
//! carry. A path that may lose it again takes longer on average. A full path takes it within a round trip. That may be sooner than a
//! slow path would deliver it.
//!
//! ```text
//! among paths that may carry data: the smallest n · srtt / (1 − loss rate), then the lowest id;
//! n = 1 if the path can take data, else 2
//! ```
//!
//! The RTT of a path without a sample counts as its RTO. If the chosen path is full, the chunk waits for it.

use anabranch_types::PathId;

use super::first_path;
use crate::parameters::NoParameters;
use crate::{LostChunk, PathFacts, Policy, RetransmissionPolicy};

/// The path with the shortest expected delay.
#[derive(Debug, Default)]
pub struct Fastest;

impl Fastest {
    /// Creates the policy.
    #[must_use]
    pub const fn new(_: NoParameters) -> Self {
        Self
    }
}

/// Expected time until the chunk is acknowledged, in nanoseconds, if each loss takes a round trip. Other lost chunks may wait for a full
/// path too, so a round trip is assumed until it takes this one.
fn expected_delay(path: &PathFacts) -> u128 {
    let arriving = 1_000_000_u32.saturating_sub(path.loss_per_million).max(1);
    let round_trips = if path.sendable == 0 { 2 } else { 1 };
    path.srtt().unwrap_or_else(|| path.rto()).as_nanos() * round_trips * 1_000_000 / u128::from(arriving)
}

impl Policy for Fastest {
    fn name(&self) -> &'static str {
        "fastest"
    }
}

impl RetransmissionPolicy for Fastest {
    fn path_for(&mut self, _chunk: &LostChunk, paths: &[PathFacts]) -> Option<PathId> {
        first_path(paths, expected_delay)
    }
}
