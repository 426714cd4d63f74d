//! What the program says of networks that do not work: at once, once, and with what to do.

use serde_json::Value;

use super::harness::{Running, file, needs_root};
use super::transfer::{Order, anabranch_on};
use super::uplinks::{SERVER, Settings, Uplinks, address};

const TWO_UPLINKS: Settings = Settings {
    rates: &[10, 40],
    nat: true,
    policy_routing: true,
};

/// Standard error and exit code of `send` with these options and nobody at the server's port.
fn send_to_nobody(uplinks: &Uplinks, options: &[&str]) -> (Option<i32>, String) {
    let outbox = tempfile::tempdir().unwrap();
    let path = file(&outbox, "small.bin", 1_000);
    let mut command = anabranch_on(&uplinks.client);
    command.args(["send", "--to", SERVER]).args(options).arg(&path);
    Running::start(&mut command).end()
}

#[test]
fn closed_port_is_reported_without_waiting_for_the_timeout() {
    let Some(uplinks) = needs_root("network namespaces", || Uplinks::make(TWO_UPLINKS)) else {
        return;
    };
    // The deadline of the command, two minutes, would come before this timeout.
    let (code, errors) = send_to_nobody(&uplinks, &["--timeout", "10min"]);
    assert_eq!(code, Some(1), "{errors}");
    assert!(errors.contains("refused"), "{errors}");
}

#[test]
fn uplink_without_an_answer_is_reported_during_and_after_the_transfer() {
    let Some(uplinks) = needs_root("network namespaces", || Uplinks::make(TWO_UPLINKS)) else {
        return;
    };
    uplinks.isps[1].drop_forwarded("ip daddr 203.0.113.1");
    let from = [address(0), address(1)].join(",");
    let order = Order {
        client: &uplinks.client,
        server: &uplinks.server,
        bytes: 8_000_000,
        send: &["--to", SERVER, "--from", &from],
        recv: &["--listen", SERVER],
    };
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

/// Both uplinks end at one router with one public address.
#[test]
fn two_uplinks_behind_one_public_address_do_not_displace_each_other() {
    let Some(uplinks) = needs_root("network namespaces", || {
        Uplinks::make_behind_one_address(TWO_UPLINKS)
    }) else {
        return;
    };
    let from = [address(0), address(1)].join(",");
    let order = Order {
        client: &uplinks.client,
        server: &uplinks.server,
        bytes: 20_000_000,
        send: &["--to", SERVER, "--from", &from],
        recv: &["--listen", SERVER],
    };
    let mut transfer = order.start();
    let mut rebound = 0;
    let stored = transfer.receiver.event_after("stored", |event: &Value| {
        rebound += u32::from(event["event"] == "path" && event["change"] == "rebound");
    });
    let summary = transfer.sender.event("summary");
    assert_eq!(stored["sha256"], summary["sha256"]);
    assert!(rebound <= 2, "{rebound} times rebound");
    let carried = super::transfer::carried(&summary);
    assert!(carried.iter().all(|bytes| *bytes > 2_000_000), "{summary}");
}
