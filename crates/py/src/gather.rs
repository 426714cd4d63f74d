//! Runs that others carry out. Which are still open, and what came back?

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anabranch_lab::Plan;
use anabranch_lab::plan::BackendPlan;
use anabranch_lab::run::{Cache, Outcome, Record, RunError};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::plan::NativePlan;
use crate::results::Results;
use crate::run::{Progress, prepared};

/// The runs of a plan that an executor carries out: each once, whatever number of points depend on the same inputs.
#[pyclass(frozen, module = "anabranch._native")]
pub(crate) struct Gathering {
    plan: Arc<Plan>,
    cache: Cache,
    /// The key of each point, and whether its results can be stored.
    keys: Vec<(String, bool)>,
    /// The number of the first point with each key.
    distinct: BTreeMap<String, usize>,
    /// Number of runs that were in the cache.
    cached: usize,
    outcomes: Mutex<BTreeMap<String, Outcome>>,
}

#[pymethods]
impl Gathering {
    /// Reads from the cache what is there. Runs of the series in `own` have schedulers of their own and are not looked up.
    #[new]
    fn new(
        py: Python<'_>,
        plan: &NativePlan,
        cache: Option<(PathBuf, String)>,
        own: BTreeSet<String>,
    ) -> PyResult<Self> {
        let plan = Arc::clone(&plan.0);
        let mut points = plan.points.iter();
        if points.any(|point| point.setting.backend == BackendPlan::Testbed) {
            let text = "runs on a test bed need a machine for themselves: run this plan without executor=";
            return Err(PyValueError::new_err(text));
        }
        let cache = prepared(cache)?;
        py.detach(|| {
            let keys = plan.points.iter().map(|point| match own.contains(&point.series) {
                true => (format!("{}-{}", cache.key(point), point.series), false),
                false => (cache.key(point), true),
            });
            let keys: Vec<(String, bool)> = keys.collect();
            let mut distinct = BTreeMap::new();
            for (index, (key, _)) in keys.iter().enumerate() {
                distinct.entry(key.clone()).or_insert(index);
            }
            let found = |key: &String| Some((key.clone(), Ok(Arc::new(cache.find(key)?))));
            let outcomes: BTreeMap<String, Outcome> = distinct.keys().filter_map(found).collect();
            Ok(Self {
                cached: outcomes.len(),
                outcomes: Mutex::new(outcomes),
                plan,
                cache,
                keys,
                distinct,
            })
        })
    }

    /// Number, key and work of each open run, longest first.
    fn open(&self) -> Vec<(usize, String, f64)> {
        let outcomes = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
        let open = self
            .distinct
            .iter()
            .filter(|(key, _)| !outcomes.contains_key(*key));
        let runs = open.map(|(key, index)| (*index, key.clone(), self.work(*index)));
        let mut runs: Vec<(usize, String, f64)> = runs.collect();
        runs.sort_by(|left, right| right.2.total_cmp(&left.2).then_with(|| left.1.cmp(&right.1)));
        runs
    }

    /// Takes the records of some runs, as `run_some` returned them, and stores those that the cache does not have.
    fn take(&self, py: Python<'_>, indices: Vec<usize>, records: &[u8]) -> PyResult<()> {
        let refused = |text: String| PyValueError::new_err(format!("records of a batch: {text}"));
        py.detach(|| {
            let records: Vec<Result<Record, RunError>> =
                serde_json::from_slice(records).map_err(|error| refused(error.to_string()))?;
            if indices.len() != records.len() {
                return Err(refused(format!("{} instead of {}", records.len(), indices.len())));
            }
            for (index, record) in indices.into_iter().zip(records) {
                let place = self.keys.get(index);
                let (key, can_be_stored) = place.ok_or_else(|| refused("the plan has fewer runs".into()))?;
                if let Ok(record) = &record
                    && *can_be_stored
                    && !self.cache.has(key)
                {
                    // A result that cannot be stored is still used.
                    let _ = self.cache.store(key, record);
                }
                let mut outcomes = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
                outcomes.insert(key.clone(), record.map(Arc::new));
            }
            Ok(())
        })
    }

    /// How much is done.
    fn progress(&self) -> Progress {
        let outcomes = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
        let all: f64 = self.distinct.values().map(|index| self.work(*index)).sum();
        let open = self
            .distinct
            .iter()
            .filter(|(key, _)| !outcomes.contains_key(*key));
        let open: f64 = open.map(|(_, index)| self.work(*index)).sum();
        Progress::new(outcomes.len(), self.distinct.len(), self.cached, all - open, all)
    }

    /// The results; runs that did not come back count as interrupted.
    fn results(&self) -> Results {
        Results::of(Arc::clone(&self.plan), self.outcomes())
    }

    /// The records of all points in the order of the plan, in the form that `run_some` returns.
    fn records<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &py.detach(|| text_of(&self.outcomes()))?))
    }
}

impl Gathering {
    fn work(&self, index: usize) -> f64 {
        self.plan
            .points
            .get(index)
            .map_or(0.0, anabranch_lab::Point::work)
    }

    fn outcomes(&self) -> Vec<Outcome> {
        let outcomes = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = |(key, _): &(String, bool)| outcomes.get(key).cloned();
        let all = self.keys.iter().map(outcome);
        all.map(|outcome| outcome.unwrap_or(Err(RunError::Interrupted)))
            .collect()
    }
}

/// Outcomes in the form in which workers return them.
pub(crate) fn text_of(outcomes: &[Outcome]) -> PyResult<Vec<u8>> {
    let records: Vec<Result<&Record, &RunError>> =
        outcomes.iter().map(|outcome| outcome.as_deref()).collect();
    serde_json::to_vec(&records).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}
