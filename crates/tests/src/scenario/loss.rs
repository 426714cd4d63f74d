//! Loss detection: fast retransmit, repeated loss, tail loss probe (TLP) and RACK. When is a chunk declared lost?

use std::time::Duration;

use anabranch_netsim::link::{DelayVariation, Distribution, QueueConfig};
use anabranch_netsim::{LinkChange, LinkConfig, Probability};
use anabranch_policy::{LostChunk, PathFacts, Policy, PolicyRecipe, RetransmissionPolicy};
use anabranch_proto::{BufferSize, OwnPolicies, PathStatistics};
use anabranch_sim::app::{Bulk, Draft, Paced, Streams, Workload};
use anabranch_sim::{Direction, Side, Step};
use anabranch_types::{Instant, PathId, Rate, Serial, Tsn};
use anabranch_wire::{Chunk, Packet, RawChunk};

use crate::fixture::{Pair, mbit, ms, secs};

fn recipe(settings: &[(&str, &str)]) -> PolicyRecipe {
    let mut recipe = PolicyRecipe::cmt();
    for (point, value) in settings {
        recipe.set(point, value).unwrap();
    }
    recipe
}

fn total(pair: &mut Pair, count: impl Fn(&PathStatistics) -> u64) -> u64 {
    pair.alice().statistics().paths.iter().map(count).sum()
}

fn timeouts(pair: &mut Pair) -> u64 {
    total(pair, |path| path.counters.timeouts)
}

fn fast_retransmits(pair: &mut Pair) -> u64 {
    total(pair, |path| path.counters.fast_retransmits)
}

/// TSNs in each packet with DATA that Alice sent since `since`, as far as her log goes back.
fn data_packets(pair: &Pair, since: Instant) -> Vec<Vec<Tsn>> {
    let log = pair.simulation.host(Side::Near).log();
    let sent = log
        .packets()
        .filter(|packet| packet.direction == Direction::Sent && packet.at >= since);
    let tsn = |chunk: RawChunk<'_>| match chunk.decode() {
        Ok(Chunk::Data(data)) => Some(data.tsn),
        _ => None,
    };
    let tsns = sent.map(|packet| {
        let packet = Packet::parse(&packet.bytes).unwrap();
        packet.chunks().flatten().filter_map(tsn).collect()
    });
    tsns.filter(|tsns: &Vec<Tsn>| !tsns.is_empty()).collect()
}

/// Retransmits on the other one of two paths.
#[derive(Debug)]
struct Elsewhere;

impl Policy for Elsewhere {
    fn name(&self) -> &'static str {
        "elsewhere"
    }
}

impl RetransmissionPolicy for Elsewhere {
    fn path_for(&mut self, chunk: &LostChunk, _paths: &[PathFacts]) -> Option<PathId> {
        Some(PathId(1 - chunk.lost_on.0))
    }
}

/// Number of T3 expirations if one chunk and its first retransmission are lost.
fn timeouts_of_a_chunk_lost_twice(fr_once: &str, elsewhere: bool) -> u64 {
    // A fixed window that never overflows a queue, so that nothing else is lost.
    let policies = recipe(&[
        ("loss.fr-once", fr_once),
        ("rtx-policy", "same"),
        ("cc", "fixed"),
        ("cc.cwnd", "40000"),
    ]);
    let mut pair = Pair::two_paths(mbit(10), ms(20))
        .policies(policies)
        .with(|config| {
            if elsewhere {
                let own = OwnPolicies::new(|policies| policies.retransmission = Box::new(Elsewhere));
                config.own_policies = Some(own);
            }
        })
        .connected();
    pair.drop_chunks(&[(100, 2)]);
    pair.alice().send_messages(600, 1_400, Streams::in_turn(4));
    pair.deliver_all(secs(10));
    timeouts(&mut pair)
}

