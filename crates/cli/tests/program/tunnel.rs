//! Tests of `anabranch tunnel`: a server and a client from the files of `init`, and curl through the proxies. Needs curl.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{DEADLINE, Running, anabranch, file, run};
use crate::json::check_event;

/// Runs curl without the user's configuration and proxies. Without curl, the test is skipped with a message, except in CI.
pub(crate) fn curl(arguments: &[&str]) -> Option<Output> {
    let output = Command::new("curl")
        .args([
            "--disable",
            "--silent",
            "--show-error",
            "--max-time",
            "200",
            "--noproxy",
            "",
        ])
        .args(arguments)
        .stdin(Stdio::null())
        .output();
    match output {
        Ok(output) => Some(output),
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "this test needs curl: {error}");
            eprintln!("skipped: this test needs curl");
            None
        }
    }
}

/// A server of HTTP/1.1 on loopback: GET returns `content`, PUT stores what it gets.
pub(crate) struct Web {
    pub(crate) port: u16,
    stored: PathBuf,
}

impl Web {
    pub(crate) fn start(folder: &TempDir, content: Vec<u8>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let stored = folder.path().join("stored");
        let file = stored.clone();
        // Ends with the test.
        thread::spawn(move || {
            for socket in listener.incoming() {
                let (content, file) = (content.clone(), file.clone());
                thread::spawn(move || serve(socket.unwrap(), &content, &file));
            }
        });
        Self { port, stored }
    }

    /// Its address, by a name that the far side of a tunnel resolves.
    pub(crate) fn url(&self) -> String {
        format!("http://localhost:{}/", self.port)
    }
}

fn serve(mut socket: TcpStream, content: &[u8], file: &Path) {
    let mut reader = BufReader::new(socket.try_clone().unwrap());
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let line = line.trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        head.push(line);
    }
    let body = if head[0].starts_with("put") {
        let length = head.iter().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.unwrap().parse().unwrap()];
        if head.iter().any(|line| line.starts_with("expect:")) {
            socket.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").unwrap();
        }
        reader.read_exact(&mut body).unwrap();
        fs::write(file, body).unwrap();
        b"stored".as_slice()
    } else {
        content
    };
    let length = body.len();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    // A client that has gone is not our concern.
    let _ = socket
        .write_all(head.as_bytes())
        .and_then(|()| socket.write_all(body));
}

/// A server and a client, from files that `init` has written.
pub(crate) struct Tunnel {
    pub(crate) folder: TempDir,
    pub(crate) server: Running,
    pub(crate) client: Running,
    /// Places to connect to, by kind.
    pub(crate) socks: String,
    pub(crate) http: String,
}

impl Tunnel {
    /// Paths from two addresses to two; what the client may reach is `allow`.
    pub(crate) fn start(allow: &str) -> Self {
        let mut tunnel = Self::before_the_handshake(allow, |text| text);
        event(&mut tunnel.server, "tunnel-up");
        event(&mut tunnel.client, "tunnel-up");
        tunnel
    }

    /// The client's file is changed by `change` before it is used.
    fn before_the_handshake(allow: &str, change: impl Fn(String) -> String) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let [server, client] = init(&folder);
        edit(&server, |text| format!("{}{allow}\n", on_free_ports(&text)));
        let (server, addresses) = start_server(&server);
        edit(&client, |text| {
            let text = on_free_ports(&text)
                .replace("# Path = eth0", "Path = 127.0.0.3")
                .replace("# Path = wwan0", "Path = 127.0.0.4");
            change(text.replace("192.0.2.1:9899", &addresses.join(",")))
        });
        let mut client = start(&client);
        let [socks, http] = ["socks", "http"].map(|kind| {
            let event = event(&mut client, "tunnel-entrance");
            assert_eq!(event["kind"], kind);
            event["address"].as_str().unwrap().to_owned()
        });
        Self {
            folder,
            server,
            client,
            socks,
            http,
        }
    }

    /// Starts another server where the first one has listened.
    pub(crate) fn restart_server(&self) -> Running {
        let text = fs::read_to_string(self.file("client.conf")).unwrap();
        let endpoint = text.lines().find_map(|line| line.strip_prefix("Endpoint = "));
        let server = PathBuf::from(self.file("server.conf"));
        edit(&server, |text| {
            text.replace("127.0.0.1:0,127.0.0.2:0", endpoint.unwrap())
        });
        start_server(&server).0
    }

    pub(crate) fn file(&self, name: &str) -> String {
        self.folder
            .path()
            .join("files")
            .join(name)
            .to_str()
            .unwrap()
            .to_owned()
    }
}

