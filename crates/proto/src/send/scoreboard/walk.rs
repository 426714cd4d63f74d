//! SACK walks. What do the two ways of SACK handling share that walk over what is outstanding?
//!
//! Both exist to reproduce what such walks cost (D. Sarnow, "SACK Handling for CMT-SCTP in the FreeBSD Kernel", HAW
//! Hamburg 2017, §5). They find exactly what the index finds, and what happens to the finds is the same code.

use alloc::vec::Vec;
use core::ops::Range;

use anabranch_policy::catalog::SackHandlingChoice;
use anabranch_policy::{LossCause, LossThreshold};
use anabranch_types::{Instant, PathId, UnwrappedTsn};

use super::Scoreboard;
use super::loss_threshold::{Lost, Side};
use super::record::Order;
use crate::config::SackWalks;

/// What is known by the last SACK, and what was by the one before it.
#[derive(Clone, Debug)]
pub(super) struct Report<'a> {
    /// From the lowest record up to the cumulative TSN.
    pub(super) through: Range<u64>,
    /// Sorted, disjoint, above the cumulative TSN.
    pub(super) blocks: &'a [Range<u64>],
    pub(super) blocks_before: &'a [Range<u64>],
}

impl Report<'_> {
    /// Above the cumulative TSN, and up to the highest TSN that either SACK reports.
    pub(super) fn contested(&self) -> Range<u64> {
        let ends = [self.blocks, self.blocks_before];
        let ends = ends.map(|blocks| blocks.last().map_or(0, |block| block.end));
        self.through.end..ends[0].max(ends[1]).max(self.through.end)
    }
}

/// What walks keep, and what they cost.
#[derive(Debug)]
pub(super) struct Walks {
    pub(super) handling: SackHandlingChoice,
    /// Records looked at.
    pub(super) visited: u64,
    /// The highest TSN that ever was retransmitted or reneged on: beyond, records are in the order of sending.
    highest_sent_again: UnwrappedTsn,
    /// Lost by the last thresholds, and not taken out yet.
    found: Vec<UnwrappedTsn>,
    /// Not acknowledged by the last SACK: the array of [`super::outstanding_array`].
    pub(super) missing: Vec<UnwrappedTsn>,
    /// Below this one, whatever is not acknowledged is in the array.
    pub(super) missing_below: UnwrappedTsn,
    /// How many the array would hold, if walks are counted and not done.
    pub(super) missing_counted: u64,
    pub(super) doing: SackWalks,
}

impl Walks {
    pub(super) const fn new(handling: SackHandlingChoice, doing: SackWalks) -> Self {
        Self {
            handling,
            visited: 0,
            highest_sent_again: UnwrappedTsn(0),
            found: Vec::new(),
            missing: Vec::new(),
            missing_below: UnwrappedTsn(0),
            missing_counted: 0,
            doing,
        }
    }

    /// A chunk left once more, or is as good as sent again because the peer has reneged on it.
    pub(super) fn sent_again(&mut self, tsn: UnwrappedTsn) {
        self.highest_sent_again = self.highest_sent_again.max(tsn);
    }

    /// Gives memory back; nothing is outstanding.
    pub(super) fn shrink(&mut self) {
        self.found = Vec::new();
        self.missing = Vec::new();
        self.missing_counted = 0;
    }
}

/// Says of ascending numbers whether sorted ranges cover them, in one pass over the ranges.
pub(super) struct Cover<'a>(pub(super) &'a [Range<u64>]);

impl Cover<'_> {
    pub(super) fn has(&mut self, number: u64) -> bool {
        while let [range, rest @ ..] = self.0 {
            if number < range.end {
                return range.start <= number;
            }
            self.0 = rest;
        }
        false
    }
}

/// The loss thresholds of all paths while the ring is walked; runs of TSNs share a path.
pub(super) struct Thresholds<F> {
    threshold_of: F,
    known: Option<(PathId, LossThreshold)>,
    /// Records last sent at this moment or before may be late; no later ones.
    latest_moment: Option<Instant>,
}

impl<F: Fn(PathId) -> LossThreshold> Thresholds<F> {
    pub(super) const fn latest_moment(&self) -> Option<Instant> {
        self.latest_moment
    }

    fn on(&mut self, path: PathId) -> LossThreshold {
        match self.known {
            Some((known, threshold)) if known == path => threshold,
            _ => {
                let threshold = (self.threshold_of)(path);
                self.known = Some((path, threshold));
                threshold
            }
        }
    }
}

impl Scoreboard {
    /// To be called before a walk in search of losses.
    pub(super) fn thresholds<F: Fn(PathId) -> LossThreshold>(&mut self, threshold_of: F) -> Thresholds<F> {
        self.walks.found.clear();
        let paths = (0..self.flights.len()).map(|index| PathId(index as u8));
        let latest_moment = paths
            .filter_map(|path| threshold_of(path).late)
            .map(|late| late.until)
            .max();
        Thresholds {
            threshold_of,
            known: None,
            latest_moment,
        }
    }

    /// Looks at one record in search of losses.
    pub(super) fn judge<F: Fn(PathId) -> LossThreshold>(
        &mut self,
        tsn: UnwrappedTsn,
        thresholds: &mut Thresholds<F>,
    ) {
        self.walks.visited += 1;
        let Some(sent) = self.ring.get(tsn).filter(|sent| sent.is_in_flight()) else {
            return;
        };
        if Side::of(&thresholds.on(sent.path), tsn, sent) == Side::Lost {
            self.walks.found.push(tsn);
        }
    }

    /// Looks at the records from `start` in search of losses, and stops where none can follow: beyond all that was
    /// reported or sent again, records are as late as they are high.
    pub(super) fn judge_from<F: Fn(PathId) -> LossThreshold>(
        &mut self,
        start: UnwrappedTsn,
        thresholds: &mut Thresholds<F>,
    ) {
        let judged = self.judged_below();
        let mut tsn = start.max(self.ring.base());
        while let Some(sent) = self.ring.get(tsn) {
            if tsn >= judged
                && thresholds
                    .latest_moment
                    .is_none_or(|moment| sent.sent_at > moment)
            {
                debug_assert_eq!(sent.order(), Order::First, "above all that was sent again");
                return;
            }
            self.judge(tsn, thresholds);
            tsn = tsn.next();
        }
    }

    /// Below this one, any record may be lost.
    pub(super) fn judged_below(&self) -> UnwrappedTsn {
        let reported = self.reported.last().map_or(0, |block| block.end);
        UnwrappedTsn(reported.max(self.walks.highest_sent_again.0 + 1))
    }

    /// What the last walk in search of losses found on `path` waits for retransmission from now on.
    pub(super) fn lose_found(&mut self, path: PathId) -> Lost {
        let mut lost = Lost::default();
        for index in 0..self.walks.found.len() {
            let tsn = self.walks.found[index];
            let sent = &self.ring[tsn];
            if sent.path == path && sent.is_in_flight() {
                self.lose_one(tsn, LossCause::FastRetransmit, &mut lost);
            }
        }
        lost
    }

    /// Looks at a record that a SACK says something about.
    pub(super) fn is_acknowledged(&mut self, number: u64) -> bool {
        self.walks.visited += 1;
        self.ring[UnwrappedTsn(number)].has_arrived()
    }
}
