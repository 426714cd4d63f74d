//! Confidence intervals: of a mean, of the ratio of two paired means, of event counts and their ratio.
//!
//! `alpha` is the probability of error over both ends: 0.05 for an interval of 95 %.

use statrs::distribution::{Beta, ChiSquared, ContinuousCDF as _, StudentsT};

use super::SampleStats;

/// A confidence interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// The interval of a sample that says nothing.
    pub const UNBOUNDED: Self = Self {
        low: f64::NEG_INFINITY,
        high: f64::INFINITY,
    };

    /// The interval of a known value.
    #[must_use]
    pub const fn exact(value: f64) -> Self {
        Self {
            low: value,
            high: value,
        }
    }

    /// The least interval that contains both.
    #[must_use]
    pub const fn hull(self, other: Self) -> Self {
        Self {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
        }
    }

    /// The part that is not negative, for quantities that are never negative.
    #[must_use]
    pub const fn not_negative(self) -> Self {
        Self {
            low: self.low.max(0.0),
            high: self.high.max(0.0),
        }
    }

    /// Whether it has an upper end.
    #[must_use]
    pub const fn is_bounded(self) -> bool {
        self.high.is_finite()
    }

    /// The ratios of a value of this interval to a value of `other`; neither has negative values.
    #[must_use]
    pub fn ratio_to(self, other: Self) -> Self {
        let low = self.low.max(0.0);
        Self {
            low: match other.high {
                0.0 if low > 0.0 => f64::INFINITY,
                0.0 => 0.0,
                high => low / high,
            },
            high: if other.low > 0.0 {
                self.high / other.low
            } else {
                f64::INFINITY
            },
        }
    }
}

/// The quantile of Student's t distribution that a two-sided interval uses.
pub(super) fn student_t(alpha: f64, freedom: usize) -> f64 {
    StudentsT::new(0.0, 1.0, freedom as f64).map_or(f64::INFINITY, |t| t.inverse_cdf(1.0 - alpha / 2.0))
}

/// The estimated standard deviation of the mean of `values`, which are at least two.
pub(super) fn deviation_of_mean(values: &[f64], mean: f64) -> f64 {
    let count = values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (squares / (count - 1.0) / count).sqrt()
}

