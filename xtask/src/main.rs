//! Checks of the workspace: `cargo xtask arch`, `conformance`, `lines`, `no-std` and `words`. Which one?
//!
//! Cargo and clippy check most of the habits of CONTRIBUTING.md; the few that they cannot see are checked here.

mod arch;
mod conformance;
mod finding;
mod lines;
mod no_std;
mod retired_words;
mod sources;

use std::path::Path;
use std::process::ExitCode;

use finding::Failure;

const USAGE: &str = "usage: cargo xtask <check>

  arch         dependency edges, containers keyed by PathId, #![no_std] in the core crates
  conformance  that each rule of the standards is implemented and tested, or marked; that quotations are exact
  lines        length of files, and that their first line names what they hold
  words        that no retired word comes back
  no-std       that neither the core crates nor their dependencies link std
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.iter().map(String::as_str).next() {
        Some("arch") => arch::run(root()),
        Some("conformance") => conformance::run(root(), &arguments[1..]),
        Some("lines") => lines::run(root()),
        Some("no-std") => no_std::run(root()),
        Some("words") => retired_words::run(root()),
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
