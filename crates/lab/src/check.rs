//! Evaluation of checks: each check tests a condition at points of a series.

use core::fmt;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::plan::{Check, CheckKind, Direction};
use crate::results::{Results, Series, SeriesPoint, SeriesSet};

/// Verdict on a claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The claim holds at all points.
    Reproduced,
    /// The claim holds at some points.
    Partly,
    /// The claim holds at no point.
    Contradicted,
    /// There were no points to check.
    NotMeasured,
}

impl Verdict {
    /// Overall verdict of several; `None` if there are none.
    pub fn of_all(verdicts: impl IntoIterator<Item = Self>) -> Option<Self> {
        verdicts.into_iter().reduce(|sum, verdict| match (sum, verdict) {
            (sum, verdict) if sum == verdict => sum,
            (Self::NotMeasured, _) | (_, Self::NotMeasured) => Self::NotMeasured,
            _ => Self::Partly,
        })
    }

    fn of_counts(held: usize, all: usize) -> Self {
        match (held, all) {
            (_, 0) => Self::NotMeasured,
            (held, all) if held == all => Self::Reproduced,
            (0, _) => Self::Contradicted,
            _ => Self::Partly,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reproduced => "reproduced",
            Self::Partly => "partly",
            Self::Contradicted => "contradicted",
            Self::NotMeasured => "not measured",
        })
    }
}

/// Result of a check.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
pub struct Finding {
    /// The claim as written in the plan.
    pub claim: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Number of points at which the condition holds.
    pub passed: usize,
    /// Number of points checked.
    pub total: usize,
    /// The measured values in words.
    pub found: String,
}

/// A checked point.
struct Observation {
    label: String,
    value: f64,
    holds: bool,
}

impl Observation {
    /// A point without value does not satisfy the condition: an object that never arrived was not in time.
    fn missing(label: &str) -> Self {
        Self {
            label: label.to_owned(),
            value: f64::NAN,
            holds: false,
        }
    }
}

/// Evaluates a check.
#[must_use]
pub fn evaluate(check: &Check, results: &Results<'_>) -> Finding {
    let default = results.plan.figure.y.all().first().cloned().unwrap_or_default();
    let metric = check.y.clone().unwrap_or(default);
    let all_series = match (check.kind, check.between) {
        (CheckKind::Share, Some((low, high))) => SeriesSet::by(results, &metric, |record| {
            let buckets = record.histograms.get(&metric)?;
            let all: u64 = buckets.iter().map(|bucket| bucket.count).sum();
            let within = buckets.iter().filter(|bucket| (low..=high).contains(&bucket.low));
            (all > 0).then(|| within.map(|bucket| bucket.count).sum::<u64>() as f64 / all as f64)
        }),
        _ => SeriesSet::of(results, &metric),
    };
    let others = check.to_y.as_ref().map(|metric| SeriesSet::of(results, metric));
    let evaluation = Evaluation {
        check,
        series: &all_series,
        others: others.as_ref().unwrap_or(&all_series),
    };
    let selected: Vec<&Series> = all_series
        .named(&check.series)
        .filter(|series| applies_to(check, series))
        .collect();
    if let Some(found) = evaluation.failures(&selected) {
        return Finding {
            claim: check.claim.clone(),
            verdict: Verdict::NotMeasured,
            passed: 0,
            total: 0,
            found,
        };
    }
    let observations_at = |series: &&Series| {
        let others = elsewhere(series, &selected);
        let mut observations = evaluation.observations(series);
        observations
            .iter_mut()
            .for_each(|observation| observation.label += &others);
        observations
    };
    let observations: Vec<Observation> = selected.iter().flat_map(observations_at).collect();
    let held = observations
        .iter()
        .filter(|observation| observation.holds)
        .count();
    Finding {
        claim: check.claim.clone(),
        verdict: Verdict::of_counts(held, observations.len()),
        passed: held,
        total: observations.len(),
        found: describe(&observations),
    }
}

/// Whether the check applies to the series, by its values on the other axes.
fn applies_to(check: &Check, series: &Series) -> bool {
    check.only.iter().all(|(axis, value)| {
        let mut others = series.others.iter();
        let other = others.find(|other| other.axis == axis);
        other.is_none_or(|other| value.is(other))
    })
}

/// The values of `series` on the axes in which the selected series differ, for messages.
fn elsewhere(series: &Series, selected: &[&Series]) -> String {
    let mut text = String::new();
    for place in &series.others {
        let is_elsewhere = |other: &&Series| {
            other
                .others
                .iter()
                .any(|it| it.axis == place.axis && it.text != place.text)
        };
        if selected.iter().any(is_elsewhere) {
            text += &format!(", {} {}", place.axis, place.text);
        }
    }
    text
}

/// A check with the series that it examines.
struct Evaluation<'v> {
    check: &'v Check,
    series: &'v SeriesSet,
    /// The series to compare with.
    others: &'v SeriesSet,
}