#[test]
fn retransmission_lost_on_same_path_needs_t3_only_by_rfc() {
    assert_eq!(timeouts_of_a_chunk_lost_twice("always", false), 1);
    for fr_once in ["on-path-change", "per-rtt", "per-path-order"] {
        assert_eq!(timeouts_of_a_chunk_lost_twice(fr_once, false), 0, "{fr_once}");
    }
}

#[test]
fn retransmission_lost_on_other_path_needs_t3_by_rfc_and_paper() {
    for fr_once in ["always", "on-path-change"] {
        assert_eq!(timeouts_of_a_chunk_lost_twice(fr_once, true), 1, "{fr_once}");
    }
    for fr_once in ["per-rtt", "per-path-order"] {
        assert_eq!(timeouts_of_a_chunk_lost_twice(fr_once, true), 0, "{fr_once}");
    }
}

/// The path has become faster than its SRTT, so three later chunks are acknowledged well within one measured RTT.
#[test]
fn second_fast_retransmit_is_immediate_or_after_one_rtt() {
    let time_between = |fr_once: &str| {
        let policies = recipe(&[
            ("loss.fr-once", fr_once),
            ("cc", "fixed"),
            ("cc.cwnd", "100000"),
            ("burst", "unlimited"),
        ]);
        let mut pair = Pair::one_path(mbit(50), ms(100)).policies(policies).connected();
        pair.alice().send_forever();
        pair.run_for(secs(3));
        pair.simulation.happens(Step::Change(0, LinkChange::Delay(ms(5))));
        pair.run_for(ms(150));
        pair.drop_chunks(&[(0, 2)]);
        pair.run_until(|pair| fast_retransmits(pair) == 1, secs(1));
        let first = pair.simulation.now();
        pair.run_until(|pair| fast_retransmits(pair) == 2, secs(1));
        assert_eq!(timeouts(&mut pair), 0);
        pair.simulation.now() - first
    };
    let (at_once, later) = (time_between("per-path-order"), time_between("per-rtt"));
    println!("{at_once:?}, and {later:?} if once for each round trip");
    assert!(at_once < ms(40), "{at_once:?}");
    assert!(later > 2 * at_once, "{later:?}");
}

/// Time for twenty messages if these chunks are lost once, with an RTT of 100 ms and an RTO of one second.
fn time_with_a_lost_tail(settings: &[(&str, &str)], lost: std::ops::Range<u32>) -> Duration {
    let mut policies = recipe(settings);
    for (point, value) in [
        ("ack-policy", "immediate"),
        ("cc", "fixed"),
        ("cc.cwnd", "100000"),
        ("burst", "unlimited"),
    ] {
        policies.set(point, value).unwrap();
    }
    let mut pair = Pair::one_path(mbit(50), ms(50)).policies(policies).connected();
    pair.alice().send_messages(20, 1_400, Streams::one(0));
    pair.deliver_all(secs(1));
    let script: Vec<_> = lost.map(|chunk| (chunk, 1)).collect();
    pair.drop_chunks(&script);
    let begin = pair.simulation.now();
    pair.alice().send_messages(20, 1_400, Streams::one(0));
    pair.deliver_all(secs(5));
    pair.simulation.now() - begin
}

const TLP: [(&str, &str); 2] = [("tail-probe", "tlp"), ("tail-probe.delay", "0ms")];

#[test]
fn lost_tail_is_retransmitted_by_tlp() {
    let (with, without) = (
        time_with_a_lost_tail(&TLP, 19..20),
        time_with_a_lost_tail(&[], 19..20),
    );
    println!("{with:?} with a probe, {without:?} without");
    assert!(
        with < ms(450),
        "one round trip, two of waiting, one for the probe: {with:?}"
    );
    assert!(without > secs(1), "{without:?}");
}

