//! Parallel runner. How are many points run? Each once, longest first, on as many threads as there are cores.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use anabranch_sim::OwnPolicies;

use super::files::Names;
use super::{Cache, Files, Record, RunError, perform};
use crate::plan::{BackendPlan, Point};

/// Result of a point.
pub type Outcome = Result<Arc<Record>, RunError>;

/// Progress of a runner.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Progress {
    /// Distinct points done.
    pub done: usize,
    /// Distinct points in total.
    pub all: usize,
    /// Points found in the cache, included in `done`.
    pub cached: usize,
    /// Points that were run now but could not be stored in the cache.
    pub unstored: usize,
    /// Simulated bits done, without cached points; used to estimate the remaining time.
    pub work_done: f64,
    /// Simulated bits in total, without cached points.
    pub work: f64,
}

impl Progress {
    /// The progress of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            done: self.done + other.done,
            all: self.all + other.all,
            cached: self.cached + other.cached,
            unstored: self.unstored + other.unstored,
            work_done: self.work_done + other.work_done,
            work: self.work + other.work,
        }
    }
}

/// Runs points.
#[derive(Debug)]
pub struct Runner<'a> {
    cache: &'a Cache,
    jobs: usize,
    pub(super) stop: &'a AtomicBool,
    files: Files,
    own_policies: BTreeMap<String, OwnPolicies>,
}

/// A point to be run.
struct Job<'p> {
    key: String,
    point: &'p Point,
    work: f64,
}

/// State shared by all threads.
struct BatchRunner<'d> {
    jobs: &'d [Job<'d>],
    names: &'d Names,
    next: AtomicUsize,
    results: &'d Mutex<(BTreeMap<String, Outcome>, Progress)>,
    watch: &'d (dyn Fn(Progress) + Sync),
}

impl<'a> Runner<'a> {
    /// Creates a runner with `jobs` threads (at least one) that ends early when `stop` is set.
    #[must_use]
    pub fn new(cache: &'a Cache, jobs: usize, stop: &'a AtomicBool) -> Self {
        Self {
            cache,
            jobs,
            stop,
            files: Files::default(),
            own_policies: BTreeMap::new(),
        }
    }

    /// Replaces policies of both ends in all runs of some series, by name. Their results are neither read from the cache nor stored: nothing
    /// identifies a policy that is not in the catalog.
    #[must_use]
    pub fn own_policies(self, own_policies: BTreeMap<String, OwnPolicies>) -> Self {
        Self { own_policies, ..self }
    }

    /// Also writes files for each run. The cache is not read then, because cached results have no files.
    #[must_use]
    pub fn recording(self, files: Files) -> Self {
        Self { files, ..self }
    }

    /// Reports how much of `points` is still to be run, without running it: the first progress of [`Runner::run`].
    #[must_use]
    pub fn survey(&self, points: &[Point]) -> Progress {
        let different: BTreeMap<String, &Point> =
            points.iter().map(|point| (self.key(point), point)).collect();
        let open = different.iter().filter(|(key, _)| !self.cache.has(key));
        let work: Vec<f64> = open.map(|(_, point)| point.work()).collect();
        let cached = different.len() - work.len();
        Progress {
            done: cached,
            all: different.len(),
            cached,
            unstored: 0,
            work_done: 0.0,
            work: work.iter().sum(),
        }
    }

    /// Runs all points that are not cached and stores their results. A failed point does not affect the others. `watch`
    /// is called after each point.
    ///
    /// Returns the results in the order of the points.
    pub fn run(&self, points: &[Point], watch: &(dyn Fn(Progress) + Sync)) -> Vec<Outcome> {
        let keys: Vec<String> = points.iter().map(|point| self.key(point)).collect();
        let different: BTreeMap<&String, &Point> = keys.iter().zip(points).collect();
        // With files, every point is run, even if points share a cache key.
        let wanted: Vec<(&String, &Point)> = match self.files.are_none() {
            true => different.into_iter().collect(),
            false => keys.iter().zip(points).collect(),
        };
        let mut found = BTreeMap::new();
        let mut jobs = Vec::new();
        for (key, point) in &wanted {
            match self.cache.find(key).filter(|_| self.files.are_none()) {
                Some(record) => {
                    found.insert((*key).clone(), Ok(Arc::new(record)));
                }
                None => jobs.push(Job {
                    key: (*key).clone(),
                    point,
                    work: point.work(),
                }),
            }
        }
        // Longest first, so that no core runs a long point alone at the end.
        jobs.sort_by(|left, right| {
            right
                .work
                .total_cmp(&left.work)
                .then_with(|| left.key.cmp(&right.key))
        });
        let progress = Progress {
            done: found.len(),
            all: wanted.len(),
            cached: found.len(),
            unstored: 0,
            work_done: 0.0,
            work: jobs.iter().map(|job| job.work).sum(),
        };
        watch(progress);
        let results = Mutex::new((found, progress));
        let names = Names::of_all(points);
        // Real-time runs follow the simulations, one at a time, so that each has the machine to itself.
        let is_real = |job: &Job<'_>| job.point.setting.backend == BackendPlan::Testbed;
        let (real, simulated): (Vec<_>, Vec<_>) = jobs.into_iter().partition(is_real);
        for (jobs, threads) in [(simulated, self.jobs), (real, 1)] {
            let batch = BatchRunner {
                next: AtomicUsize::new(0),
                names: &names,
                results: &results,
                watch,
                jobs: &jobs,
            };
            std::thread::scope(|scope| {
                for _ in 0..threads.clamp(1, jobs.len().max(1)) {
                    scope.spawn(|| self.work(&batch));
                }
            });
        }
        let (results, _) = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        let result = |key: &String| results.get(key).cloned().unwrap_or(Err(RunError::Interrupted));
        keys.iter().map(result).collect()
    }

    /// The key under which a result is kept; unknown to the cache if the series has own policies.
    fn key(&self, point: &Point) -> String {
        let key = self.cache.key(point);
        match self.own_policies.contains_key(&point.series) {
            true => format!("{key}-{}", point.series),
            false => key,
        }
    }

    /// Work loop of one thread.
    fn work(&self, batch: &BatchRunner<'_>) {
        while let Some(job) = batch.jobs.get(batch.next.fetch_add(1, Ordering::Relaxed)) {
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let recording = self.files.of(job.point, batch.names);
            let own = self.own_policies.get(&job.point.series);
            let result = carefully(|| perform(job.point, own, self.stop, &recording));
            let result = recording.settle(result);
            // A result that cannot be stored is still returned.
            let is_lost = |record| own.is_none() && self.cache.store(&job.key, record).is_err();
            let lost = result.as_ref().is_ok_and(is_lost);
            let mut results = batch.results.lock().unwrap_or_else(PoisonError::into_inner);
            let (results, progress) = &mut *results;
            progress.unstored += usize::from(lost);
            results.insert(job.key.clone(), result.map(Arc::new));
            progress.done += 1;
            progress.work_done += job.work;
            (batch.watch)(*progress);
        }
    }
}

/// Confines a panic to its point.
fn carefully(work: impl FnOnce() -> Result<Record, RunError>) -> Result<Record, RunError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied());
        Err(RunError::Panicked(text.unwrap_or("without a word").to_owned()))
    })
}
