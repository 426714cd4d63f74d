//! Encrypted transfers: keys, the address that the receiver prints, and keys that are not accepted.

use std::io::Write as _;
use std::net::{SocketAddr, UdpSocket};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use tempfile::TempDir;

use crate::harness::{PROGRAM, Receiver, Running, anabranch, file, run};

const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

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
    let cases: [&[&str]; 7] = [
        &["recv", folder, "--key", path],
        &["recv", folder, "--key", "/nonexistent"],
        &["recv", folder, "--insecure", "--allow", KEY],
        &["recv", folder, "--allow", "key"],
        &["send", path, "--insecure", "--to", &format!("{KEY}@127.0.0.1")],
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

/// Runs a sender whose configuration is in `folder`: its exit code and standard error.
fn send_as(folder: &TempDir, path: &Path, to: &str, options: &[&str]) -> (Option<i32>, String) {
    let mut command = anabranch();
    let command = command.env("XDG_CONFIG_HOME", folder.path());
    let sent = command.args(["send", "--to", to]).args(options).arg(path);
    let sent = sent.output().unwrap();
    (sent.status.code(), String::from_utf8(sent.stderr).unwrap())
}

fn address(receiver: &Receiver) -> &str {
    receiver.to.split_once('@').unwrap().1
}

#[test]
fn key_of_a_new_receiver_is_remembered_if_it_is_trusted() {
    let receiver = Receiver::start("127.0.0.1", &[]);
    let (public, address) = receiver.to.split_once('@').unwrap();
    let (home, outbox) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = file(&outbox, "a", 10);

    // There is no terminal to ask at.
    let (code, error) = send_as(&home, &path, address, &[]);
    assert_eq!((code, error.lines().count()), (Some(1), 1), "{error}");
    assert!(
        error.contains(public) && error.contains("--accept-new"),
        "{error}"
    );
    assert_eq!(receiver.names(), [""; 0]);

    let (code, error) = send_as(&home, &path, address, &["--accept-new"]);
    assert_eq!(code, Some(0), "{error}");
    assert!(
        error.contains(&format!("trusted the new key {public}")),
        "{error}"
    );
    assert_eq!(receiver.stored_names(), ["a"]);

    let (code, error) = send_as(&home, &path, address, &["--name", "b"]);
    assert_eq!(code, Some(0), "{error}");
    let known = std::fs::read_to_string(home.path().join("anabranch/known_peers")).unwrap();
    assert_eq!(known, format!("{} {public}\n", address));
}

/// The first transfer of the README: nothing is known yet, and each end has two addresses, of which the host's interfaces do not list
/// those of the sender. Several times, because the addresses were once removed only if the first heartbeat was answered late.
#[test]
fn first_transfer_between_loopback_addresses_keeps_both_paths() {
    for _ in 0..8 {
        let receiver = Receiver::start("127.0.0.1,127.0.0.2", &["--once"]);
        let (home, outbox) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = file(&outbox, "a", 17_000);
        let mut command = anabranch();
        let sent = command
            .env("XDG_CONFIG_HOME", home.path())
            .args([
                "send",
                "--accept-new",
                "--from",
                "127.0.0.3,127.0.0.4",
                "--to",
                address(&receiver),
            ])
            .arg(&path)
            .output()
            .unwrap();
        let shown = String::from_utf8(sent.stderr).unwrap();
        assert_eq!(sent.status.code(), Some(0), "{shown}");
        assert!(!shown.contains("removed"), "{shown}");
        assert_eq!(receiver.stored_names(), ["a"]);
    }
}

#[test]
fn receiver_with_another_key_than_before_is_refused() {
    let receiver = Receiver::start("127.0.0.1", &[]);
    let (public, address) = receiver.to.split_once('@').unwrap();
    let (home, outbox) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = file(&outbox, "a", 10);
    let known = home.path().join("anabranch");
    std::fs::create_dir(&known).unwrap();
    std::fs::write(known.join("known_peers"), format!("{} {KEY}\n", address)).unwrap();
    let (code, error) = send_as(&home, &path, address, &["--accept-new"]);
    assert_eq!(code, Some(1));
    assert!(
        error.contains(&format!("has the key {public}, not the one in")),
        "{error}"
    );
    assert_eq!(receiver.names(), [""; 0]);
}

#[test]
fn receiver_keeps_the_key_that_it_made() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().to_str().unwrap();
    let printed = || {
        let mut command = anabranch();
        let command = command.env("XDG_CONFIG_HOME", home.path());
        let mut running = Running::start(command.args(["recv", "--json", "--listen", "127.0.0.1:0", folder]));
        let to = running.event("listening")["to"].as_str().unwrap().to_owned();
        to.split_once('@').unwrap().0.to_owned()
    };
    let first = printed();
    assert_eq!(printed(), first);
    let file = home.path().join("anabranch/receiver.key");
    assert_eq!(
        std::fs::metadata(file).unwrap().permissions().mode() & 0o777,
        0o600
    );
}

