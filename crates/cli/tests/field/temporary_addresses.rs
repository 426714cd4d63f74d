//! Temporary IPv6 addresses (RFC 8981): new ones are preferred, older ones are deprecated, then removed.

use super::harness::needs_root;
use super::network::Network;
use super::transfer::{Order, carried};

/// Seconds for which the kernel prefers an address, and keeps it.
const PREFERRED: u32 = 5;
const VALID: u32 = 9;

#[test]
fn transfer_outlives_the_temporary_address_that_it_began_with() {
    let Some(mut network) = needs_root("network namespaces", Network::new) else {
        return;
    };
    let [client, _, server] = network.ipv6_line(10);
    for setting in [
        "use_tempaddr=2",
        "max_desync_factor=0",
        "dad_transmits=0",
        "accept_dad=0",
        &format!("temp_prefered_lft={PREFERRED}"),
        &format!("temp_valid_lft={VALID}"),
    ] {
        client.run(&format!("sysctl -q net.ipv6.conf.up0.{setting}"));
    }
    // The kernel makes temporary addresses of the prefix of this one.
    client.run("ip address add fd00:1::5/64 dev up0 mngtmpaddr valid_lft 3600 preferred_lft 3600");
    client.run("ip -6 route add default via fd00:1::1 dev up0");
    let order = Order {
        client: &client,
        server: &server,
        bytes: 22_000_000,
        send: &["--to", "fd00:2::5"],
        recv: &["--listen", "fd00:2::5"],
    };
    let mut transfer = order.start();
    let connected = transfer.sender.event("connected");
    let first = connected["paths"][0]["local"].clone();
    assert!(!first.as_str().unwrap().starts_with("[fd00:1::5]"), "{connected}");
    let mut removed = transfer.sender.event("path");
    while removed["change"] != "removed" {
        removed = transfer.sender.event("path");
    }
    assert_eq!(removed["local"], first, "{removed}");
    let summary = transfer.finish();
    let carried: u64 = carried(&summary).iter().sum();
    let paths = summary["paths"].as_array().unwrap();
    assert!(paths.iter().all(|path| path["local"] != first), "{summary}");
    assert!(carried > 1_000_000, "{summary}");
}
