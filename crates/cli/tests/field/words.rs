//! What the program says of networks that do not work: at once, once, and with what to do.

use super::harness::needs_root;
use super::uplinks::{SERVER, Settings, Uplinks, address};

const TWO_UPLINKS: Settings = Settings {
    rates: &[10, 40],
    nat: true,
    policy_routing: true,
};

#[test]
fn silent_uplink_is_reported_during_and_after_transfer() {
    let Some(uplinks) = needs_root("network namespaces", || Uplinks::make(TWO_UPLINKS)) else {
        return;
    };
    uplinks.isps[1].drop_forwarded("ip daddr 203.0.113.1");
    let from = [address(0), address(1)].join(",");
    let send = ["--to", SERVER, "--from", &from];
    let order = uplinks.order(8_000_000, &send);
    let mut transfer = order.start();
    let warning = transfer.sender.event("warning");
    assert_eq!(warning["path"], 1, "{warning}");
    assert!(
        warning["message"].as_str().unwrap().contains("10.0.0.5"),
        "{warning}"
    );
    let summary = transfer.finish();
    assert_eq!(summary["paths"][1]["state"], "unconfirmed", "{summary}");
}