impl Evaluation<'_> {
    /// A message if runs failed at points that the check examines.
    fn failures(&self, selected: &[&Series]) -> Option<String> {
        let examines_all = matches!(self.check.kind, CheckKind::First | CheckKind::Peak);
        let baselines = selected.iter().filter_map(|series| self.baseline(series));
        let failed = selected
            .iter()
            .copied()
            .chain(baselines)
            .flat_map(|series| &series.failed);
        let relevant = failed.filter(|(x, _)| examines_all || self.is_in_range(*x));
        let labels: BTreeSet<&str> = relevant.map(|(_, label)| label.as_str()).collect();
        let labels: Vec<&str> = labels.into_iter().collect();
        match labels[..] {
            [] => None,
            [""] => Some("runs failed".into()),
            _ => Some(format!("runs failed at {}", labels.join(", "))),
        }
    }

    fn observations(&self, series: &Series) -> Vec<Observation> {
        match self.check.kind {
            CheckKind::Value | CheckKind::Ratio | CheckKind::Share => {
                let within = series.points.iter().filter(|point| self.is_in_range(point.x));
                let gaps = series.gaps.iter().filter(|(x, _)| self.is_in_range(*x));
                let observation = |point: &SeriesPoint| match self.value_at(series, point) {
                    Some(value) => Some(Observation {
                        label: point.label.clone(),
                        value,
                        holds: self.is_within_bounds(value),
                    }),
                    None => self
                        .lacks_baseline(series, point)
                        .then(|| Observation::missing(&point.label)),
                };
                let missing = gaps.map(|(_, label)| Observation::missing(label));
                within.filter_map(observation).chain(missing).collect()
            }
            _ if series.points.is_empty() => vec![Observation::missing("all points")],
            CheckKind::First => self.first(series).into_iter().collect(),
            CheckKind::Peak => self.peak(series).into_iter().collect(),
            CheckKind::Monotone => self.steps(series),
        }
    }

    /// Whether the check compares with another series.
    const fn compares(&self) -> bool {
        self.check.to.is_some() || self.check.to_y.is_some()
    }

    /// The series to compare with.
    fn baseline(&self, series: &Series) -> Option<&Series> {
        let name = self.check.to.as_ref().unwrap_or(&self.check.series);
        self.others.counterpart(series, name).filter(|_| self.compares())
    }

    /// Whether the series to compare with was run at this point but has no value.
    fn lacks_baseline(&self, series: &Series, point: &SeriesPoint) -> bool {
        self.baseline(series)
            .is_some_and(|baseline| baseline.lacks(point.x))
    }

    /// The value of the series, or its ratio to the other series at the same point.
    fn value_at(&self, series: &Series, point: &SeriesPoint) -> Option<f64> {
        let value = self.series.value(&point.stats);
        if !self.compares() {
            return Some(value);
        }
        let other = self.baseline(series)?.at(point.x)?;
        let other = self.others.value(&other.stats);
        // The ratio of 0 to 0 counts as 1: two series without timeouts have equally many.
        let both_are_zero = value == 0.0 && other == 0.0;
        Some(if both_are_zero { 1.0 } else { value / other })
    }

    fn is_in_range(&self, x: f64) -> bool {
        self.check.x.is_none_or(|(from, to)| (from..=to).contains(&x))
    }

    fn is_within_bounds(&self, value: f64) -> bool {
        self.check.at_least.is_none_or(|least| value >= least)
            && self.check.at_most.is_none_or(|most| value <= most)
    }

    /// The first point of the whole series within the bounds must lie in the range.
    fn first(&self, series: &Series) -> Option<Observation> {
        let last = series.points.last()?;
        let points = series.points.iter();
        let mut values = points.filter_map(|point| Some((point, self.value_at(series, point)?)));
        let found = values.find(|(_, value)| self.is_within_bounds(*value));
        Some(match found {
            Some((point, value)) => Observation {
                label: point.label.clone(),
                value,
                holds: self.is_in_range(point.x),
            },
            None => Observation {
                label: format!("{}, the last point", last.label),
                value: self.value_at(series, last)?,
                holds: false,
            },
        })
    }

    /// The maximum of the whole series must lie in the range.
    fn peak(&self, series: &Series) -> Option<Observation> {
        let points = series.points.iter();
        let values = points.filter_map(|point| Some((point, self.value_at(series, point)?)));
        let (point, value) = values.max_by(|left, right| left.1.total_cmp(&right.1))?;
        Some(Observation {
            label: point.label.clone(),
            value,
            holds: self.is_in_range(point.x),
        })
    }

    /// Each step from one point of the range to the next.
    fn steps(&self, series: &Series) -> Vec<Observation> {
        let within: Vec<&SeriesPoint> = series
            .points
            .iter()
            .filter(|point| self.is_in_range(point.x))
            .collect();
        let tolerance = self.check.tolerance.map_or(0.0, |share| share.0);
        let step = |pair: &[&SeriesPoint]| {
            let [before, after] = [pair[0], pair[1]].map(|point| self.series.value(&point.stats));
            let slack = before.abs() * tolerance;
            Observation {
                label: format!("{} to {}", pair[0].label, pair[1].label),
                value: after - before,
                holds: match self.check.direction {
                    Some(Direction::Falling) => after <= before + slack,
                    Some(Direction::Rising) | None => after >= before - slack,
                },
            }
        };
        within.windows(2).map(step).collect()
    }
}

/// Describes the points at which the condition fails, or else the range of values.
fn describe(observations: &[Observation]) -> String {
    let number = |value: f64| {
        if value.is_nan() {
            "nothing".to_owned()
        } else if value.is_infinite() {
            "∞".to_owned()
        } else {
            format!("{value:.3}")
        }
    };
    let text = |observation: &Observation| match observation.label.as_str() {
        "" => number(observation.value),
        label => format!("{} at {label}", number(observation.value)),
    };
    let failed: Vec<String> = observations
        .iter()
        .filter(|observation| !observation.holds)
        .map(text)
        .collect();
    if !failed.is_empty() {
        return format!("not so: {}", failed.join(", "));
    }
    let by_value = |left: &&Observation, right: &&Observation| left.value.total_cmp(&right.value);
    match (
        observations.iter().min_by(by_value),
        observations.iter().max_by(by_value),
    ) {
        (Some(least), Some(most)) if least.value < most.value => {
            format!("from {} to {}", text(least), text(most))
        }
        (Some(only), _) => text(only),
        (None, _) => "nothing was measured".into(),
    }
}

#[cfg(test)]
mod tests;
