//! Peer loss tests. What happens when a peer vanishes, is stopped, or was never there? A clear error soon, and no half a file.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use anabranch::{Association, Endpoint, Message, StreamId};

use crate::harness::{Receiver, Running, anabranch, file, run, silent_address};

const TWO: &str = "127.0.0.1,127.0.0.2";

/// A sender that has begun and does not finish, because its pipe stays open; and the other end of the pipe.
fn endless_sender(receiver: &mut Receiver, options: &[&str]) -> (Running, std::process::ChildStdin) {
    let mut command = anabranch();
    command
        .args(["send", "-", "--json", "--name", "endless", "--to", &receiver.to])
        .args(options);
    let mut sender = Running::start(command.stdin(Stdio::piped()));
    let mut input = sender.standard_input();
    input.write_all(b"a beginning").unwrap();
    receiver.running.event("offered");
    assert_eq!(receiver.names().len(), 1, "the temporary file");
    (sender, input)
}

fn message(event: &serde_json::Value) -> &str {
    event["message"].as_str().unwrap()
}

#[test]
fn killed_receiver_is_reported() {
    let mut receiver = Receiver::start(TWO, &[]);
    let (mut sender, _input) = endless_sender(&mut receiver, &["--timeout", "2s"]);
    receiver.running.kill();
    let error = sender.event("error");
    assert!(
        message(&error).contains("nothing was heard from the peer for 2 s"),
        "{error}"
    );
    assert_eq!(sender.end().0, Some(1));
}

#[test]
fn killed_sender_leaves_no_file() {
    let mut receiver = Receiver::start(TWO, &["--timeout", "2s"]);
    let (mut sender, _input) = endless_sender(&mut receiver, &[]);
    sender.kill();
    let error = receiver.running.event("error");
    assert!(message(&error).contains("nothing was stored"), "{error}");
    assert!(receiver.names().is_empty());
}

#[test]
fn interrupted_receiver_aborts_and_removes_the_file() {
    let mut receiver = Receiver::start(TWO, &[]);
    let (mut sender, _input) = endless_sender(&mut receiver, &[]);
    receiver.running.interrupt();
    assert_eq!(receiver.running.event("error")["exit_code"], 130);
    let error = sender.event("error");
    assert!(
        message(&error).contains("the peer gave up") && message(&error).contains("interrupted"),
        "{error}"
    );
    assert_eq!(sender.end().0, Some(1));
    assert!(receiver.names().is_empty());
}

#[test]
fn receiver_removes_the_file_on_hangup() {
    let mut receiver = Receiver::start(TWO, &[]);
    let (mut sender, _input) = endless_sender(&mut receiver, &[]);
    receiver.running.hang_up();
    assert_eq!(receiver.running.event("error")["exit_code"], 130);
    assert!(message(&sender.event("error")).contains("interrupted"));
    assert!(receiver.names().is_empty());
}

#[test]
fn interrupted_sender_aborts_the_receiver() {
    let mut receiver = Receiver::start(TWO, &["--once"]);
    let (mut sender, _input) = endless_sender(&mut receiver, &[]);
    sender.interrupt();
    assert_eq!(sender.event("error")["exit_code"], 130);
    assert_eq!(sender.end().0, Some(130));
    let error = receiver.running.event("error");
    assert!(message(&error).contains("the peer gave up"), "{error}");
    assert!(receiver.names().is_empty());
    assert_eq!(receiver.running.end().0, Some(1));
}

#[test]
fn slow_pipe_is_not_reported_as_a_lost_sender() {
    let mut receiver = Receiver::start(TWO, &["--once", "--timeout", "2s"]);
    let (mut sender, mut input) = endless_sender(&mut receiver, &["--timeout", "2s"]);
    // Three events of progress are three seconds, longer than either side's patience.
    for _ in 0..3 {
        sender.event("progress");
    }
    input.write_all(b", an end").unwrap();
    drop(input);
    assert_eq!(sender.event("summary")["size"], 19);
    receiver.running.event("stored");
}

