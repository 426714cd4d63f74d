//! Tests of `anabranch tunnel reload`: the file of a running tunnel is read again. Needs curl.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::harness::run;
use crate::json::check_event;
use crate::tunnel::{LOOPBACK, Tunnel, Web, curl, edit, event, public_key_of, start};

/// What comes of reading a file again that is valid.
fn reload(file: &str) -> Value {
    let reloaded = run(&["tunnel", "reload", "--json", file]);
    let error = String::from_utf8(reloaded.stderr).unwrap();
    assert_eq!(reloaded.status.code(), Some(0), "{error}");
    let reloaded = serde_json::from_slice(&reloaded.stdout).unwrap();
    check_event(&reloaded);
    reloaded
}

fn status(file: &str) -> Value {
    let told = run(&["tunnel", "status", "--json", file]);
    let told = serde_json::from_slice(&told.stdout).unwrap();
    check_event(&told);
    told
}

/// A connection through the proxy of a tunnel to a target that echoes one byte at a time.
struct Held {
    program: TcpStream,
    target: TcpStream,
}

impl Held {
    fn open(proxy: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut program = TcpStream::connect(proxy).unwrap();
        let mut request = b"\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01".to_vec();
        request.extend(listener.local_addr().unwrap().port().to_be_bytes());
        program.write_all(&request).unwrap();
        program.read_exact(&mut [0; 12]).unwrap();
        let (target, _) = listener.accept().unwrap();
        Self { program, target }
    }

    /// Whether a byte gets through in both directions.
    fn lives(&mut self) -> bool {
        let mut byte = [0];
        let there = self
            .program
            .write_all(b"x")
            .and_then(|()| self.target.read_exact(&mut byte));
        let back = there.and_then(|()| self.target.write_all(&byte));
        back.and_then(|()| self.program.read_exact(&mut byte)).is_ok()
    }
}

/// The file of another client, with a key of its own, and its `[Peer]` for the server.
fn other_client(file: &str) -> (PathBuf, String) {
    let key = String::from_utf8(run(&["genkey"]).stdout).unwrap();
    let other = Path::new(file).with_file_name("other.conf");
    fs::copy(file, &other).unwrap();
    edit(&other, |text| {
        let known = text.lines().find(|line| line.starts_with("PrivateKey")).unwrap();
        text.replace(known, &format!("PrivateKey = {}", key.trim()))
    });
    let peer = format!(
        "[Peer]\nName = other\nPublicKey = {}\n",
        public_key_of(&key).trim()
    );
    (other, peer)
}

#[test]
fn added_peers_are_accepted_and_removed_ones_cannot_come_back() {
    let mut tunnel = Tunnel::start(LOOPBACK);
    let (server, mut held) = (tunnel.file("server.conf"), Held::open(&tunnel.socks));
    let (other, peer) = other_client(&tunnel.file("client.conf"));
    let mut other = start(&other);
    let refused = event(&mut other, "tunnel-down");
    assert!(
        refused["message"]
            .as_str()
            .unwrap()
            .contains("does not accept our key"),
        "{refused}"
    );

    edit(Path::new(&server), |text| format!("{text}\n{peer}"));
    let reloaded = reload(&server);
    assert_eq!(reloaded["changes"], json!(["other: added"]));
    event(&mut other, "tunnel-up");
    // The other client has noticed nothing.
    assert!(held.lives());

    // The first peer is removed, and the system asks by a signal.
    edit(Path::new(&server), |text| {
        let (head, _) = text.split_once("[Peer]").unwrap();
        format!("{head}{peer}")
    });
    tunnel.server.signal("-HUP");
    let told = tunnel
        .server
        .event_after("tunnel-reloaded", |event| drop(check_event(event)));
    // The first reload was told, too.
    assert_eq!(told["changes"], json!(["other: added"]));
    let told = event(&mut tunnel.server, "tunnel-reloaded");
    assert_eq!(told["changes"], json!(["client: removed"]));
    let down = event(&mut tunnel.client, "tunnel-down");
    assert!(
        down["message"]
            .as_str()
            .unwrap()
            .contains("not that of a peer any more"),
        "{down}"
    );
    let refused = event(&mut tunnel.client, "tunnel-down");
    assert!(
        refused["message"]
            .as_str()
            .unwrap()
            .contains("does not accept our key"),
        "{refused}"
    );
    assert!(!held.lives());
    let told = status(&server);
    let peers = told["peers"].as_array().unwrap();
    assert!(peers.len() == 1 && peers[0]["name"] == "other", "{told}");
    assert_eq!(peers[0]["tunnels"].as_array().unwrap().len(), 1, "{told}");
    assert_eq!(told["reload"]["changes"], json!(["client: removed"]));
}

