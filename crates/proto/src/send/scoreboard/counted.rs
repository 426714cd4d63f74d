//! Counted walks: how many records the queue walks of `sack-handling` would visit.
//!
//! A simulator charges its processor model for every visited record. The result of a walk is the same as that of the index, so the
//! index is used, and the number of records that [`super::scan`] and [`super::outstanding_array`] would visit follows from where
//! their walks start and end.

use core::ops::Range;

use anabranch_policy::LossThreshold;
use anabranch_policy::catalog::SackHandlingChoice;
use anabranch_policy::options::OutstandingArrayParameters;
use anabranch_types::{Instant, PathId, UnwrappedTsn};

use super::Scoreboard;
use super::walk::Report;

impl Scoreboard {
    /// Applies a SACK by the index, and counts the records that the walks would visit.
    pub(super) fn find_by_counting(&mut self, report: &Report<'_>, now: Instant) -> u32 {
        let contested = report.contested();
        let walked = match self.walks.handling {
            SackHandlingChoice::Indexed(_) => return self.find_by_difference(report, now),
            SackHandlingChoice::Scan(_) => {
                let last = report.blocks.last().map_or(report.through.end, |block| block.end);
                (last - report.through.start) + length(&contested)
            }
            SackHandlingChoice::OutstandingArray(size) => {
                let noted = self.count_missing(report, size);
                let beyond = contested.end - self.walks.memory.missing_below.0;
                length(&report.through) + length(&contested) + noted + beyond
            }
        };
        let visited = self.walks.visited + walked;
        let reneged = self.find_by_difference(report, now);
        self.walks.visited = visited;
        reneged
    }

    /// Computes how many chunks the array would hold, and where it would end.
    fn count_missing(&mut self, report: &Report<'_>, size: OutstandingArrayParameters) -> u64 {
        let limit = u64::from(size.limit);
        let contested = report.contested();
        let mut missing = 0;
        let mut known_below = contested.start;
        self.walks.memory.make_mut().missing_below = UnwrappedTsn(contested.end);
        for block in report.blocks.iter().chain([&(contested.end..contested.end)]) {
            let hole = block.start.saturating_sub(known_below);
            if missing + hole > limit {
                self.walks.memory.make_mut().missing_below = UnwrappedTsn(known_below + (limit - missing));
                missing = limit;
                break;
            }
            missing += hole;
            known_below = known_below.max(block.end);
        }
        self.walks.memory.make_mut().missing_counted = missing;
        missing
    }

    /// Counts the walk that searches for losses.
    pub(super) fn count_search(&mut self, threshold_of: impl Fn(PathId) -> LossThreshold) {
        let latest_moment = self.thresholds(threshold_of).latest_moment();
        let start = match self.walks.handling {
            SackHandlingChoice::Indexed(_) => return,
            SackHandlingChoice::Scan(_) => self.ring.base(),
            SackHandlingChoice::OutstandingArray(_) => {
                self.walks.visited += self.walks.memory.missing_counted;
                self.walks.memory.missing_below.max(self.ring.base())
            }
        };
        let mut end = start.max(self.judged_below().min(self.ring.next_tsn()));
        while let Some(sent) = self.ring.get(end)
            && latest_moment.is_some_and(|moment| sent.sent_at <= moment)
        {
            end = end.next();
        }
        self.walks.visited += end.0 - start.0;
    }
}

const fn length(range: &Range<u64>) -> u64 {
    range.end - range.start
}
