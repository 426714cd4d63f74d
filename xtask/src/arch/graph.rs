//! Dependency graph of the workspace. Which crate uses which, and is it allowed to?

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::table::{Rule, Uses};
use crate::finding::{Failure, Finding};

/// For each crate of the workspace, the crates of the workspace that its manifest names, sorted.
///
/// All kinds of dependency count, those of tests and build scripts too: a dev-dependency upwards would
/// compile two copies of the types below it.
pub(crate) type Graph = BTreeMap<String, Vec<String>>;

/// The graph as Cargo sees it.
///
/// # Errors
/// When Cargo fails or says something that is not its documented format.
pub(crate) fn of_workspace(root: &Path) -> Result<Graph, Failure> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--no-deps"])
        .current_dir(root)
        .output()
        .map_err(|error| Failure(format!("cannot run cargo metadata: {error}")))?;
    if !output.status.success() {
        return Err(Failure(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let metadata = serde_json::from_slice(&output.stdout)
        .map_err(|error| Failure(format!("cargo metadata is not JSON: {error}")))?;
    parse(&metadata).ok_or_else(|| Failure("cargo metadata lacks packages, names or dependencies".to_owned()))
}

fn parse(metadata: &Value) -> Option<Graph> {
    let mut graph = Graph::new();
    for package in metadata["packages"].as_array()? {
        let mut uses = Vec::new();
        for dependency in package["dependencies"].as_array()? {
            // Only what lies in this repository has a path.
            if dependency["path"].is_string() {
                uses.push(dependency["name"].as_str()?.to_owned());
            }
        }
        uses.sort();
        uses.dedup();
        graph.insert(package["name"].as_str()?.to_owned(), uses);
    }
    Some(graph)
}

/// The arrows that `rules` do not have, and the crates that they do not know.
pub(crate) fn check(graph: &Graph, rules: &[Rule]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (user, uses) in graph {
        let Some(rule) = rules.iter().find(|rule| rule.name == user) else {
            findings.push(finding(user, "is not in xtask/src/arch/table.rs".to_owned()));
            continue;
        };
        let forbidden = uses.iter().filter(|used| !allows(rules, rule, used));
        findings.extend(forbidden.map(|used| finding(user, format!("must not depend on {used}"))));
    }
    findings
}

fn allows(rules: &[Rule], user: &Rule, used: &str) -> bool {
    let is_below = rules
        .iter()
        .any(|rule| rule.name == used && rule.level < user.level);
    is_below
        && match user.uses {
            Uses::Only(names) => names.contains(&used),
            Uses::EverythingBelow => true,
        }
}

fn finding(at: &str, what: String) -> Finding {
    Finding {
        at: at.to_owned(),
        what,
    }
}

/// The graph as text: one line per crate, highest level first.
pub(crate) fn drawing(graph: &Graph, rules: &[Rule]) -> String {
    let mut drawn: Vec<(u8, &str, &[String])> = rules
        .iter()
        .filter_map(|rule| {
            graph
                .get(rule.name)
                .map(|uses| (rule.level, rule.name, uses.as_slice()))
        })
        .collect();
    drawn.sort_by_key(|&(level, name, _)| (core::cmp::Reverse(level), name));
    let short = |name: &str| name.trim_start_matches("anabranch-").to_owned();
    let mut text = String::new();
    for (level, name, uses) in drawn {
        let uses = if uses.is_empty() {
            "–".to_owned()
        } else {
            uses.iter().map(|used| short(used)).collect::<Vec<_>>().join(", ")
        };
        writeln!(text, "level {level}  {:<10} → {uses}", short(name))
            .expect("invariant: a String takes any text");
    }
    text
}

#[cfg(test)]
mod tests;
