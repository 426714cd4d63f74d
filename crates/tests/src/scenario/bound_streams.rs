//! Streams that are bound to some of the paths: flows whose ends take reordering for loss, and calls. Do the messages of a flow stay in
//! order, and is its path a good one? How long is a call delayed by a transfer beside it?

use core::num::NonZeroU16;
use core::time::Duration;

use anabranch_netsim::link::{Loss, QueueConfig};
use anabranch_netsim::{LinkConfig, Probability};
use anabranch_policy::{BufferSize, PathUse, PolicyRecipe};
use anabranch_sim::Side;
use anabranch_sim::app::{Draft, Refill, Workload};
use anabranch_types::StreamId;

use crate::fixture::{Pair, mbit, ms, secs};

const FLOW: u16 = 0;
const BYTES: usize = 1_200;

/// Two hosts whose streams share by weight, as in a tunnel. Rates in Mbit/s and one-way delays in milliseconds; `flows` streams keep to a
/// path each.
fn connected(links: [(u64, u64); 2], flows: u16) -> Pair {
    connected_with(Loss::None, links, flows)
}

/// The same with random losses.
fn lossy(links: [(u64, u64); 2], flows: u16) -> Pair {
    connected_with(Loss::Bernoulli(Probability::of(0.02)), links, flows)
}

fn connected_with(loss: Loss, links: [(u64, u64); 2], flows: u16) -> Pair {
    let mut policies = PolicyRecipe::default();
    policies.set("stream-scheduler", "wfq").unwrap();
    policies.set("interleaving", "on").unwrap();
    let link = |(rate, delay)| LinkConfig::new(mbit(rate), ms(delay)).queue(QueueConfig::Packets(200));
    let links = links.map(|ends| link(ends).loss(loss.clone()));
    let builder = Pair::paths(links).policies(policies).with(|config| {
        config.send_buffer = BufferSize::Fixed(16 << 20);
        config.receive_buffer = BufferSize::Fixed(16 << 20);
    });
    let mut pair = builder.connected();
    pair.run_for(secs(1));
    use_paths(&mut pair, flows, PathUse::One);
    pair
}

fn use_paths(pair: &mut Pair, flows: u16, path_use: PathUse) {
    pair.alice().act(|_, association, _| {
        for stream in 0..flows {
            association
                .delivery()
                .set_stream_path_use(StreamId(stream), path_use)
                .unwrap();
        }
    });
}

/// Sends unordered messages in bursts, as an inner sender does whose cwnd opens; `each_ms` of them in each millisecond on average.
fn send_bursts(pair: &mut Pair, bursts: usize, each_ms: u64) {
    for _ in 0..bursts {
        for _ in 0..10 * each_ms {
            pair.alice().send(Draft::new(FLOW, BYTES).unordered());
        }
        pair.run_for(ms(10));
    }
}

/// How many messages arrived, and how many of them before the one that was sent before.
fn arrived(pair: &Pair) -> (usize, usize) {
    let reader = pair.simulation.conversation(Side::Far).unwrap();
    assert_eq!(reader.delivery_error(), None);
    let in_sending_order = reader.inbox().on_stream(StreamId(FLOW));
    let times: Vec<_> = in_sending_order.map(|(_, _, at)| at).collect();
    let overtaken = times.windows(2).filter(|pair| pair[1] < pair[0]);
    (times.len(), overtaken.count())
}

/// Megabits per second of a stream in `time`, after as long a time.
fn rates(pair: &mut Pair, flows: u16, time: Duration) -> Vec<f64> {
    let refill = Refill::new(BYTES, flows, 64 << 10);
    pair.alice().start_workload(Workload::Refill(refill));
    pair.run_for(time);
    let since = pair.simulation.now();
    pair.run_for(time);
    let rate = |stream| pair.stream_rate(stream, since).as_bits_per_second() as f64 / 1e6;
    (0..flows).map(rate).collect()
}

#[test]
fn messages_of_a_flow_do_not_overtake_one_another_on_unlike_paths() {
    let mut kept = connected([(40, 10), (40, 15)], 1);
    send_bursts(&mut kept, 200, 3);
    kept.run_for(secs(1));
    assert_eq!(arrived(&kept), (6_000, 0));
    let mut spread = connected([(40, 10), (40, 15)], 1);
    use_paths(&mut spread, 1, PathUse::All);
    send_bursts(&mut spread, 200, 3);
    spread.run_for(secs(1));
    let (count, overtaking) = arrived(&spread);
    assert_eq!(count, 6_000);
    assert!(
        overtaking > 10,
        "otherwise the first half shows nothing: {overtaking}"
    );
}

