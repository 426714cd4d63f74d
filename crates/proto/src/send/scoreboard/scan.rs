//! SACK scan. What if a SACK is applied by walking over all that is outstanding?
//!
//! Source: D. Sarnow, "SACK Handling for CMT-SCTP in the FreeBSD Kernel" (HAW Hamburg 2017, §5.1.4), of which the
//! FreeBSD kernel is the subject. Three walks over the queue of sent chunks, each from its first element: one marks
//! what the blocks acknowledge, one finds what was acknowledged and is not any more, one judges what is missing.
//! With paths of unlike delay, the first element stays where it is for long, and the walks grow.
//!
//! Deviation: the third walk asks for loss thresholds in place of counting, as everybody here.

use anabranch_policy::LossThreshold;
use anabranch_types::{Instant, PathId, UnwrappedTsn};

use super::Scoreboard;
use super::walk::{Cover, Report};

impl Scoreboard {
    /// The first two walks: acknowledges, takes back, and returns how many chunks the peer has reneged on.
    pub(super) fn find_by_scan(&mut self, report: &Report<'_>, now: Instant) -> u32 {
        let mut cover = Cover(report.blocks);
        let last = report.blocks.last().map_or(report.through.end, |block| block.end);
        for number in report.through.start..last {
            let cumulatively = report.through.contains(&number);
            let known = self.is_acknowledged(number);
            if !known && (cumulatively || cover.has(number)) {
                self.acknowledge(UnwrappedTsn(number), cumulatively);
            }
        }
        let mut cover = Cover(report.blocks);
        let mut reneged = 0;
        for number in report.contested() {
            if self.is_acknowledged(number) && !cover.has(number) {
                self.take_back(UnwrappedTsn(number), now);
                reneged += 1;
            }
        }
        reneged
    }

    /// The third walk.
    pub(super) fn scan_for_losses(&mut self, threshold_of: impl Fn(PathId) -> LossThreshold) {
        let mut thresholds = self.thresholds(threshold_of);
        self.judge_from(self.ring.base(), &mut thresholds);
    }
}
