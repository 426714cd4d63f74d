//! What are the lines of the figure? For each variant and reference, and each value of the axes that are not drawn along,
//! a value at each x.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::Results;
use crate::plan::{Coordinate, Metrics, Origin, Plan, Point, Reference, Statistic};
use crate::run::Record;
use crate::stats::SampleStats;

/// A place on a line.
#[derive(Clone, PartialEq, Debug)]
pub struct SeriesPoint {
    /// Where on the x axis; its number in the row of values if they are words.
    pub x: f64,
    /// The same as the plan writes it.
    pub label: String,
    /// What the runs there say.
    pub stats: SampleStats,
    /// One value for each seed, for comparing in pairs.
    pub by_seed: Vec<(u64, f64)>,
}

/// A line of the figure.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    /// The variant or reference.
    pub name: String,
    /// Where on the other axes.
    pub others: Vec<Coordinate>,
    /// Its places, by x; none if nothing came out anywhere.
    pub points: Vec<SeriesPoint>,
    /// Where it was run and has no value, x and label: a download that was never complete, say.
    pub gaps: Vec<(f64, String)>,
    /// Where a run of it failed, x and label: what it would have said is not known.
    pub failed: Vec<(f64, String)>,
}

impl Series {
    fn new(name: &str, others: Vec<Coordinate>) -> Self {
        Self {
            name: name.to_owned(),
            others,
            points: Vec::new(),
            gaps: Vec::new(),
            failed: Vec::new(),
        }
    }

    /// Its value at `x`; `None` if it has none there.
    #[must_use]
    pub fn at(&self, x: f64) -> Option<&SeriesPoint> {
        self.points.iter().find(|point| point.x == x)
    }

    /// Whether it was run at `x` and some run had no value.
    #[must_use]
    pub fn lacks(&self, x: f64) -> bool {
        self.gaps.iter().any(|(gap, _)| *gap == x)
    }
}

/// All lines of one metric.
#[derive(Clone, PartialEq, Debug)]
pub struct SeriesSet {
    /// The metric.
    pub metric: String,
    /// What stands for several seeds.
    pub statistic: Statistic,
    /// The lines: variants, then references, in the order of the plan.
    pub series: Vec<Series>,
}

impl SeriesSet {
    /// The lines of `metric`.
    #[must_use]
    pub fn of(results: &Results<'_>, metric: &str) -> Self {
        Self::by(results, metric, |record| record.values.get(metric).copied())
    }

    /// The lines of whatever `value` finds in a record.
    pub(crate) fn by(results: &Results<'_>, metric: &str, value: impl Fn(&Record) -> Option<f64>) -> Self {
        let plan = results.plan;
        let mut all_series = Vec::new();
        for variant in &plan.variants {
            all_series.extend(simulated(results, variant, &value));
        }
        let is_of = |metrics: &Metrics| metrics.all().iter().any(|y| y == metric);
        let belongs = |reference: &&Reference| reference.y.as_ref().is_none_or(is_of);
        for reference in plan.references.iter().filter(belongs) {
            match &reference.origin {
                Origin::SinglePath(_) => all_series.extend(simulated(results, &reference.name, &value)),
                Origin::Formula(_) | Origin::Points(_) => all_series.extend(drawn(plan, reference)),
            }
        }
        Self {
            metric: metric.to_owned(),
            statistic: plan.figure.statistic,
            series: all_series,
        }
    }

    /// The value that stands for several seeds.
    #[must_use]
    pub const fn value(&self, stats: &SampleStats) -> f64 {
        match self.statistic {
            Statistic::Mean => stats.mean,
            Statistic::Median => stats.median,
        }
    }

    /// All lines called `name`.
    pub fn named<'l>(&'l self, name: &'l str) -> impl Iterator<Item = &'l Series> {
        self.series.iter().filter(move |series| series.name == name)
    }

    /// Those that have a value somewhere.
    pub fn visible(&self) -> impl Iterator<Item = &Series> {
        self.series.iter().filter(|series| !series.points.is_empty())
    }

