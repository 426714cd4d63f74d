//! Does the simulator tell what real hosts do? SeriesSet that differ in nothing but where they ran, cell by cell.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::rounded;
use crate::plan::{BackendPlan, KernelPlan, Named, Point, Setting};
use crate::results::{Results, Run};
use crate::stats::SampleStats;

/// What is held against each other.
const METRIC: &str = "goodput";

/// A line of real hosts and the simulated one with the same setting; whose stack it is may differ.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct TestbedComparison {
    /// The simulated line.
    pub simulated: String,
    /// The line of real hosts.
    pub real: String,
    /// Every place at which there are both.
    pub points: Vec<ComparedPoint>,
}

/// The goodput at one place of the sweeps, in Mbit/s: medians of all seeds.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ComparedPoint {
    /// Where, in words.
    pub coordinates: String,
    /// In the simulator.
    pub simulated: f64,
    /// On real hosts.
    pub real: f64,
}

impl ComparedPoint {
    /// What real hosts reached of what the simulator foretold.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.real / self.simulated
    }
}

/// All lines of real hosts that have a simulated one.
pub(super) fn of(results: &Results<'_>) -> Vec<TestbedComparison> {
    let mut points: BTreeMap<(String, String), Vec<ComparedPoint>> = BTreeMap::new();
    let mut order: Vec<(String, String)> = Vec::new();
    let mut done = BTreeSet::new();
    for run in results.runs.iter().filter(|run| is_real(run.point)) {
        let simulated = results
            .runs
            .iter()
            .find(|other| !is_real(other.point) && is_twin(run.point, other.point));
        let Some(simulated) = simulated else {
            continue;
        };
        let all_series = (simulated.point.series.clone(), run.point.series.clone());
        let place = place(run.point);
        if !done.insert((all_series.clone(), place.clone())) {
            continue;
        }
        let (Some(foretold), Some(real)) = (median(results, simulated), median(results, run)) else {
            continue;
        };
        if !order.contains(&all_series) {
            order.push(all_series.clone());
        }
        points.entry(all_series).or_default().push(ComparedPoint {
            coordinates: place,
            simulated: rounded(foretold),
            real: rounded(real),
        });
    }
    let held = order.into_iter().map(|all_series| TestbedComparison {
        points: points.remove(&all_series).unwrap_or_default(),
        simulated: all_series.0,
        real: all_series.1,
    });
    held.collect()
}

/// By name, all that runs on real hosts were made with.
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

fn is_twin(real: &Point, simulated: &Point) -> bool {
    real.coordinates == simulated.coordinates
        && real.single_path == simulated.single_path
        && without_place(&real.setting) == without_place(&simulated.setting)
}

/// The setting without where it runs and whose stack it is.
fn without_place(setting: &Setting) -> Setting {
    Setting {
        backend: BackendPlan::Sim,
        stack: None,
        usrsctp: Named::default(),
        kernel: KernelPlan::default(),
        ..setting.clone()
    }
}

fn place(point: &Point) -> String {
    let axes = point
        .coordinates
        .iter()
        .map(|coordinate| format!("{} {}", coordinate.axis, coordinate.text));
    let alone = point.single_path.iter().map(|path| format!("{path} alone"));
    axes.chain(alone).collect::<Vec<_>>().join(", ")
}

/// Of all seeds at the run's place.
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