/// A receiver that is busy with other senders.
#[test]
fn slow_receiver_is_not_lost() {
    let (runtime, late) = listener();
    let folder = tempfile::tempdir().unwrap();
    let mut sender = sender_to(&late, &file(&folder, "a", 10), "2s");
    runtime.block_on(async {
        let association = offered_to(&late).await;
        // Three events of progress are three seconds, longer than the sender's patience.
        for _ in 0..3 {
            sender.event("progress");
        }
        accept(&association).await;
        while association.recv().await.unwrap().unwrap().stream != StreamId(1) {}
    });
}

/// Zero window probes back off until they are further apart than the sender's timeout.
#[test]
fn receiver_that_does_not_read_is_not_lost() {
    let (runtime, busy) = listener();
    let folder = tempfile::tempdir().unwrap();
    let mut sender = sender_to(&busy, &file(&folder, "a", 30_000_000), "1s");
    runtime.block_on(async {
        let association = offered_to(&busy).await;
        accept(&association).await;
        for _ in 0..8 {
            sender.event("progress");
        }
    });
}

fn sender_to(listener: &Endpoint, path: &Path, patience: &str) -> Running {
    let (path, to) = (path.to_str().unwrap(), listener.local_addrs()[0].to_string());
    Running::start(anabranch().args([
        "send",
        path,
        "--json",
        "--insecure",
        "--to",
        &to,
        "--timeout",
        patience,
    ]))
}

/// The association over which a file is offered.
async fn offered_to(listener: &Endpoint) -> Association {
    let association = listener.accept().await.unwrap();
    let offer = association.recv().await.unwrap().unwrap();
    assert!(offer.payload.starts_with(b"{\"type\":\"offer\""));
    association
}

async fn accept(association: &Association) {
    for answer in [
        r#"{"type":"accept","version":2}"#,
        r#"{"type":"want","file":0,"from":0}"#,
    ] {
        association.send(Message::new(StreamId(0), answer)).await.unwrap();
    }
}

/// A peer that the test implements.
fn listener() -> (tokio::runtime::Runtime, Endpoint) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let endpoint = Endpoint::builder().insecure().local("127.0.0.1:0").listen();
    let endpoint = runtime.block_on(endpoint.bind()).unwrap();
    (runtime, endpoint)
}

#[test]
fn log_over_the_sent_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "a", 10);
    let path = path.to_str().unwrap();
    let before = std::fs::read(path).unwrap();
    let refused = run(&["send", path, "--to", "127.0.0.1", "--log", path]);
    assert_eq!(
        (refused.status.code(), std::fs::read(path).unwrap()),
        (Some(2), before)
    );
}

#[test]
fn unreachable_receiver_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "a", 10);
    let (_socket, address) = silent_address();
    let sent = run(&[
        "send",
        path.to_str().unwrap(),
        "--to",
        &address,
        "--timeout",
        "300ms",
    ]);
    let error = String::from_utf8(sent.stderr).unwrap();
    assert!(
        error.contains(&format!("no answer from {address}")) && error.contains("anabranch recv"),
        "{error}"
    );
    assert_eq!((sent.status.code(), error.lines().count()), (Some(1), 1));
}

#[test]
fn closed_port_is_reported_without_waiting_for_the_timeout() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "a", 10);
    let (socket, address) = silent_address();
    drop(socket);
    // The deadline of the test is shorter than this timeout.
    let options = ["--to", &address, "--timeout", "10min"];
    let sent = run(&[&["send", path.to_str().unwrap()], &options[..]].concat());
    let error = String::from_utf8(sent.stderr).unwrap();
    assert!(
        error.contains(&format!("nothing listens at {address}")),
        "{error}"
    );
    assert_eq!((sent.status.code(), error.lines().count()), (Some(1), 1));
}
