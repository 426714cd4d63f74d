//! Distribution of delays. Which delay do so many per cent not exceed? Counts in buckets whose width grows with the delay.

use crate::output::Delays;

/// Buckets for each doubling, as a power of two: percentiles are exact to 1/64.
const PRECISION: u32 = 6;

/// Counts of delays in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    sum: u128,
    smallest: u64,
    largest: u64,
}

impl Histogram {
    pub(super) fn add(&mut self, nanoseconds: u64) {
        let bucket = bucket_of(nanoseconds);
        if self.buckets.len() <= bucket {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += 1;
        self.smallest = match self.count {
            0 => nanoseconds,
            _ => self.smallest.min(nanoseconds),
        };
        self.largest = self.largest.max(nanoseconds);
        self.count += 1;
        self.sum += u128::from(nanoseconds);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.buckets.len() < other.buckets.len() {
            self.buckets.resize(other.buckets.len(), 0);
        }
        for (count, more) in self.buckets.iter_mut().zip(&other.buckets) {
            *count += more;
        }
        self.smallest = match self.count {
            0 => other.smallest,
            _ => self.smallest.min(other.smallest),
        };
        self.largest = self.largest.max(other.largest);
        self.count += other.count;
        self.sum += other.sum;
    }

    /// `None` if nothing was counted.
    pub(super) fn summary(&self) -> Option<Delays> {
        let count = self.count;
        (count > 0).then(|| Delays {
            count,
            min_ms: milliseconds(self.smallest),
            mean_ms: self.sum as f64 / count as f64 / 1e6,
            p50_ms: milliseconds(self.quantile(50)),
            p90_ms: milliseconds(self.quantile(90)),
            p99_ms: milliseconds(self.quantile(99)),
            max_ms: milliseconds(self.largest),
        })
    }

    /// The delay that `percent` of all do not exceed, within the width of a bucket.
    fn quantile(&self, percent: u64) -> u64 {
        let rank = (u128::from(self.count) * u128::from(percent))
            .div_ceil(100)
            .max(1);
        let mut seen = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            seen += u128::from(*count);
            if seen >= rank {
                return end_of(bucket).clamp(self.smallest, self.largest);
            }
        }
        self.largest
    }
}

fn milliseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e6
}

/// Values below 2^PRECISION have a bucket each; above, each doubling has as many.
fn bucket_of(value: u64) -> usize {
    let doubling = value.checked_ilog2().unwrap_or(0).saturating_sub(PRECISION);
    ((u64::from(doubling) << PRECISION) + (value >> doubling)) as usize
}

/// The largest value of a bucket.
fn end_of(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let doubling = (bucket >> PRECISION).saturating_sub(1);
    let step = bucket - (doubling << PRECISION);
    ((step + 1) << doubling).wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other() {
        let mut last = 0;
        for value in (0..100_000).chain((1 << 40)..(1 << 40) + 10).chain([u64::MAX]) {
            let bucket = bucket_of(value);
            assert!(bucket >= last && end_of(bucket) >= value, "{value}");
            assert!(bucket == 0 || end_of(bucket - 1) < value, "{value}");
            last = bucket;
        }
    }

    #[test]
    fn percentiles_are_within_a_bucket() {
        let (mut one, mut other) = (Histogram::default(), Histogram::default());
        for value in 1..=1_000_u64 {
            let histogram = if value % 2 == 0 { &mut one } else { &mut other };
            histogram.add(value * 1_000_000);
        }
        one.merge(&other);
        let summary = one.summary().unwrap();
        assert_eq!(
            (summary.count, summary.min_ms, summary.max_ms),
            (1_000, 1.0, 1_000.0)
        );
        assert!((summary.mean_ms - 500.5).abs() < 1e-9);
        for (found, expected) in [
            (summary.p50_ms, 500.0),
            (summary.p90_ms, 900.0),
            (summary.p99_ms, 990.0),
        ] {
            assert!((found / expected - 1.0).abs() < 1.0 / 64.0, "{found}");
        }
        assert_eq!(Histogram::default().summary(), None);
    }
}
