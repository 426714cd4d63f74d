//! Points of a check: which are examined, and whether the condition holds there.

use std::collections::BTreeSet;

use super::estimate::{self, Side};
use crate::plan::{Check, CheckKind, Direction, SeriesNames};
use crate::results::{Series, SeriesPoint, SeriesSet};
use crate::stats::interval::Interval;

/// Whether a condition holds at a point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// The whole interval satisfies the condition.
    Holds,
    /// No value of the interval satisfies it, or there is no value.
    Fails,
    /// The interval covers the threshold.
    Undecided,
}

/// A checked point.
pub(super) struct Observation {
    pub(super) label: String,
    pub(super) value: f64,
    pub(super) interval: Interval,
    pub(super) note: Note,
    pub(super) outcome: Outcome,
}

/// What a reader has to know of an interval.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Note {
    /// It is one of a sample.
    Sampled,
    /// The value is known, or counts the runs themselves.
    Exact,
    /// There was only one run.
    OneRun,
    /// Both sides of the ratio, or both ends of the step, are zero.
    Nothing,
}

impl Observation {
    /// A point without value does not satisfy the condition: an object that never arrived was not in time.
    fn missing(label: &str) -> Self {
        Self {
            label: label.to_owned(),
            value: f64::NAN,
            interval: Interval::UNBOUNDED,
            note: Note::Exact,
            outcome: Outcome::Fails,
        }
    }
}

/// A value or ratio at a point.
#[derive(Clone, Copy)]
pub(super) struct Estimate {
    pub(super) value: f64,
    pub(super) interval: Interval,
    pub(super) note: Note,
}

/// A check with the series that it examines.
pub(super) struct Evaluation<'v> {
    pub(super) check: &'v Check,
    pub(super) series: &'v SeriesSet,
    /// The series to compare with.
    pub(super) others: &'v SeriesSet,
}

