//! Difference of two sorted lists of ranges.

use core::ops::Range;

/// The parts of `ranges` that no range of `holes` covers, by one merge of both lists: O(ranges + holes), without allocation. Both
/// lists are ascending and disjoint; ranges may be adjacent or empty.
pub(super) fn difference(
    ranges: impl Iterator<Item = Range<u64>>,
    holes: impl Iterator<Item = Range<u64>>,
) -> impl Iterator<Item = Range<u64>> {
    Difference {
        ranges,
        holes,
        range: 0..0,
        hole: Some(0..0),
    }
}

/// Both lists without their common prefix and suffix, which do not affect the difference.
pub(super) fn unlike<'a>(one: &'a [Range<u64>], other: &'a [Range<u64>]) -> [&'a [Range<u64>]; 2] {
    let alike = |(one, other): &(&Range<u64>, &Range<u64>)| one == other;
    let begin = one.iter().zip(other).take_while(alike).count();
    let (one, other) = (&one[begin..], &other[begin..]);
    let end = one.iter().rev().zip(other.iter().rev()).take_while(alike).count();
    [&one[..one.len() - end], &other[..other.len() - end]]
}

struct Difference<R, H> {
    ranges: R,
    holes: H,
    /// The rest of the current range.
    range: Range<u64>,
    /// The current hole; `None` after the last.
    hole: Option<Range<u64>>,
}

impl<R, H> Iterator for Difference<R, H>
where
    R: Iterator<Item = Range<u64>>,
    H: Iterator<Item = Range<u64>>,
{
    type Item = Range<u64>;

    fn next(&mut self) -> Option<Range<u64>> {
        loop {
            while self.range.is_empty() {
                self.range = self.ranges.next()?;
            }
            let Range { start, end } = self.range;
            match self.hole.clone() {
                Some(hole) if hole.end <= start => self.hole = self.holes.next(),
                Some(hole) if hole.start < end => {
                    self.range = hole.end..end;
                    if start < hole.start {
                        return Some(start..hole.start);
                    }
                }
                _ => {
                    self.range = end..end;
                    return Some(start..end);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use anabranch_types::{IntervalSet, Seed};

    use super::{difference, unlike};

    #[test]
    fn interval_difference_matches_a_check_of_every_number() {
        for seed in 0..500 {
            let mut rng = Seed(seed).rng();
            let mut set = || -> IntervalSet {
                let start = |rng: &mut anabranch_types::Rng| 1 + rng.below(60);
                (0..rng.below(8))
                    .map(|_| start(&mut rng))
                    .map(|at| at..at + 1 + at % 7)
                    .collect()
            };
            let (ranges, holes) = (set(), set());
            let merged: Vec<u64> = difference(ranges.iter(), holes.iter()).flatten().collect();
            let expected: Vec<u64> = ranges
                .iter()
                .flatten()
                .filter(|&number| !holes.contains(number))
                .collect();
            assert_eq!(merged, expected, "{ranges} minus {holes}");
        }
    }

    #[test]
    fn common_prefix_and_suffix_of_two_lists_are_skipped() {
        let one = [1..3, 5..8, 12..13, 20..30];
        let other = [1..3, 5..9, 20..30];
        assert_eq!(unlike(&one, &other), [&one[1..3], &other[1..2]]);
        assert_eq!(unlike(&one, &one), [&one[..0]; 2]);
        assert_eq!(unlike(&one[..3], &one), [&one[..0], &one[3..]]);
        assert_eq!(unlike(&one, &[]), [&one[..], &[]]);
    }

    #[test]
    fn empty_and_adjacent_ranges_are_subtracted_correctly() {
        let ranges = [5..5, 5..8, 8..10].into_iter();
        let merged: Vec<_> = difference(ranges, core::iter::once(6..9)).collect();
        assert_eq!(merged, [5..6, 9..10]);
    }
}
