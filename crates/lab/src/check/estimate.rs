//! Intervals of checked quantities: a value, the ratio of two values, a step from one value to the next.

use crate::metric;
use crate::plan::Statistic;
use crate::results::{Series, SeriesPoint, SeriesSet};
use crate::stats::interval::{self, Interval};

/// A point of a series with what is known of its sample.
pub(super) struct Side<'s> {
    point: &'s SeriesPoint,
    /// Whether its value is known, as that of a formula or of a paper.
    is_exact: bool,
    /// Whether its values count events.
    is_count: bool,
    statistic: Statistic,
}

impl<'s> Side<'s> {
    pub(super) fn new(set: &SeriesSet, series: &Series, point: &'s SeriesPoint) -> Self {
        Self {
            point,
            is_exact: series.is_exact,
            is_count: !series.is_exact && metric::counts_events(&set.metric),
            statistic: set.statistic,
        }
    }

    /// The mean. Of a sample that was kept with its median only, the median.
    pub(super) const fn value(&self) -> f64 {
        match self.statistic {
            Statistic::Median if self.point.by_seed.is_empty() => self.point.stats.median,
            _ => self.point.stats.mean,
        }
    }

    /// Whether it is a single run, of which nothing is known about other runs.
    pub(super) const fn is_single(&self) -> bool {
        !self.is_exact && self.point.stats.count < 2
    }

    /// Whether all values are zero.
    pub(super) fn is_zero(&self) -> bool {
        if !self.point.by_seed.is_empty() {
            return self.point.by_seed.iter().all(|(_, value)| *value == 0.0);
        }
        match self.statistic {
            Statistic::Mean => self.point.stats.mean == 0.0,
            Statistic::Median => self.point.stats.max == 0.0,
        }
    }

    /// Whether a bound of zero is meant for the runs themselves: none may have an event. An estimate could never show that.
    pub(super) fn is_about_runs(&self, at_most: Option<f64>) -> bool {
        self.is_count && at_most == Some(0.0)
    }

    fn values(&self) -> Vec<f64> {
        self.point.by_seed.iter().map(|(_, value)| *value).collect()
    }

    /// The interval of the mean by Student's t.
    fn mean(&self, alpha: f64) -> Interval {
        let stats = &self.point.stats;
        let mean = match self.statistic {
            _ if self.is_exact => Interval::exact(self.value()),
            _ if !self.point.by_seed.is_empty() => interval::of_mean(&self.values(), alpha),
            Statistic::Mean => interval::of_known_mean(stats, alpha),
            Statistic::Median => interval::of_known_median(stats, alpha),
        };
        mean.not_negative()
    }

    /// The number of events in all runs: least and greatest.
    fn events(&self) -> Interval {
        let stats = &self.point.stats;
        let events = match self.statistic {
            _ if !self.point.by_seed.is_empty() => Interval::exact(self.values().iter().sum()),
            Statistic::Mean => Interval::exact(stats.mean * stats.count as f64),
            Statistic::Median => interval::sum_by_median(stats),
        };
        Interval {
            low: events.low.round(),
            high: events.high.round(),
        }
    }
}

/// The interval of a value. Of events it contains the one by Student's t, for events that come in bursts, and the one by the
/// Poisson distribution, for rare ones.
pub(super) fn of_value(side: &Side<'_>, alpha: f64) -> Interval {
    let mean = side.mean(alpha);
    if !side.is_count {
        return mean;
    }
    let events = side.events();
    let runs = side.point.stats.count;
    let least = interval::of_events(events.low, runs, alpha);
    mean.hull(least)
        .hull(interval::of_events(events.high, runs, alpha))
}

/// The interval of the ratio of two values, paired by seed where the values of the seeds are known.
pub(super) fn of_ratio(above: &Side<'_>, below: &Side<'_>, alpha: f64) -> Interval {
    let ratio = match paired(above, below) {
        Some(pairs) => interval::of_paired_ratio(&pairs, alpha),
        // The triangle inequality of standard deviations: it contains the paired interval, whatever the correlation.
        None => above.mean(alpha).ratio_to(below.mean(alpha)),
    };
    let ratio = ratio.not_negative();
    if !(above.is_count && below.is_count) || above.point.stats.count != below.point.stats.count {
        return ratio;
    }
    let (numerators, denominators) = (above.events(), below.events());
    let lower = interval::of_event_ratio(numerators.low, denominators.high, alpha);
    ratio
        .hull(lower)
        .hull(interval::of_event_ratio(numerators.high, denominators.low, alpha))
}

/// A step with its interval: the second value less `factor` times the first. Both are about the same runs: those of the seeds that both
/// have, if they are known.
pub(super) fn of_step(before: &Side<'_>, after: &Side<'_>, factor: f64, alpha: f64) -> (f64, Interval) {
    if let Some(pairs) = paired(before, after).filter(|pairs| !pairs.is_empty()) {
        let steps: Vec<f64> = pairs
            .iter()
            .map(|(before, after)| after - factor * before)
            .collect();
        let mean = steps.iter().sum::<f64>() / steps.len() as f64;
        return (mean, interval::of_mean(&steps, alpha));
    }
    let value = after.value() - factor * before.value();
    let (before, after) = (before.mean(alpha), after.mean(alpha));
    let interval = Interval {
        low: after.low - factor * before.high,
        high: after.high - factor * before.low,
    };
    (value, interval)
}

/// The values of both for each seed; `None` if those of one are not known, or both are exact.
fn paired(one: &Side<'_>, other: &Side<'_>) -> Option<Vec<(f64, f64)>> {
    let is_known = |side: &Side<'_>| side.is_exact || !side.point.by_seed.is_empty();
    if !is_known(one) || !is_known(other) || (one.is_exact && other.is_exact) {
        return None;
    }
    let leader = if one.is_exact { other } else { one };
    let at = |side: &Side<'_>, seed: u64| {
        let mut values = side.point.by_seed.iter();
        match side.is_exact {
            true => Some(side.value()),
            false => values.find(|(other, _)| *other == seed).map(|(_, value)| *value),
        }
    };
    let seeds = leader.point.by_seed.iter().map(|(seed, _)| *seed);
    Some(
        seeds
            .filter_map(|seed| Some((at(one, seed)?, at(other, seed)?)))
            .collect(),
    )
}
