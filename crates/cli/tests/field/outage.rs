//! A path that fails for a long time and recovers. How soon does it carry data again?

use super::harness::{Running, needs_root};
use super::uplinks::{SERVER, Settings, Uplinks, address};

const TWO_UPLINKS: Settings = Settings {
    rates: &[10, 40],
    nat: false,
    policy_routing: true,
};

/// Seconds, as the sender's reports of its progress count them.
const OUTAGE: usize = 15;

/// Waits for `change` of path 1; returns how many reports of progress came before.
fn change_of_path_1(sender: &mut Running, change: &str) -> usize {
    let mut reports = 0;
    loop {
        let event = sender.event_after("path", |event| {
            assert_ne!(event["event"], "summary");
            reports += usize::from(event["event"] == "progress");
        });
        if event["path"] == 1 && event["change"] == change {
            return reports;
        }
    }
}

#[test]
fn path_carries_data_soon_after_a_long_outage() {
    let Some(uplinks) = needs_root("network namespaces", || Uplinks::make(TWO_UPLINKS)) else {
        return;
    };
    let from = [address(0), address(1)].join(",");
    let send = ["--to", SERVER, "--from", &from];
    let order = uplinks.order(60_000_000, &send);
    let mut transfer = order.start();
    transfer.sender.event("progress");
    uplinks.isps[1].drop_forwarded("ip daddr != 127.0.0.1");
    change_of_path_1(&mut transfer.sender, "potentially-failed");
    (0..OUTAGE).for_each(|_| {
        transfer.sender.event("progress");
    });
    uplinks.isps[1].forward_all();
    let reports = change_of_path_1(&mut transfer.sender, "active");
    println!("active again after {reports} s");
    // A heartbeat is sent each second; without that, the backed-off timers take ten seconds and more.
    assert!(reports <= 4, "{reports}");
    transfer.finish();
}
