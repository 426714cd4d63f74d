//! What are the lines of the figure? For each variant and reference, and each value of the axes that are not drawn along,
//! a value at each x.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::Results;
use crate::plan::{Coordinate, Metrics, Origin, Plan, Point, Reference, Statistic};
use crate::run::Record;
use crate::stats::Summary;

/// A place on a line.
#[derive(Clone, PartialEq, Debug)]
pub struct Spot {
    /// Where on the x axis; its number in the row of values if they are words.
    pub x: f64,
    /// The same as the plan writes it.
    pub label: String,
    /// What the runs there say.
    pub summary: Summary,
    /// One value for each seed, for comparing in pairs.
    pub by_seed: Vec<(u64, f64)>,
}

/// A line of the figure.
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    /// The variant or reference.
    pub name: String,
    /// Where on the other axes.
    pub others: Vec<Coordinate>,
    /// Its places, by x; none if nothing came out anywhere.
    pub spots: Vec<Spot>,
    /// Where it was run and has no value, x and label: a download that was never complete, say.
    pub gaps: Vec<(f64, String)>,
    /// Where a run of it failed, x and label: what it would have said is not known.
    pub failed: Vec<(f64, String)>,
}

impl Line {
    fn new(name: &str, others: Vec<Coordinate>) -> Self {
        Self {
            name: name.to_owned(),
            others,
            spots: Vec::new(),
            gaps: Vec::new(),
            failed: Vec::new(),
        }
    }

    /// Its value at `x`; `None` if it has none there.
    #[must_use]
    pub fn at(&self, x: f64) -> Option<&Spot> {
        self.spots.iter().find(|spot| spot.x == x)
    }

    /// Whether it was run at `x` and some run had no value.
    #[must_use]
    pub fn lacks(&self, x: f64) -> bool {
        self.gaps.iter().any(|(gap, _)| *gap == x)
    }
}

/// All lines of one metric.
#[derive(Clone, PartialEq, Debug)]
pub struct Lines {
    /// The metric.
    pub metric: String,
    /// What stands for several seeds.
    pub statistic: Statistic,
    /// The lines: variants, then references, in the order of the plan.
    pub lines: Vec<Line>,
}

impl Lines {
    /// The lines of `metric`.
    #[must_use]
    pub fn of(results: &Results<'_>, metric: &str) -> Self {
        Self::by(results, metric, |record| record.values.get(metric).copied())
    }

    /// The lines of whatever `value` finds in a record.
    pub(crate) fn by(results: &Results<'_>, metric: &str, value: impl Fn(&Record) -> Option<f64>) -> Self {
        let plan = results.plan;
        let mut lines = Vec::new();
        for variant in &plan.variants {
            lines.extend(simulated(results, variant, &value));
        }
        let is_of = |metrics: &Metrics| metrics.all().iter().any(|y| y == metric);
        let belongs = |reference: &&Reference| reference.y.as_ref().is_none_or(is_of);
        for reference in plan.references.iter().filter(belongs) {
            match &reference.origin {
                Origin::Alone(_) => lines.extend(simulated(results, &reference.name, &value)),
                Origin::Formula(_) | Origin::Points(_) => lines.extend(drawn(plan, reference)),
            }
        }
        Self {
            metric: metric.to_owned(),
            statistic: plan.figure.statistic,
            lines,
        }
    }

    /// The value that stands for several seeds.
    #[must_use]
    pub const fn value(&self, summary: &Summary) -> f64 {
        match self.statistic {
            Statistic::Mean => summary.mean,
            Statistic::Median => summary.median,
        }
    }

    /// All lines called `name`.
    pub fn named<'l>(&'l self, name: &'l str) -> impl Iterator<Item = &'l Line> {
        self.lines.iter().filter(move |line| line.name == name)
    }

    /// Those that have a value somewhere.
    pub fn visible(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|line| !line.spots.is_empty())
    }

    /// The line called `name` that is at the same place of the other axes as `line`.
    #[must_use]
    pub fn beside(&self, line: &Line, name: &str) -> Option<&Line> {
        self.lines
            .iter()
            .find(|other| other.name == name && other.others == line.others)
    }
}

