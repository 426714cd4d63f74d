//! What does the figure show? A panel for each metric, a line for each variant and reference.

use super::{LineOrigin, Panel, PanelLine, PanelSpot, XAxis, rounded};
use crate::metric::unit_of;
use crate::plan::{Axis, Coordinate, Origin, Plan, Statistic};
use crate::results::{Line, Lines, Results, Spot, x_axis};

pub(super) fn of(results: &Results<'_>) -> (XAxis, Vec<Panel>) {
    let plan = results.plan;
    let metrics = plan.figure.y.all().iter();
    (x(plan), metrics.map(|metric| panel(results, metric)).collect())
}

fn x(plan: &Plan) -> XAxis {
    let axis = x_axis(plan).and_then(|index| plan.axes.get(index));
    let usual = axis.map(|axis| with_unit(&axis.name, &axis.unit));
    let is_of_words = |axis: &&Axis| !axis.is_numeric();
    let words = axis
        .filter(is_of_words)
        .map(|axis| &axis.values[..])
        .unwrap_or_default();
    // Without a sweep there is nothing to be written beside.
    let own = plan.figure.x_label.clone();
    let own = own.filter(|label| axis.is_some() && !label.trim().is_empty());
    XAxis {
        label: own.or(usual).unwrap_or_default(),
        words: words.iter().map(|word| word.text.clone()).collect(),
        scale: plan.figure.x_scale,
    }
}

fn panel(results: &Results<'_>, metric: &str) -> Panel {
    let plan = results.plan;
    let lines = Lines::of(results, metric);
    let label = plan
        .figure
        .y_label
        .clone()
        .filter(|_| plan.figure.y.all().len() == 1);
    Panel {
        metric: metric.to_owned(),
        label: label.unwrap_or_else(|| with_unit(metric, unit_of(metric))),
        scale: plan.figure.y_scale,
        lines: lines.visible().map(|line| panel_line(plan, line)).collect(),
    }
}

fn panel_line(plan: &Plan, line: &Line) -> PanelLine {
    let reference = plan
        .references
        .iter()
        .find(|reference| reference.name == line.name);
    let origin = match reference.map(|reference| &reference.origin) {
        None => LineOrigin::Variant,
        Some(Origin::Alone(_)) => LineOrigin::Alone,
        Some(Origin::Formula(_)) => LineOrigin::Formula,
        Some(Origin::Points(_)) => LineOrigin::Paper,
    };
    let is_run = matches!(origin, LineOrigin::Variant | LineOrigin::Alone);
    let spots = line
        .spots
        .iter()
        .map(|spot| panel_spot(plan.figure.statistic, spot, is_run));
    PanelLine {
        name: line.name.clone(),
        origin,
        place: line.others.iter().map(|other| in_words(plan, other)).collect(),
        spots: spots.collect(),
    }
}

fn panel_spot(statistic: Statistic, spot: &Spot, is_run: bool) -> PanelSpot {
    let summary = &spot.summary;
    let (value, low, high) = match statistic {
        Statistic::Median => (summary.median, summary.min, summary.max),
        Statistic::Mean => {
            let (mean, half) = (summary.mean, summary.confidence);
            (mean, mean - half, mean + half)
        }
    };
    PanelSpot {
        x: spot.x,
        value: rounded(value),
        low: rounded(low),
        high: rounded(high),
        count: if is_run { summary.count } else { 0 },
    }
}

/// A place on an axis, such as `delay 10 ms`.
pub(super) fn in_words(plan: &Plan, coordinate: &Coordinate) -> String {
    let axis = plan.axes.iter().find(|axis| axis.name == coordinate.axis);
    let unit = axis.map_or("", |axis| &axis.unit);
    let parts = [&coordinate.axis, &coordinate.text, unit];
    parts.join(" ").trim_end().to_owned()
}

fn with_unit(name: &str, unit: &str) -> String {
    if unit.is_empty() {
        name.to_owned()
    } else {
        format!("{name}, {unit}")
    }
}