#[test]
fn file_with_an_error_changes_nothing_and_is_named_with_its_line() {
    let tunnel = Tunnel::start(LOOPBACK);
    let (server, mut held) = (tunnel.file("server.conf"), Held::open(&tunnel.socks));
    let valid = fs::read_to_string(&server)
        .unwrap()
        .replace("Name = client", "Name = van");
    // The peer is gone in this file, too.
    edit(Path::new(&server), |text| {
        let (head, _) = text.split_once("[Peer]").unwrap();
        format!("{}[Peer]\n", head.replace("Listen = ", "Listen = everywhere # "))
    });
    let refused = run(&["tunnel", "reload", &server]);
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(
        refused.status.code() == Some(2) && error.contains("server.conf:5: Listen: "),
        "{error}"
    );
    assert!(held.lives());
    let told = status(&server);
    assert!(
        told["reload"]["error"]
            .as_str()
            .unwrap()
            .contains("server.conf:5: "),
        "{told}"
    );
    let shown = String::from_utf8(run(&["tunnel", "status", &server]).stdout).unwrap();
    assert!(
        shown.contains("failed, and changed nothing") && shown.contains("client: connected"),
        "{shown}"
    );
    // A place that somebody else has is an error as well, before anything has changed.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    fs::write(&server, format!("{valid}Forward = {port}:127.0.0.1:9\n")).unwrap();
    let refused = run(&["tunnel", "reload", &server]);
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(
        refused.status.code() == Some(2) && error.contains("in use"),
        "{error}"
    );
    assert_eq!(status(&server)["peers"][0]["name"], "client");
    assert!(held.lives());
}

#[test]
fn proxies_and_forwards_change_and_connections_of_others_live_on() {
    let tunnel = Tunnel::start(LOOPBACK);
    let client = tunnel.file("client.conf");
    let (mut held, web) = (
        Held::open(&tunnel.socks),
        Web::start(&tunnel.folder, b"hello".to_vec()),
    );
    let unused = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = unused.local_addr().unwrap().port();
    drop(unused);
    edit(Path::new(&client), |text| {
        let http = text.lines().find(|line| line.starts_with("Http")).unwrap();
        let forward = format!("Forward = {port}:localhost:{}", web.port);
        text.replace(http, &forward)
    });
    let changes = reload(&client)["changes"].to_string();
    let opened = format!("127.0.0.1:{port}: opened");
    assert!(
        changes.contains(&opened) && changes.contains(": closed"),
        "{changes}"
    );
    assert!(held.lives() && TcpStream::connect(&tunnel.http).is_err());
    let url = format!("http://127.0.0.1:{port}/");
    let Some(output) = curl(&[&url]) else { return };
    assert_eq!(output.stdout, b"hello", "{output:?}");
    // The same place leads elsewhere, where nobody listens.
    edit(Path::new(&client), |text| {
        text.replace(&format!("localhost:{}", web.port), "localhost:1")
    });
    let changes = reload(&client)["changes"].to_string();
    assert!(changes.contains("leads elsewhere"), "{changes}");
    let refused = curl(&[&url]).unwrap();
    assert!(refused.stdout.is_empty() && held.lives(), "{refused:?}");
}