    /// The line called `name` that is at the same place of the other axes as `line`.
    #[must_use]
    pub fn counterpart(&self, series: &Series, name: &str) -> Option<&Series> {
        self.series
            .iter()
            .find(|other| other.name == name && other.others == series.others)
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
    for run in results.runs.iter().filter(|run| run.point.series == name) {
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
fn simulated(results: &Results<'_>, name: &str, value: &impl Fn(&Record) -> Option<f64>) -> Vec<Series> {
    let mut all_series: Vec<Series> = Vec::new();
    for (point, record) in best_runs(results, name) {
        let (x, label, others) = split(results.plan, &point.coordinates);
        let series = series_at(&mut all_series, name, others);
        let Some(value) = value(record) else {
            series.gaps.push((x, label));
            continue;
        };
        let seed = point.seed;
        match series.points.iter().position(|point| point.x == x) {
            Some(index) => series.points[index].note(seed, value),
            None => series
                .points
                .push(SeriesPoint::new(x, label, vec![(seed, value)])),
        }
    }
    for run in results.runs.iter().filter(|run| run.point.series == name) {
        if run.record().is_none() {
            let (x, label, others) = split(results.plan, &run.point.coordinates);
            series_at(&mut all_series, name, others).failed.push((x, label));
        }
    }
    for series in &mut all_series {
        series.points.sort_by(|left, right| left.x.total_cmp(&right.x));
        series.gaps.dedup();
        series.failed.dedup();
    }
    all_series
}

/// The line at this place of the other axes, which is made if there is none.
fn series_at<'l>(all_series: &'l mut Vec<Series>, name: &str, others: Vec<Coordinate>) -> &'l mut Series {
    let index = all_series.iter().position(|series| series.others == others);
    let index = index.unwrap_or_else(|| {
        all_series.push(Series::new(name, others));
        all_series.len() - 1
    });
    &mut all_series[index]
}

impl SeriesPoint {
    fn new(x: f64, label: String, by_seed: Vec<(u64, f64)>) -> Self {
        let values: Vec<f64> = by_seed.iter().map(|(_, value)| *value).collect();
        Self {
            x,
            label,
            stats: SampleStats::of(&values).expect("invariant: a point has a value"),
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
fn drawn(plan: &Plan, reference: &Reference) -> Vec<Series> {
    let mut all_series: Vec<Series> = Vec::new();
    for point in &plan.points {
        let (x, label, others) = split(plan, &point.coordinates);
        let is_meant = |other: &Coordinate| {
            let value = reference.only.get(&other.axis);
            value.is_none_or(|value| value.is(other))
        };
        if !others.iter().all(is_meant) {
            continue;
        }
        let series = series_at(&mut all_series, &reference.name, others);
        let value = match &reference.origin {
            Origin::Formula(formula) if series.at(x).is_none() => formula.value(|axis| {
                let mut coordinates = point.coordinates.iter();
                coordinates.find(|coordinate| coordinate.axis == axis)?.number
            }),
            Origin::Points(points) if series.points.is_empty() => {
                let point =
                    |(x, value): &(f64, f64)| SeriesPoint::new(*x, x.to_string(), vec![(point.seed, *value)]);
                series.points = points.iter().map(point).collect();
                None
            }
            Origin::Formula(_) | Origin::Points(_) | Origin::SinglePath(_) => None,
        };
        series
            .points
            .extend(value.map(|value| SeriesPoint::new(x, label, vec![(point.seed, value)])));
    }
    all_series.retain(|series| !series.points.is_empty());
    for series in &mut all_series {
        series.points.sort_by(|left, right| left.x.total_cmp(&right.x));
    }
    all_series
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::SeriesSet;
    use crate::plan::{Plan, PlanOptions, Point};
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
single-path = "best"
"#;

    fn record(point: &Point) -> Record {
        let (goodput, timeouts) = match point.single_path.as_deref() {
            Some("wide") => (95.0, 1.0),
            _ => (9.0, 7.0),
        };
        let mut record = Record::default();
        record.values.insert("goodput".into(), goodput);
        record.values.insert("timeouts".into(), timeouts);
        record
    }

    fn lines(metric: &str) -> SeriesSet {
        let plan = Plan::read(Path::new("x.toml"), PLAN, &PlanOptions::default()).unwrap();
        let outcomes = plan.points.iter().map(|point| Ok(Arc::new(record(point))));
        SeriesSet::of(&Results::of(&plan, outcomes.collect()), metric)
    }

    #[test]
    fn the_better_path_is_the_one_with_the_greater_goodput_whatever_is_asked_of_it() {
        for (metric, value) in [("goodput", 95.0), ("timeouts", 1.0)] {
            let all_series = lines(metric);
            let series = all_series.named("better path").next().unwrap();
            assert!(
                series.points.iter().all(|point| point.stats.mean == value),
                "{series:?}"
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
        let plan = Plan::read(Path::new("x.toml"), &text, &PlanOptions::default()).unwrap();
        let outcomes = plan.points.iter().map(|point| Ok(Arc::new(record(point))));
        let all_series = SeriesSet::of(&Results::of(&plan, outcomes.collect()), "goodput");
        let places: Vec<usize> = all_series
            .series
            .iter()
            .map(|series| series.points.len())
            .collect();
        assert_eq!(places, [2, 2]);
    }

    #[test]
    fn a_number_among_words_stands_where_it_stands_in_the_row() {
        let all_series = lines("goodput");
        let places = all_series.named("better path").next().unwrap().points.iter();
        assert_eq!(places.map(|point| point.x).collect::<Vec<_>>(), [0.0, 1.0]);
    }
}
