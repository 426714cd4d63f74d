//! TSN tracker. Which TSNs are here? All up to the cumulative point, ranges above it, and some of them twice.

use alloc::vec::Vec;

use anabranch_types::{IntervalSet, Tsn, UnwrappedTsn};
use anabranch_wire::GapBlock;

/// How far above the cumulative TSN a TSN may lie, besides one for each byte of the buffer.
///
/// A SACK cannot report TSNs further up than a 16-bit offset (RFC 9260 §3.3.4). To an honest sender they stay
/// outstanding, and of those it has at most one for each byte of our window.
const REPORTABLE: u64 = u16::MAX as u64;

/// If the buffer would allow more: well within the half of the space that serial numbers can tell apart.
const MAX_REACH: u64 = 1 << 30;

/// How many ranges are kept above the cumulative TSN: 128 KiB of them, and no insertion moves more than that.
///
/// A TSN that would open one more is dropped. The one after the cumulative TSN never does, so there is
/// progress.
const MAX_RANGES: usize = 8_192;

/// How many duplicates are remembered for the next SACK; reporting them is a SHOULD (RFC 9260 §6.2).
const MAX_DUPLICATES: usize = 64;

/// What is known about an arriving TSN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sighting {
    New(NewTsn),
    /// It was here before, or is older than everything we can tell apart.
    Duplicate,
    /// Too far up, or one range too many: it must come again later.
    OutOfReach,
}

/// A TSN that was not here before, with its wraps counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NewTsn {
    pub(super) tsn: UnwrappedTsn,
    pub(super) position: Position,
}

/// Where a new TSN lies among those that are here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Position {
    /// Above all of them.
    AboveAll,
    /// Below one, and above another that is missing: it (partly) fills a gap.
    InGap,
    /// Below one, and the lowest that is missing: all above wait for it.
    LowestMissing,
}

fn reach(buffer: u64) -> u64 {
    REPORTABLE.saturating_add(buffer).min(MAX_REACH)
}

/// The TSNs that were accepted. None is ever taken back: this receiver does not renege.
#[derive(Debug)]
pub(super) struct Tracker {
    cumulative: UnwrappedTsn,
    highest: UnwrappedTsn,
    /// Never holds the TSN after the cumulative one.
    above: IntervalSet,
    reach: u64,
    duplicates: Vec<Tsn>,
}

impl Tracker {
    pub(super) fn new(initial: Tsn, buffer: u64) -> Self {
        let before_first = UnwrappedTsn::first(initial).previous();
        Self {
            cumulative: before_first,
            highest: before_first,
            above: IntervalSet::new(),
            reach: reach(buffer),
            duplicates: Vec::new(),
        }
    }

    /// The buffer has `buffer` bytes from now on. What was within reach stays so.
    pub(super) fn resize(&mut self, buffer: u64) {
        self.reach = self.reach.max(reach(buffer));
    }

    /// Judges `tsn`; [`Tracker::record`] then makes it ours.
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

    /// Makes a new TSN ours. `true` if that opened a gap or filled (part of) one.
    pub(super) fn record(&mut self, tsn: UnwrappedTsn) -> bool {
        debug_assert!(!self.has(tsn), "TSN {tsn:?} is here already");
        let at_the_end = tsn == self.highest.next();
        self.highest = self.highest.max(tsn);
        if tsn == self.cumulative.next() {
            self.advance_to(tsn);
        } else {
            self.above.insert(tsn.0..tsn.0 + 1);
        }
        !at_the_end
    }

    //= rfc9260 6.2-23
    pub(super) fn note_duplicate(&mut self, tsn: Tsn) {
        if self.duplicates.len() < MAX_DUPLICATES {
            self.duplicates.push(tsn);
        }
    }

    pub(super) fn forget_duplicates(&mut self) {
        self.duplicates.clear();
    }

    pub(super) fn duplicates(&self) -> &[Tsn] {
        &self.duplicates
    }

    /// Whether `tsn` arrived, or comes before the association's first one.
    pub(super) fn has(&self, tsn: UnwrappedTsn) -> bool {
        tsn <= self.cumulative || (tsn <= self.highest && self.above.contains(tsn.0))
    }

    pub(super) fn cumulative(&self) -> UnwrappedTsn {
        self.cumulative
    }

    /// The lowest TSN below the highest one that is not here.
    pub(super) fn lowest_missing(&self) -> Option<UnwrappedTsn> {
        (!self.above.is_empty()).then(|| self.cumulative.next())
    }

    /// Adds what is above the cumulative TSN, lowest first, up to the offset `reach`, `most` blocks of it.
    pub(super) fn add_gap_blocks(&self, reach: u16, most: usize, blocks: &mut Vec<GapBlock>) {
        let cumulative = self.cumulative.0;
        let offset = |tsn: u64| (tsn - cumulative) as u16;
        let is_near = |highest: u64| highest - cumulative <= u64::from(reach);
        if self.above.max().is_none_or(is_near) {
            let near = self.above.iter().take(most).map(|range| GapBlock {
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
        let cumulative = self.cumulative.0;
        self.above.iter().map_while(move |range| {
            let start = u16::try_from(range.start - cumulative).ok();
            let end = u16::try_from(range.end - 1 - cumulative).unwrap_or(u16::MAX);
            let start = start.filter(|start| *start <= reach)?;
            Some(GapBlock {
                start,
                end: end.min(reach),
            })
        })
    }

    fn advance_to(&mut self, tsn: UnwrappedTsn) {
        self.cumulative = tsn;
        let Some(first) = self.above.iter().next() else {
            return;
        };
        if first.start == tsn.0 + 1 {
            self.cumulative = UnwrappedTsn(first.end - 1);
            self.above.remove_below(first.end);
        }
    }

    fn is_one_range_too_many(&self, tsn: UnwrappedTsn) -> bool {
        self.above.range_count() >= MAX_RANGES && !self.has(tsn.next()) && !self.has(tsn.previous())
    }
}
