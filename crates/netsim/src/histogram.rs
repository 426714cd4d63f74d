//! How are many whole numbers remembered in little room? By counting them in classes.
//!
//! Numbers below 64 have a class each; above, a class is at most a 32nd of its numbers wide, so that quantiles are
//! right to 3 %. Counts can be subtracted: what came after a moment is the difference of two histograms.

/// Classes in each doubling of the numbers.
const CLASSES: u64 = 32;
/// Numbers below this have a class each.
const EXACT: u64 = 2 * CLASSES;

/// Counts of whole numbers by class.
///
/// ```
/// use anabranch_netsim::Histogram;
/// let mut delays = Histogram::default();
/// (1..=1_000).for_each(|delay| delays.note(delay));
/// assert_eq!(delays.count(), 1_000);
/// assert_eq!(delays.mean(), Some(500.5));
/// assert!(delays.quantile(0.5).is_some_and(|median| (485..=515).contains(&median)));
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Histogram {
    counts: Vec<u64>,
    count: u64,
    sum: u128,
    /// None of all that were ever counted is greater.
    greatest: u64,
}

/// The numbers of one class and how many of them there were.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Class {
    /// The lowest number.
    pub low: u64,
    /// The highest number.
    pub high: u64,
    /// How many there were.
    pub count: u64,
}

impl Histogram {
    /// Counts a number.
    pub fn note(&mut self, number: u64) {
        let index = index_of(number);
        if self.counts.len() <= index {
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] += 1;
        self.count += 1;
        self.sum += u128::from(number);
        self.greatest = self.greatest.max(number);
    }

    /// Counts what `other` has counted, too.
    pub fn add(&mut self, other: &Self) {
        self.counts.resize(self.counts.len().max(other.counts.len()), 0);
        for (count, further) in self.counts.iter_mut().zip(&other.counts) {
            *count += further;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.greatest = self.greatest.max(other.greatest);
    }

    /// How many numbers there were.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Their mean, exactly; `None` if there were none.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The highest number of the class below which, or in which, a share of `share` of them lies; `None` if there were
    /// none. It is none that is greater than all that were counted: of all of them, the greatest.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let rank = ((self.count as f64 * share).ceil() as u64).clamp(1, self.count.max(1));
        let mut passed = 0;
        let class = self.classes().find(|class| {
            passed += class.count;
            passed >= rank
        });
        class.map(|class| class.high.min(self.greatest))
    }

    /// The classes that have numbers, from the lowest up.
    pub fn classes(&self) -> impl Iterator<Item = Class> {
        let counted = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        counted.map(|(index, count)| {
            let (low, high) = numbers_of(index as u64);
            Class {
                low,
                high,
                count: *count,
            }
        })
    }

    /// What came after `earlier` was taken of the same histogram.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let before = earlier.counts.iter().copied().chain(core::iter::repeat(0));
        let counts = self.counts.iter().zip(before);
        Self {
            counts: counts
                .map(|(count, before)| count.saturating_sub(before))
                .collect(),
            count: self.count.saturating_sub(earlier.count),
            sum: self.sum.saturating_sub(earlier.sum),
            greatest: self.greatest,
        }
    }
}

fn index_of(number: u64) -> usize {
    if number < EXACT {
        return number as usize;
    }
    let shift = u64::from(number.ilog2() - CLASSES.ilog2());
    (shift * CLASSES + (number >> shift)) as usize
}

fn numbers_of(index: u64) -> (u64, u64) {
    if index < EXACT {
        return (index, index);
    }
    let shift = index / CLASSES - 1;
    let low = (index - shift * CLASSES) << shift;
    (low, low + ((1 << shift) - 1))
}

#[cfg(test)]
mod tests {
    use super::{Histogram, index_of, numbers_of};

    #[test]
    fn each_number_is_in_the_class_that_says_so_and_classes_leave_no_hole() {
        let mut next = 0;
        for index in 0..1_900 {
            let (low, high) = numbers_of(index);
            assert_eq!(low, next);
            assert_eq!((index_of(low), index_of(high)), (index as usize, index as usize));
            assert!(high - low <= low / 32);
            next = high + 1;
        }
        assert_eq!(numbers_of(index_of(u64::MAX) as u64).1, u64::MAX);
    }

    #[test]
    fn the_greatest_of_all_is_told_exactly() {
        let mut histogram = Histogram::default();
        assert!(numbers_of(index_of(1_000) as u64).1 > 1_000);
        [1_000, 999, 3]
            .into_iter()
            .for_each(|number| histogram.note(number));
        assert_eq!(histogram.quantile(1.0), Some(1_000));
        let mut further = Histogram::default();
        further.note(5_000);
        histogram.add(&further);
        assert_eq!(histogram.quantile(1.0), Some(5_000));
    }

    #[test]
    fn what_came_later_is_the_difference() {
        let mut histogram = Histogram::default();
        (0..10).for_each(|_| histogram.note(1_000));
        let before = histogram.clone();
        histogram.note(7);
        histogram.note(9);
        let later = histogram.since(&before);
        assert_eq!((later.count(), later.mean()), (2, Some(8.0)));
        assert_eq!(later.quantile(1.0), Some(9));
        assert_eq!(Histogram::default().quantile(0.5), None);
    }
}
