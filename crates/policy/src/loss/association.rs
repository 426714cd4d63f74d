//! Miss indications counted over all paths (RFC 9260 §7.2.4), without the split fast retransmit of CMT.
//!
//! Source: RFC 9260 §7.2.4, unchanged.
//!
//! Idea: miss indications count whatever path they come from. On one path this is the standard; on several it mistakes
//! reordering for loss, which the comparison is to show.
//!
//! ```text
//! miss indication at the highest newly acknowledged TSN of all paths;
//! in recovery and cumulative TSN advanced: at the highest TSN ever acknowledged
//! lost: below the third-highest miss indication, on any path
//! ```
//!
//! Deviation: none; a retransmission is never fast-retransmitted again.

use anabranch_types::{Instant, PathId, UnwrappedTsn};

use super::watermarks::Watermarks;
use crate::parameters::NoParameters;
use crate::path_table::PathTable;
use crate::{AckSample, LossDetection, LossThreshold, PathFacts, Policy};

/// Three miss indications, counted for the association as a whole.
#[derive(Debug, Default)]
pub struct MissCountAssociation {
    misses: Watermarks<UnwrappedTsn>,
    highest_acked: Option<UnwrappedTsn>,
    known: PathTable<()>,
}

impl MissCountAssociation {
    /// Creates a detector without paths.
    #[must_use]
    pub fn new(_: NoParameters) -> Self {
        Self::default()
    }
}

impl Policy for MissCountAssociation {
    fn name(&self) -> &'static str {
        "miss-count-association"
    }
}

impl LossDetection for MissCountAssociation {
    fn add_path(&mut self, path: PathId) {
        self.known.insert(path, ());
    }

    fn remove_path(&mut self, path: PathId) {
        self.known.remove(path);
    }

    fn on_ack(&mut self, ack: &AckSample<'_>, paths: &[PathFacts], _now: Instant) {
        let newly = ack.paths.iter().filter_map(|path| path.highest_newly_acked).max();
        self.highest_acked = self.highest_acked.max(newly);
        let all_missing = ack.cumulative_advanced && paths.iter().any(|path| path.in_recovery);
        let miss = if all_missing { self.highest_acked } else { newly };
        if let Some(at) = miss {
            self.misses.note_miss(at);
        }
    }

    /// Miss indications are kept: chunks of other paths are still judged by them, and chunks of this one have higher TSNs
    /// or are retransmissions by now.
    fn on_timeout(&mut self, _path: PathId) {}

    fn loss_threshold(&self, path: PathId, _now: Instant) -> LossThreshold {
        LossThreshold {
            below: self.known.of(path).and_then(|()| self.misses.third()),
            ..LossThreshold::NONE
        }
    }
}
