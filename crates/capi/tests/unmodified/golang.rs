//! Programs in Go, which calls the kernel without the C library: supervised as they are, and with our module in place of theirs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::harness::{Running, has, library, port, source, supervised};

/// The module whose example is run.
const MODULE: &str = "github.com/ishidawataru/sctp";

/// Go's tool, run in a folder.
fn go(folder: &Path, arguments: &[&str]) -> Output {
    let mut tool = Command::new("go");
    tool.current_dir(folder).args(arguments);
    let libraries = format!("-L{}", library().parent().unwrap().display());
    tool.env("CGO_LDFLAGS", libraries)
        .env("GOFLAGS", "-buildvcs=false");
    tool.output().unwrap()
}

/// As [`go`], which has to succeed; returns what it wrote.
fn build(folder: &Path, arguments: &[&str]) -> String {
    let output = go(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Whether Go is there and the module can be had. If not, the test is skipped, except in CI.
fn has_module() -> bool {
    let is_installed = Command::new("go").arg("version").output().is_ok();
    if !is_installed && !has("/usr/bin/go") {
        return false;
    }
    let output = go(&source("go"), &["mod", "download"]);
    if !output.status.success() {
        assert!(std::env::var_os("CI").is_none(), "{output:?}");
        eprintln!("skipped: {MODULE} cannot be downloaded: {output:?}");
    }
    output.status.success()
}

/// Client and server of the example talk until an echo has arrived.
fn talk(mut program: impl FnMut(&[&str]) -> Command) {
    let port = port();
    let server = ["--server", "--ip", "127.0.0.1", "--port", &port];
    let server = Running::until(&mut program(&server), "Listen on 127.0.0.1");
    let client = ["--ip", "127.0.0.1", "--port", &port];
    let client = Running::until(&mut program(&client), "read: len 256");
    drop(client);
    let told = server.interrupt();
    assert!(
        told.contains("Accepted Connection from RemoteAddr: 127.0.0.1"),
        "{told}"
    );
}

/// ishidawataru/sctp as it is, whose system calls are answered by another process.
#[test]
fn go_program_talks_under_seccomp() {
    if !has_module() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let binary = folder.path().join("example");
    let example = format!("{MODULE}/example");
    build(
        &source("go"),
        &["build", "-o", binary.to_str().unwrap(), &example],
    );
    talk(|arguments| supervised(&binary, arguments));
}

/// The same program with our module in place of ishidawataru/sctp, by `replace`.
#[test]
fn go_program_talks_with_our_module() {
    if !has_module() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let module = build(&source("go"), &["list", "-m", "-f", "{{.Dir}}", MODULE]);
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../go");
    let text = format!(
        "module anabranch.example/replaced\ngo 1.19\nrequire {MODULE} v0.0.0\nreplace {MODULE} => {}\n",
        fs::canonicalize(own).unwrap().display()
    );
    fs::write(folder.path().join("go.mod"), text).unwrap();
    let example = PathBuf::from(module).join("example/sctp.go");
    fs::write(folder.path().join("main.go"), fs::read(example).unwrap()).unwrap();
    let binary = folder.path().join("example");
    build(folder.path(), &["build", "-o", binary.to_str().unwrap(), "."]);
    talk(|arguments| {
        let mut command = Command::new("timeout");
        command
            .args(["--kill-after=1", "60"])
            .arg(&binary)
            .args(arguments);
        command.env("LD_LIBRARY_PATH", library().parent().unwrap());
        command
            .stderr(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped());
        command
    });
}
