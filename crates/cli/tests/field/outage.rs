//! A path that falls silent and comes back: how soon does it carry again?

use std::time::{Duration, Instant};

use serde_json::Value;

use super::harness::{Running, needs_root};
use super::transfer::Order;
use super::uplinks::{SERVER, Settings, Uplinks, address};

const PLAIN: Settings = Settings {
    rates: &[10, 40],
    nat: false,
    policy_routing: true,
};

/// Waits for `change` of path 1.
fn change_of_path_1(sender: &mut Running, change: &str) -> Value {
    loop {
        let event = sender.event("path");
        if event["path"] == 1 && event["change"] == change {
            return event;
        }
    }
}

/// Cuts the fast path for a while that the test chooses by events, not by a clock: until the sender gave it up.
#[test]
fn path_returns_soon_after_a_long_outage() {
    let Some(uplinks) = needs_root("network namespaces", || Uplinks::make(PLAIN)) else {
        return;
    };
    let from = [address(0), address(1)].join(",");
    let order = Order {
        client: &uplinks.client,
        server: &uplinks.server,
        bytes: 60_000_000,
        send: &["--to", SERVER, "--from", &from],
        recv: &["--listen", SERVER],
    };
    let mut transfer = order.start();
    transfer.sender.event("progress");
    uplinks.isps[1].drop_forwarded("ip daddr != 127.0.0.1");
    change_of_path_1(&mut transfer.sender, "inactive");
    uplinks.isps[1].forward_all();
    let healed = Instant::now();
    change_of_path_1(&mut transfer.sender, "active");
    // A heartbeat leaves once a second while data waits; the answer takes a round trip.
    eprintln!("back after {:?}", healed.elapsed());
    assert!(healed.elapsed() < Duration::from_secs(10));
    transfer.finish();
}
