//! Durability of received files. Are their bytes on the disk before they have their names, and the names before the sender is told?
//!
//! Needs strace, which tells the order of the system calls. Without it, the test is skipped with a message, except in CI.

use std::fs;
use std::process::{Command, Stdio};

use crate::harness::{CONFIGURATION, PROGRAM, Running, anabranch, file};

fn has_strace() -> bool {
    let found = Command::new("strace").arg("-V").output().is_ok();
    if !found {
        assert!(std::env::var_os("CI").is_none(), "this test needs strace");
        eprintln!("skipped: system calls are listed by strace");
    }
    found
}

#[test]
fn files_are_synced_before_they_have_their_names() {
    if !has_strace() {
        return;
    }
    let outbox = tempfile::tempdir().unwrap();
    let (inbox, calls) = (outbox.path().join("inbox"), outbox.path().join("calls"));
    fs::create_dir(&inbox).unwrap();
    let path = file(&outbox, "precious", 300_000);
    let mut command = Command::new("strace");
    command
        .env("XDG_CONFIG_HOME", CONFIGURATION)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .args(["-f", "-y", "-e", "trace=fsync,renameat2", "-o"]);
    command.arg(&calls).arg(PROGRAM);
    command.args([
        "recv",
        "--json",
        "--insecure",
        "--once",
        "--listen",
        "127.0.0.1:0",
    ]);
    let mut receiver = Running::start(command.arg(&inbox));
    let to = receiver.event("listening")["addresses"][0]
        .as_str()
        .unwrap()
        .to_owned();
    let mut command = anabranch();
    command.args(["send", "--json", "--insecure", "--to", &to]);
    let sender = Running::start(command.arg(&path));
    assert_eq!(sender.end().0, Some(0));
    assert_eq!(receiver.end().0, Some(0));

    let calls = fs::read_to_string(calls).unwrap();
    let inbox = inbox.display().to_string();
    let place = |what: &str| {
        let found = calls.lines().position(|call| call.contains(what));
        found.unwrap_or_else(|| panic!("no {what} in {calls}"))
    };
    // The bytes, while the file has no name; then the name; then the folder that has the name.
    let bytes = calls
        .lines()
        .position(|call| call.contains("fsync(") && call.contains("/parts/"));
    let name = place(&format!("<{inbox}>, \"precious\""));
    let folder = place(&format!("<{inbox}>)"));
    assert!(
        bytes.is_some_and(|bytes| bytes < name) && name < folder,
        "{calls}"
    );
}
