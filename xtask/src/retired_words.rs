//! Retired words: `xtask/retired-words.toml`. Does a name come back that a standard term has replaced?
//!
//! A word of the list must not stand in code, comments, documents, plans or scripts. It counts between characters that
//! are neither letters nor digits, so `line` is in `loss_line` but not in `online`; `.line` is a field; capitals count.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::finding::{Failure, Finding, Outcome};

const LIST: &str = "xtask/retired-words.toml";

/// The tables of renamed names, in lines of this form.
const TABLES: &str = "CHANGELOG.md";

/// Folders that hold no words of ours: build products, results, inputs of the fuzzers.
const SKIPPED: [&str; 6] = ["target", ".git", "artifacts", "corpus", "results", "node_modules"];

const EXTENSIONS: [&str; 7] = ["rs", "md", "toml", "py", "js", "go", "c"];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    retired: Vec<Retired>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Retired {
    words: Vec<String>,
    /// The term to use instead.
    now: String,
    /// Files and folders in which a word has another sense.
    #[serde(default)]
    allowed: Vec<String>,
}

/// Looks for the words in every text of the repository.
///
/// # Errors
/// When the list or a file cannot be read.
pub(crate) fn run(root: &Path) -> Outcome {
    let text = fs::read_to_string(root.join(LIST)).map_err(|error| Failure(format!("{LIST}: {error}")))?;
    let list: List = toml::from_str(&text).map_err(|error| Failure(format!("{LIST}: {error}")))?;
    let mut files = Vec::new();
    collect(root, &mut files)?;
    files.sort();
    let mut findings = Vec::new();
    for file in &files {
        let path = file.strip_prefix(root).unwrap_or(file).to_string_lossy();
        if path == LIST {
            continue;
        }
        let text = fs::read_to_string(file).map_err(|error| Failure(format!("{path}: {error}")))?;
        findings.extend(check(&list, &path, &text));
    }
    println!(
        "words: {} files, {} retired terms",
        files.len(),
        list.retired.len()
    );
    Ok(findings)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let unreadable = |error: std::io::Error| Failure(format!("{}: {error}", folder.display()));
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_text = || {
            let extension = path.extension().unwrap_or_default().to_string_lossy();
            EXTENSIONS.contains(&&*extension) || name == "Makefile" || folder.ends_with("scripts")
        };
        if path.is_dir() {
            if !SKIPPED.contains(&&*name) {
                collect(&path, files)?;
            }
        } else if is_text() {
            files.push(path);
        }
    }
    Ok(())
}

fn check(list: &List, path: &str, text: &str) -> Vec<Finding> {
    let is_allowed = |retired: &&Retired| {
        !retired
            .allowed
            .iter()
            .any(|allowed| path.starts_with(allowed.as_str()))
    };
    let retired: Vec<&Retired> = list.retired.iter().filter(is_allowed).collect();
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if path == TABLES && line.starts_with('|') {
            continue;
        }
        for retired in &retired {
            for word in retired.words.iter().filter(|word| contains(line, word)) {
                findings.push(Finding {
                    at: format!("{path}:{}", index + 1),
                    what: format!("`{word}` is retired: {}", retired.now),
                });
            }
        }
    }
    findings
}

/// Whether the word stands in the line, with no letter or digit beside its own letters.
fn contains(line: &str, word: &str) -> bool {
    let joins = |one: Option<char>, other: Option<char>| {
        one.is_some_and(char::is_alphanumeric) && other.is_some_and(char::is_alphanumeric)
    };
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !joins(before, word.chars().next()) && !joins(word.chars().next_back(), after)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> List {
        List {
            retired: vec![Retired {
                words: vec!["line".to_owned(), "loss mark".to_owned()],
                now: "threshold".to_owned(),
                allowed: vec!["crates/chart/".to_owned()],
            }],
        }
    }

    #[test]
    fn retired_words_are_found_whole_and_in_identifiers() {
        let found = |text| check(&list(), "crates/policy/src/loss.rs", text).len();
        assert_eq!(found("a loss_line and a line"), 1, "once for each line of text");
        assert_eq!(found("the loss mark"), 1);
        assert_eq!(found("online, lines, Line, loss  mark"), 0);
    }

    #[test]
    fn allowed_files_and_tables_of_the_changelog_may_name_them() {
        assert_eq!(check(&list(), "crates/chart/src/lib.rs", "a line"), []);
        assert_eq!(check(&list(), "CHANGELOG.md", "| `line` | threshold |"), []);
        assert_eq!(check(&list(), "CHANGELOG.md", "a line").len(), 1);
    }
}
