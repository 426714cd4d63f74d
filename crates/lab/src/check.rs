//! Evaluation of checks: each check tests a condition at points of a series.

mod estimate;
mod places;
mod share;
mod width;
mod words;

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::plan::{Check, CheckKind, Quantity};
use crate::results::{Results, SeriesSet};
use places::Outcome;
pub(crate) use width::{Width, widths};

/// The probability that any interval of a check misses its true value.
const ALPHA: f64 = 0.05;

/// Verdict on a claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The claim holds at all points.
    Reproduced,
    /// The claim holds at some points and fails at others.
    Partly,
    /// The claim fails at all points.
    Contradicted,
    /// The intervals are too wide to tell.
    Undecided,
    /// There were no points to check.
    NotMeasured,
}

impl Verdict {
    /// Overall verdict of several; `None` if there are none. What holds in part and fails in part is *partly*, whatever is
    /// undecided.
    pub fn of_all(verdicts: impl IntoIterator<Item = Self>) -> Option<Self> {
        let verdicts: Vec<Self> = verdicts.into_iter().collect();
        let first = *verdicts.first()?;
        let has = |verdict| verdicts.contains(&verdict);
        Some(if verdicts.iter().all(|verdict| *verdict == first) {
            first
        } else if has(Self::NotMeasured) {
            Self::NotMeasured
        } else if has(Self::Partly) || (has(Self::Reproduced) && has(Self::Contradicted)) {
            Self::Partly
        } else {
            Self::Undecided
        })
    }

    fn of_counts(held: usize, failed: usize, all: usize) -> Self {
        match (held, failed) {
            _ if all == 0 => Self::NotMeasured,
            (held, _) if held == all => Self::Reproduced,
            (_, failed) if failed == all => Self::Contradicted,
            (1.., 1..) => Self::Partly,
            _ => Self::Undecided,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reproduced => "reproduced",
            Self::Partly => "partly",
            Self::Contradicted => "contradicted",
            Self::Undecided => "undecided",
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
    /// Number of points at which the interval covers the threshold, or nothing happened.
    #[serde(default)]
    pub undecided: usize,
    /// Number of points checked.
    pub total: usize,
    /// The condition in words; empty in results of earlier versions.
    #[serde(default)]
    pub threshold: String,
    /// The measured values with their intervals in words.
    pub found: String,
    /// `share-of-points`: the points that are farthest from the bounds, the worst first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub worst: Vec<FoundPoint>,
}

/// A point with what was found there.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
pub struct FoundPoint {
    /// Its value on the x axis.
    pub label: String,
    /// The value or ratio; missing if there is none.
    pub value: Option<f64>,
    /// The lower end of its 95 % confidence interval; missing without one.
    pub low: Option<f64>,
    /// The upper end of it.
    pub high: Option<f64>,
}

impl Finding {
    /// A check without a value at any point.
    fn not_measured(check: &Check, found: String) -> Self {
        Self {
            claim: check.claim.clone(),
            verdict: Verdict::NotMeasured,
            passed: 0,
            undecided: 0,
            total: 0,
            threshold: words::threshold(check),
            found,
            worst: Vec::new(),
        }
    }

    /// A check of a quantity whose intervals are not known, with what an earlier version found.
    pub(crate) fn without_intervals(check: &Check, earlier: Option<&Self>) -> Self {
        let earlier = earlier.filter(|finding| finding.claim == check.claim);
        let number = earlier.map_or(String::new(), |finding| {
            let number = finding.found.trim_start_matches("not so: ");
            format!("{number}; ")
        });
        let total = earlier.map_or(0, |finding| finding.total);
        Self {
            verdict: Verdict::Undecided,
            undecided: total,
            total,
            ..Self::not_measured(check, format!("{number}the values of the runs were not kept"))
        }
    }
}

/// Evaluates a check on the runs of its plan.
#[must_use]
pub fn evaluate(check: &Check, results: &Results<'_>) -> Finding {
    let series_of = |quantity: &Quantity| SeriesSet::of_quantity(results, quantity);
    let series = series_of(&check.quantity(results.plan));
    let others = check.other_quantity().map(|quantity| series_of(&quantity));
    judge(check, &series, others.as_ref())
}

/// Evaluates a check on the series of its quantity, and on those of the other quantity that it compares with, if any.
pub(crate) fn judge(check: &Check, series: &SeriesSet, others: Option<&SeriesSet>) -> Finding {
    let evaluation = places::Evaluation {
        check,
        series,
        others: others.unwrap_or(series),
    };
    let selected = evaluation.selected();
    if let Some(found) = evaluation.failures(&selected) {
        return Finding::not_measured(check, found);
    }
    if check.kind == CheckKind::ShareOfPoints {
        return share::judge(&evaluation, &selected);
    }
    // Bonferroni: all intervals of a check are right together with the confidence that one alone would have.
    let comparisons = evaluation.comparisons(&selected).max(1);
    let observations = evaluation.all_observations(&selected, ALPHA / comparisons as f64);
    let count = |outcome: Outcome| {
        let found = observations.iter().filter(|found| found.outcome == outcome);
        found.count()
    };
    let (held, failed) = (count(Outcome::Holds), count(Outcome::Fails));
    Finding {
        claim: check.claim.clone(),
        verdict: Verdict::of_counts(held, failed, observations.len()),
        passed: held,
        undecided: count(Outcome::Undecided),
        total: observations.len(),
        threshold: words::threshold(check),
        found: words::describe(&observations),
        worst: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
