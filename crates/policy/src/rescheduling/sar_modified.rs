//! Modified chunk rescheduling. Which chunks move to another path, if one is not enough?
//!
//! Source: D. Sarnow, "SACK Handling for CMT-SCTP in the FreeBSD Kernel" (HAW Hamburg 2017) §6.2.3.
//!
//! Idea: the cumulative TSN waits for everything below the first gap-acknowledged TSN. Where the original algorithm
//! resends the lowest of it, this one resends all of it that is on the same path, and does not pause that path, which
//! gave more stable results in the source's measurements.
//!
//! ```text
//! when: as `both`
//! then: all chunks in flight on the path of the oldest one, sent once, below the first gap-acknowledged TSN
//!       are sent again, on paths that the retransmission policy chooses
//! its path: cwnd cut, unless it is in recovery
//! ```
//!
//! Deviation: retransmitted chunks are left to the path's timer and to loss detection.

use anabranch_types::Instant;

use super::threshold::{SPLIT, THRESHOLD};
use super::{Threshold, ThresholdParameters, Watched};
use crate::parameters::{Parameter, Parameters, Slot};
use crate::{
    BufferFacts, PathFacts, Policy, Reschedule, RescheduleExtent, ReschedulePenalty, ReschedulingPolicy,
    StuckChunk, path_facts,
};

/// Parameters of [`SarModified`]: those of `both` that decide whether a buffer is blocked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SarModifiedParameters(ThresholdParameters);

impl Parameters for SarModifiedParameters {
    const LIST: &'static [Parameter] = &[THRESHOLD, SPLIT];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        let is_listed = Self::LIST.iter().any(|parameter| parameter.name == name);
        is_listed.then(|| self.0.slot(name)).flatten()
    }
}

/// Chunk rescheduling of everything below the first gap.
#[derive(Debug)]
pub struct SarModified {
    threshold: Threshold,
}

impl SarModified {
    /// Creates the policy.
    #[must_use]
    pub const fn new(parameters: SarModifiedParameters) -> Self {
        Self {
            threshold: Threshold::new(Watched::Both, parameters.0),
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
