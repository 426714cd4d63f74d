//! Statistics over several runs: median and range, mean and confidence interval.

use serde::Serialize;

/// Statistics of a sample.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct SampleStats {
    /// Number of values, at least one.
    pub count: usize,
    /// Mean.
    pub mean: f64,
    /// Half the width of the mean's 95 % confidence interval, by Student's t; 0 for a single value.
    pub confidence: f64,
    /// Median.
    pub median: f64,
    /// Minimum.
    pub min: f64,
    /// Maximum.
    pub max: f64,
}

impl SampleStats {
    /// The statistics of `values`; `None` if empty.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let count = sorted.len();
        let middle = count / 2;
        let median = if count.is_multiple_of(2) {
            f64::midpoint(sorted[middle - 1], sorted[middle])
        } else {
            sorted[middle]
        };
        // Summed in sorted order, so that the order of the runs does not change the last digit.
        let mean = sorted.iter().sum::<f64>() / count as f64;
        Some(Self {
            count,
            mean,
            confidence: half_width(&sorted, mean),
            median,
            min,
            max,
        })
    }

    /// Whether zero lies outside the confidence interval of the mean.
    #[must_use]
    pub fn is_significant(&self) -> bool {
        self.count > 1 && self.mean.abs() > self.confidence
    }
}

/// Half the width of the 95 % confidence interval of a mean: t · s / √n.
fn half_width(values: &[f64], mean: f64) -> f64 {
    let count = values.len() as f64;
    if values.len() < 2 {
        return 0.0;
    }
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    let deviation = (squares / (count - 1.0)).sqrt();
    student_t(values.len() - 1) * deviation / count.sqrt()
}

/// The 97.5 % quantiles of Student's t distribution for 1 to 30 degrees of freedom.
const T: [f64; 30] = [
    12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281, 2.2010, 2.1788, 2.1604,
    2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860, 2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555,
    2.0518, 2.0484, 2.0452, 2.0423,
];
/// The 97.5 % quantile of the normal distribution.
const Z: f64 = 1.959_964;

/// The 97.5 % quantile for `freedom` degrees of freedom; beyond the table by the Cornish–Fisher expansion.
fn student_t(freedom: usize) -> f64 {
    let tabled = freedom.checked_sub(1).and_then(|index| T.get(index));
    tabled.copied().unwrap_or_else(|| {
        let n = freedom.max(1) as f64;
        let (z3, z5) = (Z * Z * Z, Z * Z * Z * Z * Z);
        Z + (z3 + Z) / (4.0 * n) + (5.0 * z5 + 16.0 * z3 + 3.0 * Z) / (96.0 * n * n)
    })
}

#[cfg(test)]
mod tests {
    use super::{SampleStats, student_t};

    #[test]
    fn statistics_match_textbook_values() {
        let stats = SampleStats::of(&[4.0, 1.0, 2.0, 3.0, 5.0]).unwrap();
        assert_eq!((stats.median, stats.min, stats.max), (3.0, 1.0, 5.0));
        assert_eq!(stats.mean, 3.0);
        // s = √2.5, t = 2.7764: 2.7764 · 1.5811 / √5
        assert!((stats.confidence - 1.9632).abs() < 1e-4, "{}", stats.confidence);
        assert_eq!(SampleStats::of(&[1.0, 4.0]).unwrap().median, 2.5);
        assert_eq!(SampleStats::of(&[7.0]).unwrap().confidence, 0.0);
        assert_eq!(SampleStats::of(&[]), None);
    }

    #[test]
    fn difference_is_significant_outside_its_interval() {
        assert!(SampleStats::of(&[1.0, 1.1, 0.9]).unwrap().is_significant());
        assert!(!SampleStats::of(&[1.0, -1.1, 0.9]).unwrap().is_significant());
        assert!(!SampleStats::of(&[1.0]).unwrap().is_significant());
    }

    #[test]
    fn quantiles_beyond_the_table_approach_the_normal() {
        assert!((student_t(31) - 2.0395).abs() < 1e-4);
        assert!((student_t(100) - 1.9840).abs() < 1e-4);
        assert!((student_t(1_000_000) - 1.96).abs() < 1e-3);
    }
}
