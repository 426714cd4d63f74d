//! Programs in Go, which calls the kernel without the C library: supervised as they are, and with our module in place of theirs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{Running, has, library, port, source, supervised};

/// The module whose example is run.
const MODULE: &str = "github.com/ishidawataru/sctp";

/// Runs Go's tool, whose result is needed in CI only: it may not reach the module proxy.
fn go(folder: &Path, arguments: &[&str]) -> Option<String> {
    let is_installed = Command::new("go").arg("version").output().is_ok();
    if !is_installed && !has("/usr/bin/go") {
        return None;
    }
    let mut tool = Command::new("go");
    tool.current_dir(folder).args(arguments);
    let libraries = format!("-L{}", library().parent().unwrap().display());
    let output = tool
        .env("CGO_LDFLAGS", libraries)
        .env("GOFLAGS", "-buildvcs=false")
        .output()
        .unwrap();
    if !output.status.success() {
        assert!(std::env::var_os("CI").is_none(), "{output:?}");
        eprintln!("skipped: {tool:?} fails: {output:?}");
        return None;
    }
    Some(String::from_utf8(output.stdout).unwrap().trim().to_owned())
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
    let folder = tempfile::tempdir().unwrap();
    let binary = folder.path().join("example");
    let example = format!("{MODULE}/example");
    let built = go(
        &source("go"),
        &["build", "-o", binary.to_str().unwrap(), &example],
    );
    if built.is_some() {
        talk(|arguments| supervised(&binary, arguments));
    }
}

/// The same program with our module in place of ishidawataru/sctp, by `replace`.
#[test]
fn go_program_talks_with_our_module() {
    let folder = tempfile::tempdir().unwrap();
    if go(&source("go"), &["mod", "download"]).is_none() {
        return;
    }
    let Some(module) = go(&source("go"), &["list", "-m", "-f", "{{.Dir}}", MODULE]) else {
        return;
    };
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../go");
    let text = format!(
        "module anabranch.example/replaced\ngo 1.19\nrequire {MODULE} v0.0.0\nreplace {MODULE} => {}\n",
        fs::canonicalize(own).unwrap().display()
    );
    fs::write(folder.path().join("go.mod"), text).unwrap();
    let example = PathBuf::from(module).join("example/sctp.go");
    fs::write(folder.path().join("main.go"), fs::read(example).unwrap()).unwrap();
    let binary = folder.path().join("example");
    let built = go(folder.path(), &["build", "-o", binary.to_str().unwrap(), "."]);
    if built.is_some() {
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
}
