//! TSN tracker: the received TSNs, as cumulative TSN, ranges above it, and duplicates.

use alloc::vec::Vec;
use core::ops::Range;

use anabranch_types::{IntervalSet, Tsn, UnwrappedTsn};
use anabranch_wire::GapBlock;

use super::recent::{REMEMBERED, Recent};
use crate::on_demand::{Idle, OnDemand};

/// Maximum offset of an accepted TSN from the cumulative TSN, in addition to the size of the buffer in bytes.
///
/// A SACK cannot report TSNs beyond a 16-bit offset (RFC 9260 §3.3.4). At a compliant sender such TSNs stay outstanding, and it has
/// at most one outstanding TSN for each byte of our window.
const REPORTABLE: u64 = u16::MAX as u64;

/// Upper limit of that offset for large buffers, within the half of the number space that serial numbers can compare.
const MAX_REACH: u64 = 1 << 30;

/// Maximum number of ranges above the cumulative TSN: they take 128 KiB, which bounds the cost of an insertion.
///
/// A TSN that would need another range is dropped. The one after the cumulative TSN never needs one, so progress is always
/// possible.
const MAX_RANGES: usize = 8_192;

/// Maximum number of duplicates in the next SACK; reporting them is a SHOULD (RFC 9260 §6.2).
const MAX_DUPLICATES: usize = 64;

/// Classification of a received TSN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sighting {
    New(NewTsn),
    /// Received before, or too old to be distinguished from that.
    Duplicate,
    /// Too high, or one range too many: the peer has to retransmit it.
    OutOfReach,
}

/// A new TSN, unwrapped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NewTsn {
    pub(super) tsn: UnwrappedTsn,
    pub(super) position: Position,
}

/// Position of a new TSN among the received ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Position {
    /// Above all received TSNs.
    AboveAll,
    /// Fills a gap, at least partly, but not at the lowest missing TSN.
    InGap,
    /// The lowest missing TSN, for which all higher ones wait.
    LowestMissing,
}

fn reach(buffer: u64) -> u64 {
    REPORTABLE.saturating_add(buffer).min(MAX_REACH)
}

/// The accepted TSNs. The receiver does not renege on any.
#[derive(Debug)]
pub(super) struct Tracker {
    cumulative: UnwrappedTsn,
    highest: UnwrappedTsn,
    reach: u64,
    disorder: OnDemand<Disorder>,
}

/// What did not arrive once and in order.
#[derive(Debug, Default)]
struct Disorder {
    /// TSNs above the cumulative TSN; never contains the one directly after it.
    above: IntervalSet,
    /// TSNs received again, for the next SACK.
    duplicates: Vec<Tsn>,
    /// Those of `above` that arrived last.
    recent: Recent,
}

impl Idle for Disorder {
    const IDLE: &'static Self = &Self {
        above: IntervalSet::new(),
        duplicates: Vec::new(),
        recent: Recent::new(),
    };

    fn is_idle(&self) -> bool {
        self.above.is_empty() && self.duplicates.is_empty()
    }
}

impl Tracker {
    pub(super) fn new(initial: Tsn, buffer: u64) -> Self {
        let before_first = UnwrappedTsn::first(initial).previous();
        Self {
            cumulative: before_first,
            highest: before_first,
            reach: reach(buffer),
            disorder: OnDemand::default(),
        }
    }

    /// Adapts the maximum offset to a buffer of `buffer` bytes. It never decreases.
    pub(super) fn resize(&mut self, buffer: u64) {
        self.reach = self.reach.max(reach(buffer));
    }

    /// Classifies `tsn` without recording it; see [`Tracker::record`].
    pub(super) fn look(&self, tsn: Tsn) -> Sighting {
        let tsn = self.cumulative.nearest(tsn);
        let is_next = tsn == self.cumulative.next();
        if !is_next {
            if self.has(tsn) {
                return Sighting::Duplicate;
            }
            if tsn - self.cumulative > self.reach || self.is_one_range_too_many(tsn) {
                return Sighting::OutOfReach;
            }
        }
        let position = match tsn < self.highest {
            false => Position::AboveAll,
            true if is_next => Position::LowestMissing,
            true => Position::InGap,
        };
        Sighting::New(NewTsn { tsn, position })
    }

    /// Records a new TSN. Returns whether that opened a gap or filled one at least partly.
    pub(super) fn record(&mut self, tsn: UnwrappedTsn) -> bool {
        debug_assert!(!self.has(tsn), "TSN {tsn:?} is here already");
        let at_the_end = tsn == self.highest.next();
        self.highest = self.highest.max(tsn);
        if tsn == self.cumulative.next() {
            self.advance_to(tsn);
        } else {
            let disorder = self.disorder.make_mut();
            disorder.above.insert(tsn.0..tsn.0 + 1);
            disorder.recent.note(tsn.0);
        }
        !at_the_end
    }

    /// Treats all TSNs up to `tsn` as received, and those behind that arrived (RFC 3758 §3.6). Returns `tsn`, or `None` if that is
    /// out of date, or too far ahead for a peer that respects the window.
    pub(super) fn skip_to(&mut self, tsn: Tsn) -> Option<UnwrappedTsn> {
        let tsn = self.cumulative.nearest(tsn);
        if tsn <= self.cumulative || tsn - self.cumulative > self.reach {
            return None;
        }
        self.highest = self.highest.max(tsn);
        if let Some(disorder) = self.disorder.active_mut() {
            disorder.above.remove_below(tsn.next().0);
        }
        self.advance_to(tsn);
        Some(tsn)
    }

