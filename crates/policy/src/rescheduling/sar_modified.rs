//! What moves to another path, if one chunk is not enough? All that its path owes below the first gap.
//!
//! Source: D. Sarnow, "SACK Handling for CMT-SCTP in the FreeBSD Kernel" (HAW Hamburg 2017) §6.2.3.
//!
//! Idea: the cumulative TSN waits for everything below the first gap-acknowledged TSN. Where the original algorithm
//! sends the lowest of it again, this one sends again all of it that is on the same path, and does not pause that
//! path: "this seemed to produce more stable results".
//!
//! ```text
//! when: as `both`
//! then: all chunks in flight on the path of the oldest one, sent once, below the first gap-acknowledged TSN
//!       are sent again, on paths as the retransmission policy says
//! its path: window cut, unless it is in recovery
//! ```
//!
//! Deviation: what was retransmitted before is left to the path's timer and to loss detection.

use anabranch_types::Instant;

use super::{Threshold, ThresholdParameters, Watched};
use crate::{
    BufferFacts, PathFacts, Policy, Reschedule, RescheduleExtent, ReschedulePenalty, ReschedulingPolicy,
    StuckChunk, path_facts,
};

/// Chunk rescheduling of everything below the first gap.
#[derive(Debug)]
pub struct SarModified {
    threshold: Threshold,
}

impl SarModified {
    /// The policy.
    #[must_use]
    pub const fn new(parameters: ThresholdParameters) -> Self {
        Self {
            threshold: Threshold::new(Watched::Both, parameters),
        }
    }
}

impl Policy for SarModified {
    fn name(&self) -> &'static str {
        "sar-modified"
    }
}

impl ReschedulingPolicy for SarModified {
    fn reschedule(
        &mut self,
        onto: &PathFacts,
        stuck: &StuckChunk,
        buffer: &BufferFacts,
        paths: &[PathFacts],
        now: Instant,
    ) -> Option<Reschedule> {
        self.threshold.reschedule(onto, stuck, buffer, paths, now)?;
        let in_recovery = path_facts(paths, stuck.path).is_none_or(|old| old.in_recovery);
        Some(Reschedule {
            extent: RescheduleExtent::BelowFirstGap,
            penalty: if in_recovery {
                ReschedulePenalty::Nothing
            } else {
                ReschedulePenalty::WindowCut
            },
        })
    }
}
