//! Paths in the documents. Does each file that a document links or names exist?
//!
//! Checked are the targets of links, and names in code spans that contain `/src`, begin with `crates/`, or end like a
//! source file. A name is relative to the root, to `crates/`, or to the document.

use std::fs;
use std::path::Path;

use crate::finding::{Failure, Finding, Outcome};

/// Folders with documents.
const FOLDERS: [&str; 3] = ["", "docs", "docs/adr"];
/// The history names files as they were.
const HISTORY: &str = "CHANGELOG.md";
/// How the files end that a code span names.
const ENDINGS: [&str; 4] = [".rs", ".toml", ".md", ".json"];

/// Finds the names of files that do not exist.
///
/// # Errors
/// When a document cannot be read.
pub(super) fn check(root: &Path) -> Outcome {
    let mut findings = Vec::new();
    for folder in FOLDERS {
        for document in documents(&root.join(folder))? {
            let text = fs::read_to_string(&document).map_err(|error| unreadable(&document, &error))?;
            let near = document.parent().unwrap_or(root);
            let exists = |path: &str| near.join(path).exists();
            let is_known = |name: &str| {
                exists(name) || root.join(name).exists() || root.join("crates").join(name).exists()
            };
            let at = document.strip_prefix(root).unwrap_or(&document).to_string_lossy();
            findings.extend(missing(&at, &text, exists, is_known));
        }
    }
    Ok(findings)
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    Failure(format!("cannot read {}: {error}", path.display()))
}

fn documents(folder: &Path) -> Result<Vec<std::path::PathBuf>, Failure> {
    let mut documents = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| unreadable(folder, &error))? {
        let path = entry.map_err(|error| unreadable(folder, &error))?.path();
        let is_document = path.extension().is_some_and(|extension| extension == "md");
        if is_document && !path.ends_with(HISTORY) {
            documents.push(path);
        }
    }
    documents.sort();
    Ok(documents)
}

/// The links without a target and the names without a file, line by line; blocks of code are passed over.
fn missing(
    at: &str,
    text: &str,
    exists: impl Fn(&str) -> bool,
    is_known: impl Fn(&str) -> bool,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut in_block = false;
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        }
        if in_block {
            continue;
        }
        let links = link_targets(line).filter(|target| !exists(target));
        let names = code_spans(line).filter(|span| is_path(span) && !is_known(span));
        findings.extend(links.chain(names).map(|name| Finding {
            at: format!("{at}:{}", number + 1),
            what: format!("names `{name}`, which does not exist"),
        }));
    }
    findings
}

/// The targets of a line's links to files, without the places in them.
fn link_targets(line: &str) -> impl Iterator<Item = &str> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let files = targets.filter(|target| !target.contains("://") && !target.starts_with('#'));
    files.filter_map(|target| target.split('#').next())
}

/// What stands between single backticks.
fn code_spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

fn is_path(span: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte);
    let is_named = || span.starts_with("crates/") || span.contains("/src/") || span.ends_with("/src");
    let is_source = || ENDINGS.iter().any(|ending| span.ends_with(ending));
    span.contains('/') && !span.starts_with('/') && span.bytes().all(is_plain) && (is_named() || is_source())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let exists = |path: &str| path == "docs/a.md";
        let is_known = |path: &str| path == "proto/src/lib.rs";
        let found = missing("X.md", text, exists, is_known);
        found.into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn missing_link_target_is_found() {
        assert_eq!(
            names("[a](docs/a.md#b), [b](docs/b.md), [c](https://x.y), [d](#e)"),
            ["names `docs/b.md`, which does not exist"]
        );
    }

    #[test]
    fn missing_source_file_in_a_code_span_is_found() {
        assert_eq!(
            names("`proto/src/lib.rs`, `proto/src/old.rs`, `cargo x/y.rs z`, `a / b`, `send/`"),
            ["names `proto/src/old.rs`, which does not exist"]
        );
    }

    #[test]
    fn blocks_of_code_are_not_checked() {
        assert!(names("```rust new=crates/a.rs\n`proto/src/old.rs`\n```").is_empty());
    }
}
