//! Independence of std. Do the core crates, and everything that they depend on, do without it?
//!
//! `#![no_std]` says it of one crate, not of its dependencies. Two proofs of the whole: each library is used by a
//! probe that has a panic handler of its own (std has one too, and Rust allows only one), which needs no further
//! toolchain; and where a target without an operating system is installed, the crates are built for it.

mod libraries;
mod probe;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::arch::core_crates::CORE;
use crate::finding::{Failure, Finding, Outcome};

/// Libraries that bring std along nevertheless, and why that is accepted.
const EXCEPTIONS: [(&str, &str); 1] = [(
    "crc_fast",
    "1.10 does not compile for x86-64 without std; it computes checksums and does nothing else",
)];

/// Targets without std that rustup knows; the first that is installed is built for.
const BARE_TARGETS: [&str; 4] = [
    "wasm32v1-none",
    "x86_64-unknown-none",
    "aarch64-unknown-none",
    "thumbv7em-none-eabi",
];

/// Makes both proofs, the second where it can be made.
pub(crate) fn run(root: &Path) -> Outcome {
    let libraries = libraries::below_the_core(root)?;
    println!("no-std: {} libraries, the core's own among them", libraries.len());
    let mut findings = Vec::new();
    for library in libraries {
        if let Some(message) = probe::std_comes_by(&library)?
            && !is_excepted(&message)
        {
            findings.push(Finding {
                at: library.name,
                what: format!("links std\n{message}"),
            });
        }
    }
    for (name, why) in EXCEPTIONS {
        println!("no-std: accepted {name}: {why}");
    }
    findings.extend(build_for_bare_target(root)?);
    Ok(findings)
}

/// Whether the compiler's message blames a library that may link std, in itself or in who uses it.
fn is_excepted(message: &str) -> bool {
    EXCEPTIONS.iter().any(|(name, _)| probe::blames(message, name))
}

fn build_for_bare_target(root: &Path) -> Result<Option<Finding>, Failure> {
    let Some(target) = installed_bare_target()? else {
        println!("no-std: skipped the build for a bare target, none of {BARE_TARGETS:?} is installed");
        return Ok(None);
    };
    if !EXCEPTIONS.is_empty() {
        println!("no-std: skipped the build for {target}, where there are no exceptions");
        return Ok(None);
    }
    let what = "the core does not build for it".to_owned();
    Ok((!builds_for(root, target)?).then(|| Finding {
        at: target.to_owned(),
        what,
    }))
}

fn builds_for(root: &Path, target: &str) -> Result<bool, Failure> {
    let status = core_command(root, "check")
        .args(["--quiet", "--target", target])
        .status()
        .map_err(|error| Failure(format!("cannot run cargo check: {error}")))?;
    Ok(status.success())
}

fn installed_bare_target() -> Result<Option<&'static str>, Failure> {
    let output = rustc()
        .args(["--print", "sysroot"])
        .output()
        .map_err(|error| Failure(format!("cannot run rustc: {error}")))?;
    let sysroot = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let is_installed = |target: &&str| sysroot.join("lib/rustlib").join(target).join("lib").is_dir();
    Ok(BARE_TARGETS.into_iter().find(is_installed))
}

/// Cargo's `verb` on the four core crates. Named one by one, so that features which other crates switch on in
/// shared dependencies stay off.
fn core_command(root: &Path, verb: &str) -> Command {
    let mut command = Command::new(tool("CARGO", "cargo"));
    command.current_dir(root).arg(verb);
    for name in CORE {
        command.arg("--package").arg(format!("anabranch-{name}"));
    }
    command
}

fn rustc() -> Command {
    Command::new(tool("RUSTC", "rustc"))
}

fn tool(variable: &str, name: &str) -> OsString {
    std::env::var_os(variable).unwrap_or_else(|| name.into())
}
