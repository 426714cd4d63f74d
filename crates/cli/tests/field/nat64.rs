//! A client without IPv4, a server without IPv6, and a NAT64 (RFC 6146) between them: tayga, and a NAT that hides what tayga maps.

use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::harness::needs_root;
use super::network::Host;
use super::transfer::{carried, mtu};
use super::uplinks::{SERVER, Settings, Uplinks};

const ONE_UPLINK: Settings = Settings {
    rates: &[20],
    nat: true,
    policy_routing: false,
};

/// The server's IPv4 address within the prefix of the NAT64 (RFC 6052 §2.2).
const SERVER_BY_NAT64: &str = "2001:db8:64::203.0.113.1";

/// Tayga on a router; ended when dropped.
#[derive(Debug)]
struct Tayga {
    process: Child,
    _folder: TempDir,
}

impl Tayga {
    fn start(router: &Host) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tayga.conf");
        let lines = [
            "tun-device nat64",
            "ipv4-addr 192.168.255.1",
            "ipv6-addr 2001:db8:64:1::1",
            "prefix 2001:db8:64::/96",
            "dynamic-pool 192.168.255.0/24",
            &format!("data-dir {}", folder.path().display()),
        ];
        std::fs::write(&file, lines.join("\n")).unwrap();
        router.run("ip tuntap add nat64 mode tun");
        router.run("ip link set nat64 up");
        router.run("ip route add 192.168.255.0/24 dev nat64");
        router.run("ip route add 2001:db8:64::/96 dev nat64");
        let mut command: Command = router.command("tayga");
        command.args(["--nodetach", "--config"]).arg(&file);
        let process = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self {
            process,
            _folder: folder,
        }
    }
}

impl Drop for Tayga {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A client with an uplink behind a NAT, and one with IPv6 only behind a NAT64.
fn make() -> Option<(Uplinks, Tayga)> {
    let mut uplinks = needs_root("network namespaces", || Uplinks::make(ONE_UPLINK))?;
    let router = uplinks.network.router("nat64");
    uplinks.client.connect("up6", &router, "lan");
    router.plug_into("wan", &uplinks.switch, "nat64");
    router.add_address("lan", "fd00:64::1/64");
    router.add_address("wan", "203.0.113.64/24");
    router.masquerade("wan");
    for device in ["lan", "wan"] {
        router.shape(device, 20);
    }
    uplinks.client.add_address("up6", "fd00:64::5/64");
    uplinks.client.run("ip route add default via fd00:64::1 dev up6");
    let tayga = Tayga::start(&router);
    Some((uplinks, tayga))
}

#[test]
fn nat64_carries_a_transfer_from_ipv6_to_ipv4() {
    let Some((uplinks, _tayga)) = make() else { return };
    uplinks.take_down(0);
    let order = uplinks.order(20_000_000, &["--to", SERVER_BY_NAT64]);
    let summary = order.start().finish();
    // The header of IPv6 is 20 bytes longer than that of IPv4: at most 1,480 bytes pass as 1,500.
    assert_eq!(mtu(&summary, 0), 1_500, "{summary}");
}

#[test]
fn nat64_and_nat_share_a_transfer() {
    let Some((uplinks, _tayga)) = make() else { return };
    let to = [SERVER, SERVER_BY_NAT64].join(",");
    let send = ["--to", &to];
    let order = uplinks.order(40_000_000, &send);
    let summary = order.start().finish();
    let carried = carried(&summary);
    assert!(
        carried.len() == 2 && carried.iter().all(|bytes| *bytes > 12_000_000),
        "{summary}"
    );
}
