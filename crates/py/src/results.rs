//! Results for Python: tables, findings, verdicts and files.

use std::path::PathBuf;
use std::sync::Arc;

use anabranch_lab::Plan;
use anabranch_lab::check;
use anabranch_lab::report;
use anabranch_lab::results::{self, Table as LabTable, tables};
use anabranch_lab::run::Outcome;
use anabranch_lab::summary::ResultSummary;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

use crate::table::Table;

/// Version of the program that results name; the commit is that of the wheel.
const VERSION: &str = env!("ANABRANCH_VERSION");

/// The results of a plan.
#[pyclass(frozen, module = "anabranch")]
pub(crate) struct Results {
    plan: Arc<Plan>,
    outcomes: Vec<Outcome>,
    findings: Vec<check::Finding>,
    verdict: Option<check::Verdict>,
}

impl Results {
    pub(crate) fn of(plan: Arc<Plan>, outcomes: Vec<Outcome>) -> Self {
        let results = results::Results::of(&plan, outcomes.clone());
        let (findings, verdict) = (results.findings, results.verdict);
        Self {
            plan,
            outcomes,
            findings,
            verdict,
        }
    }

    fn of_lab(&self) -> results::Results<'_> {
        results::Results::of(&self.plan, self.outcomes.clone()).of_version(VERSION)
    }

    fn table(&self, py: Python<'_>, table: fn(&results::Results<'_>) -> LabTable) -> PyResult<Table> {
        py.detach(|| Table::of(table(&self.of_lab())))
    }
}

#[pymethods]
impl Results {
    /// One row for each completed run: series, coordinates, seed, setting, version, and each metric.
    ///
    /// Columns of metrics have the units that ``anabranch lab metrics`` lists; a metric that was not measured is missing.
    #[getter]
    fn runs(&self, py: Python<'_>) -> PyResult<Table> {
        self.table(py, tables::runs)
    }

    /// One row for each point of each series of the figure: statistics over the seeds.
    ///
    /// Columns: ``metric``, ``series``, ``x``, ``label``, ``count``, ``mean``, ``confidence`` (half the width of the 95 %
    /// interval), ``median``, ``min``, ``max``; further axes have columns of their own.
    #[getter]
    fn summary(&self, py: Python<'_>) -> PyResult<Table> {
        self.table(py, tables::summary)
    }

    /// One row for each path and sampling time, if the plan records a time series.
    ///
    /// ``time`` is in seconds, ``srtt`` and ``rto`` are in milliseconds, ``blocked`` is a share, ``link-queue`` is in packets,
    /// the other columns are in bytes.
    #[getter]
    fn time_series(&self, py: Python<'_>) -> PyResult<Table> {
        self.table(py, tables::time_series)
    }

    /// One row for each class of each histogram, if the plan records histograms: ``low``, ``high`` and ``count``.
    #[getter]
    fn histograms(&self, py: Python<'_>) -> PyResult<Table> {
        self.table(py, tables::histograms)
    }

    /// The figures, as ``anabranch lab report`` draws them; notebooks show them inline.
    #[getter]
    fn figures(&self, py: Python<'_>) -> Vec<Figure> {
        let svgs = py.detach(|| report::svgs(&ResultSummary::of(&self.of_lab())));
        svgs.into_iter().map(|svg| Figure { svg }).collect()
    }

    /// Verdict and figures for notebooks.
    fn _repr_html_(&self, py: Python<'_>) -> String {
        let text = self.__repr__().replace('<', "&lt;").replace('>', "&gt;");
        let figures = self.figures(py).into_iter().map(|figure| figure.svg);
        format!("<pre>{text}</pre>{}", figures.collect::<String>())
    }

    /// Findings of the checks, in the order of the plan.
    #[getter]
    fn findings(&self) -> Vec<Finding> {
        self.findings.iter().cloned().map(Finding).collect()
    }

    /// The overall verdict: ``reproduced``, ``partly``, ``contradicted``, ``undecided`` or ``not measured``; ``None`` without checks.
    #[getter]
    fn verdict(&self) -> Option<String> {
        self.verdict.map(|verdict| verdict.to_string())
    }

    /// Failed runs: series, seed, and the error.
    #[getter]
    fn failures(&self) -> Vec<(String, u64, String)> {
        let runs = self.plan.points.iter().zip(&self.outcomes);
        let failed = runs.filter_map(|(point, outcome)| {
            let error = outcome.as_ref().err()?;
            Some((point.series.clone(), point.seed, error.to_string()))
        });
        failed.collect()
    }

    /// Writes the same files as ``anabranch lab run``: tables as CSV and Parquet, findings and settings.
    ///
    /// Parameters
    /// ----------
    /// folder : path-like
    ///     Created if missing. Each file is replaced atomically.
    ///
    /// Raises
    /// ------
    /// OSError
    ///     The folder or a file cannot be written.
    fn write(&self, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        py.detach(|| results::write(&self.of_lab(), &folder))
            .map_err(|error| PyOSError::new_err(error.to_string()))
    }

    /// Number of runs, failed ones included.
    fn __len__(&self) -> usize {
        self.outcomes.len()
    }

    fn __repr__(&self) -> String {
        let failed = self.outcomes.iter().filter(|outcome| outcome.is_err()).count();
        let verdict = self.verdict().unwrap_or_else(|| "no checks".to_owned());
        let Self { plan, outcomes, .. } = self;
        format!(
            "<anabranch.Results of {}: {} runs, {failed} failed, {verdict}>",
            plan.name,
            outcomes.len()
        )
    }
}

/// A figure of an experiment.
#[pyclass(frozen, get_all, module = "anabranch")]
pub(crate) struct Figure {
    /// The figure as a text in SVG.
    svg: String,
}

#[pymethods]
impl Figure {
    fn _repr_svg_(&self) -> &str {
        &self.svg
    }

    fn __repr__(&self) -> String {
        format!("<anabranch.Figure: {} bytes of SVG>", self.svg.len())
    }
}

/// The result of a check: does the claim hold?
#[pyclass(frozen, module = "anabranch")]
pub(crate) struct Finding(check::Finding);

#[pymethods]
impl Finding {
    /// The claim as written in the plan.
    #[getter]
    fn claim(&self) -> &str {
        &self.0.claim
    }

    /// ``reproduced``, ``partly``, ``contradicted``, ``undecided`` or ``not measured``.
    #[getter]
    fn verdict(&self) -> String {
        self.0.verdict.to_string()
    }

    /// Number of points at which the condition holds.
    #[getter]
    fn passed(&self) -> usize {
        self.0.passed
    }

    /// Number of points checked.
    #[getter]
    fn total(&self) -> usize {
        self.0.total
    }

    /// Number of points at which the interval covers the threshold, or nothing happened.
    #[getter]
    fn undecided(&self) -> usize {
        self.0.undecided
    }

    /// The condition in words.
    #[getter]
    fn threshold(&self) -> &str {
        &self.0.threshold
    }

    /// The measured values with their intervals in words.
    #[getter]
    fn found(&self) -> &str {
        &self.0.found
    }

    fn __repr__(&self) -> String {
        let Self(finding) = self;
        let (verdict, passed, total) = (finding.verdict, finding.passed, finding.total);
        format!(
            "<anabranch.Finding: {verdict}, {passed} of {total}: {}>",
            finding.claim
        )
    }
}
