//! Result summaries as JSON files, formatted to be compared line by line.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;
use thiserror::Error;

use super::ResultSummary;

/// Why a result summary could not be read or written.
#[derive(Debug, Error)]
pub enum SummaryError {
    /// The file cannot be read or written.
    #[error("{0}: {1}")]
    Io(PathBuf, io::Error),
    /// The file is not a result summary of this version.
    #[error("{0}: {1}")]
    Format(PathBuf, serde_json::Error),
}

/// Maximum length of a value written on one line.
const LINE: usize = 110;

impl ResultSummary {
    /// Reads the summary in `file`.
    ///
    /// # Errors
    ///
    /// [`SummaryError`].
    pub fn load(file: &Path) -> Result<Self, SummaryError> {
        let text = fs::read_to_string(file).map_err(|error| SummaryError::Io(file.to_owned(), error))?;
        serde_json::from_str(&text).map_err(|error| SummaryError::Format(file.to_owned(), error))
    }

    /// Writes the summary to `file` atomically.
    ///
    /// # Errors
    ///
    /// [`SummaryError`].
    pub fn store(&self, file: &Path) -> Result<(), SummaryError> {
        crate::file::write(file, self.text().as_bytes())
            .map_err(|error| SummaryError::Io(file.to_owned(), error))
    }

    /// The summary as JSON text.
    #[must_use]
    pub fn text(&self) -> String {
        let value = serde_json::to_value(self).expect("invariant: summaries have only names for keys");
        let mut text = String::new();
        write(&value, 0, &mut text);
        text.push('\n');
        text
    }
}

fn write(value: &Value, depth: usize, text: &mut String) {
    let short = value.to_string();
    if short.len() + 2 * depth <= LINE {
        *text += &short;
        return;
    }
    let entries: Vec<(String, &Value)> = match value {
        Value::Object(table) => {
            let key = |name: &String| format!("{}: ", Value::String(name.clone()));
            table.iter().map(|(name, value)| (key(name), value)).collect()
        }
        Value::Array(list) => list.iter().map(|value| (String::new(), value)).collect(),
        _ => {
            *text += &short;
            return;
        }
    };
    let (open, close) = if value.is_object() { ('{', '}') } else { ('[', ']') };
    text.push(open);
    for (index, (key, value)) in entries.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        *text += &format!("{comma}\n{}{key}", "  ".repeat(depth + 1));
        write(value, depth + 1, text);
    }
    *text += &format!("\n{}{close}", "  ".repeat(depth));
}
