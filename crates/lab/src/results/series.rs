//! Series of the figure: for each variant and reference, and each combination of values on the other axes, a value at each x.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::Results;
use crate::plan::{Coordinate, Metrics, Origin, Plan, Point, Quantity, Reference, Statistic};
use crate::run::Record;
use crate::stats::SampleStats;

/// A point of a series.
#[derive(Clone, PartialEq, Debug)]
pub struct SeriesPoint {
    /// Position on the x axis; the index of the value if the axis has words.
    pub x: f64,
    /// The value of the x axis as written in the plan.
    pub label: String,
    /// Statistics over the runs.
    pub stats: SampleStats,
    /// The value of each seed; empty if only the statistics were kept.
    pub by_seed: Vec<(u64, f64)>,
}

/// A series of the figure.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    /// The variant or reference.
    pub name: String,
    /// Values on the other axes.
    pub others: Vec<Coordinate>,
    /// Whether its values are known, as those of a formula or of a paper.
    pub is_exact: bool,
    /// Its points, by x.
    pub points: Vec<SeriesPoint>,
    /// Points (x, label) with runs that have no value, such as the completion time of an incomplete download.
    pub gaps: Vec<(f64, String)>,
    /// Points (x, label) with failed runs.
    pub failed: Vec<(f64, String)>,
}

impl Series {
    pub(crate) fn new(name: &str, others: Vec<Coordinate>) -> Self {
        Self {
            name: name.to_owned(),
            others,
            is_exact: false,
            points: Vec::new(),
            gaps: Vec::new(),
            failed: Vec::new(),
        }
    }

    /// Its point at `x`, if any.
    #[must_use]
    pub fn at(&self, x: f64) -> Option<&SeriesPoint> {
        self.points.iter().find(|point| point.x == x)
    }

    /// Whether some run at `x` has no value.
    #[must_use]
    pub fn lacks(&self, x: f64) -> bool {
        self.gaps.iter().any(|(gap, _)| *gap == x)
    }
}

/// All series of a metric.
#[derive(Clone, PartialEq, Debug)]
pub struct SeriesSet {
    /// The metric.
    pub metric: String,
    /// Statistic over the seeds.
    pub statistic: Statistic,
    /// The series: variants, then references, in the order of the plan.
    pub series: Vec<Series>,
}

impl SeriesSet {
    /// The series of `metric`.
    #[must_use]
    pub fn of(results: &Results<'_>, metric: &str) -> Self {
        Self::by(results, metric, |record| record.values.get(metric).copied())
    }

    /// The series of a metric, or of the share of a histogram.
    #[must_use]
    pub fn of_quantity(results: &Results<'_>, quantity: &Quantity) -> Self {
        let Some((low, high)) = quantity.between else {
            return Self::of(results, &quantity.metric);
        };
        let set = Self::by(results, &quantity.metric, |record| {
            let buckets = record.histograms.get(&quantity.metric)?;
            let all: u64 = buckets.iter().map(|bucket| bucket.count).sum();
            let within = buckets.iter().filter(|bucket| (low..=high).contains(&bucket.low));
            (all > 0).then(|| within.map(|bucket| bucket.count).sum::<u64>() as f64 / all as f64)
        });
        Self {
            metric: quantity.name(),
            ..set
        }
    }

    /// The series of the values that `value` extracts from records.
    fn by(results: &Results<'_>, metric: &str, value: impl Fn(&Record) -> Option<f64>) -> Self {
        let plan = results.plan;
        let mut all_series = Vec::new();
        for variant in &plan.variants {
            all_series.extend(from_runs(results, variant, &value));
        }
        let is_of = |metrics: &Metrics| metrics.all().iter().any(|y| y == metric);
        let belongs = |reference: &&Reference| reference.y.as_ref().is_none_or(is_of);
        for reference in plan.references.iter().filter(belongs) {
            match &reference.origin {
                Origin::SinglePath(_) => all_series.extend(from_runs(results, &reference.name, &value)),
                Origin::Formula(_) | Origin::Points(_) => all_series.extend(from_reference(plan, reference)),
            }
        }
        Self {
            metric: metric.to_owned(),
            statistic: plan.figure.statistic,
            series: all_series,
        }
    }

    /// The value over all seeds.
    #[must_use]
    pub const fn value(&self, stats: &SampleStats) -> f64 {
        match self.statistic {
            Statistic::Mean => stats.mean,
            Statistic::Median => stats.median,
        }
    }

    /// All series called `name`.
    pub fn named<'l>(&'l self, name: &'l str) -> impl Iterator<Item = &'l Series> {
        self.series.iter().filter(move |series| series.name == name)
    }

    /// The series with at least one point.
    pub fn visible(&self) -> impl Iterator<Item = &Series> {
        self.series.iter().filter(|series| !series.points.is_empty())
    }

    /// The series called `name` with the same values on the other axes.
    #[must_use]
    pub fn counterpart(&self, series: &Series, name: &str) -> Option<&Series> {
        self.series
            .iter()
            .find(|other| other.name == name && other.others == series.others)
    }
}

/// Index of the x axis.
pub(crate) fn x_axis(plan: &Plan) -> Option<usize> {
    match &plan.figure.x {
        Some(name) => plan.axes.iter().position(|axis| axis.name == *name),
        None => (!plan.axes.is_empty()).then_some(0),
    }
}

/// Position and label of a point on the x axis, and its values on the other axes, without axes tied to the x axis.
pub(crate) fn split(plan: &Plan, coordinates: &[Coordinate]) -> (f64, String, Vec<Coordinate>) {
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

/// The completed runs of the series `name`, one for each point and seed: of runs over single paths, the one with the highest
/// goodput, whatever the metric.
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

/// The series `name` with values from runs.
fn from_runs(results: &Results<'_>, name: &str, value: &impl Fn(&Record) -> Option<f64>) -> Vec<Series> {
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

/// The series with these values on the other axes, created if missing.
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
            stats: SampleStats::of(&values).expect("invariant: a point has at least one value"),
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

/// The series of a reference without runs: one for each combination of values on the other axes that it applies to.
fn from_reference(plan: &Plan, reference: &Reference) -> Vec<Series> {
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
        series.is_exact = true;
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
    fn best_single_path_is_the_one_with_the_highest_goodput() {
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
    fn tied_axes_make_no_additional_series() {
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
    fn numbers_among_words_are_placed_by_index() {
        let all_series = lines("goodput");
        let places = all_series.named("better path").next().unwrap().points.iter();
        assert_eq!(places.map(|point| point.x).collect::<Vec<_>>(), [0.0, 1.0]);
    }
}