//= rfc9260 6.9-9
/// A delayed SACK is bundled with the probe and takes the room of a full-sized chunk.
#[test]
fn tail_loss_probe_is_sent_without_room_beside_a_sack() {
    let mut policies = recipe(&TLP);
    for (point, value) in [("cc", "fixed"), ("cc.cwnd", "100000"), ("burst", "unlimited")] {
        policies.set(point, value).unwrap();
    }
    // One packet at a time, and in batches as for segmentation offload.
    for segments in [1, 16] {
        let mut pair = Pair::one_path(mbit(50), ms(50))
            .policies(policies)
            .scenario(move |scenario| scenario.segments(segments))
            .connected();
        pair.bob().send(Draft::new(0, 100));
        pair.run_for(secs(2));
        pair.drop_chunks(&[(19, 1)]);
        pair.alice().send_messages(20, 1_444, Streams::one(0));
        pair.run_for(ms(150));
        pair.bob().send(Draft::new(0, 100));
        pair.run_until(|pair| pair.alice().path(0).counters.tail_probes > 0, ms(400));
        pair.deliver_all(ms(300));
        assert_eq!(pair.alice().path(0).counters.timeouts, 0);
    }
}

#[test]
fn longer_lost_tail_needs_tlp_and_rack() {
    let both = [TLP[0], TLP[1], ("loss", "rack")];
    let with = time_with_a_lost_tail(&both, 15..20);
    let [probe_alone, clock_alone] =
        [&both[..2], &both[2..]].map(|settings| time_with_a_lost_tail(settings, 15..20));
    println!("{with:?}, {probe_alone:?} without rack, {clock_alone:?} without tlp");
    assert!(with < ms(550), "{with:?}");
    assert!(
        probe_alone > secs(1),
        "one acknowledgement is no three: {probe_alone:?}"
    );
    assert!(
        clock_alone > secs(1),
        "nothing overtook the tail: {clock_alone:?}"
    );
}

/// Chunks shortly before the end are lost, so there are fewer than three later acknowledgements.
#[test]
fn loss_near_the_end_is_detected_by_rack() {
    let rack = time_with_a_lost_tail(&[("loss", "rack")], 17..19);
    let count = time_with_a_lost_tail(&[], 17..19);
    println!("{rack:?} by time, {count:?} by counting");
    assert!(rack < ms(300), "{rack:?}");
    assert!(count > secs(1), "{count:?}");
}

/// Every tenth packet is overtaken by a dozen others, none is lost. Gaps cause immediate SACKs (RFC 9260 §6.7);
/// a delayed SACK would come after RACK's reordering window.
#[test]
fn rack_tolerates_reordering() {
    let retransmitted = |loss: &str| {
        let link = LinkConfig::new(mbit(20), ms(50)).reorder(Probability::of(0.1), ms(8));
        let policies = recipe(&[
            ("loss", loss),
            ("cc", "fixed"),
            ("cc.cwnd", "100000"),
            ("ack-policy", "rfc9260"),
        ]);
        let mut pair = Pair::paths([link]).policies(policies).connected();
        pair.alice().send_forever();
        pair.run_for(secs(5));
        fast_retransmits(&mut pair)
    };
    assert!(retransmitted("miss-count") > 50);
    assert_eq!(retransmitted("rack"), 0);
}

#[test]
fn rack_detects_losses_without_timeout() {
    let mut pair = Pair::two_paths(mbit(10), ms(20))
        .policies(recipe(&[("loss", "rack")]))
        .connected();
    pair.drop_chunks(&[(100, 1), (101, 2), (150, 1), (300, 3)]);
    pair.alice().send_messages(1_000, 1_400, Streams::in_turn(4));
    pair.deliver_all(secs(10));
    assert_eq!(timeouts(&mut pair), 0);
    let found = fast_retransmits(&mut pair);
    assert!((7..=9).contains(&found), "seven were lost, {found} found");
}

