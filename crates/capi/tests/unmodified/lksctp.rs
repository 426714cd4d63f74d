//! Programs of lksctp-tools.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::harness::{Running, has, port, program, run};

#[test]
fn checksctp_finds_sctp() {
    if has("/usr/bin/checksctp") {
        let told = run(&mut program("checksctp", [""; 0]));
        assert_eq!(told, "SCTP supported\n");
    }
}

/// A program that listens, and writes lines as they come.
fn listening(name: &str, port: &str) -> Command {
    program("stdbuf", ["-oL", name, "-H", "127.0.0.1", "-P", port, "-l"])
}

/// A program that sends to one that listens.
fn sending(name: &str, (from, to): (&str, &str), options: &[&str]) -> Command {
    let ends = ["-H", "127.0.0.1", "-P", from, "-h", "127.0.0.1", "-p", to, "-s"];
    program(name, [&ends[..], options].concat())
}

/// A hundred repetitions of a few messages of various lengths.
#[test]
fn sctp_test_sends() {
    if !has("/usr/bin/sctp_test") {
        return;
    }
    let (server_port, client_port) = (port(), port());
    let server = Running::serve(&mut listening("sctp_test", &server_port), &server_port);
    let told = run(&mut sending(
        "sctp_test",
        (&client_port, &server_port),
        &["-x", "100"],
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
    let mut listening = listening("sctp_darn", &server_port);
    // It listens until its input ends.
    let server = Running::serve(listening.stdin(Stdio::piped()), &server_port);
    let mut sending = sending("sctp_darn", (&client_port, &server_port), &["-I"]);
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
