//! Does a claim hold? Experiments as files: what is compared, swept, measured and expected, run on the simulated network.

pub mod check;
pub mod claims;
pub mod file;
pub mod metric;
pub mod plan;
pub mod report;
pub mod results;
pub mod run;
pub mod stats;
pub mod summary;

pub use plan::{Plan, PlanError, Point};
