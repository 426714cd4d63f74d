//! Architecture checks. Does the workspace still have the shape of ARCHITECTURE.md?
//!
//! Five rules: only the dependencies of [`table`] exist, per-path state has one home, the core crates are
//! `#![no_std]`, its table of decisions is whole, and the files that documents name exist.

pub(crate) mod core_crates;
mod decisions;
mod doc_paths;
mod graph;
mod path_keys;
mod table;

use std::path::Path;

use crate::finding::Outcome;
use crate::sources;

/// Prints the graph of the crates and checks the five rules.
pub(crate) fn run(root: &Path) -> Outcome {
    let graph = graph::of_workspace(root)?;
    print!("{}", graph::drawing(&graph, table::CRATES));
    let sources = sources::all(root)?;
    let mut findings = graph::check(&graph, table::CRATES);
    findings.extend(path_keys::check(&sources));
    findings.extend(core_crates::check(&sources));
    findings.extend(decisions::check(root)?);
    findings.extend(doc_paths::check(root)?);
    Ok(findings)
}
