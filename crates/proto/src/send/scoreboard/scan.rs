//! SACK handling by scanning all outstanding chunks, as in the FreeBSD kernel.
//!
//! Source: D. Sarnow, "SACK Handling for CMT-SCTP in the FreeBSD Kernel" (HAW Hamburg 2017, §5.1.4), of which the FreeBSD kernel is
//! the subject. There are three walks over the queue of sent chunks, each from its first element: the first marks acknowledged
//! chunks, the second finds reneged chunks, and the third finds losses. With paths of different delay the first element stays for
//! long, and the walks become long.
//!
//! Deviation: the third walk uses loss thresholds instead of counting miss indications, like all SACK handling here.

use anabranch_policy::LossThreshold;
use anabranch_types::{Instant, PathId, UnwrappedTsn};

use super::Scoreboard;
use super::walk::{Cover, Report};

impl Scoreboard {
    /// The first two walks: finds newly acknowledged and reneged chunks; returns the number of reneged ones.
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
