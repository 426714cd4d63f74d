//! File transfer tests. Does a file arrive, over every path, and do both sides say so?

use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use anabranch::SEAL_OVERHEAD;

use crate::harness::{Receiver, Running, anabranch, file};

const TWO: &str = "127.0.0.1,127.0.0.2";

fn carried(summary: &Value, counter: &str) -> Vec<u64> {
    summary["paths"]
        .as_array()
        .unwrap()
        .iter()
        .map(|path| path[counter].as_u64().unwrap())
        .collect()
}

#[test]
fn transfer_uses_both_paths() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "big.bin", 20_000_000);
    let mut receiver = Receiver::start(TWO, &["--once"]);
    let mut sender = receiver.sender(&path, &["--from", TWO]);

    let sent = sender.event("summary");
    let stored = receiver.running.event("stored");
    let received = receiver.running.event("summary");
    assert_eq!(sender.end(), (Some(0), String::new()));
    assert_eq!(sent["sha256"], stored["sha256"]);
    assert!(std::fs::read(receiver.folder.path().join("big.bin")).unwrap() == std::fs::read(&path).unwrap());
    assert_eq!(receiver.stored_names(), ["big.bin"]);

    let (sent, received) = (
        carried(&sent, "payload_sent"),
        carried(&received, "payload_received"),
    );
    assert!(sent.len() == 2 && sent.iter().all(|bytes| *bytes > 0), "{sent:?}");
    assert!(
        received.len() == 2 && received.iter().all(|bytes| *bytes > 0),
        "{received:?}"
    );
    // The file, with eight bytes for each piece and a few control messages.
    assert!(
        (20_000_000..20_010_000).contains(&sent.iter().sum::<u64>()),
        "{sent:?}"
    );
    assert_eq!(receiver.running.end(), (Some(0), String::new()));
}

#[test]
fn events_are_logged_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "small.bin", 200_000);
    let log = folder.path().join("events.jsonl");
    let receiver = Receiver::start(TWO, &["--once"]);
    let mut sender = receiver.sender(&path, &["--from", TWO, "--log", log.to_str().unwrap()]);
    sender.event("summary");
    assert_eq!(sender.end(), (Some(0), String::new()));

    let text = std::fs::read_to_string(&log).unwrap();
    let mut lines = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let header = lines.next().unwrap();
    assert_eq!(header["title"], "small.bin");
    assert_eq!(
        header["trace"]["common_fields"]["reference_time"]["clock_type"],
        "monotonic"
    );
    let sent: u64 = lines
        .filter(|line| line["name"] == "sctp:packet_sent")
        .flat_map(|line| line["data"]["chunks"].as_array().unwrap().clone())
        .filter(|chunk| chunk["chunk_type"] == "data")
        .map(|chunk| chunk["length"].as_u64().unwrap())
        .sum();
    assert!(sent >= 200_000, "{sent}");
}

#[test]
fn transfer_over_ipv6() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "six.bin", 20_000_000);
    let mut receiver = Receiver::start("[::1]", &["--once"]);
    let mut sender = receiver.sender(&path, &[]);
    assert_eq!(carried(&sender.event("summary"), "payload_sent").len(), 1);
    assert_eq!(sender.end().0, Some(0));
    receiver.running.event("stored");
    assert!(std::fs::read(receiver.folder.path().join("six.bin")).unwrap() == std::fs::read(&path).unwrap());
}

#[test]
fn pipe_and_empty_file_can_be_sent() {
    let mut receiver = Receiver::start(TWO, &[]);
    for content in [&b"what a pipe gives"[..], b""] {
        let name = format!("pipe-{}", content.len());
        let mut command = anabranch();
        command
            .args(["send", "-", "--json", "--name", &name, "--to", &receiver.to])
            .stdin(Stdio::piped());
        let mut sender = Running::start(&mut command);
        sender.standard_input().write_all(content).unwrap();
        assert_eq!(sender.event("summary")["size"], content.len());
        assert_eq!(sender.end().0, Some(0));
        assert_eq!(receiver.running.event("stored")["name"], *name);
        assert_eq!(std::fs::read(receiver.folder.path().join(name)).unwrap(), content);
    }
}

#[test]
fn several_senders_are_served_concurrently() {
    let folder = tempfile::tempdir().unwrap();
    let mut receiver = Receiver::start(TWO, &[]);
    let mut senders: Vec<Running> = (0..5)
        .map(|number| receiver.sender(&file(&folder, &format!("{number}.bin"), 1_000_000 + number), &[]))
        .collect();
    for sender in &mut senders {
        sender.event("summary");
    }
    for _ in 0..5 {
        receiver.running.event("stored");
    }
    let names = receiver.stored_names();
    assert_eq!(names, ["0.bin", "1.bin", "2.bin", "3.bin", "4.bin"]);
}

