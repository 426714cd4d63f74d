//! A client with two uplinks, with and without policy routing and NATs. Do both carry?

use serde_json::Value;

use super::harness::needs_root;
use super::transfer::{Order, carried};
use super::uplinks::{SERVER, Settings, Uplinks, address};

const TWO_UPLINKS: Settings = Settings {
    rates: &[10, 40],
    nat: false,
    policy_routing: true,
};

const TWO_NATS: Settings = Settings {
    nat: true,
    policy_routing: false,
    ..TWO_UPLINKS
};

fn send_over(settings: Settings, bytes: usize) -> Option<Value> {
    let uplinks = needs_root("network namespaces", || Uplinks::make(settings))?;
    Some(send_over_all(&uplinks, bytes))
}

fn send_over_all(uplinks: &Uplinks, bytes: usize) -> Value {
    let from: Vec<String> = (0..uplinks.isps.len()).map(address).collect();
    let order = Order {
        client: &uplinks.client,
        server: &uplinks.server,
        bytes,
        send: &["--to", SERVER, "--from", &from.join(",")],
        recv: &["--listen", SERVER],
    };
    order.start().finish()
}

/// Of five bytes about one goes over the slow path, as the rates are; a busy machine shifts that.
fn assert_shared_by_rate(summary: &Value) {
    let carried = carried(summary);
    let share = carried[0] as f64 / carried.iter().sum::<u64>() as f64;
    assert!((0.08..0.35).contains(&share), "{summary}");
}

#[test]
fn two_uplinks_with_policy_routing_share_a_transfer() {
    if let Some(summary) = send_over(TWO_UPLINKS, 20_000_000) {
        assert_shared_by_rate(&summary);
    }
}

#[test]
fn two_uplinks_behind_two_nats_share_a_transfer() {
    let settings = Settings {
        policy_routing: true,
        ..TWO_NATS
    };
    if let Some(summary) = send_over(settings, 30_000_000) {
        assert_shared_by_rate(&summary);
    }
}

#[test]
fn two_uplinks_behind_two_nats_without_policy_routing_share_a_transfer() {
    if let Some(summary) = send_over(TWO_NATS, 30_000_000) {
        assert_shared_by_rate(&summary);
    }
}

#[test]
fn two_uplinks_behind_one_public_address_share_a_transfer() {
    let uplinks = needs_root("network namespaces", || {
        Uplinks::make_behind_one_address(TWO_NATS)
    });
    if let Some(uplinks) = uplinks {
        let summary = send_over_all(&uplinks, 30_000_000);
        assert_shared_by_rate(&summary);
    }
}
