//! Does the claim hold? Each check looks at lines of the figure and says at how many places it is so.

use core::fmt;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::plan::{Check, CheckKind, Direction};
use crate::results::{Results, Series, SeriesPoint, SeriesSet};

/// What a re-measurement says of a claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It holds everywhere.
    Reproduced,
    /// It holds at some places.
    Partly,
    /// It holds nowhere.
    Contradicted,
    /// There was nothing to look at.
    NotMeasured,
}

impl Verdict {
    /// What several verdicts say together; `None` if there are none.
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

/// What a check found.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
pub struct Finding {
    /// What is claimed, in the words of the plan.
    pub claim: String,
    /// Whether it is so.
    pub verdict: Verdict,
    /// At how many places it is so.
    pub passed: usize,
    /// At how many places was looked.
    pub total: usize,
    /// What was found, in words.
    pub found: String,
}

/// What was found at one place.
struct Look {
    label: String,
    value: f64,
    holds: bool,
}

impl Look {
    /// What has no value is not as was said: an object that never came was not there in time.
    fn nothing(label: &str) -> Self {
        Self {
            label: label.to_owned(),
            value: f64::NAN,
            holds: false,
        }
    }
}

/// Looks.
#[must_use]
pub fn evaluate(check: &Check, results: &Results<'_>) -> Finding {
    let usual = results.plan.figure.y.all().first().cloned().unwrap_or_default();
    let metric = check.y.clone().unwrap_or(usual);
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
    let view = View {
        check,
        series: &all_series,
        others: others.as_ref().unwrap_or(&all_series),
    };
    let meant: Vec<&Series> = all_series
        .named(&check.series)
        .filter(|series| is_meant(check, series))
        .collect();
    if let Some(found) = view.failures(&meant) {
        return Finding {
            claim: check.claim.clone(),
            verdict: Verdict::NotMeasured,
            passed: 0,
            total: 0,
            found,
        };
    }
    let looks_at = |series: &&Series| {
        let others = elsewhere(series, &meant);
        let mut looks = view.looks(series);
        looks.iter_mut().for_each(|look| look.label += &others);
        looks
    };
    let looks: Vec<Look> = meant.iter().flat_map(looks_at).collect();
    let held = looks.iter().filter(|look| look.holds).count();
    Finding {
        claim: check.claim.clone(),
        verdict: Verdict::of_counts(held, looks.len()),
        passed: held,
        total: looks.len(),
        found: told(&looks),
    }
}

/// Whether the line is at the place of the other axes that the check is about.
fn is_meant(check: &Check, series: &Series) -> bool {
    check.only.iter().all(|(axis, value)| {
        let mut others = series.others.iter();
        let other = others.find(|other| other.axis == axis);
        other.is_none_or(|other| value.is(other))
    })
}

/// Where `line` is on the axes in which those that are meant differ, to be told after its x.
fn elsewhere(series: &Series, meant: &[&Series]) -> String {
    let mut text = String::new();
    for place in &series.others {
        let is_elsewhere = |other: &&Series| {
            other
                .others
                .iter()
                .any(|it| it.axis == place.axis && it.text != place.text)
        };
        if meant.iter().any(is_elsewhere) {
            text += &format!(", {} {}", place.axis, place.text);
        }
    }
    text
}

/// A check with the lines that it looks at.
struct View<'v> {
    check: &'v Check,
    series: &'v SeriesSet,
    /// Those that they are held against.
    others: &'v SeriesSet,
}

