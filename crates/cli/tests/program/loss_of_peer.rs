//! What happens when a peer vanishes, is stopped, or was never there? A clear error soon, and no half a file.

use std::io::Write;
use std::process::Stdio;

use anabranch::{Endpoint, Message, StreamId};

use crate::harness::{Receiver, Running, anabranch, file, run, silent_address};

const TWO: &str = "127.0.0.1,127.0.0.2";

/// A sender whose pipe stays open, and the end that keeps it so: it has begun and will not finish.
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
fn a_sender_notices_that_the_receiver_was_killed() {
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
fn a_receiver_notices_that_the_sender_was_killed_and_keeps_nothing() {
    let mut receiver = Receiver::start(TWO, &["--timeout", "2s"]);
    let (mut sender, _input) = endless_sender(&mut receiver, &[]);
    sender.kill();
    let error = receiver.running.event("error");
    assert!(message(&error).contains("nothing was stored"), "{error}");
    assert!(receiver.names().is_empty());
}

#[test]
fn an_interrupted_receiver_tells_the_sender_and_removes_the_file() {
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
fn an_interrupted_sender_tells_the_receiver() {
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
fn a_slow_pipe_is_not_a_lost_sender() {
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

/// As one that has enough to do with others.
#[test]
fn a_receiver_that_answers_late_is_not_a_lost_one() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "a", 10);
    let late = runtime.block_on(async {
        Endpoint::builder()
            .local("127.0.0.1:0")
            .listen()
            .bind()
            .await
            .unwrap()
    });
    let to = late.local_addrs()[0].to_string();
    let arguments = [
        "send",
        path.to_str().unwrap(),
        "--json",
        "--to",
        &to,
        "--timeout",
        "2s",
    ];
    let mut sender = Running::start(anabranch().args(arguments));
    runtime.block_on(async {
        let association = late.accept().await.unwrap();
        let offer = association.recv().await.unwrap().unwrap();
        assert!(offer.payload.starts_with(b"{\"type\":\"offer\""));
        // Three events of progress are three seconds, longer than the sender's patience.
        for _ in 0..3 {
            sender.event("progress");
        }
        let accept = Message::new(StreamId(0), r#"{"type":"accept","version":1}"#);
        association.send(accept).await.unwrap();
        while association.recv().await.unwrap().unwrap().stream != StreamId(1) {}
    });
}

#[test]
fn nobody_at_the_address_is_said_plainly() {
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