/// Both files of `anabranch tunnel init`.
pub(crate) fn init(folder: &TempDir) -> [PathBuf; 2] {
    let files = folder.path().join("files");
    let made = run(&["tunnel", "init", "--server", "192.0.2.1", files.to_str().unwrap()]);
    let errors = String::from_utf8(made.stderr).unwrap();
    assert_eq!(made.status.code(), Some(0), "{errors}");
    ["server.conf", "client.conf"].map(|name| files.join(name))
}

pub(crate) fn edit(file: &Path, change: impl FnOnce(String) -> String) {
    fs::write(file, change(fs::read_to_string(file).unwrap())).unwrap();
}

/// A file of `tunnel init` whose server listens at two addresses, and whose client has its proxies, at ports that are free.
pub(crate) fn on_free_ports(text: &str) -> String {
    text.replace("Listen = 9899", "Listen = 127.0.0.1:0,127.0.0.2:0")
        .replace("127.0.0.1:1080", "127.0.0.1:0")
        .replace("127.0.0.1:8118", "127.0.0.1:0")
}

/// The public key of a private one.
pub(crate) fn public_key_of(key: &str) -> String {
    let mut pubkey = anabranch();
    let pubkey = pubkey.arg("pubkey").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut pubkey = pubkey.spawn().unwrap();
    pubkey.stdin.take().unwrap().write_all(key.as_bytes()).unwrap();
    String::from_utf8(pubkey.wait_with_output().unwrap().stdout).unwrap()
}

/// The next event of this name. It and those before it are as their schema says.
pub(crate) fn event(running: &mut Running, name: &str) -> Value {
    let event = running.event_after(name, |event| drop(check_event(event)));
    check_event(&event);
    event
}

pub(crate) fn start(file: &Path) -> Running {
    start_for(DEADLINE, file)
}

/// A tunnel that may run for so long.
pub(crate) fn start_for(deadline: Duration, file: &Path) -> Running {
    Running::start_for(deadline, anabranch().args(["tunnel", "--json"]).arg(file))
}

/// A server, and the addresses where it listens.
pub(crate) fn start_server(file: &Path) -> (Running, Vec<String>) {
    listening(start(file))
}

/// A server that has just been started, and the addresses where it listens.
pub(crate) fn listening(mut server: Running) -> (Running, Vec<String>) {
    let listening = event(&mut server, "tunnel-listening");
    let addresses = listening["addresses"].as_array().unwrap().iter();
    let addresses = addresses
        .map(|address| address.as_str().unwrap().to_owned())
        .collect();
    (server, addresses)
}

/// A server with this file, and the file of a client that leads to it.
pub(crate) fn start_server_for(client: &Path, server: &Path) -> Running {
    edit(server, |text| on_free_ports(&text));
    let (server, addresses) = start_server(server);
    edit(client, |text| {
        on_free_ports(&text).replace("192.0.2.1:9899", &addresses.join(","))
    });
    server
}

pub(crate) const LOOPBACK: &str = "Allow = 127.0.0.0/8, ::1";

#[test]
fn curl_downloads_and_uploads_through_both_proxies() {
    let tunnel = Tunnel::start(LOOPBACK);
    let path = file(&tunnel.folder, "big", 32 << 20);
    let content = fs::read(&path).unwrap();
    let web = Web::start(&tunnel.folder, content.clone());
    let (socks, http) = (
        format!("socks5h://{}", tunnel.socks),
        format!("http://{}", tunnel.http),
    );
    let fetched = tunnel.folder.path().join("fetched");
    let url = web.url();
    for proxy in [&socks, &http] {
        let options = ["--proxy", proxy, "--proxytunnel"];
        let get = [&options[..], &["--output", fetched.to_str().unwrap(), &url]].concat();
        let Some(output) = curl(&get) else { return };
        assert!(output.status.success(), "{output:?}");
        assert!(
            fs::read(&fetched).unwrap() == content,
            "{proxy}: other bytes arrived"
        );
        fs::remove_file(&fetched).unwrap();

        let put = [&options[..], &["--upload-file", path.to_str().unwrap(), &url]].concat();
        let output = curl(&put).unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(
            fs::read(&web.stored).unwrap() == content,
            "{proxy}: other bytes were stored"
        );
        fs::remove_file(&web.stored).unwrap();
    }
    // All four went over both paths, and are over.
    let status = run(&["tunnel", "status", "--json", &tunnel.file("client.conf")]);
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    check_event(&status);
    let up = &status["peers"][0]["tunnels"][0];
    assert_eq!(
        (&up["connections_so_far"], &status["peers"][0]["name"]),
        (&4.into(), &"server".into())
    );
    let paths = up["paths"].as_array().unwrap();
    assert!(paths.len() >= 2, "{status}");
    let sent: Vec<u64> = paths
        .iter()
        .map(|path| path["payload_sent"].as_u64().unwrap())
        .collect();
    assert!(sent.iter().sum::<u64>() > 64 << 20, "{status}");
    assert!(
        sent.iter().filter(|sent| **sent > 1 << 20).count() >= 2,
        "{status}"
    );
    let shown = run(&["tunnel", "status", &tunnel.file("server.conf")]);
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(
        shown.starts_with("client: connected, carries ") && shown.contains("4 so far"),
        "{shown}"
    );
}

