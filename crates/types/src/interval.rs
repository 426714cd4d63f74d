//! Interval set: a set of numbers as sorted, disjoint, half-open ranges.

use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

/// A set of numbers kept as sorted ranges that neither overlap nor touch.
///
/// Looking up and inserting cost a binary search plus the shift of the ranges behind; a set that grows at its
/// end, as the set of received TSNs does, shifts nothing.
///
/// ```
/// use anabranch_types::IntervalSet;
/// let mut set = IntervalSet::new();
/// assert!(set.insert(10..13));
/// assert!(set.insert(17..18));
/// assert!(!set.insert(11..13));
/// assert_eq!(set.to_string(), "10-12 17");
/// ```
#[derive(Clone, PartialEq, Eq, Default, Hash)]
pub struct IntervalSet {
    ranges: Vec<Range<u64>>,
}

impl IntervalSet {
    /// The empty set; allocates nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { ranges: Vec::new() }
    }

    /// Whether no number is in the set.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Number of ranges.
    #[must_use]
    pub const fn range_count(&self) -> usize {
        self.ranges.len()
    }

    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.ranges.iter().map(|range| range.end - range.start).sum()
    }

    /// The ranges in ascending order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Range<u64>> + ExactSizeIterator + '_ {
        self.ranges.iter().cloned()
    }

    /// The smallest number of the set.
    #[must_use]
    pub fn min(&self) -> Option<u64> {
        self.ranges.first().map(|range| range.start)
    }

    /// The largest number of the set.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        self.ranges.last().map(|range| range.end - 1)
    }

    /// Whether `number` is in the set.
    #[must_use]
    pub fn contains(&self, number: u64) -> bool {
        let at = self.first_ending_after(number);
        self.ranges.get(at).is_some_and(|range| range.start <= number)
    }

    /// The range that `number` is in.
    #[must_use]
    pub fn range_with(&self, number: u64) -> Option<Range<u64>> {
        let range = self.ranges.get(self.first_ending_after(number))?;
        range.contains(&number).then(|| range.clone())
    }

    /// Adds all numbers of `range`; `true` if at least one was new.
    #[inline]
    pub fn insert(&mut self, range: Range<u64>) -> bool {
        // Sets mostly grow at their end; this spares the searches.
        let is_behind = self.ranges.last().is_none_or(|last| last.end < range.start);
        if is_behind && !range.is_empty() {
            self.ranges.push(range);
            return true;
        }
        self.merge(range)
    }

    fn merge(&mut self, range: Range<u64>) -> bool {
        if range.is_empty() {
            return false;
        }
        // The ranges that overlap or touch the new one are `from..to`.
        let from = self.ranges.partition_point(|known| known.end < range.start);
        let to = from + self.ranges[from..].partition_point(|known| known.start <= range.end);
        let Some(first) = self.ranges[from..to].first() else {
            self.ranges.insert(from, range);
            return true;
        };
        if first.start <= range.start && range.end <= first.end {
            return false;
        }
        let merged = first.start.min(range.start)..self.ranges[to - 1].end.max(range.end);
        self.ranges[from] = merged;
        self.ranges.drain(from + 1..to);
        true
    }

    /// Removes all numbers of `range`.
    pub fn remove(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let from = self.first_ending_after(range.start);
        let to = from + self.ranges[from..].partition_point(|known| known.start < range.end);
        let Some((first, last)) = self.ranges[from..to].first().zip(self.ranges[from..to].last()) else {
            return;
        };
        let left = first.start..range.start;
        let right = range.end..last.end;
        let kept = [left, right].into_iter().filter(|rest| !rest.is_empty());
        self.ranges.splice(from..to, kept);
    }

    /// Replaces the contents by `ranges`, which must ascend, not be empty, and neither overlap nor touch; the allocation is
    /// kept.
    pub fn assign_ascending(&mut self, ranges: impl Iterator<Item = Range<u64>>) {
        self.ranges.clear();
        self.ranges.extend(ranges);
        self.debug_check();
    }

    fn debug_check(&self) {
        debug_assert!(
            self.ranges.iter().all(|range| !range.is_empty())
                && self.ranges.is_sorted_by(|before, after| before.end < after.start),
            "ranges in another form"
        );
    }

    /// The set of these ranges, which must ascend, not be empty, and neither overlap nor touch; the allocation is kept.
    #[must_use]
    pub fn from_ascending(ranges: Vec<Range<u64>>) -> Self {
        let set = Self { ranges };
        set.debug_check();
        set
    }

    /// The ranges in ascending order, with the allocation.
    #[must_use]
    pub fn into_ranges(self) -> Vec<Range<u64>> {
        self.ranges
    }

    /// The parts of `range` that are not in the set: a binary search and one step for each range of the set in it.
    pub fn missing_in(&self, range: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        let known = &self.ranges[self.first_ending_after(range.start)..];
        let inside = known.iter().take_while(move |known| known.start < range.end);
        // Each range of the set ends one part; the end of `range` ends the last one.
        let ends = inside.cloned().chain(core::iter::once(range.end..range.end));
        let parts = ends.scan(range.start, |from, known| {
            let part = *from..known.start;
            *from = known.end;
            Some(part)
        });
        parts.filter(|part| !part.is_empty())
    }

    /// Adds all numbers of `other`: one merge of the two sorted lists.
    pub fn unite(&mut self, other: &Self) {
        let mut united: Vec<Range<u64>> = Vec::with_capacity(self.ranges.len() + other.ranges.len());
        let (mut own, mut added) = (self.iter().peekable(), other.iter().peekable());
        while let Some(range) = match (own.peek(), added.peek()) {
            (Some(first), Some(second)) if second.start < first.start => added.next(),
            (None, _) => added.next(),
            _ => own.next(),
        } {
            match united.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => united.push(range),
            }
        }
        drop(own);
        self.ranges = united;
    }

    /// Removes all numbers; the allocation is kept.
    pub fn clear(&mut self) {
        self.ranges.clear();
    }

    /// Removes all numbers below `number`, and returns how many ranges went entirely.
    pub fn remove_below(&mut self, number: u64) -> usize {
        let gone = self.ranges.partition_point(|range| range.end <= number);
        self.ranges.drain(..gone);
        if let Some(first) = self.ranges.first_mut() {
            first.start = first.start.max(number);
        }
        gone
    }

    /// The numbers of `self` that are not in `other`: one merge of the two sorted lists.
    pub fn difference<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = Range<u64>> + 'a {
        let mut holes = other.ranges.iter().peekable();
        self.ranges.iter().flat_map(move |range| {
            let mut rest = Vec::new();
            let mut from = range.start;
            while let Some(hole) = holes.peek() {
                if hole.start >= range.end {
                    break;
                }
                if from < hole.start {
                    rest.push(from..hole.start);
                }
                from = from.max(hole.end);
                if hole.end > range.end {
                    break;
                }
                holes.next();
            }
            if from < range.end {
                rest.push(from..range.end);
            }
            rest
        })
    }

    fn first_ending_after(&self, number: u64) -> usize {
        self.ranges.partition_point(|range| range.end <= number)
    }
}

impl FromIterator<Range<u64>> for IntervalSet {
    fn from_iter<I: IntoIterator<Item = Range<u64>>>(ranges: I) -> Self {
        let mut set = Self::new();
        for range in ranges {
            set.insert(range);
        }
        set
    }
}

/// Inclusive ranges with blanks between: `10-14 17 20-22`.
impl fmt::Display for IntervalSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, range) in self.ranges.iter().enumerate() {
            let blank = if index == 0 { "" } else { " " };
            match range.end - 1 {
                last if last == range.start => write!(f, "{blank}{last}")?,
                last => write!(f, "{blank}{}-{last}", range.start)?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for IntervalSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}

#[cfg(test)]
mod tests;