/// The axis that is drawn along.
pub(crate) fn x_axis(plan: &Plan) -> Option<usize> {
    match &plan.figure.x {
        Some(name) => plan.axes.iter().position(|axis| axis.name == *name),
        None => (!plan.axes.is_empty()).then_some(0),
    }
}

/// Where a point lies on the x axis, and its other coordinates, without those that move with the x axis.
fn split(plan: &Plan, coordinates: &[Coordinate]) -> (f64, String, Vec<Coordinate>) {
    let Some(x) = x_axis(plan) else {
        return (0.0, String::new(), coordinates.to_vec());
    };
    let axis = &plan.axes[x];
    let own = &coordinates[x];
    let places = axis.places();
    let x = axis.values.iter().position(|value| value == own);
    let others = plan.axes.iter().zip(coordinates);
    let others = others.filter(|(other, _)| other.leader() != axis.leader());
    let others = others.map(|(_, coordinate)| coordinate.clone()).collect();
    let x = x.and_then(|index| places.get(index).copied()).unwrap_or(0.0);
    (x, own.text.clone(), others)
}

/// The runs of the line called `name` that have ended well, one for each place and seed: of those over single paths, the
/// one with the greatest goodput, whatever is asked of it.
fn best_runs<'r>(results: &'r Results<'_>, name: &str) -> Vec<(&'r Point, &'r Record)> {
    let mut best: Vec<(&Point, &Record)> = Vec::new();
    let mut known: BTreeMap<(Vec<&str>, u64), usize> = BTreeMap::new();
    for run in results.runs.iter().filter(|run| run.point.line == name) {
        let Some(record) = run.record() else {
            continue;
        };
        let texts = run.point.coordinates.iter().map(|place| place.text.as_str());
        let goodput = |record: &Record| record.values.get("goodput").copied().unwrap_or(0.0);
        match known.entry((texts.collect(), run.point.seed)) {
            Entry::Vacant(entry) => {
                entry.insert(best.len());
                best.push((run.point, record));
            }
            Entry::Occupied(entry) => {
                let chosen = &mut best[*entry.get()];
                if goodput(record) > goodput(chosen.1) {
                    *chosen = (run.point, record);
                }
            }
        }
    }
    best
}

/// The lines called `name` whose values come from runs.
fn simulated(results: &Results<'_>, name: &str, value: &impl Fn(&Record) -> Option<f64>) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for (point, record) in best_runs(results, name) {
        let (x, label, others) = split(results.plan, &point.coordinates);
        let line = line_at(&mut lines, name, others);
        let Some(value) = value(record) else {
            line.gaps.push((x, label));
            continue;
        };
        let seed = point.seed;
        match line.spots.iter().position(|spot| spot.x == x) {
            Some(index) => line.spots[index].note(seed, value),
            None => line.spots.push(Spot::new(x, label, vec![(seed, value)])),
        }
    }
    for run in results.runs.iter().filter(|run| run.point.line == name) {
        if run.record().is_none() {
            let (x, label, others) = split(results.plan, &run.point.coordinates);
            line_at(&mut lines, name, others).failed.push((x, label));
        }
    }
    for line in &mut lines {
        line.spots.sort_by(|left, right| left.x.total_cmp(&right.x));
        line.gaps.dedup();
        line.failed.dedup();
    }
    lines
}

/// The line at this place of the other axes, which is made if there is none.
fn line_at<'l>(lines: &'l mut Vec<Line>, name: &str, others: Vec<Coordinate>) -> &'l mut Line {
    let index = lines.iter().position(|line| line.others == others);
    let index = index.unwrap_or_else(|| {
        lines.push(Line::new(name, others));
        lines.len() - 1
    });
    &mut lines[index]
}

impl Spot {
    fn new(x: f64, label: String, by_seed: Vec<(u64, f64)>) -> Self {
        let values: Vec<f64> = by_seed.iter().map(|(_, value)| *value).collect();
        Self {
            x,
            label,
            summary: Summary::of(&values).expect("invariant: a spot has a value"),
            by_seed,
        }
    }

    fn note(&mut self, seed: u64, value: f64) {
        self.by_seed.push((seed, value));
        *self = Self::new(
            self.x,
            core::mem::take(&mut self.label),
            core::mem::take(&mut self.by_seed),
        );
    }
}

