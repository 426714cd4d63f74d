//! Panels of the figure: one for each metric, with a series for each variant and reference.

use super::{Panel, PanelPoint, PanelSeries, SeriesOrigin, XAxis, rounded};
use crate::metric::unit_of;
use crate::plan::{Axis, Origin, Plan, Quantity, Statistic};
use crate::results::{Results, Series, SeriesPoint, SeriesSet, x_axis};

pub(super) fn of(results: &Results<'_>) -> (XAxis, Vec<Panel>) {
    let plan = results.plan;
    let metrics = plan.figure.y.all().iter();
    (x(plan), metrics.map(|metric| panel(results, metric)).collect())
}

pub(super) fn x(plan: &Plan) -> XAxis {
    let axis = x_axis(plan).and_then(|index| plan.axes.get(index));
    let default = axis.map(|axis| with_unit(&axis.name, &axis.unit));
    let is_of_words = |axis: &&Axis| !axis.is_numeric();
    let words = axis
        .filter(is_of_words)
        .map(|axis| &axis.values[..])
        .unwrap_or_default();
    // Without a sweep, the x axis has no label.
    let own = plan.figure.x_label.clone();
    let own = own.filter(|label| axis.is_some() && !label.trim().is_empty());
    XAxis {
        label: own.or(default).unwrap_or_default(),
        words: words.iter().map(|word| word.text.clone()).collect(),
        scale: plan.figure.x_scale,
    }
}

/// Panels of what checks examine and the figure does not show.
pub(super) fn only_checked(results: &Results<'_>) -> Vec<Panel> {
    let plan = results.plan;
    let mut panels: Vec<Panel> = Vec::new();
    let checks = plan.checks.iter();
    let quantities = checks.flat_map(|check| [Some(check.quantity(plan)), check.other_quantity()]);
    for quantity in quantities.flatten() {
        let name = quantity.name();
        let is_known = plan.figure.y.all().contains(&name) || panels.iter().any(|panel| panel.metric == name);
        if !is_known {
            let label = with_unit(&name, unit_of(&name));
            panels.push(panel_of(results, &quantity, label));
        }
    }
    panels
}

fn panel(results: &Results<'_>, metric: &str) -> Panel {
    let figure = &results.plan.figure;
    let label = figure.y_label.clone().filter(|_| figure.y.all().len() == 1);
    let label = label.unwrap_or_else(|| with_unit(metric, unit_of(metric)));
    panel_of(results, &Quantity::of_metric(metric), label)
}

fn panel_of(results: &Results<'_>, quantity: &Quantity, label: String) -> Panel {
    let plan = results.plan;
    let all_series = SeriesSet::of_quantity(results, quantity);
    Panel {
        metric: quantity.name(),
        label,
        scale: plan.figure.y_scale,
        series: all_series
            .visible()
            .map(|series| panel_series(plan, series))
            .collect(),
    }
}

fn panel_series(plan: &Plan, series: &Series) -> PanelSeries {
    let reference = plan
        .references
        .iter()
        .find(|reference| reference.name == series.name);
    let origin = match reference.map(|reference| &reference.origin) {
        None => SeriesOrigin::Variant,
        Some(Origin::SinglePath(_)) => SeriesOrigin::SinglePath,
        Some(Origin::Formula(_)) => SeriesOrigin::Formula,
        Some(Origin::Points(_)) => SeriesOrigin::Paper,
    };
    let is_run = matches!(origin, SeriesOrigin::Variant | SeriesOrigin::SinglePath);
    let points = series
        .points
        .iter()
        .map(|point| panel_point(plan.figure.statistic, point, is_run));
    PanelSeries {
        name: series.name.clone(),
        origin,
        coordinates: series.others.iter().map(|other| plan.in_words(other)).collect(),
        points: points.collect(),
    }
}

fn panel_point(statistic: Statistic, point: &SeriesPoint, is_run: bool) -> PanelPoint {
    let stats = &point.stats;
    let (value, low, high) = match statistic {
        Statistic::Median => (stats.median, stats.min, stats.max),
        Statistic::Mean => {
            let (mean, half) = (stats.mean, stats.confidence);
            (mean, mean - half, mean + half)
        }
    };
    PanelPoint {
        x: point.x,
        value: rounded(value),
        low: rounded(low),
        high: rounded(high),
        count: if is_run { stats.count } else { 0 },
        values: if is_run && point.by_seed.len() > 1 {
            point.by_seed.iter().map(|(_, value)| rounded(*value)).collect()
        } else {
            Vec::new()
        },
    }
}

fn with_unit(name: &str, unit: &str) -> String {
    if unit.is_empty() {
        name.to_owned()
    } else {
        format!("{name}, {unit}")
    }
}
