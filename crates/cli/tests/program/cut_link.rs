//! Link failure test. Does a transfer survive the loss of a link? Two hosts of their own, made of network namespaces, with
//! two cables between them, one of which is pulled.
//!
//! Needs root and the `ip` and `tc` programs of Debian's iproute2.

use std::process::Command;

use crate::harness::{Running, anabranch_within, file, ip, needs_root};

/// Two namespaces joined by two links of 80 Mbit/s; gone when dropped.
struct Hosts {
    near: String,
    far: String,
}

impl Hosts {
    fn make() -> Option<Self> {
        let unique = std::process::id();
        let hosts = Self {
            near: format!("near-{unique}"),
            far: format!("far-{unique}"),
        };
        let made = hosts.names().iter().all(|name| ip(&["netns", "add", name]));
        if !made {
            return None;
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
    let Some(hosts) = needs_root("network namespaces", Hosts::make) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "big.bin", 60_000_000);
    let target = tempfile::tempdir().unwrap();
    let mut receive = anabranch_within(&hosts.far);
    receive.args(["recv", "--json", "--once", "--listen", "10.77.1.2,10.77.2.2"]);
    let mut receiver = Running::start(receive.arg(target.path()));
    receiver.event("listening");
    let mut send = anabranch_within(&hosts.near);
    send.args(["send", "--json", "--accept-new", "--to", "10.77.1.2,10.77.2.2"]);
    let mut sender = Running::start(send.arg(&path));

    // Once a second; the whole takes about three over both links.
    let progress = sender.event("progress");
    let carried = |path: usize| progress["paths"][path]["payload_sent"].as_u64();
    assert!(carried(0) > Some(0) && carried(1) > Some(0), "{progress}");
    hosts.pull(2);

    let summary = sender.event("summary");
    assert_eq!(summary["paths"][0]["state"], "active", "{summary}");
    assert_ne!(summary["paths"][1]["state"], "active", "{summary}");
    assert_eq!(receiver.event("stored")["sha256"], summary["sha256"]);
    assert!(std::fs::read(target.path().join("big.bin")).unwrap() == std::fs::read(&path).unwrap());
}
