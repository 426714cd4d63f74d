//! SACK walks: common parts of the two SACK-handling algorithms that walk the queue of outstanding chunks.
//!
//! Both exist to reproduce the cost of such walks (D. Sarnow, "SACK Handling for CMT-SCTP in the FreeBSD Kernel", HAW
//! Hamburg 2017, §5). Their result is that of the index, and the same code processes it.

use alloc::vec::Vec;
use core::ops::Range;

use anabranch_policy::catalog::SackHandlingChoice;
use anabranch_policy::{LossCause, LossThreshold};
use anabranch_types::{Instant, PathId, UnwrappedTsn};

use super::Scoreboard;
use super::loss_threshold::{Lost, Side};
use super::record::Order;
use crate::config::SackWalks;
use crate::on_demand::{Idle, OnDemand};

/// Acknowledged TSNs after the last SACK, and those before it.
#[derive(Clone, Debug)]
pub(super) struct Report<'a> {
    /// TSNs from the lowest record up to the cumulative TSN.
    pub(super) through: Range<u64>,
    /// Gap ack blocks: sorted, disjoint, above the cumulative TSN.
    pub(super) blocks: &'a [Range<u64>],
    pub(super) blocks_before: &'a [Range<u64>],
}

impl Report<'_> {
    /// TSNs above the cumulative TSN, up to the highest that either SACK reports.
    pub(super) fn contested(&self) -> Range<u64> {
        let ends = [self.blocks, self.blocks_before];
        let ends = ends.map(|blocks| blocks.last().map_or(0, |block| block.end));
        self.through.end..ends[0].max(ends[1]).max(self.through.end)
    }
}

/// Configuration and cost of the walks.
#[derive(Debug)]
pub(super) struct Walks {
    pub(super) handling: SackHandlingChoice,
    pub(super) doing: SackWalks,
    /// Visited records.
    pub(super) visited: u64,
    pub(super) memory: OnDemand<WalkMemory>,
}

/// What walks remember. The index needs none of it.
#[derive(Debug)]
pub(super) struct WalkMemory {
    /// The highest TSN that was ever retransmitted or reneged on; above it, records are in the order of sending.
    highest_sent_again: UnwrappedTsn,
    /// Chunks below the last thresholds that are not marked as lost yet.
    found: Vec<UnwrappedTsn>,
    /// Chunks that the last SACK does not acknowledge: the array of [`super::outstanding_array`].
    pub(super) missing: Vec<UnwrappedTsn>,
    /// All unacknowledged chunks below this TSN are in the array.
    pub(super) missing_below: UnwrappedTsn,
    /// Number of chunks that the array would hold, if walks are only counted.
    pub(super) missing_counted: u64,
}

impl WalkMemory {
    const fn new() -> Self {
        Self {
            highest_sent_again: UnwrappedTsn(0),
            found: Vec::new(),
            missing: Vec::new(),
            missing_below: UnwrappedTsn(0),
            missing_counted: 0,
        }
    }
}

impl Default for WalkMemory {
    fn default() -> Self {
        Self::new()
    }
}

impl Idle for WalkMemory {
    const IDLE: &'static Self = &Self::new();

    fn is_idle(&self) -> bool {
        false
    }
}

impl Walks {
    pub(super) const fn new(handling: SackHandlingChoice, doing: SackWalks) -> Self {
        Self {
            handling,
            doing,
            visited: 0,
            memory: OnDemand::IDLE,
        }
    }

    /// Notes that a chunk was retransmitted, or reneged on, which counts as a transmission.
    pub(super) fn sent_again(&mut self, tsn: UnwrappedTsn) {
        if !matches!(self.handling, SackHandlingChoice::Indexed(_)) {
            let memory = self.memory.make_mut();
            memory.highest_sent_again = memory.highest_sent_again.max(tsn);
        }
    }

    /// Releases memory. To be called when nothing is outstanding.
    pub(super) fn shrink(&mut self) {
        if let Some(memory) = self.memory.active_mut() {
            memory.found = Vec::new();
            memory.missing = Vec::new();
            memory.missing_counted = 0;
        }
    }
}

/// Tells for ascending numbers whether sorted ranges contain them, in one pass over the ranges.
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

/// The loss thresholds of all paths during a walk; the last one is cached, because consecutive TSNs often share a path.
pub(super) struct Thresholds<F> {
    threshold_of: F,
    known: Option<(PathId, LossThreshold)>,
    /// Only records last sent at this time or before may be late.
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
    /// Prepares a walk that searches for losses.
    pub(super) fn thresholds<F: Fn(PathId) -> LossThreshold>(&mut self, threshold_of: F) -> Thresholds<F> {
        self.walks.memory.make_mut().found.clear();
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

    /// Visits one record to find out whether it is lost.
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
            self.walks.memory.make_mut().found.push(tsn);
        }
    }

    /// Visits the records from `start` to find losses, and stops where none can follow: above all reported and retransmitted TSNs,
    /// records are in the order of sending.
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

    /// Only records below this TSN may be lost.
    pub(super) fn judged_below(&self) -> UnwrappedTsn {
        let reported = self.gaps.reported.last().map_or(0, |block| block.end);
        UnwrappedTsn(reported.max(self.walks.memory.highest_sent_again.0 + 1))
    }

    /// Marks the chunks of `path` as lost that the last walk found.
    pub(super) fn lose_found(&mut self, path: PathId) -> Lost {
        let mut lost = Lost::default();
        for index in 0..self.walks.memory.found.len() {
            let tsn = self.walks.memory.found[index];
            let sent = &self.ring[tsn];
            if sent.path == path && sent.is_in_flight() {
                self.lose_one(tsn, LossCause::FastRetransmit, &mut lost);
            }
        }
        lost
    }

    /// Visits a record in the scope of a SACK; returns whether it is acknowledged.
    pub(super) fn is_acknowledged(&mut self, number: u64) -> bool {
        self.walks.visited += 1;
        self.ring[UnwrappedTsn(number)].has_arrived()
    }
}
