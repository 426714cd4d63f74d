//! Addresses that change during a transfer: of the client, and of the NATs before it.

use super::harness::needs_root;
use super::network::Network;
use super::transfer::{Order, Transfer, carried};
use super::uplinks::{SERVER, Settings, Uplinks};

const TWO_UPLINKS: Settings = Settings {
    rates: &[10, 40],
    nat: true,
    policy_routing: false,
};
const ONE_UPLINK: Settings = Settings {
    rates: &[20],
    ..TWO_UPLINKS
};

/// A transfer over all uplinks that the program finds by itself, after the first second.
fn begin(settings: Settings, bytes: usize) -> Option<(Uplinks, Transfer)> {
    let uplinks = needs_root("network namespaces", || Uplinks::make(settings))?;
    let order = uplinks.order(bytes, &["--to", SERVER]);
    let mut transfer = order.start();
    transfer.sender.event("progress");
    Some((uplinks, transfer))
}

#[test]
fn new_address_of_the_only_uplink_goes_on() {
    let Some((uplinks, mut transfer)) = begin(ONE_UPLINK, 20_000_000) else {
        return;
    };
    uplinks.take_down(0);
    uplinks.configure(0, "192.168.1.77");
    // The old address is removed as soon as the new one works, and its socket closed soon after.
    let mut removed = transfer.sender.event("path");
    while removed["change"] != "removed" {
        removed = transfer.sender.event("path");
    }
    assert!(
        removed["local"].as_str().unwrap().starts_with("192.168.1.5:"),
        "{removed}"
    );
    (0..2).for_each(|_| drop(transfer.sender.event("progress")));
    let sockets = uplinks.client.command("ss").args(["-uanH"]).output().unwrap();
    let sockets = String::from_utf8(sockets.stdout).unwrap();
    assert!(
        sockets.contains("192.168.1.77:") && !sockets.contains("192.168.1.5:"),
        "{sockets}"
    );
    transfer.finish();
}

#[test]
fn new_addresses_of_both_uplinks_go_on() {
    let Some((uplinks, transfer)) = begin(TWO_UPLINKS, 40_000_000) else {
        return;
    };
    for (number, address) in ["192.168.1.77", "10.0.0.77"].into_iter().enumerate() {
        uplinks.take_down(number);
        uplinks.configure(number, address);
    }
    transfer.finish();
}

/// The cable of the fast uplink is pulled, then the other uplink gets another address, then the cable is plugged in again.
#[test]
fn pulled_cable_and_changed_address_in_mid_transfer_go_on() {
    let Some((uplinks, mut transfer)) = begin(TWO_UPLINKS, 60_000_000) else {
        return;
    };
    uplinks.isps[1].run("ip link set lan down");
    (0..2).for_each(|_| drop(transfer.sender.event("progress")));
    uplinks.take_down(0);
    uplinks.configure(0, "192.168.1.77");
    (0..2).for_each(|_| drop(transfer.sender.event("progress")));
    uplinks.isps[1].run("ip link set lan up");
    let summary = transfer.finish();
    let carried = |local: &str| -> u64 {
        let paths = summary["paths"].as_array().unwrap().iter();
        let from = paths.filter(|path| path["local"].as_str().unwrap().starts_with(local));
        from.map(|path| path["payload_sent"].as_u64().unwrap()).sum()
    };
    assert!(carried("192.168.1.77:") > 2_000_000, "{summary}");
    assert!(carried("10.0.0.5:") > 20_000_000, "{summary}");
}

/// As when the network manager restarts: for a moment the host has no address at all.
#[test]
fn both_uplinks_that_lose_their_addresses_for_a_moment_carry_again() {
    let Some((uplinks, mut transfer)) = begin(TWO_UPLINKS, 60_000_000) else {
        return;
    };
    for number in 0..2 {
        uplinks.take_down(number);
    }
    let is_removed = |event: &serde_json::Value| event["change"] == "removed";
    while !is_removed(&transfer.sender.event("path")) {}
    for number in 0..2 {
        uplinks.bring_up(number);
    }
    let summary = transfer.finish();
    let used = carried(&summary)
        .into_iter()
        .filter(|bytes| *bytes > 5_000_000)
        .count();
    assert!(used >= 2, "{summary}");
}

#[test]
fn new_address_of_one_of_two_uplinks_carries_again() {
    let Some((uplinks, mut transfer)) = begin(TWO_UPLINKS, 60_000_000) else {
        return;
    };
    uplinks.take_down(1);
    transfer.sender.event("progress");
    uplinks.configure(1, "10.0.0.77");
    let summary = transfer.finish();
    let paths = summary["paths"].as_array().unwrap().iter();
    let of_new: u64 = paths
        .zip(carried(&summary))
        .filter(|(path, _)| path["local"].as_str().unwrap().starts_with("10.0.0.77:"))
        .map(|(_, bytes)| bytes)
        .sum();
    assert!(of_new > 10_000_000, "{summary}");
}

#[test]
fn uplink_that_comes_up_later_carries_too() {
    let Some(uplinks) = needs_root("network namespaces", || Uplinks::make(TWO_UPLINKS)) else {
        return;
    };
    uplinks.take_down(1);
    let order = uplinks.order(40_000_000, &["--to", SERVER]);
    let mut transfer = order.start();
    transfer.sender.event("progress");
    uplinks.bring_up(1);
    let summary = transfer.finish();
    let carried = carried(&summary);
    assert!(carried.len() == 2 && carried[1] > 20_000_000, "{summary}");
}