impl Evaluation<'_> {
    /// The series that the check examines.
    pub(super) fn selected(&self) -> Vec<&Series> {
        let named = self.series.named(&self.check.series);
        named.filter(|series| applies_to(self.check, series)).collect()
    }

    /// A message if runs failed at points that the check examines.
    pub(super) fn failures(&self, selected: &[&Series]) -> Option<String> {
        let examines_all = matches!(self.check.kind, CheckKind::First | CheckKind::Peak);
        let baselines = selected.iter().flat_map(|series| self.baselines(series));
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

    /// The number of intervals that the check compares with its threshold.
    pub(super) fn comparisons(&self, selected: &[&Series]) -> usize {
        let of_series = |series: &&Series| {
            let within = || series.points.iter().filter(|point| self.is_in_range(point.x));
            match self.check.kind {
                CheckKind::Value | CheckKind::Ratio | CheckKind::Share | CheckKind::ShareOfPoints => {
                    within().count()
                }
                CheckKind::First | CheckKind::Peak => series.points.len(),
                CheckKind::Monotone => within().count().saturating_sub(1),
            }
        };
        selected.iter().map(of_series).sum()
    }

    /// The checked points of all series, each interval with the probability of error `alpha`.
    pub(super) fn all_observations(&self, selected: &[&Series], alpha: f64) -> Vec<Observation> {
        let of_series = |series: &&Series| {
            let others = elsewhere(series, selected);
            let mut observations = self.observations(series, alpha);
            observations
                .iter_mut()
                .for_each(|observation| observation.label += &others);
            observations
        };
        selected.iter().flat_map(of_series).collect()
    }

    fn observations(&self, series: &Series, alpha: f64) -> Vec<Observation> {
        match self.check.kind {
            CheckKind::Value | CheckKind::Ratio | CheckKind::Share | CheckKind::ShareOfPoints => {
                let within = series.points.iter().filter(|point| self.is_in_range(point.x));
                let gaps = series.gaps.iter().filter(|(x, _)| self.is_in_range(*x));
                let observation = |point: &SeriesPoint| match self.estimate(series, point, alpha) {
                    Some(estimate) => Some(Observation {
                        label: point.label.clone(),
                        value: estimate.value,
                        interval: estimate.interval,
                        note: estimate.note,
                        outcome: self.outcome(&estimate),
                    }),
                    None => self
                        .lacks_baseline(series, point)
                        .then(|| Observation::missing(&point.label)),
                };
                let missing = gaps.map(|(_, label)| Observation::missing(label));
                within.filter_map(observation).chain(missing).collect()
            }
            _ if series.points.is_empty() => vec![Observation::missing("all points")],
            CheckKind::First => self.first(series, alpha).into_iter().collect(),
            CheckKind::Peak => self.peak(series, alpha).into_iter().collect(),
            CheckKind::Monotone => self.steps(series, alpha),
        }
    }

    /// Whether the check compares with another series.
    const fn compares(&self) -> bool {
        self.check.to.is_some() || self.check.to_y.is_some()
    }

    /// The series to compare with.
    fn baselines(&self, series: &Series) -> Vec<&Series> {
        let own = core::slice::from_ref(&self.check.series);
        let names = self.check.to.as_ref().map_or(own, SeriesNames::all);
        let found = names
            .iter()
            .filter_map(|name| self.others.counterpart(series, name));
        found.filter(|_| self.compares()).collect()
    }

    /// The series to compare with at a point: of several, the one with the greatest mean.
    fn baseline(&self, series: &Series, x: f64) -> Option<(&Series, Side<'_>)> {
        let sides = self.baselines(series).into_iter().filter_map(|baseline| {
            let point = baseline.at(x)?;
            Some((baseline, Side::new(self.others, baseline, point)))
        });
        sides.max_by(|left, right| left.1.value().total_cmp(&right.1.value()))
    }

    /// Whether a series to compare with was run at this point but has no value.
    fn lacks_baseline(&self, series: &Series, point: &SeriesPoint) -> bool {
        let mut baselines = self.baselines(series).into_iter();
        baselines.any(|baseline| baseline.lacks(point.x))
    }

    /// The value of the series, or its ratio to the other series at the same point.
    pub(super) fn estimate(&self, series: &Series, point: &SeriesPoint, alpha: f64) -> Option<Estimate> {
        let side = Side::new(self.series, series, point);
        if !self.compares() {
            let is_about_runs = side.is_about_runs(self.check.at_most);
            return Some(Estimate {
                value: side.value(),
                interval: match is_about_runs {
                    true if side.is_zero() => Interval::exact(0.0),
                    true => Interval::exact(side.value().max(f64::MIN_POSITIVE)),
                    false => estimate::of_value(&side, alpha),
                },
                note: match () {
                    () if series.is_exact || is_about_runs => Note::Exact,
                    () if side.is_single() => Note::OneRun,
                    () => Note::Sampled,
                },
            });
        }
        let (baseline, other) = self.baseline(series, point.x)?;
        if side.is_zero() && other.is_zero() {
            return Some(Estimate {
                value: f64::NAN,
                interval: Interval::UNBOUNDED,
                note: Note::Nothing,
            });
        }
        let is_single = side.is_single() || other.is_single();
        Some(Estimate {
            value: side.value() / other.value(),
            interval: estimate::of_ratio(&side, &other, alpha),
            note: match () {
                () if series.is_exact && baseline.is_exact => Note::Exact,
                () if is_single => Note::OneRun,
                () => Note::Sampled,
            },
        })
    }

    pub(super) fn is_in_range(&self, x: f64) -> bool {
        self.check.x.is_none_or(|(from, to)| (from..=to).contains(&x))
    }

    /// Whether the interval lies within the bounds, outside them, or covers one.
    fn outcome(&self, estimate: &Estimate) -> Outcome {
        if matches!(estimate.note, Note::OneRun | Note::Nothing) {
            return Outcome::Undecided;
        }
        let least = self.check.at_least.unwrap_or(f64::NEG_INFINITY);
        let most = self.check.at_most.unwrap_or(f64::INFINITY);
        within(estimate.interval, least, most)
    }

    /// The first point of the whole series within the bounds must lie in the range.
    fn first(&self, series: &Series, alpha: f64) -> Option<Observation> {
        let places = self.estimates(series, alpha);
        let outcomes: Vec<(f64, Outcome)> = places
            .iter()
            .map(|(point, estimate)| (point.x, self.outcome(estimate)))
            .collect();
        let is_in_range = |x: f64| self.is_in_range(x);
        let before = outcomes.iter().take_while(|(x, _)| !is_in_range(*x));
        let mut inside = outcomes.iter().filter(|(x, _)| is_in_range(*x));
        let none_before = before.clone().all(|(_, outcome)| *outcome == Outcome::Fails);
        let some_before = before.clone().any(|(_, outcome)| *outcome == Outcome::Holds);
        let none_inside = inside.clone().all(|(_, outcome)| *outcome == Outcome::Fails);
        let outcome = if some_before || none_inside {
            Outcome::Fails
        } else if none_before && inside.any(|(_, outcome)| *outcome == Outcome::Holds) {
            Outcome::Holds
        } else {
            Outcome::Undecided
        };
        let possible = places.iter().zip(&outcomes);
        let found = possible
            .clone()
            .find(|(_, (_, outcome))| *outcome != Outcome::Fails);
        let ((point, estimate), is_last) = match found {
            Some((place, _)) => (place, false),
            None => (places.last()?, true),
        };
        let last = if is_last { ", the last point" } else { "" };
        Some(Observation {
            label: format!("{}{last}", point.label),
            value: estimate.value,
            interval: estimate.interval,
            note: estimate.note,
            outcome,
        })
    }

    /// The maximum of the whole series must lie in the range.
    fn peak(&self, series: &Series, alpha: f64) -> Option<Observation> {
        let places = self.estimates(series, alpha);
        let (inside, outside): (Vec<_>, Vec<_>) =
            places.iter().partition(|(point, _)| self.is_in_range(point.x));
        let exceeds = |one: &[&(&SeriesPoint, Estimate)], others: &[&(&SeriesPoint, Estimate)]| {
            let highest = others.iter().map(|(_, estimate)| estimate.interval.high);
            let highest = highest.fold(f64::NEG_INFINITY, f64::max);
            one.iter().any(|(_, estimate)| estimate.interval.low > highest)
        };
        let (point, estimate) = places
            .iter()
            .filter(|(_, estimate)| !estimate.value.is_nan())
            .max_by(|left, right| left.1.value.total_cmp(&right.1.value))
            .or_else(|| places.first())?;
        Some(Observation {
            label: point.label.clone(),
            value: estimate.value,
            interval: estimate.interval,
            note: estimate.note,
            outcome: if exceeds(&inside, &outside) {
                Outcome::Holds
            } else if exceeds(&outside, &inside) {
                Outcome::Fails
            } else {
                Outcome::Undecided
            },
        })
    }

    /// All points of the series that have a value.
    fn estimates<'s>(&self, series: &'s Series, alpha: f64) -> Vec<(&'s SeriesPoint, Estimate)> {
        let points = series.points.iter();
        let estimated = points.filter_map(|point| Some((point, self.estimate(series, point, alpha)?)));
        estimated.collect()
    }

    /// Each step from one point of the range to the next, beyond what is tolerated.
    fn steps(&self, series: &Series, alpha: f64) -> Vec<Observation> {
        let points = series.points.iter();
        let within_range: Vec<&SeriesPoint> = points.filter(|point| self.is_in_range(point.x)).collect();
        let tolerance = self.check.tolerance.map_or(0.0, |share| share.0);
        let is_falling = self.check.direction == Some(Direction::Falling);
        let step = |pair: &[&SeriesPoint]| {
            let [before, after] = [pair[0], pair[1]].map(|point| Side::new(self.series, series, point));
            let factor = if is_falling {
                1.0 + tolerance
            } else {
                1.0 - tolerance
            };
            let (value, interval) = estimate::of_step(&before, &after, factor, alpha);
            let (least, most) = if is_falling {
                (f64::NEG_INFINITY, 0.0)
            } else {
                (0.0, f64::INFINITY)
            };
            let note = match () {
                () if before.is_zero() && after.is_zero() => Note::Nothing,
                () if before.is_single() || after.is_single() => Note::OneRun,
                () if series.is_exact => Note::Exact,
                () => Note::Sampled,
            };
            Observation {
                label: format!("{} to {}", pair[0].label, pair[1].label),
                value,
                interval,
                note,
                outcome: match note {
                    Note::Nothing | Note::OneRun => Outcome::Undecided,
                    Note::Exact | Note::Sampled => within(interval, least, most),
                },
            }
        };
        within_range.windows(2).map(step).collect()
    }
}

/// Relative error of the arithmetic: an interval that ends at the threshold does not cover it.
const ROUNDING: f64 = 1e-9;

pub(super) fn within(interval: Interval, least: f64, most: f64) -> Outcome {
    let slack = |bound: f64| {
        if bound.is_finite() {
            bound.abs() * ROUNDING
        } else {
            0.0
        }
    };
    let Interval { low, high } = interval;
    if low >= least - slack(least) && high <= most + slack(most) {
        Outcome::Holds
    } else if high < least - slack(least) || low > most + slack(most) {
        Outcome::Fails
    } else {
        Outcome::Undecided
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
