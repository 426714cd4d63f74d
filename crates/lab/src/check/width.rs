//! Widths of a check's intervals, by which a plan's stop rule ends repetitions.

use super::ALPHA;
use super::places::{Estimate, Evaluation, Note};
use crate::plan::{Check, CheckKind, Coordinate, Quantity};
use crate::results::{Results, SeriesSet};

/// How narrow the interval of a check is at a point.
pub(crate) struct Width {
    /// Position on the x axis.
    pub(crate) x: f64,
    /// Values on the other axes.
    pub(crate) others: Vec<Coordinate>,
    /// Half the width of the interval, relative to its value; infinite if it has no end, or if nothing happened.
    pub(crate) half: f64,
}

/// The widths at all points that the check examines. Its intervals are those of its verdict: simultaneous, or each by itself where
/// the check counts points. Of a step from point to point, the value at each counts. Bounds have no influence: a stop rule that knew
/// them could favour a verdict.
pub(crate) fn widths(check: &Check, results: &Results<'_>) -> Vec<Width> {
    let series_of = |quantity: &Quantity| SeriesSet::of_quantity(results, quantity);
    let series = series_of(&check.quantity(results.plan));
    let others = check.other_quantity().map(|quantity| series_of(&quantity));
    let without_bounds = Check {
        at_least: None,
        at_most: None,
        ..check.clone()
    };
    let evaluation = Evaluation {
        check: &without_bounds,
        series: &series,
        others: others.as_ref().unwrap_or(&series),
    };
    let selected = evaluation.selected();
    let comparisons = match check.kind {
        CheckKind::ShareOfPoints => 1,
        _ => evaluation.comparisons(&selected).max(1),
    };
    let alpha = ALPHA / comparisons as f64;
    let examines_all = matches!(check.kind, CheckKind::First | CheckKind::Peak);
    let of_series = |series: &&crate::results::Series| -> Vec<Width> {
        let examined = series.points.iter();
        let examined = examined.filter(|point| examines_all || evaluation.is_in_range(point.x));
        let width = |point| {
            let estimate = evaluation.estimate(series, point, alpha)?;
            Some(Width {
                x: point.x,
                others: series.others.clone(),
                half: half(&estimate),
            })
        };
        examined.filter_map(width).collect()
    };
    selected.iter().flat_map(of_series).collect()
}

fn half(estimate: &Estimate) -> f64 {
    let Estimate {
        value,
        interval,
        note,
    } = estimate;
    let width = interval.high - interval.low;
    match note {
        Note::Exact => 0.0,
        Note::OneRun | Note::Nothing => f64::INFINITY,
        Note::Sampled if width == 0.0 => 0.0,
        // Of a value of zero or without end, no width is narrow.
        Note::Sampled => Some(width / 2.0 / value.abs())
            .filter(|half| half.is_finite())
            .unwrap_or(f64::INFINITY),
    }
}
