//! Link failure tests. Does a transfer survive the loss of a link, and a connection through a tunnel? Two hosts of their own, made of
//! network namespaces, with two cables between them, one of which is pulled.
//!
//! Needs root and the `ip` and `tc` programs of Debian's iproute2; the tunnel also socat.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::harness::{Running, anabranch_within, file, ip, needs_root, run};
use crate::tunnel::{edit, event, init};

/// Two namespaces joined by two links of 80 Mbit/s; gone when dropped.
struct Hosts {
    near: String,
    far: String,
}

impl Hosts {
    /// `what` distinguishes them from those of other tests.
    fn make(what: &str) -> Option<Self> {
        let unique = format!("{what}-{}", std::process::id());
        let hosts = Self {
            near: format!("near-{unique}"),
            far: format!("far-{unique}"),
        };
        let made = hosts.names().iter().all(|name| ip(&["netns", "add", name]));
        if !made {
            return None;
        }
        for name in hosts.names() {
            assert!(ip(&["-n", name, "link", "set", "lo", "up"]));
        }
        for link in 1..=2 {
            hosts.join(link);
        }
        Some(hosts)
    }

    fn names(&self) -> [&str; 2] {
        [&self.near, &self.far]
    }

    fn join(&self, link: u8) {
        let [near, far] = ["near", "far"].map(|side| format!("{side}{link}"));
        let between = [
            &near, "netns", &self.near, "type", "veth", "peer", "name", &far, "netns", &self.far,
        ];
        assert!(ip(&[&["link", "add"], &between[..]].concat()));
        for (host, device, number) in [(&self.near, &near, 1), (&self.far, &far, 2)] {
            let address = format!("10.77.{link}.{number}/24");
            assert!(ip(&["-n", host, "address", "add", &address, "dev", device]));
            assert!(ip(&["-n", host, "link", "set", device, "up"]));
        }
        let mut shape = Command::new("ip");
        shape.args([
            "netns", "exec", &self.near, "tc", "qdisc", "add", "dev", &near, "root",
        ]);
        shape.args(["tbf", "rate", "80mbit", "burst", "64kb", "latency", "30ms"]);
        assert!(shape.status().unwrap().success());
    }

    fn pull(&self, link: u8) {
        assert!(ip(&[
            "-n",
            &self.far,
            "link",
            "set",
            &format!("far{link}"),
            "down"
        ]));
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for name in self.names() {
            ip(&["netns", "delete", name]);
        }
    }
}

#[test]
fn transfer_survives_a_cut_link() {
    if let Some(hosts) = needs_root("network namespaces", || Hosts::make("file")) {
        transfer_over_both_and_one(&hosts, &[]);
    }
}

/// Paths that each leave by one link and return by the other would both end with it.
#[test]
fn order_of_the_addresses_crosses_no_links() {
    if let Some(hosts) = needs_root("network namespaces", || Hosts::make("order")) {
        transfer_over_both_and_one(&hosts, &["--from", "10.77.2.1,10.77.1.1"]);
    }
}

/// Sends random bytes with further `arguments`. The second link is pulled when both have carried some, and no more than half was written.
fn transfer_over_both_and_one(hosts: &Hosts, arguments: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let content = fs::read(file(&folder, "big.bin", 60_000_000)).unwrap();
    let (before, after) = content.split_at(content.len() / 2);
    let target = tempfile::tempdir().unwrap();
    let mut receive = anabranch_within(&hosts.far);
    receive.args(["recv", "--json", "--once", "--listen", "10.77.1.2,10.77.2.2"]);
    let mut receiver = Running::start(receive.arg(target.path()));
    receiver.event("listening");
    let mut send = anabranch_within(&hosts.near);
    send.args(["send", "-", "--name", "big.bin", "--json", "--accept-new"]);
    send.args(["--to", "10.77.1.2,10.77.2.2"]).args(arguments);
    let mut sender = Running::start(send.stdin(Stdio::piped()));

    let mut input = sender.standard_input();
    input.write_all(before).unwrap();
    let has_carried = |path: &Value| path["payload_sent"].as_u64() > Some(0);
    let both_have_carried = |event: &Value| {
        let paths = event["paths"].as_array();
        event["event"] == "progress"
            && paths.is_some_and(|paths| paths.iter().filter(|path| has_carried(path)).count() == 2)
    };
    assert!(
        sender.skip_until(both_have_carried),
        "the second link carries nothing"
    );
    hosts.pull(2);
    if input.write_all(after).is_err() {
        let events: Vec<String> = sender.take_lines().map_while(Result::ok).collect();
        panic!("the sender gave up: {events:#?}");
    }
    drop(input);

    let summary = sender.event("summary");
    for path in summary["paths"].as_array().unwrap() {
        let is_over_first = path["local"].as_str().unwrap().starts_with("10.77.1.");
        assert_eq!(path["state"] == "active", is_over_first, "{summary}");
    }
    assert_eq!(receiver.event("stored")["sha256"], summary["sha256"]);
    assert!(fs::read(target.path().join("big.bin")).unwrap() == content);
}

