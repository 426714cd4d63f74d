//! Path schedulers. How do they differ?

use std::time::Duration;

use anabranch_netsim::link::{Loss, QueueConfig};
use anabranch_netsim::{LinkConfig, Probability};
use anabranch_policy::PolicyRecipe;
use anabranch_proto::BufferSize;
use anabranch_sim::app::Streams;
use anabranch_sim::{Direction, LoggedPacket, Side};

use crate::fixture::{Pair, PairBuilder, mbit, ms, secs};

/// Size of a message of 1,400 bytes, as windows count it.
const CHUNK: u64 = 1_416;

fn recipe(settings: &[(&str, &str)]) -> PolicyRecipe {
    let mut recipe = PolicyRecipe::recommended();
    for (key, value) in settings {
        recipe.set(key, value).unwrap();
    }
    recipe
}

/// A path of 20 Mbit/s with 20 ms RTT, and one of 2 Mbit/s with 400 ms.
fn fast_and_slow() -> PairBuilder {
    Pair::paths([
        LinkConfig::new(mbit(20), ms(10)),
        LinkConfig::new(mbit(2), ms(200)),
    ])
}

/// Time to deliver `messages` messages in order on one stream, after the RTTs were measured.
fn time_to_deliver(builder: PairBuilder, messages: u64) -> Duration {
    let mut pair = builder.connected();
    pair.run_for(secs(3));
    let start = pair.simulation.now();
    pair.alice().send_messages(messages, 1_400, Streams::one(0));
    pair.run_until(|pair| pair.bob().inbox().messages() == messages, secs(60));
    pair.assert_all_delivered();
    pair.simulation.now() - start
}

/// User data first sent on each path.
fn carried(pair: &mut Pair) -> Vec<u64> {
    let paths = pair.alice().statistics().paths;
    paths.iter().map(|path| path.counters.payload_sent).collect()
}

fn retransmitted(pair: &mut Pair) -> u64 {
    let paths = pair.alice().statistics().paths;
    let again = paths.iter().map(|path| path.counters.payload_retransmitted);
    again.sum::<u64>() / 1_400
}

#[test]
fn largest_space_balances_paths_min_rtt_prefers_the_fast() {
    let shares = |scheduler| {
        let policies = recipe(&[
            ("path-scheduler", scheduler),
            ("cc", "fixed"),
            ("burst", "unlimited"),
        ]);
        let mut pair = fast_and_slow().policies(policies).connected();
        pair.run_for(secs(3));
        pair.alice().send_messages(40, 1_400, Streams::one(0));
        pair.run_for(secs(3));
        carried(&mut pair)
    };
    assert_eq!(shares("largest-space"), [20 * 1_400, 20 * 1_400]);
    assert_eq!(shares("min-rtt"), [40 * 1_400, 0]);
}

/// The most packets of data in a row that Alice sends on one of two equal paths, with a scheduler that balances them.
fn longest_run(segments: usize, cwnd: &str) -> usize {
    let policies = recipe(&[
        ("path-scheduler", "largest-space"),
        ("cc", "fixed"),
        ("cc.cwnd", cwnd),
        ("burst", "unlimited"),
    ]);
    let mut pair = Pair::two_paths(mbit(100), ms(10))
        .policies(policies)
        .scenario(move |scenario| scenario.segments(segments))
        .connected();
    pair.run_for(secs(3));
    pair.alice().send_messages(40, 1_100, Streams::one(0));
    pair.deliver_all(secs(1));
    let log = pair.simulation.host(Side::Near).log();
    // Header, DATA chunk and message.
    let has_data =
        |packet: &&LoggedPacket| packet.direction == Direction::Sent && packet.bytes.len() == 12 + 16 + 1_100;
    let paths: Vec<_> = log.packets().filter(has_data).map(|packet| packet.path).collect();
    assert_eq!(paths.len(), 40, "a packet for each message");
    let runs = paths.chunk_by(|one, next| one == next);
    runs.map(<[_]>::len).max().unwrap()
}

/// A batch takes at most an eighth of the window, so that it ends long before a round trip does.
#[test]
fn batch_stays_on_its_path_for_an_eighth_of_the_window() {
    assert!(longest_run(1, "100000") <= 2, "each packet is decided alone");
    assert_eq!(longest_run(16, "100000"), 11, "12,408 of 12,500 bytes");
    // Two packets are more than an eighth of this window.
    assert!(longest_run(16, "11000") <= 2);
}