#[test]
fn flow_leaves_a_path_that_fails() {
    let mut pair = connected([(40, 10), (40, 15)], 1);
    send_bursts(&mut pair, 100, 2);
    pair.cut_path(0);
    send_bursts(&mut pair, 200, 2);
    pair.run_for(secs(2));
    assert_eq!(arrived(&pair).0, 6_000);
}

#[test]
fn flow_moves_to_the_path_that_carries_more() {
    // The path scheduler sends its first data on the path with the smaller delay.
    let mut pair = connected([(5, 10), (40, 15)], 1);
    let rates = rates(&mut pair, 1, secs(10));
    assert!(rates[0] > 34.0, "{rates:?}");
}

/// On the other path, nothing would show soon that a retransmission is lost again.
#[test]
fn what_a_flow_loses_is_sent_again_on_its_path() {
    let mut pair = lossy([(50, 20), (50, 20)], 1);
    rates(&mut pair, 1, secs(5));
    let mut paths = [0, 1].map(|path| pair.alice().path(path).counters);
    paths.sort_by_key(|counters| counters.payload_sent);
    let [other, used] = paths;
    assert!(
        used.payload_retransmitted > 100_000 && other.payload_retransmitted < used.payload_retransmitted / 20,
        "{used:?} {other:?}"
    );
}

#[test]
fn two_flows_use_two_paths() {
    let mut pair = connected([(20, 10), (20, 12)], 2);
    let rates = rates(&mut pair, 2, secs(10));
    assert!(rates.iter().all(|rate| *rate > 15.0), "{rates:?}");
}

/// A flow on a path beside streams that use all paths has its share, and so have they.
#[test]
fn flow_shares_its_path_with_streams_on_all_paths() {
    let mut pair = connected([(20, 10), (20, 12)], 1);
    let refill = Refill::new(BYTES, 2, 64 << 10);
    pair.alice().start_workload(Workload::Refill(refill));
    pair.run_for(secs(5));
    let since = pair.simulation.now();
    pair.run_for(secs(10));
    let rate = |stream| pair.stream_rate(stream, since).as_bits_per_second() as f64 / 1e6;
    let (flow, other) = (rate(0), rate(1));
    assert!(
        flow > 10.0 && other > 10.0 && flow + other > 34.0,
        "{flow} {other}"
    );
}

/// As a call of 50 packets a second has it.
const INTERVAL: Duration = ms(20);
const CALL: u16 = 4;

/// The delay of 99 of 100 messages of a call beside a bulk transfer.
fn p99_of_call(low_latency: bool) -> Duration {
    let mut pair = connected([(40, 10), (20, 30)], 0);
    pair.alice().act(|_, association, _| {
        let weight = NonZeroU16::new(64).unwrap();
        association.set_stream_weight(StreamId(CALL), weight).unwrap();
        association
            .delivery()
            .set_stream_path_use(StreamId(CALL), PathUse::Fastest)
            .unwrap();
    });
    let bulk = Refill::new(1_400, CALL, 128 << 10);
    pair.alice().start_workload(Workload::Refill(bulk));
    pair.run_for(secs(5));
    pair.alice()
        .act(|_, association, _| association.delivery().set_low_latency(low_latency));
    pair.run_for(secs(2));
    let since = pair.simulation.now();
    for _ in 0..1_000 {
        pair.alice().send(Draft::new(CALL, 160).unordered());
        pair.run_for(INTERVAL);
    }
    pair.run_for(secs(1));
    let rate = (0..CALL).map(|stream| pair.stream_rate(stream, since).as_bits_per_second());
    let megabits = rate.sum::<u64>() as f64 / 1e6;
    assert!(megabits > 50.0, "the bulk transfer uses both paths: {megabits}");
    let mut delays: Vec<_> = pair.delays(CALL, since).collect();
    delays.sort_unstable();
    assert_eq!(delays.len(), 1_000);
    delays[990]
}

#[test]
fn call_beside_a_bulk_transfer_waits_in_short_queues() {
    // Without a queue, a message takes 10 ms; half of the round-trip time of 20 ms is the most that may be added.
    let short = p99_of_call(true);
    assert!(short < ms(20), "{short:?}");
    let long = p99_of_call(false);
    assert!(long > ms(30), "otherwise the first half shows nothing: {long:?}");
}

#[test]
fn transfer_after_a_call_is_as_fast_as_before() {
    let mut pair = connected([(40, 10), (20, 30)], 0);
    for low_latency in [true, false] {
        pair.alice()
            .act(|_, association, _| association.delivery().set_low_latency(low_latency));
        pair.alice().send(Draft::new(CALL, 160).unordered());
        pair.run_for(secs(5));
    }
    let rates = rates(&mut pair, 1, secs(5));
    assert!(rates[0] > 52.0, "{rates:?}");
}