#[test]
fn errors_of_the_far_side_reach_curl() {
    // Without Allow, the server's host is out of reach.
    let tunnel = Tunnel::start("");
    let web = Web::start(&tunnel.folder, Vec::new());
    let socks = format!("socks5h://{}", tunnel.socks);
    let Some(output) = curl(&["--proxy", &socks, &web.url()]) else {
        return;
    };
    // "Proxy handshake error", with the reply of SOCKS5: not allowed.
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        (output.status.code(), text.contains("(2)")),
        (Some(97), true),
        "{text}"
    );
    let http = format!("http://{}", tunnel.http);
    let output = curl(&["--proxy", &http, "--proxytunnel", &web.url()]).unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && text.contains("403"), "{text}");
    // A proxy for http alone, without CONNECT, says what to do.
    let output = curl(&["--proxy", &http, &web.url()]).unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("--proxytunnel"), "{text}");
}

#[test]
fn key_that_the_server_does_not_know_is_refused_with_what_to_do() {
    let key = run(&["genkey"]).stdout;
    let key = String::from_utf8(key).unwrap();
    let mut tunnel = Tunnel::before_the_handshake(LOOPBACK, |text| {
        let known = text.lines().find(|line| line.starts_with("PrivateKey")).unwrap();
        text.replace(known, &format!("PrivateKey = {key}"))
    });
    let down = event(&mut tunnel.client, "tunnel-down");
    let message = down["message"].as_str().unwrap();
    assert!(
        message.contains("does not accept our key") && message.contains("[Peer]"),
        "{message}"
    );
    assert!(down["seconds"].is_number());
    // Meanwhile, programs are told.
    let Some(output) = curl(&[
        "--proxy",
        &format!("socks5h://{}", tunnel.socks),
        "http://example.org/",
    ]) else {
        return;
    };
    assert_eq!(output.status.code(), Some(97));
    let http = format!("http://{}", tunnel.http);
    let output = curl(&["--proxy", &http, "--proxytunnel", "http://example.org/"]).unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("503"), "{text}");
}

#[test]
fn server_with_another_key_is_refused_with_both_keys() {
    let key = String::from_utf8(run(&["genkey"]).stdout).unwrap();
    let other = public_key_of(&key);
    let mut tunnel = Tunnel::before_the_handshake("", |text| {
        let known = text.lines().find(|line| line.starts_with("PublicKey")).unwrap();
        text.replace(known, &format!("PublicKey = {other}"))
    });
    let down = event(&mut tunnel.client, "tunnel-down");
    let message = down["message"].as_str().unwrap();
    assert!(message.contains("not the PublicKey of server"), "{message}");
}

