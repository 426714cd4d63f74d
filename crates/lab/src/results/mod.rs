//! Results of a plan: its runs, the series of its figure, and the findings of its checks.

mod compare;
mod csv;
mod parquet;
mod read;
mod repetitions;
mod series;
mod table;
pub mod tables;
mod write;

use std::sync::Arc;

pub use compare::{Comparison, Difference, OneSided, Sides, compare};
pub(crate) use repetitions::next_round;
pub use repetitions::{CellRepetitions, StopReason, repetitions};
pub use series::{Series, SeriesPoint, SeriesSet};
pub(crate) use series::{split, x_axis};
pub use table::{Column, Table, Values};
pub use write::{WriteError, write, write_table};

use crate::check::{Finding, Verdict};
use crate::plan::{Plan, Point};
use crate::run::{Outcome, Record};

/// A run: a point with its outcome.
#[derive(Clone, Debug)]
pub struct Run<'p> {
    /// The point.
    pub point: &'p Point,
    /// The digest of its setting.
    pub setting: String,
    /// Its outcome.
    pub outcome: Outcome,
}

impl Run<'_> {
    /// Its record; `None` if it failed.
    #[must_use]
    pub fn record(&self) -> Option<&Arc<Record>> {
        self.outcome.as_ref().ok()
    }
}

/// Results of a plan.
#[derive(Clone, Debug)]
pub struct Results<'p> {
    /// The plan.
    pub plan: &'p Plan,
    /// The version of the program.
    pub version: String,
    /// Its runs, in the order of its points.
    pub runs: Vec<Run<'p>>,
    /// Findings of the checks.
    pub findings: Vec<Finding>,
    /// Overall verdict; `None` without checks.
    pub verdict: Option<Verdict>,
}

impl<'p> Results<'p> {
    /// Evaluates the outcomes of the points of `plan`, in their order.
    #[must_use]
    pub fn of(plan: &'p Plan, outcomes: Vec<Outcome>) -> Self {
        let runs = plan.points.iter().zip(outcomes).map(|(point, outcome)| Run {
            point,
            setting: crate::run::setting_digest(point),
            outcome,
        });
        let mut results = Self {
            plan,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            runs: runs.collect(),
            findings: Vec::new(),
            verdict: None,
        };
        let found = |check| crate::check::evaluate(check, &results);
        results.findings = plan.checks.iter().map(found).collect();
        results.verdict = Verdict::of_all(results.findings.iter().map(|finding| finding.verdict));
        results
    }

    /// Sets the version of the program, such as one with a commit.
    #[must_use]
    pub fn of_version(self, version: &str) -> Self {
        Self {
            version: version.to_owned(),
            ..self
        }
    }

    /// The failed runs.
    pub fn failures(&self) -> impl Iterator<Item = &Run<'p>> {
        self.runs.iter().filter(|run| run.outcome.is_err())
    }
}
