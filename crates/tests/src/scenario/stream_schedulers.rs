//! Stream schedulers (RFC 8260 §3) on one saturated path. Which stream is served first?

use std::num::NonZeroU16;

use anabranch_policy::PolicyRecipe;
use anabranch_proto::BufferSize;
use anabranch_sim::app::{Bulk, Draft, Even, Paced, Streams, Workload};
use anabranch_types::StreamId;
use anabranch_wire::{Chunk, Packet, RawChunk};

use crate::fixture::{Pair, PairBuilder, mbit, ms, secs};

fn scheduled_by(name: &str) -> PairBuilder {
    let mut policies = PolicyRecipe::recommended();
    policies.set("stream-scheduler", name).unwrap();
    Pair::one_path(mbit(10), ms(10)).policies(policies)
}

/// Share of each of the first `count` streams in Bob's goodput over ten seconds, in percent.
fn shares(pair: &mut Pair, count: u16) -> Vec<u64> {
    pair.run_for(secs(5));
    let since = pair.simulation.now();
    pair.run_for(secs(10));
    let rates: Vec<_> = (0..count)
        .map(|stream| pair.stream_rate(stream, since).as_bits_per_second())
        .collect();
    let sum: u64 = rates.iter().sum();
    assert!(sum > 9_000_000, "{sum} bit/s on a path of 10 Mbit/s");
    rates.iter().map(|rate| (rate * 100 + sum / 2) / sum).collect()
}

/// Two backlogged streams: stream 0 with messages of 1,400 bytes, stream 1 with 350.
fn shares_of_large_and_small_messages(name: &str) -> Vec<u64> {
    let mut pair = scheduled_by(name).connected();
    for _ in 0..15_000 {
        pair.alice().act(|conversation, association, now| {
            for (stream, bytes) in [(0, 1_400), (1, 350)] {
                while association.queued_on(StreamId(stream)) < 20_000
                    && conversation
                        .send(Draft::new(stream, bytes), association, now)
                        .is_ok()
                {}
            }
        });
        pair.run_for(ms(1));
    }
    let since = anabranch_types::Instant::ZERO + secs(5);
    let rates = [0, 1].map(|stream| pair.stream_rate(stream, since).as_bits_per_second());
    let sum: u64 = rates.iter().sum();
    rates.iter().map(|rate| (rate * 100 + sum / 2) / sum).collect()
}

#[test]
fn fair_bandwidth_ignores_message_size_round_robin_does_not() {
    assert_eq!(shares_of_large_and_small_messages("rr"), [80, 20]);
    assert_eq!(shares_of_large_and_small_messages("fair-bandwidth"), [50, 50]);
}

//= rfc8260 3-1
#[test]
fn wfq_share_is_proportional_to_weight() {
    let mut pair = scheduled_by("wfq").connected();
    pair.alice()
        .act(|_, association, _| {
            let weight = NonZeroU16::new(3).expect("three is not zero");
            association.set_stream_weight(StreamId(1), weight)
        })
        .expect("a stream that exists");
    pair.alice().start_workload(Workload::Even(Even::new(1_400, 2)));
    assert_eq!(shares(&mut pair, 2), [25, 75]);
}

#[test]
fn high_priority_stream_does_not_wait() {
    let delay_of_urgent = |name: &str| {
        let mut pair = scheduled_by(name)
            .with(|config| config.send_buffer = BufferSize::Fixed(100_000))
            .connected();
        pair.alice().act(|_, association, _| {
            for stream in 1..4 {
                association
                    .set_stream_priority(StreamId(stream), 7)
                    .expect("a stream that exists");
            }
        });
        let since = pair.simulation.now();
        for _ in 0..100 {
            pair.alice().act(|conversation, association, now| {
                // Leaves room in the send buffer, in front of which urgent messages would otherwise wait.
                while association.send_room() > 20_000 {
                    conversation
                        .send(Draft::new(1, 1_000), association, now)
                        .expect("room");
                }
                conversation
                    .send(Draft::new(0, 100), association, now)
                    .expect("room");
            });
            pair.run_for(ms(20));
        }
        pair.mean_stream_delay(0, since)
    };
    let (urgent, equal, last) = (
        delay_of_urgent("priority"),
        delay_of_urgent("rr"),
        delay_of_urgent("fcfs"),
    );
    println!("{urgent:?} by priority, {equal:?} in turn, {last:?} in the order of handing over");
    assert!(urgent < last, "{urgent:?} {last:?}");
}

#[test]
fn lowest_priority_stream_gets_remaining_capacity() {
    let mut pair = scheduled_by("priority").connected();
    pair.alice().act(|_, association, _| {
        for (stream, priority) in [(0, 9), (1, 2), (2, 1)] {
            association
                .set_stream_priority(StreamId(stream), priority)
                .expect("a stream that exists");
        }
    });
    // 4 Mbit/s each for streams 1 and 2, the rest for stream 0.
    for stream in [1, 2] {
        pair.alice()
            .start_workload(Workload::Paced(Paced::new(1_000, ms(2), Streams::one(stream))));
    }
    pair.alice().start_bulk(Bulk::new(1_000, Streams::one(0)));
    let shares = shares(&mut pair, 3);
    println!("{shares:?}");
    assert!(shares[1] >= 40 && shares[2] >= 40, "{shares:?}");
}

#[test]
fn rr_packet_bundles_one_stream_rr_bundles_many() {
    let most_streams_in_a_packet = |name: &str| {
        let mut pair = scheduled_by(name).connected();
        pair.alice().send_messages(3_000, 100, Streams::in_turn(5));
        pair.deliver_all(secs(2));
        let log = pair.simulation.host(anabranch_sim::Side::Near).log();
        log.packets().map(|packet| streams_in(&packet.bytes)).max()
    };
    assert_eq!(most_streams_in_a_packet("rr-packet"), Some(1));
    assert_eq!(most_streams_in_a_packet("rr"), Some(5));
}

/// Number of streams with DATA in a packet.
fn streams_in(bytes: &[u8]) -> usize {
    let packet = Packet::parse(bytes).expect("a packet in order");
    let chunks = packet.chunks().flatten().flat_map(RawChunk::decode);
    let mut streams: Vec<_> = chunks
        .filter_map(|chunk| match chunk {
            Chunk::Data(data) => Some(data.stream),
            _ => None,
        })
        .collect();
    streams.sort();
    streams.dedup();
    streams.len()
}

#[test]
fn priority_and_weight_of_invalid_stream_are_refused() {
    let mut pair = scheduled_by("priority").connected();
    pair.alice().act(|_, association, _| {
        let (known, unknown) = (StreamId(0), StreamId(u16::MAX));
        assert!(association.set_stream_priority(known, 1).is_ok());
        assert!(association.set_stream_priority(unknown, 1).is_err());
        assert!(association.set_stream_weight(unknown, NonZeroU16::MIN).is_err());
    });
}
