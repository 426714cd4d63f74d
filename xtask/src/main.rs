//! Which check? `cargo xtask arch`, `cargo xtask lines` or `cargo xtask no-std`.
//!
//! Cargo and clippy check most of the habits of CONTRIBUTING.md; the few that they cannot see are checked here.

mod arch;
mod finding;
mod lines;
mod no_std;
mod sources;

use std::path::Path;
use std::process::ExitCode;

use finding::Failure;

const USAGE: &str = "usage: cargo xtask <check>

  arch     dependency edges, containers keyed by PathId, #![no_std] in the core crates
  lines    length of files, and the question in their first line
  no-std   that neither the core crates nor their dependencies link std
";

fn main() -> ExitCode {
    let check: Option<String> = std::env::args().nth(1);
    let outcome = match check.as_deref() {
        Some("arch") => arch::run(root()),
        Some("lines") => lines::run(root()),
        Some("no-std") => no_std::run(root()),
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(findings) if findings.is_empty() => ExitCode::SUCCESS,
        Ok(findings) => {
            findings.iter().for_each(|finding| eprintln!("error: {finding}"));
            ExitCode::FAILURE
        }
        Err(Failure(why)) => {
            eprintln!("error: {why}");
            ExitCode::from(2)
        }
    }
}

/// The root of the repository: the folder above this crate.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("invariant: xtask lies in a folder of the workspace")
}
