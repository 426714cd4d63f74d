//! Lines of a configuration file in the manner of WireGuard: sections of keys and values. Which are there, and where?

use std::fmt;
use std::path::{Path, PathBuf};

/// What is wrong in a file, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ConfigError {
    file: PathBuf,
    /// From 1; `None` for what is missing in the whole file.
    line: Option<usize>,
    text: String,
}

/// A section of a kind, `[Kind]`, with its entries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Section {
    pub(super) kind: String,
    pub(super) line: usize,
    pub(super) entries: Vec<Entry>,
}

/// `Key = value`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) value: String,
    pub(super) line: usize,
}

impl ConfigError {
    pub(super) fn new(file: &Path, line: Option<usize>, text: impl fmt::Display) -> Self {
        Self {
            file: file.to_owned(),
            line,
            text: text.to_string(),
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        match self.line {
            Some(line) => write!(f, "{file}:{line}: {}", self.text),
            None => write!(f, "{file}: {}", self.text),
        }
    }
}

/// The sections of a text. Kinds and keys are whatever was written. A `#` begins a comment.
pub(super) fn parse(file: &Path, text: &str) -> Result<Vec<Section>, ConfigError> {
    let mut sections: Vec<Section> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let error = |text: &str| ConfigError::new(file, Some(number), text);
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        if let Some(kind) = line.strip_prefix('[') {
            let kind = kind
                .strip_suffix(']')
                .ok_or_else(|| error("expected ] at the end of the line"))?;
            sections.push(Section {
                kind: kind.trim().to_owned(),
                line: number,
                entries: Vec::new(),
            });
            continue;
        }
        let (key, value) = line
            .split_once('=')
            .ok_or_else(|| error("expected KEY = VALUE, [Interface] or [Peer]"))?;
        let (key, value) = (key.trim().to_owned(), value.trim().to_owned());
        if value.is_empty() {
            return Err(error(&format!(
                "{key} has no value; leave the line out, or write one"
            )));
        }
        let section = sections
            .last_mut()
            .ok_or_else(|| error("expected [Interface] or [Peer] before this line"))?;
        section.entries.push(Entry {
            key,
            value,
            line: number,
        });
    }
    Ok(sections)
}
