//! Build script: version with commit, and the sockets library to carry. Which commit? What git or `cargo package` tells; without
//! either, the version alone.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::Command;

/// As many digits as no two commits share.
const DIGITS: usize = 12;

fn main() {
    let here = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default());
    let commit = packaged(&here).or_else(|| checked_out(&here));
    let commit: String = commit.unwrap_or_default().chars().take(DIGITS).collect();
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let version = if commit.is_empty() {
        version
    } else {
        format!("{version} ({commit})")
    };
    println!("cargo::rustc-env=ANABRANCH_COMMIT={commit}");
    println!("cargo::rustc-env=ANABRANCH_VERSION={version}");
    carry_sockets();
}

/// In release, the program carries the sockets library: `cargo install` copies nothing but the program (ADR 0147). Cargo builds the
/// library among the dependencies, before it compiles the program.
fn carry_sockets() {
    println!("cargo::rustc-check-cfg=cfg(carries_sockets)");
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, wanted: &str| std::env::var(name).is_ok_and(|value| value == wanted);
    if !is("PROFILE", "release") || !is("CARGO_CFG_TARGET_OS", "linux") {
        return;
    }
    let own = PathBuf::from(std::env::var("OUT_DIR").unwrap_or_default());
    // In the folder of the profile: `build/anabranch-cli-HASH/out`.
    let Some(profile) = own.ancestors().nth(3) else {
        return;
    };
    let library = profile.join("deps/libanabranch_sctp.so");
    // `cargo check` builds no library; an empty file stands for it, which `cargo build` replaces.
    let _ = OpenOptions::new().write(true).create_new(true).open(&library);
    if library.is_file() {
        println!("cargo::rustc-cfg=carries_sockets");
        println!("cargo::rustc-env=ANABRANCH_SOCKETS={}", library.display());
    }
}

/// From the file that `cargo package` puts beside the sources.
fn packaged(here: &Path) -> Option<String> {
    let text = std::fs::read_to_string(here.join(".cargo_vcs_info.json")).ok()?;
    let (_, rest) = text.split_once("\"sha1\"")?;
    rest.split('"').nth(1).map(str::to_owned)
}

/// From the repository, if it is this project's and not one that holds a copy of it.
fn checked_out(here: &Path) -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").current_dir(here).args(arguments).output();
        let output = output.ok().filter(|output| output.status.success())?;
        Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
    };
    let folder = here.file_name()?.to_str()?;
    if git(&["rev-parse", "--show-prefix"])? != format!("crates/{folder}/") {
        return None;
    }
    // A commit moves the branch that HEAD names, or HEAD itself.
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]);
    for name in [Some("HEAD".to_owned()), branch].into_iter().flatten() {
        let file = here.join(git(&["rev-parse", "--git-path", &name])?);
        if file.is_file() {
            println!("cargo::rerun-if-changed={}", file.display());
        }
    }
    git(&["rev-parse", "HEAD"])
}
