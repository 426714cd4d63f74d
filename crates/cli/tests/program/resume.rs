//! Tests of interrupted transfers. Does a sender or a receiver that was killed go on where it was, and is everything there then?

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{Receiver, Running, file};

/// The receiver, started again at the same port.
fn again(mut receiver: Receiver, options: &[&str]) -> Receiver {
    receiver.restart(options);
    receiver
}

/// A folder with many small files, some of them empty, and one that takes several pieces.
pub(crate) fn many(outbox: &TempDir, count: usize) -> PathBuf {
    let top = outbox.path().join("many");
    for number in 0..count {
        let folder = top.join(format!("{:02}", number % 20));
        fs::create_dir_all(&folder).unwrap();
        let content = format!("{number} ").repeat(number * 7 % 500);
        fs::write(folder.join(format!("{number}")), content).unwrap();
    }
    fs::rename(file(outbox, "big", 3_000_000), top.join("big")).unwrap();
    top
}

/// Contents of all files below a folder, by their paths.
pub(crate) fn contents(top: &Path) -> std::collections::BTreeMap<PathBuf, Vec<u8>> {
    let mut found = std::collections::BTreeMap::new();
    let mut waiting = vec![top.to_owned()];
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            found.insert(
                path.strip_prefix(top).unwrap().to_owned(),
                fs::read(&path).unwrap(),
            );
        }
    }
    found
}

fn message(event: &Value) -> &str {
    event["message"].as_str().unwrap()
}

/// A rate at which a file of 40 MB is not sent before the first report of its progress.
const LIMITED: [&str; 2] = ["--limit-rate", "200Mbit"];

fn go_half_way(sender: &mut Running) {
    while sender.event("progress")["bytes"].as_u64().unwrap() < 15_000_000 {}
}

fn kill_half_way(mut sender: Running) {
    go_half_way(&mut sender);
    sender.kill();
}

#[test]
fn killed_sender_goes_on_where_it_was() {
    let outbox = tempfile::tempdir().unwrap();
    let path = file(&outbox, "big", 40_000_000);
    let mut receiver = Receiver::start("127.0.0.1", &[]);
    kill_half_way(receiver.sender(&path, &LIMITED));
    // The receiver does not know yet; it need not.
    let mut sender = receiver.sender(&path, &[]);
    let sent = sender.event("file");
    assert!(sent["from"].as_u64().unwrap() > 5_000_000, "{sent}");
    let summary = sender.event("summary");
    assert_eq!(summary["resumed_bytes"], sent["from"]);
    assert_eq!(sender.end().0, Some(0));
    assert!(message(&receiver.running.event("error")).contains("the sender has begun again"));
    assert_eq!(receiver.running.event("stored")["sha256"], summary["sha256"]);
    assert!(fs::read(receiver.folder.path().join("big")).unwrap() == fs::read(&path).unwrap());
    // The receiver has forgotten the transfer when the association has ended: the sender knows.
    receiver.running.interrupt();
    receiver.running.event("error");
    assert_eq!(receiver.names(), ["big"]);
}

#[test]
fn sender_that_retries_outlives_its_receiver() {
    let outbox = tempfile::tempdir().unwrap();
    let path = file(&outbox, "big", 40_000_000);
    let mut receiver = Receiver::start("127.0.0.1", &[]);
    let options = ["--limit-rate", "200Mbit", "--retry", "60s", "--timeout", "2s"];
    let mut sender = receiver.sender(&path, &options);
    go_half_way(&mut sender);
    receiver.running.kill();
    let retry = sender.event("retry");
    assert!(message(&retry).starts_with("big to 127.0.0.1:"), "{retry}");
    let receiver = again(receiver, &["--once"]);
    let sent = sender.event("file");
    assert!(sent["from"].as_u64().unwrap() > 5_000_000, "{sent}");
    assert_eq!(sender.end().0, Some(0));
    assert!(fs::read(receiver.folder.path().join("big")).unwrap() == fs::read(&path).unwrap());
}

