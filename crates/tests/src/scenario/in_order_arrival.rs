//! In-order-arrival scheduling. Does data that is sent out of order arrive in order?
//!
//! The examples of F. Yang's dissertation (2015, §5.1): RTTs of 200 ms and 20 ms, windows of four packets each, no
//! transmission time.

use std::time::Duration;

use anabranch_netsim::link::Loss;
use anabranch_netsim::{LinkConfig, Probability};
use anabranch_policy::PolicyRecipe;
use anabranch_proto::BufferSize;
use anabranch_sim::app::{Bulk, Streams};
use anabranch_types::{Seed, StreamId};
use anabranch_wire::chunk::kind;

use crate::fixture::{Pair, PairBuilder, mbit, ms, secs};

/// A message that fills a packet.
const FULL: usize = 1_444;
/// Size of its chunk, as windows count it.
const CHUNK: usize = FULL + 16;

fn recipe(scheduler: &str, settings: &[(&str, &str)]) -> PolicyRecipe {
    let mut recipe = PolicyRecipe::recommended();
    let all = [
        ("path-scheduler", scheduler),
        ("ack-policy", "immediate"),
        ("burst", "unlimited"),
        ("pmtu", "fixed"),
    ];
    for (key, value) in all.iter().chain(settings) {
        recipe.set(key, value).unwrap();
    }
    recipe
}

fn slow_and_fast() -> PairBuilder {
    Pair::paths([LinkConfig::unlimited(ms(100)), LinkConfig::unlimited(ms(10))])
}

/// The two paths of the examples with fixed windows, after their RTTs were measured.
fn measured(scheduler: &str) -> Pair {
    let window = (4 * CHUNK).to_string();
    let policies = recipe(scheduler, &[("cc", "fixed"), ("cc.cwnd", &window)]);
    let mut pair = slow_and_fast().policies(policies).connected();
    pair.run_for(secs(3));
    pair
}

/// Result of a burst of messages.
struct Burst {
    /// Delivery time of each message.
    arrivals: Vec<Duration>,
    /// Maximum bytes in the receiver's reordering buffer.
    held: u64,
    /// Packets first sent on each path.
    carried: Vec<u64>,
}

impl Burst {
    /// Alice sends `messages` at once.
    fn of(pair: &mut Pair, messages: u64) -> Self {
        let begin = pair.simulation.now();
        let before = (pair.bob().inbox().messages(), pair.alice().payload_sent_by_path());
        pair.alice().send_messages(messages, FULL, Streams::one(0));
        let mut held = 0;
        while pair.bob().inbox().messages() < before.0 + messages {
            pair.simulation.run_for(ms(1));
            assert!(pair.simulation.now() - begin < secs(5), "it arrives");
            held = held.max(pair.bob().statistics().receive_buffer_used);
        }
        pair.assert_all_delivered();
        let bob = pair.bob();
        let arrived = bob.inbox().on_stream(StreamId(0)).skip(before.0 as usize);
        let arrivals = arrived.map(|(_, _, at)| at - begin).collect();
        let carried = pair.alice().payload_sent_by_path();
        let carried = carried.iter().zip(before.1);
        Self {
            arrivals,
            held,
            carried: carried
                .map(|(after, before)| (after - before) / FULL as u64)
                .collect(),
        }
    }
}

#[test]
fn fifth_packet_waits_for_the_fast_path() {
    let default = Burst::of(&mut measured("min-rtt"), 5);
    assert_eq!(default.arrivals, [10, 10, 10, 10, 100].map(ms));
    let in_order = Burst::of(&mut measured("in-order-arrival"), 5);
    assert_eq!(in_order.arrivals, [10, 10, 10, 10, 30].map(ms));
    assert_eq!(in_order.carried, [0, 5]);
}

#[test]
fn slow_path_gets_what_fast_path_delivers_no_sooner() {
    // With fixed windows, the fast path delivers 20 packets in 90 ms.
    let default = Burst::of(&mut measured("min-rtt"), 24);
    assert_eq!(default.arrivals.last(), Some(&ms(100)));
    assert_eq!(default.carried, [4, 20]);
    assert_eq!(
        default.held,
        16 * FULL as u64,
        "all that is behind the slow path's four"
    );
    let in_order = Burst::of(&mut measured("in-order-arrival"), 24);
    let each = [10, 30, 50, 70, 90, 100].map(|arrival| [ms(arrival); 4]);
    assert_eq!(in_order.arrivals, each.concat());
    assert_eq!(in_order.carried, [4, 20]);
    assert_eq!(in_order.held, 0);
}

