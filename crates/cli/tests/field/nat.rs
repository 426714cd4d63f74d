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
    let all: Vec<usize> = (0..uplinks.isps.len()).collect();
    send_from(uplinks, &all, bytes)
}

fn send_from(uplinks: &Uplinks, from: &[usize], bytes: usize) -> Value {
    let from: Vec<String> = from.iter().copied().map(address).collect();
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

/// Sends 30 MB over both uplinks, and over each alone as much as it carries in the same time. A busy machine slows single transfers, so the
/// best of three rounds counts.
fn assert_sum_of_both(settings: Settings) {
    let Some(uplinks) = needs_root("network namespaces", || Uplinks::make(settings)) else {
        return;
    };
    let rate = |from: &[usize], bytes: usize| {
        let summary = send_from(&uplinks, from, bytes);
        (summary["goodput_bit_s"].as_f64().unwrap() / 1e6, summary)
    };
    let round = || {
        let (slow, _) = rate(&[0], 6_000_000);
        let (fast, _) = rate(&[1], 24_000_000);
        let (both, summary) = rate(&[0, 1], 30_000_000);
        assert_shared_by_rate(&summary);
        println!("{slow:.1} and {fast:.1} Mbit/s alone, {both:.1} Mbit/s together");
        both / (slow + fast)
    };
    assert!((0..3).any(|_| round() >= 0.95), "less than 95 % in three rounds");
}

#[test]
fn two_uplinks_behind_two_nats_reach_95_percent_of_their_sum() {
    assert_sum_of_both(Settings {
        policy_routing: true,
        ..TWO_NATS
    });
}

#[test]
fn two_uplinks_behind_two_nats_without_policy_routing_reach_95_percent_of_their_sum() {
    assert_sum_of_both(TWO_NATS);
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
