//! Plans for Python: reading, and what is in them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anabranch_lab::Plan;
use anabranch_lab::plan::PlanOptions;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

pyo3::create_exception!(
    anabranch,
    PlanError,
    PyValueError,
    "A plan is not valid; the message tells where, and what was expected."
);

/// A plan, read and validated.
#[pyclass(frozen, module = "anabranch._native", name = "NativePlan")]
pub(crate) struct NativePlan(pub(crate) Arc<Plan>);

#[pymethods]
impl NativePlan {
    /// Reads `text` as the plan in `file`; relative names of input files start there.
    #[new]
    fn new(py: Python<'_>, file: PathBuf, text: &str, quick: bool, changes: Vec<String>) -> PyResult<Self> {
        let options = PlanOptions { quick, changes };
        let read = py.detach(|| Plan::read(Path::new(&file), text, &options));
        let plan = read.map_err(|error| PlanError::new_err(error.to_string()))?;
        Ok(Self(Arc::new(plan)))
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn title(&self) -> &str {
        &self.0.title
    }

    #[getter]
    fn claim(&self) -> &str {
        &self.0.claim
    }

    #[getter]
    fn source(&self) -> &str {
        &self.0.source
    }

    #[getter]
    fn digest(&self) -> &str {
        &self.0.digest
    }

    #[getter]
    fn variants(&self) -> Vec<String> {
        self.0.variants.clone()
    }

    /// The largest number of repetitions, if the plan has a stop rule.
    #[getter]
    fn at_most(&self) -> Option<u64> {
        self.0.repeat.as_ref().map(|repeat| repeat.at_most)
    }

    /// The values of each axis as text, in the order of the plan.
    #[getter]
    fn axes(&self) -> Vec<(String, Vec<String>)> {
        let axes = self.0.axes.iter();
        let texts = axes.map(|axis| {
            let values = axis.values.iter().map(|value| value.text.clone());
            (axis.name.clone(), values.collect())
        });
        texts.collect()
    }

    /// The estimated cost of each run, in simulated bits.
    #[getter]
    fn works(&self) -> Vec<f64> {
        self.0.points.iter().map(anabranch_lab::Point::work).collect()
    }
}
