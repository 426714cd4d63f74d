//! Reading of `runs.csv`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::WriteError;

/// The runs of one folder of results.
pub(super) struct Runs {
    /// Names of the metrics.
    pub(super) metrics: BTreeSet<String>,
    /// In the order of the file.
    pub(super) rows: Vec<Row>,
}

/// One run.
pub(super) struct Row {
    /// Series and coordinates as text.
    pub(super) point: String,
    /// The seed as text.
    pub(super) seed: String,
    /// The metrics.
    pub(super) values: BTreeMap<String, f64>,
}

impl Runs {
    /// Reads `runs.csv` in `folder`. Columns before `seed` identify the point; columns after `version` are metrics.
    pub(super) fn read(folder: &Path) -> Result<Self, WriteError> {
        let file = folder.join("runs.csv");
        let named =
            |error: std::io::Error| std::io::Error::new(error.kind(), format!("{}: {error}", file.display()));
        let text = std::fs::read_to_string(&file).map_err(named)?;
        let mut lines = records(&text).into_iter();
        let names = lines.next().unwrap_or_default();
        let column = |name: &str| names.iter().position(|known| known == name);
        let (Some(seed), Some(version)) = (column("seed"), column("version")) else {
            let text = format!(
                "{} is not a table of runs; expected columns `seed` and `version`",
                file.display()
            );
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, text).into());
        };
        let (before, scalars) = (&names[..seed], version + 1);
        let row = |cells: Vec<String>| {
            let named = names.iter().zip(&cells).skip(scalars);
            Row {
                point: point(before, &cells),
                seed: cells.get(seed).cloned().unwrap_or_default(),
                values: named
                    .filter_map(|(name, cell)| Some((name.clone(), cell.parse().ok()?)))
                    .collect(),
            }
        };
        Ok(Self {
            rows: lines.map(row).collect(),
            metrics: names.iter().skip(scalars).cloned().collect(),
        })
    }
}

fn point(names: &[String], cells: &[String]) -> String {
    let given = names.iter().zip(cells).filter(|(_, cell)| !cell.is_empty());
    let words = given.map(|(name, cell)| match name.as_str() {
        "series" => cell.clone(),
        name => format!("{name} {cell}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// The cells of a CSV text, row by row (RFC 4180).
fn records(text: &str) -> Vec<Vec<String>> {
    let (mut records, mut record, mut cell) = (Vec::new(), Vec::new(), String::new());
    let mut is_quoted = false;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if is_quoted && letters.peek() == Some(&'"') => cell.extend(letters.next()),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => record.push(core::mem::take(&mut cell)),
            '\n' if !is_quoted => {
                record.push(core::mem::take(&mut cell));
                records.push(core::mem::take(&mut record));
            }
            letter => cell.push(letter),
        }
    }
    records
}
