//! Path MTU tests. Does a transfer pass a link that takes smaller packets than the hosts' own? Two hosts and a router
//! between them, made of network namespaces.
//!
//! Needs root, the `ip` and `tc` programs of Debian's iproute2, and `sysctl`.

use std::process::Command;

use serde_json::Value;

use crate::harness::{Running, anabranch_within, file, ip, needs_root};

const FAR: &str = "10.78.2.2";

/// Three namespaces in a row; gone when dropped.
struct Network {
    near: String,
    router: String,
    far: String,
}

impl Network {
    fn make(name: &str) -> Option<Self> {
        let unique = std::process::id();
        let network = Self {
            near: format!("near-{name}-{unique}"),
            router: format!("router-{name}-{unique}"),
            far: format!("far-{name}-{unique}"),
        };
        let made = network.names().iter().all(|name| ip(&["netns", "add", name]));
        if !made {
            return None;
        }
        network.join((&network.near, "10.78.1.2"), "10.78.1.1", "left");
        network.join((&network.far, FAR), "10.78.2.1", "right");
        network.forward();
        Some(network)
    }

    fn names(&self) -> [&str; 3] {
        [&self.near, &self.router, &self.far]
    }

    /// A host, the router's address on the link, and the name of the router's end.
    fn join(&self, (host, address): (&str, &str), gateway: &str, device: &str) {
        let between = [
            "out",
            "netns",
            host,
            "type",
            "veth",
            "peer",
            "name",
            device,
            "netns",
            &self.router,
        ];
        assert!(ip(&[&["link", "add"], &between[..]].concat()));
        for (name, address, device) in [(host, address, "out"), (&self.router, gateway, device)] {
            let address = format!("{address}/24");
            assert!(ip(&["-n", name, "address", "add", &address, "dev", device]));
            assert!(ip(&["-n", name, "link", "set", device, "up"]));
        }
        assert!(ip(&["-n", host, "route", "add", "default", "via", gateway]));
    }

    fn forward(&self) {
        let within = ["netns", "exec", &self.router];
        assert!(ip(
            &[&within[..], &["sysctl", "-q", "net.ipv4.ip_forward=1"]].concat()
        ));
        let mut shape = Command::new("ip");
        shape.args(within);
        shape.args(["tc", "qdisc", "add", "dev", "right", "root"]);
        shape.args(["tbf", "rate", "80mbit", "burst", "64kb", "latency", "30ms"]);
        assert!(shape.status().unwrap().success());
    }

    /// The router sends packets of at most `mtu` bytes to the far host from now on.
    fn narrow(&self, mtu: &str) {
        assert!(ip(&["-n", &self.router, "link", "set", "right", "mtu", mtu]));
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for name in self.names() {
            ip(&["netns", "delete", name]);
        }
    }
}

/// Sends a file from one host to the other; `meanwhile` happens after the first second. Returns the summary.
fn send(network: &Network, size: usize, meanwhile: impl FnOnce()) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "big.bin", size);
    let target = tempfile::tempdir().unwrap();
    let mut receive = anabranch_within(&network.far);
    receive.args(["recv", "--json", "--once", "--listen", FAR]);
    let mut receiver = Running::start(receive.arg(target.path()));
    receiver.event("listening");
    let mut send = anabranch_within(&network.near);
    let mut sender = Running::start(
        send.args(["send", "--json", "--accept-new", "--to", FAR])
            .arg(&path),
    );
    sender.event("progress");
    meanwhile();
    let summary = sender.event("summary");
    assert_eq!(receiver.event("stored")["sha256"], summary["sha256"]);
    summary
}

fn largest_packet(summary: &Value) -> u64 {
    summary["paths"][0]["mtu"].as_u64().unwrap()
}

#[test]
fn transfer_over_a_link_with_small_mtu() {
    let Some(network) = needs_root("network namespaces", || Network::make("small")) else {
        return;
    };
    network.narrow("1300");
    let summary = send(&network, 30_000_000, || {});
    assert!((1_200..=1_300).contains(&largest_packet(&summary)), "{summary}");
}

/// What was cut for larger packets is fragmented by the router.
#[test]
fn transfer_survives_an_mtu_reduction() {
    let Some(network) = needs_root("network namespaces", || Network::make("narrowing")) else {
        return;
    };
    let summary = send(&network, 40_000_000, || network.narrow("1300"));
    assert!((1_200..=1_300).contains(&largest_packet(&summary)), "{summary}");
}
