//! What programs that are not changed send: encrypted, and without UDP.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anabranch::PrivateKey;

use crate::harness::{Running, has, port, program, run};

const LINE: &str = "a line that nobody may read on the way\n";

/// A private key in a file of `folder`, as `anabranch genkey` makes them.
fn key(folder: &Path, name: &str) -> PrivateKey {
    let key = PrivateKey::generate().unwrap();
    fs::write(folder.join(name), key.to_base64()).unwrap();
    key
}

/// What is on the way while socat copies a file again and again: packets with data that pass a filter. `change` changes both programs, `server` and
/// `client`.
fn captured(folder: &Path, filter: &str, change: impl Fn(&mut Command, &str)) -> PathBuf {
    let (from, capture) = (folder.join("from"), folder.join("capture"));
    fs::write(&from, LINE.repeat(10_000)).unwrap();
    let port = port();
    let mut tshark = Command::new("tshark");
    // Long packets have data. Handshakes that are repeated until the server listens do not.
    let filter = format!("{filter} port {port} and greater 200");
    tshark.args(["-q", "-i", "lo", "-c", "30", "-f", &filter, "-w"]);
    let mut tshark = tshark.arg(&capture).spawn().unwrap();
    let listen = format!("SCTP-LISTEN:{port},bind=127.0.0.1,fork");
    let mut serving = program("socat", ["-u", &listen, "OPEN:/dev/null"]);
    change(&mut serving, "server");
    let server = Running::serve(&mut serving, &port);
    while tshark.try_wait().unwrap().is_none() {
        let open = format!("OPEN:{}", from.display());
        // The server may not listen yet.
        let connect = format!("SCTP:127.0.0.1:{port},retry=20,interval=0.05");
        let mut client = program("socat", ["-u", &open, &connect]);
        change(&mut client, "client");
        run(&mut client);
    }
    server.interrupt();
    capture
}

/// Needs root, to capture packets.
#[test]
fn nothing_of_encrypted_programs_is_readable_on_the_way() {
    if !has("/usr/bin/tshark") || !has("/usr/bin/socat") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let keys = ["server", "client"].map(|name| (name, key(folder.path(), name)));
    let is_readable = |capture: &[u8]| {
        let part = &LINE.as_bytes()[..20];
        capture.windows(part.len()).any(|bytes| bytes == part)
    };
    let clear = captured(folder.path(), "udp", |_, _| {});
    assert!(is_readable(&fs::read(clear).unwrap()));
    let sealed = captured(folder.path(), "udp", |command, name| {
        let other = keys.iter().find(|(other, _)| *other != name);
        let trusted = other.map(|(_, key)| key.public_key().to_string()).unwrap();
        command.env("ANABRANCH_KEY", folder.path().join(name));
        command.env("ANABRANCH_TRUST", trusted);
    });
    let sealed = fs::read(sealed).unwrap();
    assert!(!is_readable(&sealed) && sealed.len() > 30 * 60);
}

/// Needs root, for raw sockets and to capture packets, and a kernel without SCTP.
#[test]
fn programs_talk_directly_over_ip() {
    if !has("/usr/bin/tshark") || !has("/usr/bin/socat") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let capture = captured(folder.path(), "sctp", |command, _| {
        command.env("ANABRANCH_RAW", "1");
    });
    let mut tshark = Command::new("tshark");
    tshark.args(["-T", "fields", "-e", "ip.proto", "-Y", "sctp.data_tsn", "-r"]);
    let shown = tshark.arg(&capture).output().unwrap();
    let lines = String::from_utf8(shown.stdout).unwrap();
    let is_sctp = |line: &str| line == "132";
    assert!(lines.lines().count() > 5 && lines.lines().all(is_sctp), "{lines}");
}

#[test]
fn wrong_key_is_named_with_what_to_do() {
    if !has("/usr/bin/socat") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let server_key = key(folder.path(), "server").public_key();
    let client_key = key(folder.path(), "client").public_key();
    let port = port();
    let listen = format!("SCTP-LISTEN:{port},bind=127.0.0.1,fork");
    let mut serving = program("socat", ["-u", &listen, "OPEN:/dev/null"]);
    // Without trusted keys, everybody is accepted.
    serving.env("ANABRANCH_KEY", folder.path().join("server"));
    let server = Running::serve(&mut serving, &port);
    let ran = |trusted: &str| {
        let connect = format!("SCTP:127.0.0.1:{port},retry=20,interval=0.05");
        let mut client = program("socat", ["-u", "OPEN:/dev/null", &connect]);
        client.env("ANABRANCH_KEY", folder.path().join("client"));
        let ran = client.env("ANABRANCH_TRUST", trusted).output().unwrap();
        (ran.status.success(), String::from_utf8(ran.stderr).unwrap())
    };
    let (is_done, errors) = ran(&client_key.to_string());
    let said = format!("has the key {server_key}, which is not trusted");
    assert!(
        !is_done && errors.contains(&said) && errors.contains("--trust"),
        "{errors}"
    );
    assert!(errors.contains("Key was rejected"), "{errors}");
    let (is_done, errors) = ran(&server_key.to_string());
    assert!(is_done, "{errors}");
    server.interrupt();
}