/// While it is the only uplink, the routing table leads to it; when the preferred one is there, to that one.
#[test]
fn uplink_keeps_its_device_when_a_preferred_one_comes_up() {
    let Some(uplinks) = needs_root("network namespaces", || Uplinks::make(TWO_UPLINKS)) else {
        return;
    };
    uplinks.take_down(0);
    let order = uplinks.order(60_000_000, &["--to", SERVER]);
    let mut transfer = order.start();
    transfer.sender.event("progress");
    uplinks.bring_up(0);
    let summary = transfer.finish();
    assert!(uplinks.isps[1].bytes_sent("wan") > 40_000_000, "{summary}");
}

/// The NAT of the fast uplink is switched off and on: it gives other ports to the same packets.
#[test]
fn nat_that_is_restarted_in_mid_transfer_carries_again() {
    let Some((uplinks, transfer)) = begin(TWO_UPLINKS, 60_000_000) else {
        return;
    };
    uplinks.isps[1].restart_nat("wan", "20000-30000");
    let summary = transfer.finish();
    assert!(carried(&summary)[1] > 20_000_000, "{summary}");
}

#[test]
fn nat_of_the_only_uplink_that_is_restarted_in_mid_transfer_goes_on() {
    let Some((uplinks, transfer)) = begin(ONE_UPLINK, 20_000_000) else {
        return;
    };
    uplinks.isps[0].restart_nat("wan", "20000-30000");
    let summary = transfer.finish();
    assert_eq!(carried(&summary).len(), 1, "{summary}");
}

/// The provider's router translates, and that of its carrier once more; then both forget their mappings.
#[test]
fn two_nats_in_series_that_are_restarted_go_on() {
    let made = needs_root("network namespaces", || {
        Uplinks::make_behind_one_address(ONE_UPLINK)
    });
    let Some(uplinks) = made else { return };
    let order = uplinks.order(30_000_000, &["--to", SERVER]);
    let mut transfer = order.start();
    transfer.sender.event("progress");
    uplinks.isps[0].restart_nat("wan", "20000-30000");
    transfer.sender.event("progress");
    uplinks
        .carrier
        .as_ref()
        .unwrap()
        .restart_nat("outside", "30001-40000");
    transfer.finish();
}

/// Each packet of the fast uplink has another public address from now on.
#[test]
fn new_public_address_of_one_of_two_uplinks_carries_again() {
    let Some((uplinks, transfer)) = begin(TWO_UPLINKS, 60_000_000) else {
        return;
    };
    uplinks.isps[1].replace_address("wan", "203.0.113.12/24", "203.0.113.99/24");
    let summary = transfer.finish();
    assert!(carried(&summary)[1] > 20_000_000, "{summary}");
}

#[test]
fn new_public_address_of_the_only_uplink_goes_on() {
    let Some((uplinks, transfer)) = begin(ONE_UPLINK, 20_000_000) else {
        return;
    };
    uplinks.isps[0].replace_address("wan", "203.0.113.11/24", "203.0.113.99/24");
    transfer.finish();
}

/// The system has no IPv6 at either end when the transfer begins.
#[test]
fn ipv6_that_comes_later_carries_too() {
    let Some(mut network) = needs_root("network namespaces", Network::new) else {
        return;
    };
    let (client, server) = (network.host("client"), network.host("server"));
    let router = network.router("router");
    client.connect("up0", &router, "lan4");
    client.connect("up1", &router, "lan6");
    router.connect("wan", &server, "eth0");
    for host in [&client, &server] {
        host.run("sysctl -q net.ipv6.conf.all.disable_ipv6=1");
    }
    client.add_address("up0", "192.168.1.5/24");
    router.add_address("lan4", "192.168.1.1/24");
    router.add_address("wan", "203.0.113.9/24");
    server.add_address("eth0", "203.0.113.1/24");
    client.run("ip route add default via 192.168.1.1");
    server.run("ip route add default via 203.0.113.9");
    for device in ["lan4", "lan6"] {
        router.shape(device, 20);
    }
    client.shape("up0", 10);
    client.shape("up1", 10);
    let order = Order {
        client: &client,
        server: &server,
        bytes: 25_000_000,
        send: &["--to", "203.0.113.1,2001:db8::1"],
        recv: &[],
    };
    let mut transfer = order.start();
    transfer.sender.event("progress");
    for host in [&client, &server] {
        host.run("sysctl -q net.ipv6.conf.all.disable_ipv6=0");
    }
    router.add_address("lan6", "fd00:1::1/64");
    router.add_address("wan", "2001:db8::9/64");
    server.add_address("eth0", "2001:db8::1/64");
    server.run("ip route add default via 2001:db8::9");
    client.add_address("up1", "fd00:1::5/64");
    client.run("ip route add default via fd00:1::1 dev up1");
    let summary = transfer.finish();
    let paths = summary["paths"].as_array().unwrap().iter();
    let by_ipv6: u64 = paths
        .filter(|path| path["local"].as_str().unwrap().starts_with('['))
        .map(|path| path["payload_sent"].as_u64().unwrap())
        .sum();
    assert!(by_ipv6 > 8_000_000, "{summary}");
}
