//! Architecture checks. Does the workspace still have the shape of ARCHITECTURE.md?
//!
//! Seven rules: only the dependencies of [`table`] exist, per-path state has one home, the core crates are
//! `#![no_std]`, its table of decisions is whole, the files that documents name exist, few functions of the core take the
//! whole association mutably, and few of its files need each other.

pub(crate) mod core_crates;
mod decisions;
mod doc_paths;
mod graph;
mod modules;
mod ownership;
mod path_keys;
mod rings;
mod table;

use std::path::Path;

use crate::finding::Outcome;
use crate::sources;

/// The sources of the protocol core.
const CORE: &str = "crates/proto/src/";

/// Prints the graph of the crates and checks the seven rules.
pub(crate) fn run(root: &Path) -> Outcome {
    let graph = graph::of_workspace(root)?;
    print!("{}", graph::drawing(&graph, table::CRATES));
    let sources = sources::all(root)?;
    let mut findings = graph::check(&graph, table::CRATES);
    findings.extend(path_keys::check(&sources));
    findings.extend(core_crates::check(&sources));
    findings.extend(decisions::check(root)?);
    findings.extend(doc_paths::check(root)?);
    let core = modules::of_crate(&sources, CORE);
    findings.extend(ownership::check(&core, CORE));
    findings.extend(rings::check(&core, CORE));
    Ok(findings)
}
