//! Do the core crates, and everything that they depend on, do without std?
//!
//! `#![no_std]` says it of one crate, not of its dependencies. Two proofs of the whole: a library with a panic
//! handler of its own uses the core crates (std has one too, and Rust allows only one), which needs no further
//! toolchain; and where a target without an operating system is installed, the crates are built for it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::arch::core_crates::CORE;
use crate::finding::{Failure, Finding, Outcome};

/// Targets without std that rustup knows; the first that is installed is built for.
const BARE_TARGETS: [&str; 4] = [
    "wasm32v1-none",
    "x86_64-unknown-none",
    "aarch64-unknown-none",
    "thumbv7em-none-eabi",
];

/// Makes both proofs, the second where it can be made.
pub(crate) fn run(root: &Path) -> Outcome {
    let mut findings = Vec::new();
    if !links_without_std(root)? {
        findings.push(finding(
            "a crate of the core, or a dependency of one, links std (the message above names it)",
        ));
    }
    match installed_bare_target()? {
        Some(target) => {
            if !checks_for(root, target)? {
                findings.push(finding("the core does not build for a target without std"));
            }
        }
        None => {
            println!("no-std: skipped the build for a bare target, none of {BARE_TARGETS:?} is installed");
        }
    }
    Ok(findings)
}

fn finding(what: &str) -> Finding {
    Finding {
        at: "no-std".to_owned(),
        what: what.to_owned(),
    }
}

/// First proof: the core crates beside a panic handler.
fn links_without_std(root: &Path) -> Result<bool, Failure> {
    let libraries = core_libraries(root)?;
    let folder = std::env::temp_dir().join(format!("anabranch-no-std-{}", std::process::id()));
    std::fs::create_dir_all(&folder)
        .map_err(|error| Failure(format!("cannot create {}: {error}", folder.display())))?;
    let outcome = compile_probe(&folder, &libraries);
    // A folder that stays behind in the temporary directory harms nobody.
    let _ = std::fs::remove_dir_all(&folder);
    outcome
}

fn compile_probe(folder: &Path, libraries: &[(String, PathBuf)]) -> Result<bool, Failure> {
    let source = folder.join("probe.rs");
    std::fs::write(&source, probe(libraries))
        .map_err(|error| Failure(format!("cannot write the probe: {error}")))?;
    let mut compiler = rustc();
    compiler.args([
        "--edition=2024",
        "--crate-type=lib",
        "--emit=metadata",
        "-Cpanic=abort",
    ]);
    for (name, file) in libraries {
        compiler.arg("--extern").arg(format!("{name}={}", file.display()));
        if let Some(dependencies) = file.parent() {
            compiler
                .arg("-L")
                .arg(format!("dependency={}", dependencies.display()));
        }
    }
    compiler.arg("--out-dir").arg(folder).arg(&source);
    succeeds(compiler)
}

/// The library of the first proof.
fn probe(libraries: &[(String, PathBuf)]) -> String {
    let uses: String = libraries
        .iter()
        .map(|(name, _)| format!("use {name} as _;\n"))
        .collect();
    format!(
        "#![no_std]\n{uses}\n#[panic_handler]\nfn panic(_: &core::panic::PanicInfo<'_>) -> ! {{ loop {{}} }}\n"
    )
}

/// The core crates' names in Rust and their compiled metadata, freshly checked.
fn core_libraries(root: &Path) -> Result<Vec<(String, PathBuf)>, Failure> {
    let mut command = check_core(root);
    command
        .args(["--quiet", "--message-format=json"])
        .stderr(Stdio::inherit());
    let output = command
        .output()
        .map_err(|error| Failure(format!("cannot run cargo check: {error}")))?;
    if !output.status.success() {
        return Err(Failure("the core crates do not compile".to_owned()));
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let libraries: Vec<_> = messages
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter_map(|m| library(&m))
        .collect();
    if libraries.len() != CORE.len() {
        return Err(Failure(format!(
            "cargo check reported {} core libraries, not {}",
            libraries.len(),
            CORE.len()
        )));
    }
    Ok(libraries)
}

/// The library that a message of Cargo announces, if it is one of the core's.
fn library(message: &Value) -> Option<(String, PathBuf)> {
    let name = message["target"]["name"].as_str()?;
    let is_core = name
        .strip_prefix("anabranch_")
        .is_some_and(|short| CORE.contains(&short));
    let files = message["filenames"].as_array()?;
    let file = files
        .iter()
        .filter_map(Value::as_str)
        .find(|file| file.ends_with(".rmeta"))?;
    is_core.then(|| (name.to_owned(), PathBuf::from(file)))
}

/// Second proof: a build for `target`.
fn checks_for(root: &Path, target: &str) -> Result<bool, Failure> {
    println!("no-std: building for {target}");
    let mut command = check_core(root);
    command.args(["--quiet", "--target", target]);
    succeeds(command)
}

fn installed_bare_target() -> Result<Option<&'static str>, Failure> {
    let output = rustc()
        .args(["--print", "sysroot"])
        .output()
        .map_err(|error| Failure(format!("cannot run rustc: {error}")))?;
    let sysroot = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    Ok(BARE_TARGETS
        .into_iter()
        .find(|target| sysroot.join("lib/rustlib").join(target).join("lib").is_dir()))
}

fn check_core(root: &Path) -> Command {
    let mut command = Command::new(tool("CARGO", "cargo"));
    command.current_dir(root).arg("check");
    // Named one by one, so that features which other crates switch on in shared dependencies stay off.
    CORE.iter().for_each(|name| {
        command.arg("--package").arg(format!("anabranch-{name}"));
    });
    command
}

fn rustc() -> Command {
    Command::new(tool("RUSTC", "rustc"))
}

fn tool(variable: &str, name: &str) -> OsString {
    std::env::var_os(variable).unwrap_or_else(|| name.into())
}

fn succeeds(mut command: Command) -> Result<bool, Failure> {
    let status = command
        .status()
        .map_err(|error| Failure(format!("cannot run {command:?}: {error}")))?;
    Ok(status.success())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_libraries_of_the_core_are_probed() {
        let message = |name: &str| json!({ "target": { "name": name }, "filenames": ["/t/libx.rmeta"] });
        let expected = Some(("anabranch_wire".to_owned(), PathBuf::from("/t/libx.rmeta")));
        assert_eq!(library(&message("anabranch_wire")), expected);
        assert_eq!(library(&message("anabranch_io")), None);
        assert_eq!(library(&message("bytes")), None);
    }

    #[test]
    fn the_probe_finds_a_crate_that_links_std() {
        let folder = std::env::temp_dir().join(format!("anabranch-no-std-test-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let verdicts = ["#![no_std]", "// std comes along"].map(|first| {
            let source = folder.join("suspect.rs");
            std::fs::write(&source, first).unwrap();
            let mut compiler = rustc();
            compiler
                .args(["--crate-type=lib", "--emit=metadata", "--out-dir"])
                .arg(&folder)
                .arg(&source);
            assert!(succeeds(compiler).unwrap());
            compile_probe(
                &folder,
                &[("suspect".to_owned(), folder.join("libsuspect.rmeta"))],
            )
            .unwrap()
        });
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(
            verdicts,
            [true, false],
            "a pure crate passes, one that links std does not"
        );
    }
}
