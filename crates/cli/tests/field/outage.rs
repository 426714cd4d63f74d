//! A path that fails for a long time and recovers. Does it carry data again before the transfer ends?

use super::harness::{Running, needs_root};
use super::transfer::Order;
use super::uplinks::{SERVER, Settings, Uplinks, address};

const TWO_UPLINKS: Settings = Settings {
    rates: &[10, 40],
    nat: false,
    policy_routing: true,
};

/// Waits for `change` of path 1, of which the summary would come too late.
fn change_of_path_1(sender: &mut Running, change: &str) {
    loop {
        let is_end = |event: &serde_json::Value| assert_ne!(event["event"], "summary");
        let event = sender.event_after("path", is_end);
        if event["path"] == 1 && event["change"] == change {
            return;
        }
    }
}

/// HB.interval is 30 s; what is left to be sent takes the other path 20 s.
#[test]
fn path_returns_soon_after_a_long_outage() {
    let Some(uplinks) = needs_root("network namespaces", || Uplinks::make(TWO_UPLINKS)) else {
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
    let healed = std::time::Instant::now();
    change_of_path_1(&mut transfer.sender, "active");
    println!("active again after {:?}", healed.elapsed());
    transfer.finish();
}
