//! Programs of lksctp-tools.

use std::io::Write as _;
use std::process::Stdio;

use crate::harness::{Running, has, port, program, run};

#[test]
fn checksctp_finds_sctp() {
    if has("/usr/bin/checksctp") {
        let told = run(&mut program("checksctp", [""; 0]));
        assert_eq!(told, "SCTP supported\n");
    }
}

/// A hundred repetitions of a few messages of various lengths.
#[test]
fn sctp_test_sends() {
    if !has("/usr/bin/sctp_test") {
        return;
    }
    let (server_port, client_port) = (port(), port());
    let mut listening = program(
        "stdbuf",
        ["-oL", "sctp_test", "-H", "127.0.0.1", "-P", &server_port, "-l"],
    );
    let server = Running::serve(&mut listening, &server_port);
    let told = run(&mut program(
        "sctp_test",
        [
            "-H",
            "127.0.0.1",
            "-P",
            &client_port,
            "-h",
            "127.0.0.1",
            "-p",
            &server_port,
            "-s",
            "-x",
            "100",
        ],
    ));
    let sent = told.matches("sendmsg(").count();
    assert!(sent >= 100, "{told}");
    let received = server.interrupt();
    assert!(
        received.contains("COMMUNICATION_UP") || received.contains("COMM_UP"),
        "{received}"
    );
}

#[test]
fn sctp_darn_sends_and_receives() {
    if !has("/usr/bin/sctp_darn") {
        return;
    }
    let (server_port, client_port) = (port(), port());
    let mut listening = program(
        "stdbuf",
        ["-oL", "sctp_darn", "-H", "127.0.0.1", "-P", &server_port, "-l"],
    );
    // It listens until its input ends.
    let server = Running::serve(listening.stdin(Stdio::piped()), &server_port);
    let mut sending = program(
        "sctp_darn",
        [
            "-H",
            "127.0.0.1",
            "-P",
            &client_port,
            "-h",
            "127.0.0.1",
            "-p",
            &server_port,
            "-s",
            "-I",
        ],
    );
    let mut client = sending.stdin(Stdio::piped()).spawn().unwrap();
    client
        .stdin
        .take()
        .unwrap()
        .write_all(b"snd=10\nsnd=20\nshutdown\n")
        .unwrap();
    let output = client.wait_with_output().unwrap();
    let sent = String::from_utf8_lossy(&output.stdout).into_owned();
    let received = server.interrupt();
    for wanted in ["DATA(10):", "DATA(20):"] {
        assert!(received.contains(wanted), "{received}\n{sent}");
    }
}