/// Otherwise, the two would take the transfer from each other for ever.
#[test]
fn sender_whose_transfer_was_begun_again_does_not_retry() {
    let outbox = tempfile::tempdir().unwrap();
    let path = file(&outbox, "big", 40_000_000);
    let receiver = Receiver::start("127.0.0.1", &[]);
    let options = [LIMITED[0], LIMITED[1], "--retry", "60s"];
    let mut first = receiver.sender(&path, &options);
    go_half_way(&mut first);
    let second = receiver.sender(&path, &options);
    let failure = first.event_after("error", |event| assert_ne!(event["event"], "retry", "{event}"));
    assert!(
        message(&failure).contains("gave up for good: the sender has begun again"),
        "{failure}"
    );
    assert_eq!(first.end().0, Some(1));
    let mut second = second;
    second.event("summary");
    assert_eq!(second.end().0, Some(0));
}

/// What lies in the staging folder may be wrong, after a power failure say.
#[test]
fn damaged_rest_is_sent_again() {
    let outbox = tempfile::tempdir().unwrap();
    let path = file(&outbox, "big", 40_000_000);
    let mut receiver = Receiver::start("127.0.0.1", &[]);
    kill_half_way(receiver.sender(&path, &LIMITED));
    receiver.running.kill();
    let name = &receiver.names()[0];
    let parts = receiver.folder.path().join(name).join("parts");
    let part = fs::read_dir(parts).unwrap().map(|entry| entry.unwrap().path());
    let part = part.filter(|path| path.extension().is_none()).collect::<Vec<_>>();
    let damaged = fs::OpenOptions::new().write(true).open(&part[0]).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&damaged, b"damage", 1_000).unwrap();
    let mut receiver = again(receiver, &["--once"]);
    let mut sender = receiver.sender(&path, &[]);
    // First the rest of the file, then all of it.
    assert!(sender.event("file")["from"].as_u64().unwrap() > 5_000_000);
    assert!(message(&sender.event("warning")).contains("is sent again"));
    assert_eq!(sender.event("file")["from"], 0);
    assert_eq!(sender.event("summary")["resumed_bytes"], 0);
    assert_eq!(sender.end().0, Some(0));
    receiver.running.event("stored");
    assert!(fs::read(receiver.folder.path().join("big")).unwrap() == fs::read(&path).unwrap());
}

#[test]
fn changed_file_is_not_mixed_with_what_arrived_before() {
    let outbox = tempfile::tempdir().unwrap();
    let path = file(&outbox, "big", 40_000_000);
    let mut receiver = Receiver::start("127.0.0.1", &["--once"]);
    kill_half_way(receiver.sender(&path, &LIMITED));
    fs::write(&path, vec![7; 40_000_000]).unwrap();
    let mut sender = receiver.sender(&path, &[]);
    assert_eq!(sender.event("file")["from"], 0);
    assert_eq!(sender.end().0, Some(0));
    receiver.running.event("stored");
    assert!(fs::read(receiver.folder.path().join("big")).unwrap() == vec![7; 40_000_000]);
}

/// The receiver was killed after it had stored everything, or the sender before it learned that.
#[test]
fn stored_transfer_is_confirmed_again() {
    let outbox = tempfile::tempdir().unwrap();
    let top = many(&outbox, 40);
    let mut receiver = Receiver::start("127.0.0.1", &[]);
    let mut sender = receiver.sender(&top, &[]);
    receiver.running.event("stored");
    sender.kill();
    receiver.running.kill();
    let receiver = again(receiver, &["--once"]);
    let mut sender = receiver.sender(&top, &[]);
    let mut failure = Value::Null;
    sender.skip_until(|event| {
        if event["event"] == "error" {
            failure = event.clone();
        }
        false
    });
    let (code, _) = sender.end();
    // If the sender knew, this is another transfer, and what is there is not replaced.
    assert!(
        code == Some(0) || message(&failure).contains("exists already"),
        "{failure}"
    );
    assert_eq!(contents(&receiver.folder.path().join("many")), contents(&top));
}