//= rfc9260 6.3.3-2, 7.2.1-2
/// RFC 9260 §7.2.1: after a timeout only one packet may be in flight until an acknowledgement, even if its chunk leaves
/// part of cwnd unused.
#[test]
fn one_packet_in_flight_after_t3_until_acknowledged() {
    // One policy marks the path potentially failed and uses it as a last resort; the other keeps using it.
    for mut policies in [PolicyRecipe::recommended(), PolicyRecipe::rfc9260()] {
        policies.set("pmtu", "fixed").unwrap();
        for bytes in [600, 1_000] {
            let mut pair = Pair::one_path(mbit(10), ms(20))
                .policies(policies)
                .with(|config| config.mtu = 1_200)
                .connected();
            pair.alice().send_messages(100, bytes, Streams::one(0));
            pair.run_for(ms(30));
            pair.cut_path(0);
            for timeout in 1..4 {
                pair.run_until(|pair| timeouts(pair) == timeout, secs(10));
                let since = pair.simulation.now() - ms(1);
                pair.run_for(ms(500));
                assert_eq!(
                    data_packets(&pair, since).len(),
                    1,
                    "{bytes} bytes, timeout {timeout}"
                );
            }
            pair.heal_path(0);
            pair.deliver_all(secs(20));
        }
    }
}

//= rfc9260 7.2.4-4, 7.2.4-5
/// RFC 9260 §7.2.4 step 3: one packet of lost chunks is retransmitted at once, whatever cwnd; only the rest waits.
#[test]
fn chunks_lost_in_one_packet_are_retransmitted_in_one() {
    let mut policies = recipe(&[("ack-policy", "rfc9260")]);
    policies.set("pmtu", "fixed").unwrap();
    let mut pair = Pair::one_path(mbit(10), ms(20))
        .policies(policies)
        .with(|config| config.mtu = 1_200)
        .connected();
    let lost: Vec<_> = (400..410).map(|chunk| (chunk, 1)).collect();
    pair.drop_chunks(&lost);
    pair.alice().send_messages(2_000, 100, Streams::one(0));
    pair.run_until(|pair| fast_retransmits(pair) == 10, secs(2));
    let packets = data_packets(&pair, Instant::ZERO);
    let highest = |packet: &Vec<Tsn>| *packet.last().unwrap();
    let again = packets
        .windows(2)
        .find(|pair| pair[1][0].precedes_or_is(highest(&pair[0])));
    assert_eq!(again.expect("a retransmission")[1].len(), 10);
    pair.deliver_all(secs(10));
}

/// The probe timer starts with the last transmission, however long the pause before it.
#[test]
fn tlp_after_a_pause_needs_a_lost_tail() {
    let mut policies = recipe(&TLP);
    for (point, value) in [
        ("stream-scheduler", "fixed-map"),
        ("stream-scheduler.map", "0,1"),
        ("path-scheduler", "stream-mapped"),
        ("ack-policy", "immediate"),
    ] {
        policies.set(point, value).unwrap();
    }
    let mut pair = Pair::two_paths(mbit(10), ms(20)).policies(policies).connected();
    for _ in 0..3 {
        pair.alice().send_messages(2, 1_000, Streams::in_turn(2));
        pair.run_for(ms(500));
    }
    let probes = |pair: &mut Pair| [0, 1].map(|path| pair.alice().path(path).counters.tail_probes);
    assert_eq!(
        probes(&mut pair),
        [0, 0],
        "a message after a pause is no tail yet"
    );
    pair.cut_path(0);
    pair.cut_path(1);
    pair.alice().send_messages(2, 1_000, Streams::in_turn(2));
    pair.run_for(ms(300));
    assert_eq!(probes(&mut pair), [1, 1]);
}

/// At most one probe every two RTTs, and none while acknowledgements arrive.
#[test]
fn acknowledged_path_gets_no_tail_loss_probe() {
    let mut pair = Pair::two_paths(mbit(10), ms(20))
        .policies(recipe(&TLP))
        .connected();
    pair.alice().send_forever();
    pair.run_for(secs(5));
    assert_eq!(total(&mut pair, |path| path.counters.tail_probes), 0);
    pair.cut_path(1);
    pair.run_for(secs(5));
    let probes = pair.alice().path(1).counters.tail_probes;
    assert!((1..=4).contains(&probes), "{probes} probes into the void");
}