#[test]
fn receiver_that_cannot_keep_a_key_warns_and_works() {
    let inbox = tempfile::tempdir().unwrap();
    let mut command = anabranch();
    let command = command
        .env("XDG_CONFIG_HOME", "/dev/null/none")
        .args(["recv", "--json", "--listen"]);
    let mut running = Running::start(command.arg("127.0.0.1:0").arg(inbox.path()));
    let mut warned = false;
    let listening = running.event_after("listening", |event| warned |= event["event"] == "warning");
    assert!(warned);
    assert!(listening["to"].as_str().unwrap().contains("@127.0.0.1:"));
}

#[test]
fn sender_and_receiver_that_disagree_on_encryption_do_not_connect() {
    let (home, outbox) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = file(&outbox, "a", 10);
    let clear = Receiver::start("127.0.0.1", &["--insecure"]);
    let (code, error) = send_as(&home, &path, &clear.to, &["--timeout", "500ms"]);
    assert_eq!(code, Some(1));
    assert!(error.contains("(--insecure)"), "{error}");
    let (code, error) = send_as(&home, &path, &clear.to, &["--insecure"]);
    assert_eq!(code, Some(0), "{error}");
    let sealed = Receiver::start("127.0.0.1", &[]);
    let options = ["--insecure", "--timeout", "500ms"];
    let (code, error) = send_as(&home, &path, address(&sealed), &options);
    assert_eq!(code, Some(1));
    assert!(error.contains("(--insecure)"), "{error}");
}

