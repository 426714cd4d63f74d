//! Runs for Python: on all cores, without the interpreter's lock, until Ctrl-C or an error of the caller's function.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use anabranch::OwnPolicies;
use anabranch_lab::Point;
use anabranch_lab::run::{self, Cache, Files, Outcome, Runner};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::gather::text_of;
use crate::plan::NativePlan;
use crate::results::Results;
use crate::scheduler::{Raised, own_policies};

/// How often signals are handled and progress is reported while runs are under way.
const MOMENT: Duration = Duration::from_millis(100);

/// The progress of a sweep.
#[pyclass(frozen, get_all, module = "anabranch")]
pub(crate) struct Progress {
    /// Runs done, cached ones included.
    done: usize,
    /// Runs in total; equal ones count once.
    all: usize,
    /// Runs found in the cache.
    cached: usize,
    /// Simulated bits done, without cached runs.
    work_done: f64,
    /// Simulated bits in total, without cached runs.
    work: f64,
}

#[pymethods]
impl Progress {
    #[new]
    pub(crate) const fn new(done: usize, all: usize, cached: usize, work_done: f64, work: f64) -> Self {
        Self {
            done,
            all,
            cached,
            work_done,
            work,
        }
    }

    fn __repr__(&self) -> String {
        format!("<anabranch.Progress: {} of {}>", self.done, self.all)
    }
}

impl From<run::Progress> for Progress {
    fn from(progress: run::Progress) -> Self {
        Self {
            done: progress.done,
            all: progress.all,
            cached: progress.cached,
            work_done: progress.work_done,
            work: progress.work,
        }
    }
}

/// Identifies the build of the native module in `file`, without the commit. Results of another build are never mixed with it.
#[pyfunction]
pub(crate) fn build_of(py: Python<'_>, file: PathBuf) -> PyResult<String> {
    py.detach(|| Cache::build_of(&file, env!("ANABRANCH_COMMIT")))
        .map_err(|error| PyOSError::new_err(format!("{}: {error}", file.display())))
}

/// The cache's folder and build, and a folder for a capture of each run.
type Folders = (Option<(PathBuf, String)>, Option<PathBuf>);

/// Runs the plan. `progress` is called with a `Progress` now and then.
#[pyfunction]
pub(crate) fn run_all(
    plan: &NativePlan,
    py: Python<'_>,
    jobs: Option<usize>,
    folders: Folders,
    schedulers: BTreeMap<String, Py<PyAny>>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Results> {
    let (cache, captures) = folders;
    let mut sweep = Sweep::new(jobs, cache, schedulers)?;
    if let Some(folder) = &captures {
        std::fs::create_dir_all(folder)
            .map_err(|error| PyOSError::new_err(format!("{}: {error}", folder.display())))?;
    }
    sweep.files.captures = captures;
    let outcomes = sweep.run(py, &plan.0.points, progress.as_ref())?;
    Ok(Results::of(Arc::clone(&plan.0), outcomes))
}

/// Runs those points of the plan that `indices` name, on one core; returns their records in a form for `Gathering.take`.
#[pyfunction]
pub(crate) fn run_some<'py>(
    plan: &NativePlan,
    py: Python<'py>,
    indices: Vec<usize>,
    cache: Option<(PathBuf, String)>,
    schedulers: BTreeMap<String, Py<PyAny>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let points = indices.iter().map(|index| plan.0.points.get(*index).cloned());
    let points: Option<Vec<Point>> = points.collect();
    let points = points.ok_or_else(|| PyValueError::new_err("the plan has fewer runs"))?;
    let sweep = Sweep::new(Some(1), cache, schedulers)?;
    let outcomes = sweep.run(py, &points, None)?;
    Ok(PyBytes::new(py, &text_of(&outcomes)?))
}

/// The cache in a folder, which is created, for a build; or none.
pub(crate) fn prepared(cache: Option<(PathBuf, String)>) -> PyResult<Cache> {
    let cache = cache.map_or_else(Cache::none, |(folder, build)| Cache::new(folder, build));
    let prepared = cache.prepare().map_err(|error| {
        PyOSError::new_err(format!(
            "cannot write to the cache: {error}; choose another folder with cache="
        ))
    });
    prepared.map(|()| cache)
}

/// A sweep: how and where points are run.
struct Sweep {
    jobs: usize,
    cache: Cache,
    files: Files,
    own_policies: BTreeMap<String, OwnPolicies>,
    raised: Raised,
    stop: Arc<AtomicBool>,
}

impl Sweep {
    fn new(
        jobs: Option<usize>,
        cache: Option<(PathBuf, String)>,
        schedulers: BTreeMap<String, Py<PyAny>>,
    ) -> PyResult<Self> {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let stop = Arc::new(AtomicBool::new(false));
        let raised = Raised::new(Arc::clone(&stop));
        Ok(Self {
            jobs: jobs.unwrap_or_else(cores),
            cache: prepared(cache)?,
            files: Files::default(),
            own_policies: own_policies(schedulers, &raised),
            raised,
            stop,
        })
    }

    /// Runs the points in threads of their own; this thread handles signals and calls `report` meanwhile.
    fn run(
        &self,
        py: Python<'_>,
        points: &[Point],
        report: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<Outcome>> {
        let latest = Mutex::new(None);
        let (done, is_done) = sync_channel(1);
        // Only this thread receives, but it may wait without the interpreter's lock only on what threads can share.
        let is_done = Mutex::new(is_done);
        std::thread::scope(|scope| {
            scope.spawn(|| self.work(points, &latest, done));
            let mut failed = None;
            loop {
                let received = py.detach(|| {
                    let is_done = is_done.lock().unwrap_or_else(PoisonError::into_inner);
                    is_done.recv_timeout(MOMENT)
                });
                let seen = latest.lock().unwrap_or_else(PoisonError::into_inner).take();
                if failed.is_none()
                    && let Err(error) = py.check_signals().and_then(|()| tell(report, seen))
                {
                    self.stop.store(true, Ordering::Relaxed);
                    failed = Some(error);
                }
                failed = failed.or_else(|| self.raised.take());
                match (received, failed) {
                    (Err(RecvTimeoutError::Timeout), still) => failed = still,
                    (_, Some(error)) => return Err(error),
                    (Ok(outcomes), None) => return Ok(outcomes),
                    (Err(RecvTimeoutError::Disconnected), None) => {
                        return Err(PyRuntimeError::new_err("the runner ended without results"));
                    }
                }
            }
        })
    }

    fn work(&self, points: &[Point], latest: &Mutex<Option<run::Progress>>, done: SyncSender<Vec<Outcome>>) {
        let runner = Runner::new(&self.cache, self.jobs, &self.stop)
            .own_policies(self.own_policies.clone())
            .recording(self.files.clone());
        let watch = |progress| *latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress);
        // If nobody waits any longer, the results are not wanted.
        let _ = done.send(runner.run(points, &watch));
    }
}

/// Calls the caller's function.
fn tell(report: Option<&Bound<'_, PyAny>>, progress: Option<run::Progress>) -> PyResult<()> {
    match (report, progress) {
        (Some(report), Some(progress)) => report.call1((Progress::from(progress),)).map(drop),
        _ => Ok(()),
    }
}