#[test]
fn ecf_and_blest_finish_a_short_transfer_sooner() {
    // The first packet on the slow path takes more than 200 ms; the fast path could carry everything by then. BLEST
    // considers the receive buffer, of which a packet on the slow path would use what the fast one needs.
    let time = |scheduler| {
        let window = (10 * CHUNK).to_string();
        let policies = recipe(&[
            ("path-scheduler", scheduler),
            ("cc", "fixed"),
            ("cc.cwnd", &window),
            ("burst", "unlimited"),
        ]);
        let small = fast_and_slow().with(|config| {
            config.receive_buffer = BufferSize::Fixed(100 * CHUNK);
            config.max_message = 10_000;
        });
        time_to_deliver(small.policies(policies), 50)
    };
    let (ecf, blest, min_rtt) = (time("ecf"), time("blest"), time("min-rtt"));
    println!("ecf {ecf:?}, blest {blest:?}, min-rtt {min_rtt:?}");
    assert!(ecf < ms(130), "{ecf:?}");
    assert!(blest < ms(130), "{blest:?}");
    assert!(min_rtt > ms(200), "{min_rtt:?}");
}

#[test]
fn ecf_and_blest_use_the_slow_path_for_bulk_data() {
    for scheduler in ["ecf", "blest"] {
        let policies = recipe(&[("path-scheduler", scheduler)]);
        let mut pair = fast_and_slow().policies(policies).connected();
        pair.alice().send_forever();
        pair.run_for(secs(20));
        let slow = carried(&mut pair)[1];
        assert!(slow > 2_000_000, "{scheduler}: {slow} bytes on the slow path");
        assert_eq!(pair.bob().inbox().delivery_error(), None);
    }
}

/// Two interfaces of which the second can queue three packets (Yang 2015 §4.6): it overflows repeatedly unless the
/// scheduler estimates its capacity.
///
/// With a delay of 3 ms, fewer losses come with more goodput (19.2 instead of 18.9 Mbit/s). With 5, 10 and 20 ms,
/// `capacity` avoids retransmissions (48 instead of 333, 51 of 139, 55 of 80) at the cost of a sixth, a ninth and a
/// quarter of the goodput (15.4, 15.9 and 12.8 Mbit/s), because three packets are little beside the window.
#[test]
fn capacity_scheduler_loses_less_with_a_tiny_queue() {
    let run = |settings: &[(&str, &str)]| {
        let mut policies = PolicyRecipe::cmt();
        policies.set("cc", "lia").unwrap();
        for (key, value) in settings {
            policies.set(key, value).unwrap();
        }
        let short_queue = LinkConfig::new(mbit(10), ms(3)).queue(QueueConfig::Packets(3));
        let paths = [
            LinkConfig::new(mbit(10), ms(3)).queue(QueueConfig::Packets(40)),
            short_queue,
        ];
        let mut pair = Pair::paths(paths).policies(policies).connected();
        pair.alice().send_forever();
        pair.run_for(secs(60));
        let goodput = pair.bob().goodput_in_last(secs(50));
        (goodput, retransmitted(&mut pair))
    };
    let (default, default_again) = run(&[("path-scheduler", "min-rtt")]);
    let (capacity, capacity_again) = run(&[("path-scheduler", "capacity"), ("rtx-policy", "other")]);
    let generous = [("path-scheduler", "capacity"), ("path-scheduler.delta", "1.4")];
    let (careless, careless_again) = run(&generous);
    println!(
        "min-rtt {default}, {default_again}; capacity {capacity}, {capacity_again}; δ = 1.4 {careless}, {careless_again}"
    );
    assert!(
        capacity_again * 5 < default_again,
        "{capacity_again} and {default_again}"
    );
    assert!(
        capacity_again * 5 < careless_again,
        "{capacity_again} and {careless_again}"
    );
    assert!(capacity >= default, "{capacity} and {default}");
}

/// A batch that begins with a retransmission on another path ends with it: other paths stand by.
#[test]
fn new_data_does_not_follow_a_retransmission_to_another_path() {
    let policies = recipe(&[
        ("path-scheduler", "primary"),
        ("rtx-policy", "alternate"),
        ("cc", "fixed"),
        ("cc.cwnd", "100000"),
        ("burst", "unlimited"),
    ]);
    let lossy = LinkConfig::new(mbit(100), ms(10)).loss(Loss::Bernoulli(Probability::of(0.01)));
    let mut pair = Pair::paths([lossy, LinkConfig::new(mbit(100), ms(10))])
        .policies(policies)
        .scenario(|scenario| scenario.segments(16))
        .connected();
    pair.run_for(secs(3));
    pair.alice().send_messages(3_000, 1_100, Streams::one(0));
    pair.deliver_all(secs(20));
    assert!(retransmitted(&mut pair) > 0);
    assert_eq!(carried(&mut pair)[1], 0);
}
