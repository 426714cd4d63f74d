//! Native module of the Python package `anabranch`: plans, their runs, results in Arrow's memory format, sockets, captures.
//!
//! | file | contents |
//! |---|---|
//! | `plan` | a plan |
//! | `run` | running it: all cores, without the interpreter's lock, until Ctrl-C |
//! | `capture` | conversations in captures |
//! | `socket` | sockets for asyncio |
//! | `gather` | runs that an executor carries out: which are open, what came back |
//! | `scheduler` | path schedulers written in Python |
//! | `results` | results, findings, figures |
//! | `table` | tables through Arrow's PyCapsule interface |
//!
//! The package's Python part is in `python/anabranch`, its tests are in `tests`.

mod capture;
mod gather;
mod plan;
mod results;
mod run;
mod scheduler;
mod socket;
mod table;

use pyo3::prelude::*;

/// Native part of the package `anabranch`; use that package instead.
#[pymodule(gil_used = false, name = "_native")]
mod native {
    #[pymodule_export]
    use crate::capture::{Conversation, read_capture};
    #[pymodule_export]
    use crate::gather::Gathering;
    #[pymodule_export]
    use crate::plan::{NativePlan, PlanError};
    #[pymodule_export]
    use crate::results::{Figure, Finding, Results};
    #[pymodule_export]
    use crate::run::{Progress, build_of, run_all, run_some};
    #[pymodule_export]
    use crate::scheduler::{Backlog, PathFacts};
    #[pymodule_export]
    use crate::socket::{
        MessageOfPeer, NativeAssociation, NativeEndpoint, PathStatus, bind, generate_key, public_key,
    };
    #[pymodule_export]
    use crate::table::Table;

    /// Version of the package with the commit that it was built from.
    #[pymodule_export]
    const VERSION: &str = env!("ANABRANCH_VERSION");
}
