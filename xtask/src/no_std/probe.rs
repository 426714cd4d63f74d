//! Probe for std. A library that links std cannot be used beside a panic handler.

use std::fs;
use std::path::{Path, PathBuf};

use super::libraries::Library;
use super::rustc;
use crate::finding::Failure;

/// What the compiler says if `library` brings std along; nothing if it does not.
///
/// # Errors
/// When the compiler cannot be run.
pub(super) fn std_comes_by(library: &Library) -> Result<Option<String>, Failure> {
    let folder = Folder::create(&format!("probe-{}", library.name))?;
    let source = folder.0.join("probe.rs");
    write(&source, &program(&library.name))?;
    let mut compiler = rustc();
    compiler.args([
        "--edition=2024",
        "--crate-type=lib",
        "--emit=metadata",
        "-Cpanic=abort",
    ]);
    compiler
        .arg("--extern")
        .arg(format!("{}={}", library.name, library.file.display()));
    if let Some(dependencies) = library.file.parent() {
        compiler
            .arg("-L")
            .arg(format!("dependency={}", dependencies.display()));
    }
    let output = compiler
        .arg("--out-dir")
        .arg(&folder.0)
        .arg(&source)
        .output()
        .map_err(|error| Failure(format!("cannot run rustc: {error}")))?;
    Ok((!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned()))
}

/// Whether the compiler's message names `library` as the one that brings std along.
pub(super) fn blames(message: &str, library: &str) -> bool {
    message.contains(&format!("`std` (which `{library}` depends on)"))
}

fn program(library: &str) -> String {
    format!(
        "#![no_std]\nuse {library} as _;\n\n\
         #[panic_handler]\nfn panic(_: &core::panic::PanicInfo<'_>) -> ! {{ loop {{}} }}\n"
    )
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    fs::write(file, text).map_err(|error| Failure(format!("cannot write {}: {error}", file.display())))
}

/// A temporary folder, gone with its value.
struct Folder(PathBuf);

impl Folder {
    fn create(name: &str) -> Result<Self, Failure> {
        let path = std::env::temp_dir().join(format!("anabranch-{name}-{}", std::process::id()));
        fs::create_dir_all(&path)
            .map_err(|error| Failure(format!("cannot create {}: {error}", path.display())))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What stays behind in the temporary directory harms nobody.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict_on(name: &str, text: &str) -> Option<String> {
        let folder = Folder::create(name).unwrap();
        let source = folder.0.join(format!("{name}.rs"));
        write(&source, text).unwrap();
        let mut compiler = rustc();
        compiler
            .args(["--crate-type=lib", "--emit=metadata", "--out-dir"])
            .arg(&folder.0)
            .arg(&source);
        assert!(compiler.status().unwrap().success());
        std_comes_by(&Library {
            name: name.to_owned(),
            file: folder.0.join(format!("lib{name}.rmeta")),
        })
        .unwrap()
    }

    #[test]
    fn library_without_std_passes() {
        assert_eq!(verdict_on("pure", "#![no_std]"), None);
    }

    #[test]
    fn library_with_std_is_found_and_named() {
        let message = verdict_on("impure", "// std comes along").unwrap();
        assert!(blames(&message, "impure"), "{message}");
        assert!(!blames(&message, "crc_fast"));
    }
}