fn mean_of(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The interval of the mean by Student's t; unbounded for fewer than two values.
#[must_use]
pub fn of_mean(values: &[f64], alpha: f64) -> Interval {
    if values.len() < 2 {
        return Interval::UNBOUNDED;
    }
    let mean = mean_of(values);
    let half = student_t(alpha, values.len() - 1) * deviation_of_mean(values, mean);
    Interval {
        low: mean - half,
        high: mean + half,
    }
}

/// The interval of a mean of which mean, half width at 95 % and count are known.
#[must_use]
pub fn of_known_mean(stats: &SampleStats, alpha: f64) -> Interval {
    if stats.count < 2 {
        return Interval::UNBOUNDED;
    }
    let freedom = stats.count - 1;
    let half = stats.confidence * student_t(alpha, freedom) / student_t(0.05, freedom);
    Interval {
        low: stats.mean - half,
        high: stats.mean + half,
    }
}

/// An interval that contains the one of the mean by Student's t, for a sample of which only median, minimum, maximum and count
/// are known.
///
/// The lower end is a concave and the upper end a convex function of the unknown values. So they are extreme where the values
/// are: each at an end of the sample or at its middle.
#[must_use]
pub fn of_known_median(stats: &SampleStats, alpha: f64) -> Interval {
    extreme_samples(stats)
        .iter()
        .map(|sample| of_mean(sample, alpha))
        .reduce(Interval::hull)
        .unwrap_or(Interval::UNBOUNDED)
}

/// The least and the greatest sum of a sample of which only median, minimum, maximum and count are known.
#[must_use]
pub fn sum_by_median(stats: &SampleStats) -> Interval {
    let sums = extreme_samples(stats).into_iter();
    let sums = sums.map(|sample| Interval::exact(sample.iter().sum()));
    sums.reduce(Interval::hull).unwrap_or(Interval::UNBOUNDED)
}

/// The samples with these statistics whose values are at the ends or at the middle.
fn extreme_samples(stats: &SampleStats) -> Vec<Vec<f64>> {
    let SampleStats {
        count,
        median,
        min,
        max,
        ..
    } = *stats;
    if count < 2 {
        return vec![vec![median; count]];
    }
    // The middle of a sample of even count is two values, as far from the median as the ends allow.
    let widest = if count % 2 == 0 {
        (median - min).min(max - median)
    } else {
        0.0
    };
    let unknown = (count - 1) / 2;
    // Of two values, the middle ones are the ends.
    let known_ends = usize::from(count > 2);
    let distances = if count == 2 {
        vec![widest]
    } else {
        vec![0.0, widest]
    };
    let mut samples = Vec::new();
    for distance in distances {
        let middle: &[f64] = if count % 2 == 0 {
            &[median - distance, median + distance]
        } else {
            &[median]
        };
        let (below, above) = (middle[0], middle[middle.len() - 1]);
        for low in known_ends.min(unknown)..=unknown {
            for high in known_ends.min(unknown)..=unknown {
                let mut sample = vec![min; low];
                sample.extend(vec![below; unknown - low]);
                sample.extend(middle);
                sample.extend(vec![above; unknown - high]);
                sample.extend(vec![max; high]);
                samples.push(sample);
            }
        }
    }
    samples
}

/// The interval of the ratio of the means of pairs (numerator, denominator), by Fieller's theorem: all ratios r for which the
/// mean of numerator − r · denominator does not differ significantly from zero.
///
/// Where the denominator does not differ significantly from zero, the theorem gives no bounded interval; the ratio of both
/// intervals, which contains its lower end, is returned instead.
#[must_use]
pub fn of_paired_ratio(pairs: &[(f64, f64)], alpha: f64) -> Interval {
    let count = pairs.len();
    if count < 2 {
        return Interval::UNBOUNDED;
    }
    let [above, below]: [Vec<f64>; 2] = [
        pairs.iter().map(|pair| pair.0).collect(),
        pairs.iter().map(|pair| pair.1).collect(),
    ];
    let [x, y] = [mean_of(&above), mean_of(&below)];
    let freedom = count as f64 * (count as f64 - 1.0);
    let products = pairs.iter().map(|(above, below)| (above - x) * (below - y));
    let covariance: f64 = products.sum::<f64>() / freedom;
    let square = |value: f64| value * value;
    let t = square(student_t(alpha, count - 1));
    let a = square(y) - t * square(deviation_of_mean(&below, y));
    let b = x * y - t * covariance;
    let c = square(x) - t * square(deviation_of_mean(&above, x));
    if a <= 0.0 {
        return of_mean(&above, alpha).ratio_to(of_mean(&below, alpha));
    }
    let root = (square(b) - a * c).max(0.0).sqrt();
    Interval {
        low: (b - root) / a,
        high: (b + root) / a,
    }
}

/// The exact interval of the mean number of events of a run, by Garwood, if `events` happened in `runs` and follow a Poisson
/// distribution.
#[must_use]
pub fn of_events(events: f64, runs: usize, alpha: f64) -> Interval {
    let quantile = |probability: f64, events: f64| {
        ChiSquared::new(2.0 * events).map_or(0.0, |chi| chi.inverse_cdf(probability) / 2.0)
    };
    let runs = runs as f64;
    Interval {
        low: quantile(alpha / 2.0, events) / runs,
        high: quantile(1.0 - alpha / 2.0, events + 1.0) / runs,
    }
}

/// The exact interval of the ratio of the means of two Poisson distributions over equally many runs, of which `above` and
/// `below` events happened: given their sum, the first number has a binomial distribution (Clopper–Pearson).
#[must_use]
pub fn of_event_ratio(above: f64, below: f64, alpha: f64) -> Interval {
    let share = |probability: f64, first: f64, second: f64| {
        Beta::new(first, second).map_or(f64::NAN, |beta| beta.inverse_cdf(probability))
    };
    Interval {
        low: match above {
            0.0 => 0.0,
            _ => odds(share(alpha / 2.0, above, below + 1.0)),
        },
        high: match below {
            0.0 => f64::INFINITY,
            _ => odds(share(1.0 - alpha / 2.0, above + 1.0, below)),
        },
    }
}

fn odds(share: f64) -> f64 {
    share / (1.0 - share)
}

#[cfg(test)]
mod tests {
    use super::{
        Interval, of_event_ratio, of_events, of_known_mean, of_known_median, of_mean, of_paired_ratio,
        student_t, sum_by_median,
    };
    use crate::stats::SampleStats;

    fn assert_near(found: Interval, low: f64, high: f64) {
        let off = (found.low - low).abs().max((found.high - high).abs());
        assert!(off < 1e-3 * high.abs().max(1.0), "{found:?}, not {low} to {high}");
    }

    /// NIST/SEMATECH e-Handbook of Statistical Methods, §1.3.6.7.2: critical values of Student's t.
    #[test]
    fn quantiles_of_t_are_those_of_the_handbook() {
        for (freedom, alpha, value) in [
            (1, 0.05, 12.706),
            (4, 0.05, 2.776),
            (10, 0.01, 3.169),
            (30, 0.05, 2.042),
            (100, 0.002, 3.174),
        ] {
            let found = student_t(alpha, freedom);
            assert!((found - value).abs() < 1e-3, "{freedom}: {found}");
        }
    }

    /// Garwood (1936), as tabled by Ulm (1990), *A simple method to calculate the confidence interval of a standardized mortality
    /// ratio*: 0, 1, 5, 10 and 100 observed events at 95 %.
    #[test]
    fn intervals_of_events_are_those_of_garwoods_table() {
        for (events, low, high) in [
            (0.0, 0.0, 3.689),
            (1.0, 0.0253, 5.572),
            (5.0, 1.623, 11.668),
            (10.0, 4.795, 18.390),
            (100.0, 81.364, 121.627),
        ] {
            assert_near(of_events(events, 1, 0.05), low, high);
        }
        assert_near(of_events(10.0, 5, 0.05), 0.959, 3.678);
    }

    /// Clopper–Pearson intervals of a share: 0 of 10 up to 0.3085, 5 of 10 from 0.1871 to 0.8129 (Clopper and Pearson 1934).
    #[test]
    fn ratio_of_events_follows_from_the_share() {
        assert_near(of_event_ratio(5.0, 5.0, 0.05), 0.1871 / 0.8129, 0.8129 / 0.1871);
        assert_near(of_event_ratio(0.0, 10.0, 0.05), 0.0, 0.3085 / 0.6915);
        assert_eq!(of_event_ratio(3.0, 0.0, 0.05).high, f64::INFINITY);
        let nothing = of_event_ratio(0.0, 0.0, 0.05);
        assert_eq!((nothing.low, nothing.high), (0.0, f64::INFINITY));
    }

    /// The limits of the theorem: of r, the mean of x − r · y lies just at the end of its interval.
    #[test]
    fn fiellers_limits_are_where_the_paired_test_turns() {
        let pairs = [(10.0, 5.1), (12.0, 5.8), (11.0, 5.6), (9.0, 4.4), (13.0, 6.3)];
        let interval = of_paired_ratio(&pairs, 0.05);
        assert!(interval.low < 2.02 && 2.02 < interval.high, "{interval:?}");
        for (ratio, is_high) in [(interval.low, false), (interval.high, true)] {
            let rest: Vec<f64> = pairs.iter().map(|(x, y)| x - ratio * y).collect();
            let test = of_mean(&rest, 0.05);
            let end = if is_high { test.high } else { test.low };
            assert!(end.abs() < 1e-9, "{test:?}");
        }
        let [x, y] = [pairs.map(|pair| pair.0), pairs.map(|pair| pair.1)];
        let apart = of_mean(&x, 0.05).ratio_to(of_mean(&y, 0.05));
        assert!(
            apart.low < interval.low - 0.3 && interval.high + 0.3 < apart.high,
            "pairs vary together: {apart:?} contains {interval:?}"
        );
        let alike = [(3.0, 3.0), (3.1, 3.1), (2.9, 2.9)];
        assert_near(of_paired_ratio(&alike, 0.05), 1.0, 1.0);
    }

    #[test]
    fn denominator_near_zero_gives_no_upper_end() {
        let interval = of_paired_ratio(&[(10.0, 0.0), (11.0, 1.0), (10.0, 0.0)], 0.05);
        assert!(!interval.is_bounded() && interval.low > 0.0, "{interval:?}");
        let endless = of_paired_ratio(&[(10.0, 0.0), (11.0, 0.0)], 0.05);
        assert_eq!(endless.low, f64::INFINITY, "any bound is exceeded");
    }

    #[test]
    fn known_statistics_give_the_interval_or_one_that_contains_it() {
        for values in [
            &[4.0, 1.0, 2.0, 3.0, 9.0][..],
            &[4.0, 1.0, 2.0, 3.5, 9.0, 5.0],
            &[1.0, 1.0, 7.0],
            &[1.0, 4.0],
        ] {
            let stats = SampleStats::of(values).unwrap();
            for alpha in [0.05, 0.001] {
                let interval = of_mean(values, alpha);
                assert_near(of_known_mean(&stats, alpha), interval.low, interval.high);
                let wide = of_known_median(&stats, alpha);
                assert!(
                    wide.low <= interval.low + 1e-9 && interval.high <= wide.high + 1e-9,
                    "{wide:?} contains {interval:?}"
                );
                if values.len() < 4 {
                    assert_near(wide, interval.low, interval.high);
                }
            }
            let sum: f64 = values.iter().sum();
            let sums = sum_by_median(&stats);
            assert!(sums.low <= sum && sum <= sums.high, "{sums:?}");
        }
        assert!(!of_mean(&[1.0], 0.05).is_bounded());
    }
}