/// socat on a host. It is killed when dropped.
struct Socat(Child);

impl Socat {
    fn is_there() -> bool {
        let version = Command::new("socat").arg("-V").stdout(Stdio::null()).status();
        version.is_ok_and(|status| status.success())
    }

    fn start(host: &str, from: &str, to: &str) -> Self {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", host, "socat", "-d", "-d", "-u", from, to]);
        Self(command.stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Waits until it listens; returns the port.
    fn listens_at(&mut self) -> u16 {
        let lines = BufReader::new(self.0.stderr.take().unwrap()).lines();
        let mut lines = lines.map(Result::unwrap);
        let line = lines.find(|line| line.contains("listening on")).unwrap();
        // Its pipe stays open while it runs.
        std::thread::spawn(move || lines.for_each(drop));
        line.rsplit_once(':').unwrap().1.parse().unwrap()
    }
}

impl Drop for Socat {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The paths of the only tunnel that runs with `file`.
fn paths_of(file: &Path) -> Vec<Value> {
    let status = run(&["tunnel", "status", "--json", file.to_str().unwrap()]);
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    let paths = &status["peers"][0]["tunnels"][0]["paths"];
    paths.as_array().cloned().unwrap_or_default()
}

#[test]
fn connection_through_a_tunnel_survives_a_cut_link() {
    let Some(hosts) = needs_root("network namespaces and socat", || {
        Socat::is_there().then(|| Hosts::make("tunnel"))?
    }) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (path, stored) = (file(&folder, "big.bin", 60_000_000), folder.path().join("stored"));
    let to = format!("CREATE:{}", stored.display());
    let mut target = Socat::start(&hosts.far, "TCP-LISTEN:0,bind=127.0.0.1", &to);
    let port = target.listens_at();
    let [server, client] = init(&folder);
    edit(&server, |text| format!("{text}Allow = 127.0.0.1\n"));
    edit(&client, |text| {
        let text = text.replace(
            "# Forward = 8080:intranet.example:80",
            &format!("Forward = 7000:127.0.0.1:{port}"),
        );
        text.replace("192.0.2.1:9899", "10.77.1.2,10.77.2.2")
    });
    let start =
        |host: &str, file: &Path| Running::start(anabranch_within(host).args(["tunnel", "--json"]).arg(file));
    let mut serving = start(&hosts.far, &server);
    event(&mut serving, "tunnel-listening");
    let mut connected = start(&hosts.near, &client);
    event(&mut connected, "tunnel-up");

    let mut source = Socat::start(
        &hosts.near,
        &format!("FILE:{}", path.display()),
        "TCP:127.0.0.1:7000",
    );
    // It takes about three seconds over both links.
    let has_carried = |path: &Value| path["payload_sent"].as_u64() > Some(1_000_000);
    while paths_of(&client).iter().filter(|path| has_carried(path)).count() < 2 {}
    hosts.pull(2);

    assert!(source.0.wait().unwrap().success());
    assert!(target.0.wait().unwrap().success());
    assert!(fs::read(&stored).unwrap() == fs::read(&path).unwrap());
    let paths = paths_of(&client);
    let is_active = |address: &str| {
        let is_that = |path: &&Value| path["remote"].as_str().unwrap().starts_with(address);
        paths.iter().filter(is_that).any(|path| path["state"] == "active")
    };
    assert!(is_active("10.77.1.2") && !is_active("10.77.2.2"), "{paths:?}");
}
