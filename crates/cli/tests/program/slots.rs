//! Slots of a receiver. How long does a sender wait for others, and is it informed of its place in the queue?

use std::process::Stdio;

use anabranch::{Association, Endpoint, Message, StreamId};
use serde_json::Value;

use crate::harness::{Receiver, Running, anabranch, file};

/// A sender of a file called `name` that reads a pipe, and the other end of the pipe, which keeps it open.
fn endless_sender(receiver: &Receiver, name: &str) -> (Running, std::process::ChildStdin) {
    let mut command = anabranch();
    command.args(["send", "-", "--json", "--name", name, "--to", &receiver.to]);
    let mut sender = Running::start(command.stdin(Stdio::piped()));
    let input = sender.standard_input();
    (sender, input)
}

#[test]
fn waiting_senders_are_told_how_many_are_before_them() {
    let mut receiver = Receiver::start("127.0.0.1", &["--max-transfers", "1"]);
    let (mut first, input) = endless_sender(&receiver, "first");
    receiver.running.event("offered");
    let (mut second, second_input) = endless_sender(&receiver, "second");
    assert_eq!(second.event("waiting")["ahead"], 0);
    let (mut third, third_input) = endless_sender(&receiver, "third");
    assert_eq!(third.event("waiting")["ahead"], 1);
    drop(input);
    first.event("summary");
    assert_eq!(third.event("waiting")["ahead"], 0);
    drop((second_input, third_input));
    second.event("summary");
    third.event("summary");
}

#[test]
fn slot_without_progress_is_taken_over_by_a_sender_that_waits() {
    let options = ["--max-transfers", "1", "--idle-timeout", "1s"];
    let mut receiver = Receiver::start("127.0.0.1", &options);
    let (mut idle, _input) = endless_sender(&receiver, "idle");
    receiver.running.event("offered");
    let folder = tempfile::tempdir().unwrap();
    let mut sender = receiver.sender(&file(&folder, "a", 100_000), &[]);
    assert_eq!(sender.event("summary")["size"], 100_000);
    let error = idle.event("error");
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("nothing of it arrived for 1 s"),
        "{error}"
    );
    assert_eq!(receiver.stored_names(), ["a"]);
}

#[test]
fn first_sender_that_is_served_ends_a_receiver_with_once() {
    let mut receiver = Receiver::start("127.0.0.1", &["--once"]);
    let (mut first, input) = endless_sender(&receiver, "first");
    receiver.running.event("offered");
    let (mut second, _input) = endless_sender(&receiver, "second");
    second.event("waiting");
    second.interrupt();
    assert_eq!(receiver.running.event("error").get("exit_code"), None::<&Value>);
    drop(input);
    first.event("summary");
    assert_eq!(receiver.running.end().0, Some(0));
}

/// Offers that only keep-alives follow.
async fn campers(receiver: &Receiver, count: usize) -> (Endpoint, Vec<Association>) {
    let endpoint = Endpoint::builder()
        .insecure()
        .local("127.0.0.3:0")
        .bind()
        .await
        .unwrap();
    let mut associations = Vec::new();
    for number in 0..count {
        let remote: std::net::SocketAddr = receiver.to.parse().unwrap();
        let association = endpoint.connect(remote).await.unwrap();
        let offer =
            format!(r#"{{"type":"offer","version":2,"name":"camper-{number}","entries":1,"size":9}}"#);
        association.send(Message::new(StreamId(0), offer)).await.unwrap();
        associations.push(association);
    }
    (endpoint, associations)
}

#[test]
fn one_source_does_not_keep_out_others() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let receiver = Receiver::start("127.0.0.1", &["--insecure"]);
    let _campers = runtime.block_on(campers(&receiver, 70));
    let folder = tempfile::tempdir().unwrap();
    let mut sender = receiver.sender(
        &file(&folder, "a", 100_000),
        &["--insecure", "--from", "127.0.0.9"],
    );
    let mut waited = 0;
    let summary = sender.event_after("summary", |event| {
        waited += u32::from(event["event"] == "waiting");
    });
    assert_eq!((&summary["size"], waited), (&100_000.into(), 0));
}
