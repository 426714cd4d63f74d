//! Checks `docs/comparison.md`. Does each *yes* name a test that exists?
#![cfg(test)]

use std::fs;
use std::path::Path;

const PAGE: &str = include_str!("../../../docs/comparison.md");

/// Cells of the rows of all tables, without their heads.
fn rows() -> Vec<Vec<&'static str>> {
    let lines = PAGE.lines().filter(|line| line.starts_with("| "));
    let rows = lines.map(|line| {
        line.trim_matches('|')
            .split('|')
            .map(str::trim)
            .collect::<Vec<_>>()
    });
    rows.filter(|cells| cells[0] != "feature").collect()
}

/// Name and file of the test in a cell such as `[name](../file)`.
fn test_in(cell: &str) -> Option<(&str, &str)> {
    let (name, file) = cell.strip_prefix('[')?.strip_suffix(')')?.split_once("](../")?;
    Some((name, file))
}

#[test]
fn each_yes_names_a_test_that_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let rows = rows();
    assert!(rows.len() > 50);
    let mut faults = Vec::new();
    for cells in rows {
        let (feature, ours, last) = (cells[0], cells[1], cells[cells.len() - 1]);
        match test_in(last) {
            Some((name, file)) => {
                let text = fs::read_to_string(root.join(file)).unwrap_or_default();
                if !text.contains(&format!("fn {name}()")) {
                    faults.push(format!("{feature}: {file} has no test {name}"));
                }
            }
            None if ours.starts_with("yes") => {
                faults.push(format!("{feature}: no test"));
            }
            None => {}
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}
