//! Rust sources of the repository.

use std::fs;
use std::path::{Path, PathBuf};

use crate::finding::Failure;

/// Folders below the root that hold our code.
const HOMES: [&str; 5] = ["bench", "crates", "fuzz", "interop", "xtask"];

/// A Rust file of ours.
#[derive(Debug)]
pub(crate) struct Source {
    /// Where it is, relative to the root, with `/` between folders.
    pub(crate) path: String,
    /// What it says.
    pub(crate) text: String,
}

/// Every Rust file of ours, in the order of their paths.
///
/// # Errors
/// When a folder or a file cannot be read.
pub(crate) fn all(root: &Path) -> Result<Vec<Source>, Failure> {
    let mut files = Vec::new();
    for home in HOMES
        .iter()
        .map(|home| root.join(home))
        .filter(|home| home.is_dir())
    {
        collect(&home, &mut files)?;
    }
    files.sort();
    files.iter().map(|file| read(root, file)).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let entries = fs::read_dir(folder).map_err(|error| unreadable(folder, &error))?;
    for entry in entries {
        let path = entry.map_err(|error| unreadable(folder, &error))?.path();
        if path.is_dir() {
            // Build products and artefacts of the fuzzers are not ours.
            if !matches!(
                path.file_name().and_then(|name| name.to_str()),
                Some("target" | "artifacts" | "corpus")
            ) {
                collect(&path, files)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

fn read(root: &Path, file: &Path) -> Result<Source, Failure> {
    let text = fs::read_to_string(file).map_err(|error| unreadable(file, &error))?;
    let path = file
        .strip_prefix(root)
        .unwrap_or(file)
        .to_string_lossy()
        .replace('\\', "/");
    Ok(Source { path, text })
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    Failure(format!("cannot read {}: {error}", path.display()))
}
