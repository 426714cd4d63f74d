//! Check coverage: refuses checks that would examine nothing, and so could never fail.

use core::ops::Range;

use super::axis::Axis;
use super::error::Problem;
use super::figure::{Check, CheckKind, Label, Origin};
use super::head::Head;
use super::named::Named;
use super::points::Point;

impl Head<'_> {
    /// Every check has points to examine. Applies to the full size without overrides, as others omit points of the sweep.
    pub(super) fn check_coverage(&self, points: &[Point]) -> Result<(), Problem> {
        for (reference, _, place) in &self.references {
            self.check_values(&reference.only, place)?;
        }
        for (check, place) in &self.checks {
            self.check_values(&check.only, place)?;
            self.check_range(check, place)?;
            let mut runs = points.iter().filter(|point| point.series == check.series);
            if check.kind == CheckKind::Share && runs.any(|point| !point.setting.record.histograms) {
                let text = "this check needs `histograms = true` in `[record]`";
                return Err(Problem::new(place.clone(), text));
            }
        }
        Ok(())
    }

    /// Refuses values in `where` that their axes do not have.
    fn check_values(&self, only: &Named<Label>, place: &Range<usize>) -> Result<(), Problem> {
        for (name, label) in only.iter() {
            let mut axes = self.axes.iter();
            let Some(axis) = axes.find(|axis| axis.name == name) else {
                continue;
            };
            if !axis.values.iter().any(|value| label.is(value)) {
                let known = axis.values.iter().map(|value| value.text.as_str());
                let what = format!("value of `{name}`");
                return Err(Problem::unknown(place.clone(), &what, &label.to_string(), known));
            }
        }
        Ok(())
    }

    /// Refuses ranges of the x axis with too few points.
    fn check_range(&self, check: &Check, place: &Range<usize>) -> Result<(), Problem> {
        let Some((from, to)) = check.x else {
            return Ok(());
        };
        let mut references = self.references.iter();
        let has_own_points = references.any(|(reference, _, _)| {
            reference.name == check.series && matches!(reference.origin, Origin::Points(_))
        });
        let needed = if check.kind == CheckKind::Monotone { 2 } else { 1 };
        let xs = self.x().map_or_else(|| vec![0.0], Axis::places);
        let seen = xs.iter().filter(|x| (from..=to).contains(*x)).count();
        if has_own_points || seen >= needed {
            return Ok(());
        }
        let text =
            format!("{seen} points of the sweep lie in `x = [{from}, {to}]`, expected at least {needed}");
        Err(Problem::new(place.clone(), text))
    }
}

/// Why no value could satisfy a check; `None` if some could.
pub(super) fn impossible(check: &Check) -> Option<&'static str> {
    let is_reversed = |from: f64, to: f64| from.is_nan() || to.is_nan() || from > to;
    let least = check.at_least.unwrap_or(f64::NEG_INFINITY);
    let most = check.at_most.unwrap_or(f64::INFINITY);
    if is_reversed(least, most) {
        Some("expected `at-least` not above `at-most`")
    } else if check.kind == CheckKind::Share && (least > 1.0 || most < 0.0) {
        Some("expected a share from 0 to 1")
    } else if check.x.is_some_and(|(from, to)| is_reversed(from, to)) {
        Some("expected `x = [from, to]` with `from` not above `to`")
    } else if check.between.is_some_and(|(low, high)| low > high) {
        Some("expected `between = [from, to]` with `from` not above `to`")
    } else {
        None
    }
}