impl View<'_> {
    /// Where runs failed that would have had to be looked at; `None` if none did.
    fn failures(&self, meant: &[&Series]) -> Option<String> {
        let sees_all = matches!(self.check.kind, CheckKind::First | CheckKind::Peak);
        let measures = meant.iter().filter_map(|series| self.measure(series));
        let failed = meant
            .iter()
            .copied()
            .chain(measures)
            .flat_map(|series| &series.failed);
        let seen = failed.filter(|(x, _)| sees_all || self.is_in_range(*x));
        let labels: BTreeSet<&str> = seen.map(|(_, label)| label.as_str()).collect();
        let labels: Vec<&str> = labels.into_iter().collect();
        match labels[..] {
            [] => None,
            [""] => Some("runs failed".into()),
            _ => Some(format!("runs failed at {}", labels.join(", "))),
        }
    }

    fn looks(&self, series: &Series) -> Vec<Look> {
        match self.check.kind {
            CheckKind::Value | CheckKind::Ratio | CheckKind::Share => {
                let within = series.points.iter().filter(|point| self.is_in_range(point.x));
                let gaps = series.gaps.iter().filter(|(x, _)| self.is_in_range(*x));
                let look = |point: &SeriesPoint| match self.value_at(series, point) {
                    Some(value) => Some(Look {
                        label: point.label.clone(),
                        value,
                        holds: self.is_as_said(value),
                    }),
                    None => self
                        .lacks_its_measure(series, point)
                        .then(|| Look::nothing(&point.label)),
                };
                let nothing = gaps.map(|(_, label)| Look::nothing(label));
                within.filter_map(look).chain(nothing).collect()
            }
            _ if series.points.is_empty() => vec![Look::nothing("all places")],
            CheckKind::First => self.first(series).into_iter().collect(),
            CheckKind::Peak => self.peak(series).into_iter().collect(),
            CheckKind::Monotone => self.steps(series),
        }
    }

    /// Whether lines are held against others, rather than looked at by themselves.
    const fn compares(&self) -> bool {
        self.check.to.is_some() || self.check.to_y.is_some()
    }

    /// What the line is held against.
    fn measure(&self, series: &Series) -> Option<&Series> {
        let name = self.check.to.as_ref().unwrap_or(&self.check.series);
        self.others.counterpart(series, name).filter(|_| self.compares())
    }

    /// Whether what the line is held against was run at the place, and nothing came out.
    fn lacks_its_measure(&self, series: &Series, point: &SeriesPoint) -> bool {
        self.measure(series).is_some_and(|measure| measure.lacks(point.x))
    }

    /// The value of the line, or its ratio to the other line at the same place.
    fn value_at(&self, series: &Series, point: &SeriesPoint) -> Option<f64> {
        let value = self.series.value(&point.stats);
        if !self.compares() {
            return Some(value);
        }
        let other = self.measure(series)?.at(point.x)?;
        let other = self.others.value(&other.stats);
        // Nothing is as much as nothing: a line without timeouts has no more of them than another one without.
        let both_are_nothing = value == 0.0 && other == 0.0;
        Some(if both_are_nothing { 1.0 } else { value / other })
    }

    fn is_in_range(&self, x: f64) -> bool {
        self.check.x.is_none_or(|(from, to)| (from..=to).contains(&x))
    }

    fn is_as_said(&self, value: f64) -> bool {
        self.check.at_least.is_none_or(|least| value >= least)
            && self.check.at_most.is_none_or(|most| value <= most)
    }

    /// The first place of the whole line at which it is as said lies in the range.
    fn first(&self, series: &Series) -> Option<Look> {
        let last = series.points.last()?;
        let points = series.points.iter();
        let mut values = points.filter_map(|point| Some((point, self.value_at(series, point)?)));
        let found = values.find(|(_, value)| self.is_as_said(*value));
        Some(match found {
            Some((point, value)) => Look {
                label: point.label.clone(),
                value,
                holds: self.is_in_range(point.x),
            },
            None => Look {
                label: format!("{}, the last of all", last.label),
                value: self.value_at(series, last)?,
                holds: false,
            },
        })
    }

    /// The place of the whole line at which the value is greatest lies in the range.
    fn peak(&self, series: &Series) -> Option<Look> {
        let points = series.points.iter();
        let values = points.filter_map(|point| Some((point, self.value_at(series, point)?)));
        let (point, value) = values.max_by(|left, right| left.1.total_cmp(&right.1))?;
        Some(Look {
            label: point.label.clone(),
            value,
            holds: self.is_in_range(point.x),
        })
    }

    /// Each step from one place of the range to the next.
    fn steps(&self, series: &Series) -> Vec<Look> {
        let within: Vec<&SeriesPoint> = series
            .points
            .iter()
            .filter(|point| self.is_in_range(point.x))
            .collect();
        let tolerance = self.check.tolerance.map_or(0.0, |share| share.0);
        let step = |pair: &[&SeriesPoint]| {
            let [before, after] = [pair[0], pair[1]].map(|point| self.series.value(&point.stats));
            let slack = before.abs() * tolerance;
            Look {
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

/// A few words: every place where it is not so, or the extremes of where it is.
fn told(looks: &[Look]) -> String {
    let number = |value: f64| {
        if value.is_nan() {
            "nothing".to_owned()
        } else if value.is_infinite() {
            "∞".to_owned()
        } else {
            format!("{value:.3}")
        }
    };
    let tell = |look: &Look| match look.label.as_str() {
        "" => number(look.value),
        label => format!("{} at {label}", number(look.value)),
    };
    let failed: Vec<String> = looks.iter().filter(|look| !look.holds).map(tell).collect();
    if !failed.is_empty() {
        return format!("not so: {}", failed.join(", "));
    }
    let by_value = |left: &&Look, right: &&Look| left.value.total_cmp(&right.value);
    match (looks.iter().min_by(by_value), looks.iter().max_by(by_value)) {
        (Some(least), Some(most)) if least.value < most.value => {
            format!("from {} to {}", tell(least), tell(most))
        }
        (Some(only), _) => tell(only),
        (None, _) => "nothing was measured".into(),
    }
}

#[cfg(test)]
mod tests;
