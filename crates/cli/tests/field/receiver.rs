//! A receiver whose host gets another interface while a transfer runs, or that is not there at all.

use serde_json::Value;

use super::harness::{Running, file, needs_root};
use super::transfer::{Order, anabranch_on};
use super::uplinks::{SERVER, Settings, Uplinks, address};

const TWO_UPLINKS: Settings = Settings {
    rates: &[10, 40],
    nat: false,
    policy_routing: true,
};

/// The address of the server's second interface.
const SECOND: &str = "203.0.113.2";

/// `recv` listens on all addresses.
#[test]
fn interface_that_the_server_gets_later_carries_too() {
    let Some(uplinks) = needs_root("network namespaces", || Uplinks::make(TWO_UPLINKS)) else {
        return;
    };
    let order = Order {
        client: &uplinks.client,
        server: &uplinks.server,
        bytes: 30_000_000,
        send: &["--to", SERVER, "--from", &[address(0), address(1)].join(",")],
        recv: &[],
    };
    let mut transfer = order.start();
    transfer.sender.event("progress");
    uplinks.add_server_interface("eth1", SECOND);
    let summary = transfer.finish();
    let paths = summary["paths"].as_array().unwrap();
    let leads_there = |path: &&Value| {
        path["remote"]
            .as_str()
            .unwrap()
            .starts_with(&format!("{SECOND}:"))
    };
    let carried = |path: &Value| path["payload_sent"].as_u64().unwrap();
    let by_second: u64 = paths.iter().filter(leads_there).map(carried).sum();
    assert!(by_second > 1_000_000, "{summary}");
}

#[test]
fn closed_port_behind_a_router_is_reported_without_waiting_for_the_timeout() {
    let settings = Settings {
        nat: true,
        ..TWO_UPLINKS
    };
    let Some(uplinks) = needs_root("network namespaces", || Uplinks::make(settings)) else {
        return;
    };
    let outbox = tempfile::tempdir().unwrap();
    let path = file(&outbox, "small.bin", 1_000);
    let mut command = anabranch_on(&uplinks.client);
    // The harness kills the program before this timeout.
    command
        .args(["send", "--accept-new", "--to", SERVER, "--timeout", "10min"])
        .arg(&path);
    let (code, errors) = Running::start(&mut command).end();
    assert_eq!(code, Some(1), "{errors}");
    assert!(errors.contains("nothing listens at 203.0.113.1:9899"), "{errors}");
}

/// Two uplinks behind NATs without policy routing; the second one leads nowhere.
#[test]
fn check_tells_the_uplink_that_works_from_the_one_that_does_not() {
    let settings = Settings {
        nat: true,
        policy_routing: false,
        ..TWO_UPLINKS
    };
    let Some(uplinks) = needs_root("network namespaces", || Uplinks::make(settings)) else {
        return;
    };
    uplinks.isps[1].drop_forwarded("ip daddr 203.0.113.1");
    let inbox = tempfile::tempdir().unwrap();
    let mut receive = anabranch_on(&uplinks.server);
    let mut receiver = Running::start(receive.args(["recv", "--json"]).arg(inbox.path()));
    receiver.event("listening");
    let mut check = anabranch_on(&uplinks.client);
    check.args(["check", "--json", "--timeout", "2s", SERVER]);
    let mut check = Running::start(&mut check);
    let mut reports = [check.event("uplink"), check.event("uplink")];
    reports.sort_by_key(|report| report["device"].to_string());
    let [first, second] = &reports;
    assert_eq!(
        (&first["device"], &first["works"]),
        (&"up0".into(), &true.into()),
        "{first}"
    );
    assert_eq!(
        (&first["nat"], &first["mtu"]),
        (&true.into(), &1_500.into()),
        "{first}"
    );
    assert!(
        first["seen_as"].as_str().unwrap().starts_with("203.0.113.11:"),
        "{first}"
    );
    assert_eq!(
        (&second["device"], &second["works"]),
        (&"up1".into(), &false.into()),
        "{second}"
    );
    assert_eq!(second["route"], "bound-to-device", "{second}");
    assert!(
        second["advice"].as_str().unwrap().contains("ping -I up1"),
        "{second}"
    );
    assert_eq!(check.end().0, Some(1));
}