/// `script` of util-linux gives the sender a terminal.
fn send_at_a_terminal(receiver: &Receiver, answer: &str) -> (Option<i32>, String) {
    let (home, outbox) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = file(&outbox, "a", 10);
    let line = format!("{PROGRAM} send {} --to {}", path.display(), address(receiver));
    let mut script = Command::new("script");
    let script = script.env("XDG_CONFIG_HOME", home.path());
    let mut script = script
        .args(["--quiet", "--return", "--command", &line, "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("these tests need the program `script` of util-linux");
    let mut input = script.stdin.take().unwrap();
    input.write_all(answer.as_bytes()).unwrap();
    let output = script.wait_with_output().unwrap();
    (
        output.status.code(),
        String::from_utf8_lossy(&output.stdout).into_owned(),
    )
}

#[test]
fn user_at_a_terminal_is_asked_about_a_new_key() {
    let receiver = Receiver::start("127.0.0.1", &[]);
    let (public, _) = receiver.to.split_once('@').unwrap();
    let (code, shown) = send_at_a_terminal(&receiver, "n\n");
    assert_eq!(code, Some(1), "{shown}");
    assert!(
        shown.contains(public) && shown.contains("nothing was sent"),
        "{shown}"
    );
    assert_eq!(receiver.names(), [""; 0]);
    let (code, shown) = send_at_a_terminal(&receiver, "y\n");
    assert_eq!(code, Some(0), "{shown}");
    assert_eq!(receiver.stored_names(), ["a"]);
}

/// A host on the way, which records all datagrams as a raw IP capture.
struct Relay {
    address: SocketAddr,
    frames: Arc<Mutex<Vec<u8>>>,
}

impl Relay {
    /// Passes datagrams on to `server`, and its answers back. Ends with the test.
    fn start(server: SocketAddr) -> Self {
        let near = Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
        let far = Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
        far.connect(server).unwrap();
        let address = near.local_addr().unwrap();
        // The file header of pcap: microseconds, raw IP (link type 101).
        let mut header = Vec::new();
        for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101] {
            header.extend(word.to_le_bytes());
        }
        let frames = Arc::new(Mutex::new(header));
        let client = Arc::new(Mutex::new(None));
        for is_request in [true, false] {
            let [near, far] = [&near, &far].map(Arc::clone);
            let (frames, client) = (Arc::clone(&frames), Arc::clone(&client));
            std::thread::spawn(move || {
                let mut buffer = vec![0; 65_536];
                let mut socket = if is_request {
                    near.recv_from(&mut buffer)
                } else {
                    far.recv_from(&mut buffer)
                };
                while let Ok((length, from)) = socket {
                    let datagram = &buffer[..length];
                    if is_request {
                        *client.lock().unwrap() = Some(from);
                    }
                    let ports = if is_request {
                        [from.port(), address.port()]
                    } else {
                        [address.port(), 1]
                    };
                    record(&mut frames.lock().unwrap(), ports, datagram);
                    // A datagram that nobody takes is lost.
                    let _ = match (is_request, *client.lock().unwrap()) {
                        (true, _) => far.send(datagram),
                        (false, Some(client)) => near.send_to(datagram, client),
                        (false, None) => Ok(0),
                    };
                    socket = if is_request {
                        near.recv_from(&mut buffer)
                    } else {
                        far.recv_from(&mut buffer)
                    };
                }
            });
        }
        Self { address, frames }
    }
}

/// Appends a packet of pcap with headers of IPv4 and UDP.
fn record(frames: &mut Vec<u8>, ports: [u16; 2], datagram: &[u8]) {
    let length = 28 + datagram.len();
    for word in [0, 0, length as u32, length as u32] {
        frames.extend(word.to_le_bytes());
    }
    frames.extend([0x45, 0]);
    frames.extend((length as u16).to_be_bytes());
    frames.extend([0, 0, 0, 0, 64, 17, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1]);
    frames.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
    frames.extend(((length - 20) as u16).to_be_bytes());
    frames.extend([0, 0]);
    frames.extend(datagram);
}

#[test]
fn check_says_that_its_secrets_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let secrets = folder.path().join("secrets.txt");
    for (options, warns) in [(&[][..], true), (&["--insecure"], false)] {
        let receiver = Receiver::start("127.0.0.1", options);
        let mut command = anabranch();
        command
            .env("SSLKEYLOGFILE", &secrets)
            .args(["check", &receiver.to]);
        let checked = command.args(options).output().unwrap();
        let errors = String::from_utf8(checked.stderr).unwrap();
        assert_eq!(checked.status.code(), Some(0), "{errors}");
        assert_eq!(errors.contains("SSLKEYLOGFILE is set"), warns, "{errors}");
    }
}

#[test]
fn capture_of_a_transfer_is_opened_by_its_keys() {
    let receiver = Receiver::start("127.0.0.1", &[]);
    let (key, server) = receiver.to.split_once('@').unwrap();
    let relay = Relay::start(server.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "a", 100_000);
    let [secrets, capture] = ["secrets.txt", "capture.pcap"].map(|name| folder.path().join(name));
    let sent = anabranch()
        .env("SSLKEYLOGFILE", &secrets)
        .args([
            "send",
            path.to_str().unwrap(),
            "--to",
            &format!("{key}@{}", relay.address),
        ])
        .output()
        .unwrap();
    let errors = String::from_utf8(sent.stderr).unwrap();
    assert_eq!(sent.status.code(), Some(0), "{errors}");
    assert!(errors.contains("SSLKEYLOGFILE is set"), "{errors}");
    std::fs::write(&capture, &*relay.frames.lock().unwrap()).unwrap();
    let [secrets, capture] = [&secrets, &capture].map(|path| path.to_str().unwrap());

    let flow = run(&["trace", "flow", capture, "--keys", secrets]);
    let text = String::from_utf8(flow.stdout).unwrap();
    for chunk in ["INIT", "COOKIE-ECHO", "DATA", "SACK", "SHUTDOWN-COMPLETE"] {
        assert!(text.contains(chunk), "no {chunk} in {text}");
    }
    let refused = run(&["trace", "flow", capture]);
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(error.contains("--keys FILE opens what is encrypted"), "{error}");
    assert_eq!(refused.status.code(), Some(2));
    let wrong = run(&["trace", "list", capture, "--keys", capture]);
    assert_eq!(wrong.status.code(), Some(2));
}
