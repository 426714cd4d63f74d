//! Share of the points at which bounds hold. A statement about the points that were measured, not an estimate for others.

use super::places::{Evaluation, Note, Observation, Outcome, within};
use super::{ALPHA, Finding, FoundPoint, Verdict, words};
use crate::plan::Counted;
use crate::results::Series;
use crate::stats::interval::Interval;

/// Maximum number of points that are kept as the worst.
const KEPT: usize = 20;

/// Judges a check of this kind. Each interval has 95 % by itself: how many of them lie outside the bounds is counted.
pub(super) fn judge(evaluation: &Evaluation<'_>, selected: &[&Series]) -> Finding {
    let check = evaluation.check;
    let mut observations = evaluation.all_observations(selected, ALPHA);
    if observations.is_empty() {
        return Finding::not_measured(check, "nothing was measured".into());
    }
    let least = check.at_least.unwrap_or(f64::NEG_INFINITY);
    let most = check.at_most.unwrap_or(f64::INFINITY);
    let is_within = |found: &Observation| match check.counted.unwrap_or_default() {
        Counted::Means => within(Interval::exact(found.value), least, most) == Outcome::Holds,
        Counted::Intervals => found.outcome != Outcome::Fails,
    };
    let is_open = |found: &Observation| matches!(found.note, Note::OneRun | Note::Nothing);
    let count = |counts: &dyn Fn(&Observation) -> bool| observations.iter().filter(|one| counts(one)).count();
    let total = observations.len();
    let (passed, open) = (count(&is_within), count(&is_open));
    let surely = count(&|found| is_within(found) && !is_open(found));
    let needed = check.share.map_or(1.0, |share| share.0) * total as f64 * (1.0 - 1e-9);
    let verdict = if surely as f64 >= needed {
        Verdict::Reproduced
    } else if ((surely + open) as f64) < needed {
        Verdict::Contradicted
    } else {
        Verdict::Undecided
    };
    let distance = |found: &Observation| match found.value {
        value if value.is_nan() => f64::INFINITY,
        value => (least - value).max(value - most),
    };
    observations.sort_by(|left, right| distance(right).total_cmp(&distance(left)));
    let outside: Vec<&Observation> = observations.iter().filter(|found| !is_within(found)).collect();
    let share = passed as f64 / total as f64;
    let head = format!("{:.1} % of the points ({passed} of {total})", share * 100.0);
    let named = match &outside[..] {
        [] => format!("nearest to the bound: {}", words::list(&[&observations[0]])),
        outside => format!("not at {}: {}", outside.len(), words::list(outside)),
    };
    Finding {
        claim: check.claim.clone(),
        verdict,
        passed,
        undecided: open,
        total,
        threshold: words::threshold(check),
        found: format!("{head}; {named}"),
        worst: observations.iter().take(KEPT).map(kept).collect(),
    }
}

fn kept(found: &Observation) -> FoundPoint {
    let known = |number: f64| Some(number).filter(|number| number.is_finite());
    FoundPoint {
        label: found.label.clone(),
        value: known(found.value),
        low: known(found.interval.low),
        high: known(found.interval.high),
    }
}
