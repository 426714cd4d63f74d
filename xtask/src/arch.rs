//! Does the workspace still have the shape of ARCHITECTURE.md?
//!
//! Three rules: only the dependencies of [`table`] exist, per-path state has one home, the core crates are
//! `#![no_std]`.

pub(crate) mod core_crates;
mod graph;
mod path_keys;
mod table;

use std::path::Path;

use crate::finding::Outcome;
use crate::sources;

/// Prints the graph of the crates and checks the three rules.
pub(crate) fn run(root: &Path) -> Outcome {
    let graph = graph::of_workspace(root)?;
    print!("{}", graph::drawing(&graph, table::CRATES));
    let sources = sources::all(root)?;
    let mut findings = graph::check(&graph, table::CRATES);
    findings.extend(path_keys::check(&sources));
    findings.extend(core_crates::check(&sources));
    Ok(findings)
}