#[test]
fn costs_and_caps_change_at_both_ends_without_a_new_association() {
    let tunnel = Tunnel::start(LOOPBACK);
    let files = ["client.conf", "server.conf"].map(|name| tunnel.file(name));
    let client = Path::new(&files[0]);
    // The client tells the server by a heartbeat.
    let wait_for = |limit: &Value| {
        for file in &files {
            loop {
                let told = status(file);
                let up = &told["peers"][0]["tunnels"][0];
                let paths = up["paths"].as_array().unwrap().iter();
                let mut of_backup = paths.filter(|path| path.to_string().contains("127.0.0.4:"));
                let rests = limit.is_u64();
                if of_backup.all(|path| path["resting"] == rests && path["limit_bit_s"] == *limit) {
                    assert_eq!(up["transfer"], 1, "{told}");
                    break;
                }
            }
        }
    };
    edit(client, |text| {
        text.replace("Path = 127.0.0.4", "Path = 127.0.0.4, backup, cap=8Mbit")
    });
    let reloaded = reload(&files[0]);
    let told = (&reloaded["changes"], &reloaded["needs_restart"]);
    assert_eq!(
        told,
        (&json!(["Path: cost, backup and cap"]), &json!([])),
        "{reloaded}"
    );
    wait_for(&8_000_000.into());
    edit(client, |text| text.replace(", backup, cap=8Mbit", ""));
    reload(&files[0]);
    wait_for(&Value::Null);
}

#[test]
fn preferences_that_change_during_a_handshake_hold_for_its_association() {
    let mut tunnel = Tunnel::start(LOOPBACK);
    let client = tunnel.file("client.conf");
    tunnel.client.kill();
    // The server does not answer for now.
    tunnel.server.signal("-STOP");
    tunnel.client = start(Path::new(&client));
    event(&mut tunnel.client, "tunnel-entrance");
    // Its first status comes after it has begun to call.
    status(&client);
    edit(Path::new(&client), |text| {
        text.replace("Path = 127.0.0.4", "Path = 127.0.0.4, backup")
    });
    assert_eq!(reload(&client)["changes"], json!(["Path: cost, backup and cap"]));
    tunnel.server.signal("-CONT");
    event(&mut tunnel.client, "tunnel-up");
    loop {
        let told = status(&client);
        let paths = told["peers"][0]["tunnels"][0]["paths"].as_array().unwrap();
        let mut of_backup = paths
            .iter()
            .filter(|path| path.to_string().contains("127.0.0.4:"));
        if of_backup.any(|path| path["resting"] == true) {
            break;
        }
    }
}

#[test]
fn client_tells_that_the_tunnel_of_a_removed_peer_is_down() {
    let mut tunnel = Tunnel::start(LOOPBACK);
    let client = tunnel.file("client.conf");
    let key = String::from_utf8(run(&["genkey"]).stdout).unwrap();
    edit(Path::new(&client), |text| {
        let known = text.lines().find(|line| line.starts_with("PublicKey")).unwrap();
        text.replace(known, &format!("PublicKey = {}", public_key_of(&key).trim()))
    });
    let changes = reload(&client)["changes"].to_string();
    assert!(
        changes.starts_with(r#"["server: removed","server: added""#),
        "{changes}"
    );
    // The peer that was added does not answer with its key, which is told, too.
    let told = [(); 2].map(|()| event(&mut tunnel.client, "tunnel-down"));
    let mut of_removed = told.iter().filter(|down| down["seconds"].is_null());
    let message = of_removed.next().unwrap()["message"].as_str().unwrap();
    assert!(
        message.contains("peer any more") && of_removed.next().is_none(),
        "{told:?}"
    );
}

#[test]
fn what_needs_a_restart_is_named_and_left() {
    let tunnel = Tunnel::start(LOOPBACK);
    let (client, mut held) = (tunnel.file("client.conf"), Held::open(&tunnel.socks));
    edit(Path::new(&client), |text| {
        let text = text.replace("Path = 127.0.0.4", "Path = 127.0.0.5");
        let text = text.replace("Endpoint = ", "Endpoint = 127.0.0.9,");
        // What else has changed holds.
        text.replace("[Interface]", "[Interface]\nClass = bulk, 873")
    });
    let reloaded = reload(&client);
    assert_eq!(reloaded["needs_restart"], json!(["Path", "Endpoint of server"]));
    assert_eq!(reloaded["changes"], json!(["Class"]));
    let shown = run(&["tunnel", "status", &client]).stdout;
    let shown = String::from_utf8(shown).unwrap();
    let is_told = shown.contains("until a restart: Path; Endpoint of server");
    assert!(is_told && held.lives(), "{shown}");
}