    /// Expects TSN `next`, the next one with that number. Nothing changes if it was received: the peer has sent more since it chose it.
    pub(super) fn renumber(&mut self, next: Tsn) {
        let ahead = next.0.wrapping_sub(self.cumulative.next().wrap().0);
        if u64::from(ahead) > u64::from(u32::MAX) - self.reach {
            return;
        }
        self.cumulative = self.cumulative + u64::from(ahead);
        self.highest = self.cumulative;
        if let Some(disorder) = self.disorder.active_mut() {
            disorder.above.clear();
        }
    }

    //= rfc9260 6.2-23
    pub(super) fn note_duplicate(&mut self, tsn: Tsn) {
        if self.disorder.duplicates.len() < MAX_DUPLICATES {
            self.disorder.make_mut().duplicates.push(tsn);
        }
    }

    pub(super) fn forget_duplicates(&mut self) {
        if let Some(disorder) = self.disorder.active_mut() {
            disorder.duplicates.clear();
        }
    }

    /// Releases memory that was needed for TSNs out of order.
    pub(super) fn release_memory(&mut self) {
        self.disorder.release_if_idle();
    }

    pub(super) fn duplicates(&self) -> &[Tsn] {
        &self.disorder.duplicates
    }

    /// Whether `tsn` was received, or lies before the initial TSN.
    pub(super) fn has(&self, tsn: UnwrappedTsn) -> bool {
        tsn <= self.cumulative || (tsn <= self.highest && self.disorder.above.contains(tsn.0))
    }

    pub(super) fn cumulative(&self) -> UnwrappedTsn {
        self.cumulative
    }

    /// The lowest missing TSN below the highest received one.
    pub(super) fn lowest_missing(&self) -> Option<UnwrappedTsn> {
        (!self.disorder.above.is_empty()).then(|| self.cumulative.next())
    }

    /// The number of gap ack blocks that a SACK without limits would have.
    pub(super) fn gap_block_count(&self) -> usize {
        self.disorder.above.range_count()
    }

    /// Appends at most `most` gap ack blocks in ascending order: the lowest ones, and above them those of the TSNs that arrived last.
    pub(super) fn add_selected_gap_blocks(&self, reach: u16, most: usize, blocks: &mut Vec<GapBlock>) {
        let latest = REMEMBERED.min(most / 2);
        self.add_gap_blocks(reach, most - latest, blocks);
        let lowest = blocks.len();
        let highest = blocks.last().map_or(0, |block| block.end);
        let Disorder { above, recent, .. } = &*self.disorder;
        let recent = recent.latest_first().take(latest);
        let of_recent = recent.filter_map(|tsn| above.range_with(tsn));
        let block = |range: Range<u64>| self.gap_block(range, reach);
        blocks.extend(of_recent.filter_map(block).filter(|block| block.start > highest));
        blocks[lowest..].sort_unstable_by_key(|block| block.start);
        blocks.dedup();
    }

    /// Appends the gap ack blocks, lowest first, up to the offset `reach` and at most `most` of them.
    pub(super) fn add_gap_blocks(&self, reach: u16, most: usize, blocks: &mut Vec<GapBlock>) {
        let cumulative = self.cumulative.0;
        let offset = |tsn: u64| (tsn - cumulative) as u16;
        let is_near = |highest: u64| highest - cumulative <= u64::from(reach);
        let above = &self.disorder.above;
        if above.max().is_none_or(is_near) {
            let near = above.iter().take(most).map(|range| GapBlock {
                start: offset(range.start),
                end: offset(range.end - 1),
            });
            blocks.extend(near);
        } else {
            blocks.extend(self.gap_blocks_within(reach).take(most));
        }
    }

    //= rfc9260 3.3.4-2, 3.3.4-3
    fn gap_blocks_within(&self, reach: u16) -> impl Iterator<Item = GapBlock> + '_ {
        let ranges = self.disorder.above.iter();
        ranges.map_while(move |range| self.gap_block(range, reach))
    }

    /// The gap ack block of a range above the cumulative TSN; `None` if it lies beyond the offset `reach`.
    fn gap_block(&self, range: Range<u64>, reach: u16) -> Option<GapBlock> {
        let start = u16::try_from(range.start - self.cumulative.0).ok();
        let end = u16::try_from(range.end - 1 - self.cumulative.0).unwrap_or(u16::MAX);
        let start = start.filter(|start| *start <= reach)?;
        Some(GapBlock {
            start,
            end: end.min(reach),
        })
    }

    fn advance_to(&mut self, tsn: UnwrappedTsn) {
        self.cumulative = tsn;
        let Some(Disorder { above, .. }) = self.disorder.active_mut() else {
            return;
        };
        let first = above.iter().next();
        if let Some(next) = first.filter(|first| first.start == tsn.0 + 1) {
            self.cumulative = UnwrappedTsn(next.end - 1);
            above.remove_below(next.end);
        }
    }

    fn is_one_range_too_many(&self, tsn: UnwrappedTsn) -> bool {
        self.disorder.above.range_count() >= MAX_RANGES && !self.has(tsn.next()) && !self.has(tsn.previous())
    }
}
