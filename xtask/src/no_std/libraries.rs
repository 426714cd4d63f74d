//! Libraries of the core. Which are they, and where are they compiled?

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::core_command;
use crate::arch::core_crates::CORE;
use crate::finding::Failure;

/// A compiled library.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Library {
    /// Its name in Rust.
    pub(super) name: String,
    /// Its metadata; what it depends on lies beside it.
    pub(super) file: PathBuf,
}

/// The core crates and what they link, freshly checked. What only runs in the compiler (procedural macros, build
/// scripts and their dependencies) is not among them.
///
/// # Errors
/// When Cargo fails, or does not report the core crates.
pub(super) fn below_the_core(root: &Path) -> Result<Vec<Library>, Failure> {
    let tree = [
        "--edges",
        "normal,no-proc-macro",
        "--prefix",
        "none",
        "--format",
        "{lib}",
    ];
    let names = output_of(core_command(root, "tree").args(tree))?;
    let linked: BTreeSet<&str> = names
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let messages = output_of(core_command(root, "check").args(["--quiet", "--message-format=json"]))?;
    let libraries: Vec<Library> = messages
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter_map(|message| announced(&message))
        .filter(|library| linked.contains(library.name.as_str()))
        .collect();
    let core = CORE.map(|name| format!("anabranch_{name}"));
    if core
        .iter()
        .all(|name| libraries.iter().any(|library| library.name == *name))
    {
        Ok(libraries)
    } else {
        Err(Failure(format!("cargo check did not report all of {core:?}")))
    }
}

/// The library that a message of Cargo announces.
fn announced(message: &Value) -> Option<Library> {
    let name = message["target"]["name"].as_str()?.replace('-', "_");
    let files = message["filenames"].as_array()?;
    let file = files
        .iter()
        .filter_map(Value::as_str)
        .find(|file| file.ends_with(".rmeta"))?;
    Some(Library {
        name,
        file: PathBuf::from(file),
    })
}

fn output_of(command: &mut Command) -> Result<String, Failure> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| Failure(format!("cannot run {command:?}: {error}")))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(Failure(format!("{command:?} failed")))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn message_with_metadata_announces_a_library() {
        let message =
            json!({ "target": { "name": "crc-fast" }, "filenames": ["/t/crc.so", "/t/libcrc.rmeta"] });
        let expected = Library {
            name: "crc_fast".to_owned(),
            file: PathBuf::from("/t/libcrc.rmeta"),
        };
        assert_eq!(announced(&message), Some(expected));
    }

    #[test]
    fn other_messages_announce_nothing() {
        assert_eq!(
            announced(&json!({ "reason": "build-finished", "success": true })),
            None
        );
        let program = json!({ "target": { "name": "build-script-build" }, "filenames": ["/t/build-script"] });
        assert_eq!(announced(&program), None);
    }
}
