//! A stalled reader of the program's output. Can the program be interrupted nevertheless?

use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

use crate::harness::{PROGRAM, file, silent_address};

/// Two ends of a pipe that is full.
fn full_pipe() -> (UnixStream, UnixStream) {
    let (reader, mut writer) = UnixStream::pair().unwrap();
    writer.set_nonblocking(true).unwrap();
    while writer.write(&[b'x'; 4_096]).is_ok() {}
    while writer.write(b"x").is_ok() {}
    writer.set_nonblocking(false).unwrap();
    (reader, writer)
}

fn start(arguments: &[&str], output: UnixStream) -> Child {
    let mut command = Command::new(PROGRAM);
    let command = command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(OwnedFd::from(output));
    command.spawn().unwrap()
}

/// Waits until the program handles SIGINT itself (Linux), then sends SIGINT until it ends. Returns its exit code.
fn interrupt(mut child: Child) -> Option<i32> {
    let catches = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let caught = status
            .lines()
            .find_map(|line| line.strip_prefix("SigCgt:"))
            .unwrap();
        // Signal n is bit n - 1, and SIGINT is 2.
        u64::from_str_radix(caught.trim(), 16).unwrap() & 0b10 != 0
    };
    while !catches() {
        std::thread::yield_now();
    }
    // SIGINT is repeated, because the program does not listen between the end of its work and the wait for the reader.
    let number = child.id().to_string();
    loop {
        let sent = Command::new("kill").args(["-INT", &number]).status().unwrap();
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        assert!(sent.success());
    }
}

#[test]
fn receiver_with_a_stalled_reader_can_be_interrupted() {
    let inbox = tempfile::tempdir().unwrap();
    let (_reader, writer) = full_pipe();
    let folder = inbox.path().to_str().unwrap();
    let receiver = start(&["recv", "--json", "--listen", "127.0.0.1:0", folder], writer);
    assert_eq!(interrupt(receiver), Some(130));
}

#[test]
fn sender_with_a_stalled_reader_can_be_interrupted_after_its_end() {
    let outbox = tempfile::tempdir().unwrap();
    let path = file(&outbox, "a", 10);
    let (_reader, writer) = full_pipe();
    let (_socket, address) = silent_address();
    let arguments = [
        "send",
        path.to_str().unwrap(),
        "--json",
        "--to",
        &address,
        "--timeout",
        "100ms",
    ];
    // It was interrupted either during its work, or after it failed and while it waited for the reader.
    let code = interrupt(start(&arguments, writer));
    assert!(matches!(code, Some(130 | 1)), "{code:?}");
}
