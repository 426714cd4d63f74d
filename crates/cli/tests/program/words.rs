//! Words that two users share: hosts that know one word trust each other.

use std::path::Path;

use tempfile::TempDir;

use crate::harness::{Receiver, anabranch, file, run};

const WORD: &str = "k7fq-2dmx";

/// Sends a file to an address without a key, as a user with this home; returns the exit code and the error output.
fn send(home: &TempDir, file: &Path, address: &str, options: &[&str]) -> (Option<i32>, String) {
    let mut command = anabranch();
    command.env("XDG_CONFIG_HOME", home.path());
    command.args(["send", "--to", address]).args(options).arg(file);
    let sent = command.output().unwrap();
    (sent.status.code(), String::from_utf8(sent.stderr).unwrap())
}

fn address(receiver: &Receiver) -> &str {
    receiver.to.split_once('@').unwrap().1
}

#[test]
fn file_arrives_with_the_word_that_the_receiver_prints() {
    let receiver = Receiver::start("127.0.0.1", &["--word"]);
    let word = receiver.word.as_deref().unwrap();
    let (home, outbox) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = file(&outbox, "a", 300_000);
    let (code, error) = send(&home, &path, address(&receiver), &["--word", word]);
    assert_eq!(code, Some(0), "{error}");
    assert!(error.contains("trusted the new key"), "{error}");
    let stored = std::fs::read(receiver.folder.path().join("a")).unwrap();
    assert_eq!(stored, std::fs::read(&path).unwrap());

    // The key is known from then on, and the word is still wanted.
    let known = std::fs::read_to_string(home.path().join("anabranch/known_peers")).unwrap();
    let (key, _) = receiver.to.split_once('@').unwrap();
    assert_eq!(known, format!("{} {key}\n", address(&receiver)));
    let again = ["--name", "b", "--word", word];
    let (code, error) = send(&home, &path, address(&receiver), &again);
    assert_eq!(code, Some(0), "{error}");
    let (code, error) = send(&home, &path, address(&receiver), &["--name", "c"]);
    assert_eq!(code, Some(1));
    assert!(error.contains("give it with --word"), "{error}");
    assert_eq!(receiver.stored_names(), ["a", "b"]);
}

#[test]
fn word_may_be_made_up_and_differ_in_case() {
    let receiver = Receiver::start("127.0.0.1", &["--word=Blue Harbour"]);
    let (home, outbox) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = file(&outbox, "a", 10);
    let (code, error) = send(&home, &path, address(&receiver), &["--word", "blue harbour"]);
    assert_eq!(code, Some(0), "{error}");
}

#[test]
fn receiver_with_another_word_gets_nothing_and_is_not_remembered() {
    let receiver = Receiver::start("127.0.0.1", &["--word=k7fq-2dmy"]);
    let (home, outbox) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = file(&outbox, "a", 10);
    let (code, error) = send(&home, &path, address(&receiver), &["--word", WORD]);
    assert_eq!((code, error.lines().count()), (Some(1), 1), "{error}");
    assert!(error.contains("has another word"), "{error}");
    assert_eq!(receiver.names(), [""; 0]);
    assert!(!home.path().join("anabranch/known_peers").exists());
}

#[test]
fn receiver_without_a_word_says_so() {
    let receiver = Receiver::start("127.0.0.1", &[]);
    let (home, outbox) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = file(&outbox, "a", 10);
    let (code, error) = send(&home, &path, address(&receiver), &["--word", WORD]);
    assert_eq!(code, Some(1));
    assert!(error.contains("leave out --word"), "{error}");
}

#[test]
fn receiver_ends_when_ten_senders_did_not_know_its_word() {
    let mut receiver = Receiver::start("127.0.0.1", &[&format!("--word={WORD}")]);
    let (home, outbox) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = file(&outbox, "a", 10);
    for guess in 0..10 {
        let guess = format!("guess-{guess}");
        let (code, error) = send(&home, &path, address(&receiver), &["--word", &guess]);
        assert_eq!(code, Some(1), "{error}");
    }
    // Before it, there is one for each sender.
    let last = loop {
        let error = receiver.running.event("error");
        if error["exit_code"].is_number() {
            break error;
        }
    };
    assert_eq!(last["exit_code"], 1);
    let message = last["message"].as_str().unwrap();
    assert!(message.contains("did not know the word"), "{message}");
}

#[test]
fn word_is_refused_where_it_proves_nothing() {
    for arguments in [
        &["send", "a", "--to", "192.0.2.1", "--insecure", "--word", WORD][..],
        &["send", "a", "--to", "192.0.2.1", "--word", "12345"],
        &["recv", ".", "--insecure", "--word"],
        &["recv", ".", "--word=12345"],
    ] {
        assert_eq!(run(arguments).status.code(), Some(2), "{arguments:?}");
    }
}
