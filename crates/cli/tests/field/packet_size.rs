//! A router that begins to drop large packets. Does a transfer that is under way continue?

use serde_json::Value;

use super::harness::needs_root;
use super::network::Network;
use super::transfer::{Order, carried, mtu};
use super::uplinks::{SERVER, Settings, Uplinks, address, device};

const TWO_UPLINKS: Settings = Settings {
    rates: &[10, 40],
    nat: false,
    policy_routing: true,
};

const ONE_UPLINK: Settings = Settings {
    rates: &[20],
    ..TWO_UPLINKS
};

/// How the routers get rid of large packets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hole {
    /// Without a word.
    Silent,
    /// With an ICMP message, as a router whose next link is narrower.
    Reported,
}

/// Sends over all uplinks; when the transfer has begun, the routers of `narrow` stop forwarding packets above `size` bytes.
fn send_through(settings: Settings, narrow: &[usize], hole: Hole, size: u32) -> Option<Value> {
    let uplinks = needs_root("network namespaces", || Uplinks::make(settings))?;
    let from: Vec<String> = (0..settings.rates.len()).map(address).collect();
    let sum: u32 = settings.rates.iter().sum();
    for number in 0..settings.rates.len() {
        uplinks.client.segment(&device(number));
    }
    let send = ["--to", SERVER, "--from", &from.join(",")];
    let order = uplinks.order(sum as usize * 2_000_000, &send);
    let mut transfer = order.start();
    transfer.sender.event("progress");
    for number in narrow {
        let router = &uplinks.isps[*number];
        match hole {
            Hole::Silent => router.drop_forwarded(&format!("meta length > {size}")),
            Hole::Reported => router.run(&format!("ip link set dev wan mtu {size}")),
        }
    }
    let summary = transfer.finish();
    for number in narrow {
        let mtu = mtu(&summary, *number);
        assert!((1_200..=u64::from(size) + 3).contains(&mtu), "{summary}");
    }
    let megabits = summary["goodput_bit_s"].as_f64().unwrap() / 1e6;
    println!("{:?} {narrow:?} {size}: {megabits:.1} Mbit/s", settings.rates);
    Some(summary)
}

/// Both paths carried a part that fits their rates.
fn assert_both_carry(summary: Option<Value>) {
    if let Some(summary) = summary {
        let carried = carried(&summary);
        assert!(carried.iter().all(|bytes| *bytes > 8_000_000), "{summary}");
    }
}

/// Heartbeats pass, data does not, however small its packets get.
#[test]
fn transfer_whose_data_disappears_ends_after_the_progress_timeout() {
    let Some(uplinks) = needs_root("network namespaces", || Uplinks::make(ONE_UPLINK)) else {
        return;
    };
    uplinks.client.segment(&device(0));
    let order = uplinks.order(40_000_000, &["--to", SERVER, "--progress-timeout", "3s"]);
    let mut transfer = order.start();
    transfer.sender.event("progress");
    uplinks.isps[0].drop_forwarded("iifname lan meta length > 300");
    let error = transfer.sender.event("error");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("made no progress"), "{error}");
    assert_eq!(transfer.sender.end().0, Some(1));
}

#[test]
fn silent_hole_on_the_only_path_shrinks_packets() {
    send_through(ONE_UPLINK, &[0], Hole::Silent, 1_300);
}

#[test]
fn reported_hole_on_the_only_path_shrinks_packets() {
    send_through(ONE_UPLINK, &[0], Hole::Reported, 1_300);
}

#[test]
fn silent_hole_on_both_paths_shrinks_packets() {
    assert_both_carry(send_through(TWO_UPLINKS, &[0, 1], Hole::Silent, 1_280));
}

#[test]
fn silent_hole_on_the_fast_path_shrinks_packets() {
    assert_both_carry(send_through(TWO_UPLINKS, &[1], Hole::Silent, 1_300));
}

#[test]
fn silent_hole_on_the_slow_path_shrinks_packets() {
    assert_both_carry(send_through(TWO_UPLINKS, &[0], Hole::Silent, 1_400));
}

#[test]
fn silent_hole_on_an_ipv6_path_shrinks_packets() {
    let Some(mut network) = needs_root("network namespaces", Network::new) else {
        return;
    };
    let [client, router, server] = network.ipv6_line(20);
    client.add_address("up0", "fd00:1::5/64");
    client.run("ip -6 route add default via fd00:1::1");
    client.segment("up0");
    let order = Order {
        client: &client,
        server: &server,
        bytes: 40_000_000,
        send: &["--to", "fd00:2::5"],
        recv: &["--listen", "fd00:2::5"],
    };
    let mut transfer = order.start();
    transfer.sender.event("progress");
    router.drop_forwarded("meta length > 1300");
    let summary = transfer.finish();
    let mtu = mtu(&summary, 0);
    assert!((1_280..=1_303).contains(&mtu), "{summary}");
}
