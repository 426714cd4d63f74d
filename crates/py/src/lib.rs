//! Native module of the Python package `anabranch`: plans, their runs, and results in Arrow's memory format.
//!
//! | file | contents |
//! |---|---|
//! | `plan` | a plan |
//! | `run` | running it: all cores, without the interpreter's lock, until Ctrl-C |
//! | `scheduler` | path schedulers written in Python |
//! | `results` | results, findings |
//! | `table` | tables through Arrow's PyCapsule interface |
//!
//! The package's Python part is in `python/anabranch`, its tests are in `tests`.

mod plan;
mod results;
mod run;
mod scheduler;
mod table;

use pyo3::prelude::*;

/// Native part of the package `anabranch`; use that package instead.
#[pymodule(gil_used = false, name = "_native")]
mod native {
    #[pymodule_export]
    use crate::plan::{NativePlan, PlanError};
    #[pymodule_export]
    use crate::results::{Finding, Results};
    #[pymodule_export]
    use crate::run::{Progress, build_of, results_of, run_all, run_some};
    #[pymodule_export]
    use crate::scheduler::{Backlog, PathFacts};
    #[pymodule_export]
    use crate::table::Table;
}
