//! Comparison of the simulator with a test bed: series that differ only in backend and stack.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::rounded;
use crate::plan::{BackendPlan, KernelPlan, Named, Point, Setting};
use crate::results::{Results, Run};
use crate::stats::SampleStats;

/// The metric to compare.
const METRIC: &str = "goodput";

/// A series of a test bed and the simulated series with the same setting; the stack may differ.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct TestbedComparison {
    /// Name of the simulated series.
    pub simulated: String,
    /// Name of the series of the test bed.
    pub real: String,
    /// The points that both have.
    pub points: Vec<ComparedPoint>,
}

/// The goodput at a point, in Mbit/s: medians over the seeds.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ComparedPoint {
    /// The point in words.
    pub coordinates: String,
    /// Simulated goodput.
    pub simulated: f64,
    /// Goodput on the test bed.
    pub real: f64,
}

impl ComparedPoint {
    /// Ratio of test bed to simulator.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.real / self.simulated
    }
}

/// All series of a test bed that have a simulated counterpart.
pub(super) fn of(results: &Results<'_>) -> Vec<TestbedComparison> {
    let mut points: BTreeMap<(String, String), Vec<ComparedPoint>> = BTreeMap::new();
    let mut order: Vec<(String, String)> = Vec::new();
    let mut done = BTreeSet::new();
    for run in results.runs.iter().filter(|run| is_real(run.point)) {
        let simulated = results
            .runs
            .iter()
            .find(|other| !is_real(other.point) && is_counterpart(run.point, other.point));
        let Some(simulated) = simulated else {
            continue;
        };
        let all_series = (simulated.point.series.clone(), run.point.series.clone());
        let place = coordinates(run.point);
        if !done.insert((all_series.clone(), place.clone())) {
            continue;
        }
        let (Some(predicted), Some(real)) = (median(results, simulated), median(results, run)) else {
            continue;
        };
        if !order.contains(&all_series) {
            order.push(all_series.clone());
        }
        points.entry(all_series).or_default().push(ComparedPoint {
            coordinates: place,
            simulated: rounded(predicted),
            real: rounded(real),
        });
    }
    let comparisons = order.into_iter().map(|all_series| TestbedComparison {
        points: points.remove(&all_series).unwrap_or_default(),
        simulated: all_series.0,
        real: all_series.1,
    });
    comparisons.collect()
}

/// Environments of all runs on a test bed, by name.
pub(super) fn environment(results: &Results<'_>) -> BTreeMap<String, String> {
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, value) in results
        .runs
        .iter()
        .filter_map(Run::record)
        .flat_map(|record| &record.environment)
    {
        all.entry(name.clone()).or_default().insert(value.clone());
    }
    let join = |values: BTreeSet<String>| values.into_iter().collect::<Vec<_>>().join(", ");
    all.into_iter()
        .map(|(name, values)| (name, join(values)))
        .collect()
}

fn is_real(point: &Point) -> bool {
    point.setting.backend == BackendPlan::Testbed
}

fn is_counterpart(real: &Point, simulated: &Point) -> bool {
    real.coordinates == simulated.coordinates
        && real.single_path == simulated.single_path
        && without_backend(&real.setting) == without_backend(&simulated.setting)
}

/// The setting without backend and stack.
fn without_backend(setting: &Setting) -> Setting {
    Setting {
        backend: BackendPlan::Sim,
        stack: None,
        usrsctp: Named::default(),
        kernel: KernelPlan::default(),
        ..setting.clone()
    }
}

fn coordinates(point: &Point) -> String {
    let axes = point
        .coordinates
        .iter()
        .map(|coordinate| format!("{} {}", coordinate.axis, coordinate.text));
    let alone = point.single_path.iter().map(|path| format!("{path} only"));
    axes.chain(alone).collect::<Vec<_>>().join(", ")
}

/// Median over the seeds at the run's point.
fn median(results: &Results<'_>, run: &Run<'_>) -> Option<f64> {
    let is_beside = |other: &&Run<'_>| {
        (
            &other.point.series,
            &other.point.single_path,
            &other.point.coordinates,
        ) == (&run.point.series, &run.point.single_path, &run.point.coordinates)
    };
    let values = results.runs.iter().filter(is_beside);
    let values: Vec<f64> = values
        .filter_map(|run| run.record()?.values.get(METRIC).copied())
        .collect();
    SampleStats::of(&values).map(|stats| stats.median)
}