/// Two paths of 50 Mbit/s, 20 ms each way, whose packets vary by 5 ms and overtake one another: Mbit/s over eight seconds.
fn goodput_with_jitter(policies: PolicyRecipe) -> f64 {
    let link = LinkConfig::new(mbit(50), ms(20))
        .queue(QueueConfig::Packets(1_000))
        .variation(DelayVariation {
            deviation: ms(5),
            distribution: Distribution::Normal,
        });
    let builder = Pair::paths(vec![link.clone(), link]).policies(policies);
    let mut pair = builder
        .with(|config| {
            config.send_buffer = BufferSize::Fixed(8 << 20);
            config.receive_buffer = BufferSize::Fixed(8 << 20);
        })
        .connected();
    pair.alice().send_forever();
    pair.run_for(secs(4));
    let since = pair.simulation.now();
    pair.run_for(secs(8));
    let rates = (0..4).map(|stream| pair.stream_rate(stream, since).as_bits_per_second());
    rates.sum::<u64>() as f64 / 1e6
}

#[test]
fn packets_that_overtake_others_cost_the_default_little() {
    let by_default = goodput_with_jitter(PolicyRecipe::recommended());
    let mut by_count = PolicyRecipe::recommended();
    by_count.set("loss", "miss-count").unwrap();
    by_count.set("cc", "cubic").unwrap();
    let by_count = goodput_with_jitter(by_count);
    println!("{by_default:.1} Mbit/s; CUBIC with three miss indications everywhere: {by_count:.1}");
    assert!(by_default >= 60.0, "{by_default:.1}");
    assert!(by_default >= 5.0 * by_count, "{by_default:.1} and {by_count:.1}");
}

/// Slow start of the default profile with `settings` overruns the queue of a path of 300 ms. Returns the number of timeouts and the
/// rate from 11 to 16 s.
fn overrun(settings: &[(&str, &str)], seed: u64) -> (u64, Rate) {
    let link = LinkConfig::new(mbit(200), ms(150))
        .queue(QueueConfig::Packets(2_000))
        .jitter(Duration::from_micros(300));
    let buffer = BufferSize::Fixed(16 << 20);
    let mut policies = PolicyRecipe::recommended();
    policies.set("interleaving", "on").unwrap();
    for (point, value) in settings {
        policies.set(point, value).unwrap();
    }
    let mut pair = Pair::paths([link])
        .seed(seed)
        .policies(policies)
        .with(|config| (config.send_buffer, config.receive_buffer) = (buffer, buffer))
        .connected();
    let message = 60_000 + 131 * seed as usize;
    pair.alice().start_bulk(Bulk::new(message, Streams::one(0)));
    let small = Paced::new(5, ms(40), Streams::one(0));
    pair.bob().start_workload(Workload::Paced(small));
    pair.run_for(secs(11));
    let start = pair.simulation.now();
    pair.run_for(secs(5));
    let rate = pair.stream_rate(0, start);
    (pair.alice().path(0).counters.timeouts, rate)
}

/// A full queue delays retransmissions for longer than T3 runs. SACKs of what was sent before the timeout then report retransmitted
/// chunks as missing. Each such loss reduced the cwnd of one packet, and ssthresh fell to the least.
#[test]
fn losses_reported_after_a_timeout_are_of_the_same_event() {
    for seed in 4..8 {
        let (timeouts, rate) = overrun(&[("rto.margin", "1ms")], seed);
        assert!(timeouts > 0 && rate > mbit(150), "{timeouts}, {rate:?}");
    }
}

#[test]
fn queue_that_slow_start_fills_lets_no_timer_expire() {
    for seed in 4..8 {
        let (timeouts, rate) = overrun(&[], seed);
        assert!(timeouts == 0 && rate > mbit(180), "{timeouts}, {rate:?}");
    }
}