/// The lines of a reference that is not run: one for each place of the other axes that it is for.
fn drawn(plan: &Plan, reference: &Reference) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for point in &plan.points {
        let (x, label, others) = split(plan, &point.coordinates);
        let is_meant = |other: &Coordinate| {
            let value = reference.only.get(&other.axis);
            value.is_none_or(|value| value.is(other))
        };
        if !others.iter().all(is_meant) {
            continue;
        }
        let line = line_at(&mut lines, &reference.name, others);
        let value = match &reference.origin {
            Origin::Formula(formula) if line.at(x).is_none() => formula.value(|axis| {
                let mut coordinates = point.coordinates.iter();
                coordinates.find(|coordinate| coordinate.axis == axis)?.number
            }),
            Origin::Points(points) if line.spots.is_empty() => {
                let spot = |(x, value): &(f64, f64)| Spot::new(*x, x.to_string(), vec![(point.seed, *value)]);
                line.spots = points.iter().map(spot).collect();
                None
            }
            Origin::Formula(_) | Origin::Points(_) | Origin::Alone(_) => None,
        };
        line.spots
            .extend(value.map(|value| Spot::new(x, label, vec![(point.seed, value)])));
    }
    lines.retain(|line| !line.spots.is_empty());
    for line in &mut lines {
        line.spots.sort_by(|left, right| left.x.total_cmp(&right.x));
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::Lines;
    use crate::plan::{Plan, Point, Reading};
    use crate::results::Results;
    use crate::run::Record;

    const PLAN: &str = r#"
title = "x"
claim = "y"

[paths.wide]
rate = "100Mbit"

[paths.narrow]
rate = "10Mbit"

[apps.sender]
kind = "bulk"
message = 1400

[sweep.buffer]
sets = "association.receive-buffer"
values = ["64KiB", 100000]

[[reference]]
name = "better path"
alone = "best"
"#;

    fn record(point: &Point) -> Record {
        let (goodput, timeouts) = match point.alone.as_deref() {
            Some("wide") => (95.0, 1.0),
            _ => (9.0, 7.0),
        };
        let mut record = Record::default();
        record.values.insert("goodput".into(), goodput);
        record.values.insert("timeouts".into(), timeouts);
        record
    }

    fn lines(metric: &str) -> Lines {
        let plan = Plan::read(Path::new("x.toml"), PLAN, &Reading::default()).unwrap();
        let outcomes = plan.points.iter().map(|point| Ok(Arc::new(record(point))));
        Lines::of(&Results::of(&plan, outcomes.collect()), metric)
    }

    #[test]
    fn the_better_path_is_the_one_with_the_greater_goodput_whatever_is_asked_of_it() {
        for (metric, value) in [("goodput", 95.0), ("timeouts", 1.0)] {
            let lines = lines(metric);
            let line = lines.named("better path").next().unwrap();
            assert!(
                line.spots.iter().all(|spot| spot.summary.mean == value),
                "{line:?}"
            );
        }
    }

    #[test]
    fn axes_that_move_with_the_one_that_is_drawn_along_make_no_lines_of_their_own() {
        let companion = |name: &str, values: &str| {
            format!("\n[sweep.{name}]\nsets = \"association.{name}\"\nvalues = {values}\nwith = \"buffer\"\n")
        };
        let text = [
            PLAN,
            &companion("send-buffer", "[64000, 100000]"),
            &companion("mtu", "[1400, 1500]"),
        ]
        .concat();
        let text = format!("{text}\n[figure]\nx = \"send-buffer\"\n");
        let plan = Plan::read(Path::new("x.toml"), &text, &Reading::default()).unwrap();
        let outcomes = plan.points.iter().map(|point| Ok(Arc::new(record(point))));
        let lines = Lines::of(&Results::of(&plan, outcomes.collect()), "goodput");
        let places: Vec<usize> = lines.lines.iter().map(|line| line.spots.len()).collect();
        assert_eq!(places, [2, 2]);
    }

    #[test]
    fn a_number_among_words_stands_where_it_stands_in_the_row() {
        let lines = lines("goodput");
        let places = lines.named("better path").next().unwrap().spots.iter();
        assert_eq!(places.map(|spot| spot.x).collect::<Vec<_>>(), [0.0, 1.0]);
    }
}
