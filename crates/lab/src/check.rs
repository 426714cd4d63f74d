//! Does the claim hold? Each check looks at lines of the figure and says at how many places it is so.

use core::fmt;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::plan::{Check, CheckKind, Direction};
use crate::results::{Line, Lines, Results, Spot};

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
    pub held: usize,
    /// At how many places was looked.
    pub all: usize,
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
    let lines = match (check.kind, check.between) {
        (CheckKind::Share, Some((low, high))) => Lines::by(results, &metric, |record| {
            let bars = record.histograms.get(&metric)?;
            let all: u64 = bars.iter().map(|bar| bar.count).sum();
            let within = bars.iter().filter(|bar| (low..=high).contains(&bar.low));
            (all > 0).then(|| within.map(|bar| bar.count).sum::<u64>() as f64 / all as f64)
        }),
        _ => Lines::of(results, &metric),
    };
    let others = check.to_y.as_ref().map(|metric| Lines::of(results, metric));
    let view = View {
        check,
        lines: &lines,
        others: others.as_ref().unwrap_or(&lines),
    };
    let meant: Vec<&Line> = lines
        .named(&check.line)
        .filter(|line| is_meant(check, line))
        .collect();
    if let Some(found) = view.failures(&meant) {
        return Finding {
            claim: check.claim.clone(),
            verdict: Verdict::NotMeasured,
            held: 0,
            all: 0,
            found,
        };
    }
    let looks_at = |line: &&Line| {
        let others = elsewhere(line, &meant);
        let mut looks = view.looks(line);
        looks.iter_mut().for_each(|look| look.label += &others);
        looks
    };
    let looks: Vec<Look> = meant.iter().flat_map(looks_at).collect();
    let held = looks.iter().filter(|look| look.holds).count();
    Finding {
        claim: check.claim.clone(),
        verdict: Verdict::of_counts(held, looks.len()),
        held,
        all: looks.len(),
        found: told(&looks),
    }
}

/// Whether the line is at the place of the other axes that the check is about.
fn is_meant(check: &Check, line: &Line) -> bool {
    check.only.iter().all(|(axis, value)| {
        let mut others = line.others.iter();
        let other = others.find(|other| other.axis == axis);
        other.is_none_or(|other| value.is(other))
    })
}

/// Where `line` is on the axes in which those that are meant differ, to be told after its x.
fn elsewhere(line: &Line, meant: &[&Line]) -> String {
    let mut text = String::new();
    for place in &line.others {
        let is_elsewhere = |other: &&Line| {
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
    lines: &'v Lines,
    /// Those that they are held against.
    others: &'v Lines,
}

impl View<'_> {
    /// Where runs failed that would have had to be looked at; `None` if none did.
    fn failures(&self, meant: &[&Line]) -> Option<String> {
        let sees_all = matches!(self.check.kind, CheckKind::First | CheckKind::Peak);
        let measures = meant.iter().filter_map(|line| self.measure(line));
        let failed = meant
            .iter()
            .copied()
            .chain(measures)
            .flat_map(|line| &line.failed);
        let seen = failed.filter(|(x, _)| sees_all || self.is_in_range(*x));
        let labels: BTreeSet<&str> = seen.map(|(_, label)| label.as_str()).collect();
        let labels: Vec<&str> = labels.into_iter().collect();
        match labels[..] {
            [] => None,
            [""] => Some("runs failed".into()),
            _ => Some(format!("runs failed at {}", labels.join(", "))),
        }
    }

    fn looks(&self, line: &Line) -> Vec<Look> {
        match self.check.kind {
            CheckKind::Value | CheckKind::Ratio | CheckKind::Share => {
                let within = line.spots.iter().filter(|spot| self.is_in_range(spot.x));
                let gaps = line.gaps.iter().filter(|(x, _)| self.is_in_range(*x));
                let look = |spot: &Spot| match self.value_at(line, spot) {
                    Some(value) => Some(Look {
                        label: spot.label.clone(),
                        value,
                        holds: self.is_as_said(value),
                    }),
                    None => self
                        .lacks_its_measure(line, spot)
                        .then(|| Look::nothing(&spot.label)),
                };
                let nothing = gaps.map(|(_, label)| Look::nothing(label));
                within.filter_map(look).chain(nothing).collect()
            }
            _ if line.spots.is_empty() => vec![Look::nothing("all places")],
            CheckKind::First => self.first(line).into_iter().collect(),
            CheckKind::Peak => self.peak(line).into_iter().collect(),
            CheckKind::Monotone => self.steps(line),
        }
    }

    /// Whether lines are held against others, rather than looked at by themselves.
    const fn compares(&self) -> bool {
        self.check.to.is_some() || self.check.to_y.is_some()
    }

    /// What the line is held against.
    fn measure(&self, line: &Line) -> Option<&Line> {
        let name = self.check.to.as_ref().unwrap_or(&self.check.line);
        self.others.beside(line, name).filter(|_| self.compares())
    }

    /// Whether what the line is held against was run at the place, and nothing came out.
    fn lacks_its_measure(&self, line: &Line, spot: &Spot) -> bool {
        self.measure(line).is_some_and(|measure| measure.lacks(spot.x))
    }

    /// The value of the line, or its ratio to the other line at the same place.
    fn value_at(&self, line: &Line, spot: &Spot) -> Option<f64> {
        let value = self.lines.value(&spot.summary);
        if !self.compares() {
            return Some(value);
        }
        let other = self.measure(line)?.at(spot.x)?;
        let other = self.others.value(&other.summary);
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
    fn first(&self, line: &Line) -> Option<Look> {
        let last = line.spots.last()?;
        let spots = line.spots.iter();
        let mut values = spots.filter_map(|spot| Some((spot, self.value_at(line, spot)?)));
        let found = values.find(|(_, value)| self.is_as_said(*value));
        Some(match found {
            Some((spot, value)) => Look {
                label: spot.label.clone(),
                value,
                holds: self.is_in_range(spot.x),
            },
            None => Look {
                label: format!("{}, the last of all", last.label),
                value: self.value_at(line, last)?,
                holds: false,
            },
        })
    }

    /// The place of the whole line at which the value is greatest lies in the range.
    fn peak(&self, line: &Line) -> Option<Look> {
        let spots = line.spots.iter();
        let values = spots.filter_map(|spot| Some((spot, self.value_at(line, spot)?)));
        let (spot, value) = values.max_by(|left, right| left.1.total_cmp(&right.1))?;
        Some(Look {
            label: spot.label.clone(),
            value,
            holds: self.is_in_range(spot.x),
        })
    }

    /// Each step from one place of the range to the next.
    fn steps(&self, line: &Line) -> Vec<Look> {
        let within: Vec<&Spot> = line
            .spots
            .iter()
            .filter(|spot| self.is_in_range(spot.x))
            .collect();
        let tolerance = self.check.tolerance.map_or(0.0, |share| share.0);
        let step = |pair: &[&Spot]| {
            let [before, after] = [pair[0], pair[1]].map(|spot| self.lines.value(&spot.summary));
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