#[test]
fn client_comes_back_to_a_server_that_has_restarted() {
    let mut tunnel = Tunnel::start(LOOPBACK);
    let web = Web::start(&tunnel.folder, b"hello".to_vec());
    tunnel.server.interrupt();
    let down = event(&mut tunnel.client, "tunnel-down");
    assert!(
        down["message"].as_str().unwrap().contains("interrupted"),
        "{down}"
    );
    let mut server = tunnel.restart_server();
    event(&mut server, "tunnel-up");
    event(&mut tunnel.client, "tunnel-up");
    let socks = format!("socks5h://{}", tunnel.socks);
    let Some(output) = curl(&["--proxy", &socks, &web.url()]) else {
        return;
    };
    assert_eq!(output.stdout, b"hello");
    // Ctrl-C ends the client with a connection in use, and leaves nothing behind.
    let mut held = TcpStream::connect(&tunnel.socks).unwrap();
    held.write_all(b"\x05\x01\x00").unwrap();
    held.read_exact(&mut [0; 2]).unwrap();
    tunnel.client.interrupt();
    let Tunnel { folder, client, .. } = tunnel;
    let (code, _) = client.end();
    assert_eq!(code, Some(130));
    let left = fs::read_dir(folder.path().join("files")).unwrap();
    let mut left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["client.conf", "server.conf", "server.conf.sock"]);
}

/// A download without a length ends with its connection: what the end of the client cuts off must not look complete.
#[test]
fn end_of_the_client_resets_downloads() {
    for signal in ["-INT", "-KILL"] {
        let tunnel = Tunnel::start(LOOPBACK);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut program = TcpStream::connect(&tunnel.socks).unwrap();
        let mut request = b"\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01".to_vec();
        request.extend(listener.local_addr().unwrap().port().to_be_bytes());
        program.write_all(&request).unwrap();
        program.read_exact(&mut [0; 12]).unwrap();
        let (mut target, _) = listener.accept().unwrap();
        target.write_all(b"half").unwrap();
        program.read_exact(&mut [0; 4]).unwrap();
        tunnel.client.signal(signal);
        let read = program.read(&mut [0; 10]);
        assert_eq!(
            read.unwrap_err().kind(),
            std::io::ErrorKind::ConnectionReset,
            "{signal}"
        );
    }
}

/// A client that has lost its association without a word sets up another one, and those before must not add up.
#[test]
fn ninth_tunnel_of_a_key_ends_the_oldest() {
    let mut tunnel = Tunnel::start(LOOPBACK);
    let file = PathBuf::from(tunnel.file("client.conf"));
    let _others = [2, 3, 4, 5, 6, 7, 8, 9].map(|number| {
        let copy = file.with_file_name(format!("client{number}.conf"));
        fs::copy(&file, &copy).unwrap();
        let mut client = start(&copy);
        event(&mut client, "tunnel-up");
        client
    });
    let down = event(&mut tunnel.client, "tunnel-down");
    let message = down["message"].as_str().unwrap();
    assert!(message.contains("replaced by a newer tunnel"), "{message}");
}

#[test]
fn program_does_not_notice_that_the_server_was_killed_before() {
    let mut tunnel = Tunnel::start(LOOPBACK);
    let web = Web::start(&tunnel.folder, b"hello".to_vec());
    tunnel.server.kill();
    let mut server = tunnel.restart_server();
    // The client learns of it by the answer to what it sends, and the request waits for the next tunnel.
    let socks = format!("socks5h://{}", tunnel.socks);
    let Some(output) = curl(&["--proxy", &socks, &web.url()]) else {
        return;
    };
    assert_eq!(output.stdout, b"hello", "{output:?}");
    event(&mut tunnel.client, "tunnel-down");
    event(&mut server, "tunnel-up");
    let shown = run(&["tunnel", "status", &tunnel.file("server.conf")]);
    assert!(shown.status.success(), "{shown:?}");
}

/// What ssh -R is for: a port of the server leads to the client's network, as far as the client permits it.
#[test]
fn forward_of_the_server_leads_to_what_the_client_allows() {
    let folder = tempfile::tempdir().unwrap();
    let web = Web::start(&folder, b"of the client".to_vec());
    let [server, client] = init(&folder);
    edit(&server, |text| {
        let text = text.replace("Listen = 9899", "Listen = 127.0.0.1:0");
        let port = web.port;
        format!("{text}Forward = 0:127.0.0.1:{port}\nForward = 0:127.0.0.2:{port}\n")
    });
    let mut server = start(&server);
    let forwards = [(); 2].map(|()| {
        event(&mut server, "tunnel-entrance")["address"]
            .as_str()
            .unwrap()
            .to_owned()
    });
    let address = event(&mut server, "tunnel-listening")["addresses"][0]
        .as_str()
        .unwrap()
        .to_owned();
    edit(&client, |text| {
        let text = text.replace("127.0.0.1:1080", "0").replace("127.0.0.1:8118", "0");
        let text = text.replace("192.0.2.1:9899", &address);
        format!("{text}Allow = 127.0.0.1\n")
    });
    let _client = start(&client);
    event(&mut server, "tunnel-up");
    let Some(output) = curl(&[&format!("http://{}/", forwards[0])]) else {
        return;
    };
    assert_eq!(output.stdout, b"of the client");
    let refused = curl(&[&format!("http://{}/", forwards[1])]).unwrap();
    assert!(
        !refused.status.success() && refused.stdout.is_empty(),
        "{refused:?}"
    );
}