/// Windows of four packets that grow by one per RTT, as after a loss.
fn growing(scheduler: &str, settings: &[(&str, &str)]) -> Pair {
    let usual = [("cc", "cmt"), ("cc.initial-packets", "4")];
    let policies = recipe(scheduler, &[&usual, settings].concat());
    let mut pair = slow_and_fast().policies(policies).connected();
    pair.run_for(secs(3));
    pair.drop_next(1, kind::DATA);
    pair.alice().send_messages(4, FULL, Streams::one(0));
    pair.run_for(secs(1));
    // The loss inflated the delay estimate, which recovers gradually.
    for _ in 0..12 {
        pair.alice().send_messages(1, FULL, Streams::one(0));
        pair.run_for(ms(100));
    }
    assert_eq!(pair.alice().path(1).cwnd, 4 * CHUNK as u64);
    pair
}

/// The example has 34 packets: 4 + 5 + 6 + 7 + 8 on the fast path, and 31 to 34 on the slow one.
#[test]
fn thirty_four_packets_arrive_in_order_in_100_ms() {
    let default = Burst::of(&mut growing("min-rtt", &[]), 34);
    assert_eq!(default.arrivals.last(), Some(&ms(100)));
    assert_eq!(default.carried, [4, 30]);
    assert_eq!(default.held, 26 * FULL as u64);
    let growth = [("path-scheduler.growth", "on")];
    let in_order = Burst::of(&mut growing("in-order-arrival", &growth), 34);
    assert_eq!(in_order.carried, [4, 30]);
    assert_eq!(in_order.arrivals[29], ms(90));
    assert_eq!(in_order.arrivals[30..], [ms(100); 4]);
    assert_eq!(in_order.held, 0);
}

#[test]
fn chunks_queued_per_path_arrive_in_order() {
    let mut pair = measured("in-order-arrival");
    let default = Burst::of(&mut pair, 24).held;
    let window = (4 * CHUNK).to_string();
    let first = [
        ("cc", "fixed"),
        ("cc.cwnd", window.as_str()),
        ("path-scheduler.design", "1"),
    ];
    let policies = recipe("in-order-arrival", &first);
    let mut pair = slow_and_fast().policies(policies).connected();
    pair.run_for(secs(3));
    let bound = Burst::of(&mut pair, 24);
    assert_eq!(bound.carried, [4, 20]);
    assert_eq!(bound.held, default);
    assert_eq!(bound.arrivals.last(), Some(&ms(100)));
}

/// Less receive buffer (§5.7.3): data that arrives in order needs little of it.
///
/// 120 kB is in the range where it matters. Up to 150 kB `min-rtt` reaches 2.2 to 6.2 Mbit/s, and `in-order-arrival`
/// 9.6 to 10.3, about the rate of the fast path. With 200 kB both reach 13, with 500 kB or more both 19; with 300 kB
/// `min-rtt` is slightly faster (18.2 and 17.9).
#[test]
fn in_order_arrival_needs_less_receive_buffer_than_min_rtt() {
    let goodput = |scheduler| {
        let mut policies = recipe(scheduler, &[("cc", "lia")]);
        policies.set("burst", "max-burst").unwrap();
        policies.set("chunk-rescheduling", "none").unwrap();
        let paths = [
            LinkConfig::new(mbit(10), ms(100)),
            LinkConfig::new(mbit(10), ms(10)),
        ];
        let builder = Pair::paths(paths).policies(policies).with(|config| {
            config.receive_buffer = BufferSize::Fixed(120_000);
            config.max_message = 100_000;
        });
        let mut pair = builder.connected();
        pair.run_for(secs(3));
        pair.alice().start_bulk(Bulk::new(FULL, Streams::one(0)));
        pair.run_for(secs(40));
        assert_eq!(pair.bob().inbox().delivery_error(), None);
        pair.bob().goodput_in_last(secs(30))
    };
    let (default, in_order) = (goodput("min-rtt"), goodput("in-order-arrival"));
    println!("min-rtt {default}, in-order-arrival {in_order}");
    assert!(in_order.as_bits_per_second() * 2 > default.as_bits_per_second() * 3);
}

/// Streams arrive in order whatever the scheduler skips: small, fragmented and unordered messages over lossy paths.
#[test]
fn stream_order_holds_when_the_scheduler_skips_messages() {
    for design in ["1", "2"] {
        let policies = recipe("in-order-arrival", &[("path-scheduler.design", design)]);
        let lossy =
            |rate, delay| LinkConfig::new(mbit(rate), ms(delay)).loss(Loss::Bernoulli(Probability::of(0.02)));
        let mut pair = Pair::paths([lossy(2, 100), lossy(10, 10), lossy(5, 40)])
            .policies(policies)
            .connected();
        pair.run_for(secs(2));
        for bytes in [100, 1_000, 5_000, 20_000] {
            pair.alice()
                .send_messages(100, bytes, Streams::random(5, Seed(bytes as u64)));
        }
        pair.alice()
            .start_bulk(Bulk::new(3_000, Streams::one(7)).messages(50).unordered());
        pair.deliver_all(secs(120));
    }
}
