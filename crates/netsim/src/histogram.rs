//! Histogram with logarithmic buckets. How are many integers summarised in little memory?
//!
//! Numbers below 64 have a bucket each; larger ones share buckets at most 1/32 of their value wide, so quantiles are
//! accurate to 3 %. Histograms can be subtracted: the samples after a point in time are the difference of two.

/// Buckets per power of two.
const BUCKETS_PER_DOUBLING: u64 = 32;
/// Numbers below this have a bucket each.
const EXACT: u64 = 2 * BUCKETS_PER_DOUBLING;

/// A histogram of unsigned integers.
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
    /// Maximum of all samples ever counted.
    max: u64,
}

/// One bucket: its range and count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bucket {
    /// The lowest number.
    pub low: u64,
    /// The highest number.
    pub high: u64,
    /// Number of samples.
    pub count: u64,
}

impl Histogram {
    /// Records a sample.
    pub fn note(&mut self, number: u64) {
        let index = index_of(number);
        if self.counts.len() <= index {
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] += 1;
        self.count += 1;
        self.sum += u128::from(number);
        self.max = self.max.max(number);
    }

    /// Adds the samples of `other`.
    pub fn add(&mut self, other: &Self) {
        self.counts.resize(self.counts.len().max(other.counts.len()), 0);
        for (count, added) in self.counts.iter_mut().zip(&other.counts) {
            *count += added;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    /// Number of samples.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Exact mean; `None` if there are no samples.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Upper bound of the bucket that holds the quantile `share` (0 to 1), but at most the maximum; `None` if there are
    /// no samples. The quantile 1 is the exact maximum.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let rank = ((self.count as f64 * share).ceil() as u64).clamp(1, self.count.max(1));
        let mut passed = 0;
        let bucket = self.buckets().find(|bucket| {
            passed += bucket.count;
            passed >= rank
        });
        bucket.map(|bucket| bucket.high.min(self.max))
    }

    /// The non-empty buckets, in ascending order.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> {
        let counted = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        counted.map(|(index, count)| {
            let (low, high) = numbers_of(index as u64);
            Bucket {
                low,
                high,
                count: *count,
            }
        })
    }

    /// The samples recorded after `earlier` was cloned from the same histogram.
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
            max: self.max,
        }
    }
}

fn index_of(number: u64) -> usize {
    if number < EXACT {
        return number as usize;
    }
    let shift = u64::from(number.ilog2() - BUCKETS_PER_DOUBLING.ilog2());
    (shift * BUCKETS_PER_DOUBLING + (number >> shift)) as usize
}

fn numbers_of(index: u64) -> (u64, u64) {
    if index < EXACT {
        return (index, index);
    }
    let shift = index / BUCKETS_PER_DOUBLING - 1;
    let low = (index - shift * BUCKETS_PER_DOUBLING) << shift;
    (low, low + ((1 << shift) - 1))
}

#[cfg(test)]
mod tests {
    use super::{Histogram, index_of, numbers_of};

    #[test]
    fn buckets_cover_all_numbers_without_gaps() {
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
    fn maximum_is_exact() {
        let mut histogram = Histogram::default();
        assert!(numbers_of(index_of(1_000) as u64).1 > 1_000);
        [1_000, 999, 3]
            .into_iter()
            .for_each(|number| histogram.note(number));
        assert_eq!(histogram.quantile(1.0), Some(1_000));
        let mut added = Histogram::default();
        added.note(5_000);
        histogram.add(&added);
        assert_eq!(histogram.quantile(1.0), Some(5_000));
    }

    #[test]
    fn since_returns_samples_recorded_later() {
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
