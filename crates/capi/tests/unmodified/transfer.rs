//! Programs that pass on what they read: ncat, socat.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use crate::harness::{Running, has, port, program, run};

/// Each side sends a line and waits for that of the other.
fn ncat(options: &[&str]) {
    if !has("/usr/bin/ncat") {
        return;
    }
    let port = port();
    let place = ["127.0.0.1", &port];
    let mut listening = program("ncat", [&["--sctp", "--listen"], options, &place].concat());
    let mut server = listening
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut to_client = server.stdin.take().unwrap();
    // Its first client gets it.
    to_client.write_all(b"from server\n").unwrap();
    let mut connecting = program("ncat", [&["--sctp"], options, &place].concat());
    connecting.stdin(Stdio::piped()).stderr(Stdio::null());
    // The server may not listen yet.
    let (mut client, mut from_server) = loop {
        let mut client = connecting.spawn().unwrap();
        let mut lines = BufReader::new(client.stdout.take().unwrap()).lines();
        if let Some(line) = lines.next() {
            assert_eq!(line.unwrap(), "from server");
            break (client, lines);
        }
        client.wait().unwrap();
    };
    let mut from_client = BufReader::new(server.stdout.take().unwrap()).lines();
    let mut to_server = client.stdin.take().unwrap();
    to_server.write_all(b"from client\n").unwrap();
    assert_eq!(from_client.next().unwrap().unwrap(), "from client");
    drop((to_server, to_client));
    assert!(from_server.next().is_none() && from_client.next().is_none());
    client.wait().unwrap();
    server.wait().unwrap();
}

#[test]
fn ncat_talks() {
    ncat(&[]);
}

#[test]
fn ncat_talks_over_tls() {
    ncat(&["--ssl"]);
}

#[test]
fn socat_copies_a_file() {
    if !has("/usr/bin/socat") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let bytes: Vec<u8> = (0..1_000_000_u32)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    fs::write(&from, &bytes).unwrap();
    let port = port();
    let listen = format!("SCTP-LISTEN:{port},bind=127.0.0.1");
    let create = format!("CREATE:{}", to.display());
    let server = Running::serve(&mut program("socat", ["-u", &listen, &create]), &port);
    let open = format!("OPEN:{}", from.display());
    // The server may not listen yet.
    let connect = format!("SCTP:127.0.0.1:{port},retry=20,interval=0.05");
    let statistics = folder.path().join("statistics");
    run(program("socat", ["-u", &open, &connect]).env("ANABRANCH_STATISTICS", &statistics));
    let told = server.finish();
    assert!(fs::read(&to).unwrap() == bytes, "{told}");
    let line = fs::read_to_string(&statistics).unwrap();
    let wanted = format!("\"peer_port\":{port},");
    assert!(
        line.contains(&wanted) && line.contains("\"payload_sent\":1000000,") && line.ends_with("}]}\n"),
        "{line}"
    );
}

/// Two clients in turn get back what they send, from children of the server.
fn serves_in_children(mut serving: std::process::Command, port: &str) {
    let server = Running::serve(&mut serving, port);
    for _ in 0..2 {
        let mut connecting = program("ncat", ["--sctp", "127.0.0.1", port]);
        connecting.stdin(Stdio::piped()).stderr(Stdio::null());
        let (mut client, mut lines) = loop {
            let mut client = connecting.spawn().unwrap();
            let written = client.stdin.as_mut().unwrap().write_all(b"hello\n");
            let mut lines = BufReader::new(client.stdout.take().unwrap()).lines();
            // The server may not listen yet.
            if let (Ok(()), Some(line)) = (written, lines.next()) {
                assert_eq!(line.unwrap(), "hello");
                break (client, lines);
            }
            client.wait().unwrap();
        };
        drop(client.stdin.take());
        assert!(lines.next().is_none());
        client.wait().unwrap();
    }
    server.interrupt();
}

#[test]
fn ncat_serves_in_children() {
    if has("/usr/bin/ncat") {
        let port = port();
        let arguments = [
            "--sctp",
            "--listen",
            "--keep-open",
            "--exec",
            "/bin/cat",
            "127.0.0.1",
            &port,
        ];
        serves_in_children(program("ncat", arguments), &port);
    }
}

#[test]
fn socat_serves_in_children() {
    if has("/usr/bin/ncat") && has("/usr/bin/socat") {
        let port = port();
        let listen = format!("SCTP-LISTEN:{port},bind=127.0.0.1,fork");
        serves_in_children(program("socat", [listen.as_str(), "PIPE"]), &port);
    }
}
