//! Hostile sender of folders. Can it write anywhere but below the names that it sends? Each attempt ends the transfer, and
//! nothing is outside.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use crate::harness::Receiver;
use crate::hostile::{Peer, with_receiver, with_receiver_of};

fn folder(path: &str) -> String {
    json!({"type": "entry", "path": path, "kind": "folder", "mode": 0o777}).to_string()
}

fn file(path: &str) -> String {
    json!({"type": "entry", "path": path, "kind": "file", "size": 4, "mode": 0o6777, "modified": [1_700_000_000, 0]}).to_string()
}

fn link(path: &str, target: &str) -> String {
    json!({"type": "entry", "path": path, "kind": "link", "target": target}).to_string()
}

/// A peer that has offered these entries and announced them without waiting for the answer.
async fn announced(receiver: &Receiver, entries: &[String], size: u64) -> Peer {
    let peer = Peer::connect(receiver).await;
    let count = entries.len();
    peer.control(&format!(
        r#"{{"type":"offer","version":2,"name":"top","entries":{count},"size":{size}}}"#
    ))
    .await;
    for entry in entries {
        peer.control(entry).await;
    }
    peer
}

/// Offers these entries and gives back the last answer, or the reason of the end.
async fn offer(receiver: &Receiver, entries: &[String]) -> String {
    let peer = announced(receiver, entries, 1_000).await;
    assert_eq!(peer.answer().await, r#"{"type":"accept","version":2}"#);
    loop {
        let answer = match peer.answer_or_end().await {
            Ok(answer) => answer,
            Err(reason) => return reason,
        };
        if !answer.contains(r#""type":"have""#) {
            peer.association.abort("");
            return answer;
        }
    }
}

#[test]
fn paths_outside_of_the_folder_are_rejected() {
    with_receiver(async |receiver| {
        for path in [
            "../out",
            "/tmp/out",
            "top/../../out",
            "top/..",
            "top//x",
            "top/./x",
            ".ssh/x",
            "top/\u{0}",
            "top/\u{1b}[2J",
            "C:\\\\x",
        ] {
            let answer = offer(receiver, &[folder("top"), file(path)]).await;
            assert!(answer.starts_with(r#"{"type":"rejected""#), "{path}: {answer}");
            receiver.running.event("error");
        }
        assert!(receiver.names().is_empty());
    });
}

#[test]
fn links_that_were_sent_are_not_followed() {
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().to_str().unwrap().to_owned();
    with_receiver_of(&["--all-links"], async |receiver| {
        let cases = [
            vec![folder("top"), link("top/a", &target), file("top/a/x")],
            vec![folder("top"), link("top/a", &target), folder("top/a/x")],
            vec![folder("top"), link("top/a", &target), link("top/a/x", "y")],
            vec![
                folder("top"),
                link("top/a", &format!("{target}/x")),
                file("top/a"),
            ],
            vec![folder("top"), link("top/a", &target), folder("top/a")],
            vec![link("top", &target), file("top/x")],
        ];
        for entries in cases {
            let answer = offer(receiver, &entries).await;
            assert!(answer.contains("has a twin"), "{entries:?}: {answer}");
            receiver.running.event("error");
        }
        assert!(receiver.names().is_empty());
    });
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

/// A link in the folder of the user, which somebody else made, is no way out either.
#[test]
fn links_of_the_receiver_are_not_followed() {
    let outside = tempfile::tempdir().unwrap();
    with_receiver_of(&["--force"], async |receiver| {
        symlink(outside.path(), receiver.folder.path().join("top")).unwrap();
        let peer = announced(receiver, &[folder("top"), folder("top/x")], 0).await;
        peer.control(r#"{"type":"done"}"#).await;
        while let Ok(answer) = peer.answer_or_end().await {
            assert!(!answer.contains(r#""type":"stored""#), "{answer}");
            if answer.contains("rejected") {
                break;
            }
        }
        peer.association.abort("");
        receiver.running.event("error");
    });
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn entries_without_their_folder_and_unknown_kinds_end_the_association() {
    with_receiver(async |receiver| {
        let device = json!({"type": "entry", "path": "top/dev", "kind": "device", "mode": 0o666}).to_string();
        let cases = [
            (vec![file("top/x")], "out of turn"),
            (vec![folder("top"), file("top/none/x")], "out of turn"),
            (vec![folder("top"), device], "not understood"),
            (vec![folder("top"), folder("top")], "came twice"),
            (vec![folder("top"), file("top/x"), file("top/x")], "came twice"),
            (
                vec![
                    folder("top"),
                    json!({"type": "entry", "path": "top/l", "kind": "link"}).to_string(),
                ],
                "no valid target",
            ),
            (
                vec![
                    folder("top"),
                    json!({"type": "entry", "path": "top/big", "kind": "file", "size": 1_001}).to_string(),
                ],
                "size differs",
            ),
        ];
        for (entries, expected) in cases {
            // A file is wanted before the entry that breaks the rules.
            let peer = announced(receiver, &entries, 1_000).await;
            let reason = peer.reason_of_the_end().await;
            assert!(reason.contains(expected), "{entries:?}: {reason}");
            receiver.running.event("error");
        }
        assert!(receiver.names().is_empty());
    });
}

/// Sends a whole file of four bytes as entry `number`.
async fn content(peer: &Peer, number: u64) {
    let wanted = format!(r#"{{"type":"want","file":{number},"from":0}}"#);
    while peer.answer().await != wanted {}
    let payload = [&number.to_be_bytes()[..], &0_u64.to_be_bytes(), b"abcd"].concat();
    peer.message(1, payload).await;
    let digest = "88d4266fd4e6338d13b845fcf289579d209c897823b9217da3e161936f031589";
    peer.control(&format!(
        r#"{{"type":"end","file":{number},"size":4,"sha256":"{digest}"}}"#
    ))
    .await;
}

#[test]
fn privileges_of_files_are_not_granted() {
    use std::os::unix::fs::PermissionsExt as _;
    with_receiver(async |receiver| {
        // The mode of `file` has setuid and setgid.
        let peer = announced(receiver, &[file("x")], 4).await;
        content(&peer, 0).await;
        peer.control(r#"{"type":"done"}"#).await;
        receiver.running.event("stored");
        let mode = fs::metadata(receiver.folder.path().join("x"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o7000, 0);
        assert_eq!(mode & 0o022, 0, "the umask of this test is 022");
    });
}

/// Names that differ in case, or in how Unicode composes them, are different here.
#[test]
fn twins_are_different_files_where_the_file_system_says_so() {
    with_receiver(async |receiver| {
        let entries = [
            folder("top"),
            file("top/A"),
            file("top/a"),
            file("top/\u{e9}"),
            file("top/e\u{301}"),
        ];
        let peer = announced(receiver, &entries, 16).await;
        for number in 1..5 {
            content(&peer, number).await;
        }
        peer.control(r#"{"type":"done"}"#).await;
        receiver.running.event("stored");
        assert_eq!(
            fs::read_dir(receiver.folder.path().join("top")).unwrap().count(),
            4
        );
    });
}
