//! A router that drops large packets and tells nobody: does a transfer that has begun go on?

use super::harness::needs_root;
use super::transfer::{Order, carried};
use super::uplinks::{SERVER, Settings, Uplinks, address};

const PLAIN: Settings = Settings {
    rates: &[10, 40],
    nat: false,
    policy_routing: true,
};

/// Sends over both uplinks; after the first second, the routers of `narrow` drop IP packets of more than 1,300 bytes.
fn send_through_a_hole(narrow: &[usize]) {
    let Some(uplinks) = needs_root("network namespaces", || Uplinks::make(PLAIN)) else {
        return;
    };
    let from = [address(0), address(1)].join(",");
    let order = Order {
        client: &uplinks.client,
        server: &uplinks.server,
        bytes: 40_000_000,
        send: &["--to", SERVER, "--from", &from],
        recv: &["--listen", SERVER],
    };
    let mut transfer = order.start();
    transfer.sender.event("progress");
    for number in narrow {
        uplinks.isps[*number].drop_forwarded("meta length > 1300");
    }
    let summary = transfer.finish();
    for number in narrow {
        let mtu = summary["paths"][*number]["mtu"].as_u64().unwrap();
        assert!((1_200..=1_300).contains(&mtu), "{summary}");
    }
    assert!(
        carried(&summary).iter().all(|bytes| *bytes > 4_000_000),
        "{summary}"
    );
}

#[test]
fn hole_on_both_paths_in_mid_transfer_shrinks_packets() {
    send_through_a_hole(&[0, 1]);
}

#[test]
fn hole_on_the_fast_path_in_mid_transfer_shrinks_packets() {
    send_through_a_hole(&[1]);
}

#[test]
fn hole_on_the_slow_path_in_mid_transfer_shrinks_packets() {
    send_through_a_hole(&[0]);
}
