//! Experiment lab: plans describe what is compared, swept, measured and checked; runs take place in the simulator or on a
//! test bed.

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
