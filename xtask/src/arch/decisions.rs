//! Decision table of ARCHITECTURE.md. Does it link every record in `docs/adr`?

use std::fs;
use std::path::Path;

use crate::finding::{Failure, Finding, Outcome};

const TABLE: &str = "ARCHITECTURE.md";
const RECORDS: &str = "docs/adr";

/// Finds the records that the table does not link.
///
/// # Errors
/// When the table or the folder cannot be read.
pub(super) fn check(root: &Path) -> Outcome {
    let unreadable = |what: &str, error: std::io::Error| Failure(format!("{what}: {error}"));
    let table = fs::read_to_string(root.join(TABLE)).map_err(|error| unreadable(TABLE, error))?;
    let folder = fs::read_dir(root.join(RECORDS)).map_err(|error| unreadable(RECORDS, error))?;
    let mut records = Vec::new();
    for entry in folder {
        let entry = entry.map_err(|error| unreadable(RECORDS, error))?;
        records.push(entry.file_name().to_string_lossy().into_owned());
    }
    records.sort();
    Ok(missing(&table, &records))
}

fn missing(table: &str, records: &[String]) -> Vec<Finding> {
    let is_missing = |record: &&String| !table.contains(&format!("({RECORDS}/{record})"));
    let finding = |record| Finding {
        at: format!("{RECORDS}/{record}"),
        what: format!("no row of the table of decisions in {TABLE} links it"),
    };
    records.iter().filter(is_missing).map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_without_a_row_is_found() {
        let table = "| the core does no I/O | purity | [0001](docs/adr/0001-sans-io.md) |";
        let records = ["0001-sans-io.md", "0002-policies.md"].map(str::to_owned);
        let found: Vec<String> = missing(table, &records)
            .into_iter()
            .map(|finding| finding.at)
            .collect();
        assert_eq!(found, ["docs/adr/0002-policies.md"]);
    }
}
