//! Statistics over several runs: median and range, mean and confidence interval.

pub mod interval;

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
    if values.len() < 2 {
        return 0.0;
    }
    interval::student_t(0.05, values.len() - 1) * interval::deviation_of_mean(values, mean)
}

#[cfg(test)]
mod tests {
    use super::SampleStats;

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
}