/// As systemd has it for units with Type=notify.
#[test]
fn service_manager_is_told_when_the_tunnel_is_ready_and_when_it_stops() {
    let folder = tempfile::tempdir().unwrap();
    let [server, _] = init(&folder);
    edit(&server, |text| {
        text.replace("Listen = 9899", "Listen = 127.0.0.1:0")
    });
    let notify = folder.path().join("notify");
    let manager = UnixDatagram::bind(&notify).unwrap();
    let told = || {
        let mut line = [0; 64];
        let length = manager.recv(&mut line).unwrap();
        String::from_utf8(line[..length].to_vec()).unwrap()
    };
    let mut command = anabranch();
    let command = command.env("NOTIFY_SOCKET", &notify).args(["tunnel", "--json"]);
    let mut running = Running::start(command.arg(&server));
    assert_eq!(told(), "READY=1");
    // By then it listens: the event is there before.
    event(&mut running, "tunnel-listening");
    running.signal("-TERM");
    assert_eq!(told(), "STOPPING=1");
    assert_eq!(running.end().0, Some(130));
}

#[test]
fn init_writes_private_files_and_overwrites_none() {
    let folder = tempfile::tempdir().unwrap();
    let files = init(&folder);
    for file in &files {
        assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
        let checked = run(&["tunnel", "check", file.to_str().unwrap()]);
        let shown = String::from_utf8(checked.stdout).unwrap();
        assert!(checked.status.success() && checked.stderr.is_empty(), "{shown}");
        assert!(shown.contains("our public key is "), "{shown}");
    }
    let before = fs::read(&files[1]).unwrap();
    fs::remove_file(&files[0]).unwrap();
    let elsewhere = folder.path().join("elsewhere");
    let unnamed = run(&["tunnel", "init", elsewhere.to_str().unwrap()]);
    let told = String::from_utf8(unnamed.stderr).unwrap();
    let written = fs::read_to_string(elsewhere.join("client.conf")).unwrap();
    let endpoints: Vec<&str> = written
        .lines()
        .filter_map(|line| line.strip_prefix("Endpoint = "))
        .collect();
    assert!(!endpoints.is_empty() && told.contains("give --server"), "{told}");
    assert!(endpoints.iter().all(|endpoint| told.contains(endpoint)), "{told}");
    let again = run(&["tunnel", "init", files[0].parent().unwrap().to_str().unwrap()]);
    let error = String::from_utf8(again.stderr).unwrap();
    assert!(
        again.status.code() == Some(2) && error.contains("client.conf exists already"),
        "{error}"
    );
    assert_eq!(fs::read(&files[1]).unwrap(), before);
    assert!(!files[0].exists());
}

#[test]
fn invalid_files_are_refused_with_their_line() {
    let folder = tempfile::tempdir().unwrap();
    let [server, _] = init(&folder);
    edit(&server, |text| {
        text.replace("Listen = 9899", "Listen = everywhere")
    });
    fs::set_permissions(&server, fs::Permissions::from_mode(0o644)).unwrap();
    for verb in [&["tunnel"][..], &["tunnel", "check"]] {
        let refused = run(&[verb, &[server.to_str().unwrap()]].concat());
        let error = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(
            (refused.status.code(), error.lines().count()),
            (Some(2), 1),
            "{error}"
        );
        assert!(error.contains("server.conf:5: Listen: "), "{error}");
    }
    edit(&server, |text| {
        text.replace("Listen = everywhere", "Listen = 9899")
    });
    let warned = run(&["tunnel", "check", server.to_str().unwrap()]);
    let warning = String::from_utf8(warned.stderr).unwrap();
    assert!(
        warned.status.success() && warning.contains("chmod 600"),
        "{warning}"
    );
    let missing = run(&["tunnel", "status", server.to_str().unwrap()]);
    let error = String::from_utf8(missing.stderr).unwrap();
    assert!(
        missing.status.code() == Some(1) && error.contains("running"),
        "{error}"
    );
}
