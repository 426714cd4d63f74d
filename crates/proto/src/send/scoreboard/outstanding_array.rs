//! SACK handling with an outstanding-TSN array: the first walk notes missing chunks for the other two.
//!
//! Source: D. Sarnow, "SACK Handling for CMT-SCTP in the FreeBSD Kernel" (HAW Hamburg 2017, §5.2). The first of the three walks of
//! [`super::scan`] puts every chunk that the SACK does not report into an array; the second and the third walk visit the array,
//! whose size doubles up to a limit.
//!
//! Deviation: there, chunks that do not fit are not considered for that SACK. Here the walks continue in the queue after the last
//! element of the array, so that the result does not depend on the limit.

use anabranch_policy::LossThreshold;
use anabranch_policy::options::OutstandingArrayParameters;
use anabranch_types::{Instant, PathId, UnwrappedTsn};

use super::Scoreboard;
use super::walk::{Cover, Report};

impl Scoreboard {
    /// The first two walks: finds newly acknowledged and reneged chunks; returns the number of reneged ones.
    pub(super) fn find_by_array(
        &mut self,
        report: &Report<'_>,
        size: OutstandingArrayParameters,
        now: Instant,
    ) -> u32 {
        for number in report.through.clone() {
            if !self.is_acknowledged(number) {
                self.acknowledge(UnwrappedTsn(number), true);
            }
        }
        let contested = report.contested();
        let mut cover = Cover(report.blocks);
        self.walks.memory.make_mut().missing.clear();
        self.walks.memory.make_mut().missing_below = UnwrappedTsn(contested.end);
        for number in contested.clone() {
            let known = self.is_acknowledged(number);
            if !cover.has(number) {
                self.note_missing(UnwrappedTsn(number), size);
            } else if !known {
                self.acknowledge(UnwrappedTsn(number), false);
            }
        }
        self.take_back_missing(report, contested.end, now)
    }

    fn note_missing(&mut self, tsn: UnwrappedTsn, size: OutstandingArrayParameters) {
        let (initial, limit) = (size.initial as usize, size.limit as usize);
        let memory = self.walks.memory.make_mut();
        let missing = &mut memory.missing;
        if missing.len() >= limit {
            memory.missing_below = memory.missing_below.min(tsn);
            return;
        }
        if missing.len() == missing.capacity() {
            let twice = missing.len().max(initial);
            missing.reserve_exact(twice.min(limit - missing.len()));
        }
        missing.push(tsn);
    }

    fn take_back_missing(&mut self, report: &Report<'_>, end: u64, now: Instant) -> u32 {
        let mut reneged = 0;
        for index in 0..self.walks.memory.missing.len() {
            let tsn = self.walks.memory.missing[index];
            if self.is_acknowledged(tsn.0) {
                self.take_back(tsn, now);
                reneged += 1;
            }
        }
        let mut cover = Cover(report.blocks);
        for number in self.walks.memory.missing_below.0..end {
            if self.is_acknowledged(number) && !cover.has(number) {
                self.take_back(UnwrappedTsn(number), now);
                reneged += 1;
            }
        }
        reneged
    }

    /// The third walk.
    pub(super) fn look_through_array(&mut self, threshold_of: impl Fn(PathId) -> LossThreshold) {
        let mut thresholds = self.thresholds(threshold_of);
        for index in 0..self.walks.memory.missing.len() {
            let tsn = self.walks.memory.missing[index];
            self.judge(tsn, &mut thresholds);
        }
        self.judge_from(self.walks.memory.missing_below, &mut thresholds);
    }
}
