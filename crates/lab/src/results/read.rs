//! What stands in the `runs.csv` of a folder?

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::WriteError;

/// The runs of one folder of results.
pub(super) struct Runs {
    /// The names of the scalars.
    pub(super) metrics: BTreeSet<String>,
    /// In the order of the file.
    pub(super) rows: Vec<Row>,
}

/// One run.
pub(super) struct Row {
    /// Line and coordinates, for people.
    pub(super) place: String,
    /// The seed, as it was written.
    pub(super) seed: String,
    /// What was measured.
    pub(super) values: BTreeMap<String, f64>,
}

impl Runs {
    /// What stands before `seed` is the place, what stands after `version` are scalars.
    pub(super) fn read(folder: &Path) -> Result<Self, WriteError> {
        let file = folder.join("runs.csv");
        let named =
            |error: std::io::Error| std::io::Error::new(error.kind(), format!("{}: {error}", file.display()));
        let text = std::fs::read_to_string(&file).map_err(named)?;
        let mut lines = records(&text).into_iter();
        let names = lines.next().unwrap_or_default();
        let column = |name: &str| names.iter().position(|known| known == name);
        let (Some(seed), Some(version)) = (column("seed"), column("version")) else {
            let text = format!("{} was not written by this program", file.display());
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, text).into());
        };
        let (before, scalars) = (&names[..seed], version + 1);
        let row = |cells: Vec<String>| {
            let named = names.iter().zip(&cells).skip(scalars);
            Row {
                place: place(before, &cells),
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

fn place(names: &[String], cells: &[String]) -> String {
    let given = names.iter().zip(cells).filter(|(_, cell)| !cell.is_empty());
    let words = given.map(|(name, cell)| match name.as_str() {
        "line" => cell.clone(),
        name => format!("{name} {cell}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// The cells of CSV, line by line.
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
