//! Encrypted transfers: keys, the address that the receiver prints, and keys that are not accepted.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::Stdio;

use tempfile::TempDir;

use crate::harness::{Receiver, anabranch, file, run};

/// A new private key in a file of `folder`, and its public key.
fn key(folder: &TempDir, name: &str) -> (PathBuf, String) {
    let private = run(&["genkey"]).stdout;
    let path = folder.path().join(name);
    std::fs::write(&path, &private).unwrap();
    let mut pubkey = anabranch().arg("pubkey").stdin(Stdio::piped()).spawn().unwrap();
    pubkey.stdin.take().unwrap().write_all(&private).unwrap();
    let public = String::from_utf8(pubkey.wait_with_output().unwrap().stdout).unwrap();
    (path, public.trim().to_owned())
}

#[test]
fn file_is_sent_encrypted_to_the_printed_address() {
    let keys = tempfile::tempdir().unwrap();
    let (server, public) = key(&keys, "server.key");
    let (client, allowed) = key(&keys, "client.key");
    let [server, client] = [&server, &client].map(|path| path.to_str().unwrap());
    let options = ["--key", server, "--allow", &allowed];
    let receiver = Receiver::start("127.0.0.1,127.0.0.2", &options);
    assert!(
        receiver.to.starts_with(&format!("{public}@127.0.0.1:")),
        "{}",
        receiver.to
    );
    let outbox = tempfile::tempdir().unwrap();
    let path = file(&outbox, "a", 3_000_000);
    let mut sender = receiver.sender(&path, &["--key", client]);
    sender.event("summary");
    assert_eq!(sender.end().0, Some(0));
    let stored = std::fs::read(receiver.folder.path().join("a")).unwrap();
    assert_eq!(stored, std::fs::read(path).unwrap());
    let checked = run(&["check", &receiver.to, "--key", client]);
    let text = String::from_utf8(checked.stdout).unwrap();
    assert!(text.contains("works, RTT"), "{text}");
}

#[test]
fn keys_that_are_not_accepted_are_named() {
    let keys = tempfile::tempdir().unwrap();
    let (server, public) = key(&keys, "server.key");
    let (client, refused) = key(&keys, "client.key");
    let [server, client] = [&server, &client].map(|path| path.to_str().unwrap());
    let outbox = tempfile::tempdir().unwrap();
    let path = file(&outbox, "a", 10);

    let receiver = Receiver::start("127.0.0.1", &["--key", server]);
    let (_, address) = receiver.to.split_once('@').unwrap();
    let wrong = format!("{refused}@{address}");
    let sent = run(&["send", path.to_str().unwrap(), "--to", &wrong]);
    let error = String::from_utf8(sent.stderr).unwrap();
    assert!(error.contains(&format!("has the key {public}")), "{error}");
    assert_eq!((sent.status.code(), error.lines().count()), (Some(1), 1));

    let receiver = Receiver::start("127.0.0.1", &["--key", server, "--allow", &public]);
    let (code, error) = receiver.sender(&path, &["--key", client]).end();
    assert_eq!(code, Some(1), "{error}");
    let sent = run(&[
        "send",
        path.to_str().unwrap(),
        "--to",
        &receiver.to,
        "--key",
        client,
    ]);
    let error = String::from_utf8(sent.stderr).unwrap();
    assert!(
        error.contains(&format!("does not accept our key {refused}")),
        "{error}"
    );
    assert_eq!(receiver.names(), [""; 0]);
}

#[test]
fn invalid_keys_are_refused_with_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "a", 10);
    let path = path.to_str().unwrap();
    let folder = folder.path().to_str().unwrap();
    let cases: [&[&str]; 5] = [
        &["recv", folder, "--key", path],
        &["recv", folder, "--key", "/nonexistent"],
        &[
            "recv",
            folder,
            "--allow",
            "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
        ],
        &["send", path, "--to", "127.0.0.1", "--key", path],
        &["send", path, "--to", "key@127.0.0.1"],
    ];
    for arguments in cases {
        let refused = run(arguments);
        let error = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{arguments:?}: {error}");
    }
}