#[test]
fn mechanisms_can_be_chosen_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "a", 1_000_000);
    let mut receiver = Receiver::start(TWO, &["--once", "--profile", "cmt"]);
    let mut sender = receiver.sender(&path, &["--profile", "rfc9260", "--set", "cc=cubic"]);
    // The standard uses one path at a time.
    let sent = carried(&sender.event("summary"), "payload_sent");
    assert!(sent[0] >= 1_000_000 && sent[1] == 0, "{sent:?}");
    receiver.running.event("stored");
}

#[test]
fn existing_file_is_overwritten_only_with_force() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "a", 10);
    let mut receiver = Receiver::start(TWO, &[]);
    std::fs::write(receiver.folder.path().join("a"), "precious").unwrap();
    let mut sender = receiver.sender(&path, &[]);
    let refusal = sender.event("error");
    assert!(
        refusal["message"].as_str().unwrap().contains("exists already"),
        "{refusal}"
    );
    assert_eq!(sender.end().0, Some(1));
    assert!(
        receiver.running.event("error").get("exit_code").is_none(),
        "the receiver goes on"
    );
    assert_eq!(
        std::fs::read(receiver.folder.path().join("a")).unwrap(),
        b"precious"
    );

    let mut sender = receiver.sender(&path, &["--name", "b"]);
    sender.event("summary");
    receiver.running.event("stored");

    let mut forced = Receiver::start_in(receiver.folder, TWO, &["--force", "--once"]);
    forced.sender(&path, &[]).event("summary");
    forced.running.event("stored");
    assert_eq!(
        std::fs::read(forced.folder.path().join("a")).unwrap(),
        std::fs::read(&path).unwrap()
    );
}

#[test]
fn file_above_the_size_limit_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "a", 1_001);
    let mut receiver = Receiver::start(TWO, &["--once", "--max-size", "1kB"]);
    let mut sender = receiver.sender(&path, &[]);
    let refusal = sender.event("error");
    assert!(
        refusal["message"]
            .as_str()
            .unwrap()
            .contains("at most 1000 bytes"),
        "{refusal}"
    );
    assert_eq!(receiver.running.event("error")["exit_code"], 1);
    assert!(receiver.names().is_empty());
}

#[test]
fn demo_is_faster_over_both_paths_and_survives_a_cut() {
    let mut command = anabranch();
    command.args(["demo", "--json", "--duration", "500ms", "--cut", "1"]);
    command.args(["--path", "20Mbit,5ms", "--path", "20Mbit,10ms"]);
    let mut demo = Running::start(&mut command);
    assert_eq!(demo.event("cut")["path"], 1);
    let outcome = demo.event("demo");
    let rows = outcome["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 4);
    assert!(rows.iter().all(|row| row["verified"] == true), "{outcome}");
    assert!(
        rows[2]["carried"]
            .as_array()
            .unwrap()
            .iter()
            .all(|bytes| bytes.as_u64() > Some(0)),
        "{outcome}"
    );
}

#[test]
fn path_mtu_is_reported_when_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "big.bin", 5_000_000);
    let receiver = Receiver::start("127.0.0.1", &["--once"]);
    let mut sender = receiver.sender(&path, &["--from", "127.0.0.1"]);
    // On a machine that is quick with it, it is known before anybody looks.
    let connected = sender.event("connected");
    let mut known = connected["paths"][0]["mtu"].clone();
    // The others carry the seal.
    while known != 1_500 - SEAL_OVERHEAD {
        let event = sender.event("path");
        assert_eq!(event["change"] == "mtu", event.get("mtu").is_some(), "{event}");
        if event["change"] == "mtu" {
            known = event["mtu"].clone();
        }
    }
    sender.event("summary");
    assert_eq!(sender.end(), (Some(0), String::new()));
}

/// A pipe opens when somebody writes to it, which may be never.
#[test]
fn waiting_for_a_pipe_can_be_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let sender = Running::start(
        anabranch()
            .arg("send")
            .arg(&pipe)
            .args(["--json", "--to", "127.0.0.1"]),
    );
    while !sender.listens_to_interrupts() {
        std::thread::yield_now();
    }
    sender.interrupt();
    assert_eq!(sender.end().0, Some(130));
}

#[test]
fn closed_stderr_does_not_change_the_exit_code() {
    for arguments in [&["send", "missing", "--to", "127.0.0.1"][..], &["sned"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = anabranch();
        let output = command.args(arguments).stderr(writer).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}
