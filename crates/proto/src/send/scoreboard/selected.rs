//! SACKs with selected gap ack blocks (ADR 0200). What does a SACK add to the TSNs that are reported already?
//!
//! A peer that agreed to them never reneges. A TSN that it has reported stays acknowledged, whether later SACKs report it or not. A SACK
//! that adds little costs a binary search for each of its blocks, however many have been reported.

use core::iter::once;
use core::mem;

use anabranch_types::{IntervalSet, UnwrappedTsn};

use super::Scoreboard;
use super::apply::Applied;
use super::difference::difference;

/// Number of blocks that are inserted one by one. Each one moves all that lie above it, so more of them are merged at once.
const FEW: u32 = 8;

impl Scoreboard {
    /// Applies a SACK: TSNs up to `cumulative` and in `blocks` are acknowledged, and all others keep their state.
    pub(crate) fn apply_selected(&mut self, cumulative: UnwrappedTsn, blocks: &IntervalSet) -> Applied {
        let above = cumulative.next().0;
        debug_assert!(
            above <= self.ring.next_tsn().0,
            "acknowledges what was never sent"
        );
        let gaps = self.gaps.active_mut();
        let reported = gaps.map(|gaps| mem::take(&mut gaps.reported));
        let mut reported = IntervalSet::from_ascending(reported.unwrap_or_default());
        self.path_acks.make_mut().clear();
        let through = self.ring.base().0..above.min(self.ring.next_tsn().0);
        for tsn in difference(once(through), reported.iter()).flatten() {
            self.walks.visited += 1;
            self.acknowledge(UnwrappedTsn(tsn), true);
        }
        reported.remove_below(above);
        let mut inserted = 0;
        for block in blocks.iter() {
            let visited = self.walks.visited;
            for tsn in reported.missing_in(block.clone()).flatten() {
                self.walks.visited += 1;
                self.acknowledge(UnwrappedTsn(tsn), false);
            }
            if self.walks.visited > visited && inserted <= FEW {
                reported.insert(block);
                inserted += 1;
            }
        }
        if inserted > FEW {
            reported.unite(blocks);
        }
        self.path_acks.make_mut().keep_news();
        self.finish_arrivals();
        let retains_unreported = reported != *blocks;
        if !reported.is_empty() || self.gaps.active_mut().is_some() {
            let gaps = self.gaps.make_mut();
            gaps.reported = reported.into_ranges();
            gaps.kept.remove_below(above);
        }
        Applied {
            reneged: 0,
            retains_unreported,
        }
    }
}
