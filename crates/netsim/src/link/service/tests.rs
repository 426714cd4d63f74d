//! Tests of links whose rate is a trace: what opportunities carry, and when.

use crate::link::{LinkChange, QueueConfig};
use crate::{Link, LinkConfig, RateTrace, TraceModel};
use anabranch_types::{Instant, Rate, Seed};
use std::sync::Arc;
use std::time::Duration;

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + ms(millis)
}

fn traced(trace: RateTrace) -> LinkConfig {
    LinkConfig::new(Rate::mbit(1), Duration::ZERO)
        .trace(Arc::new(trace))
        .queue(QueueConfig::Packets(u32::MAX))
}

fn link(trace: &str) -> Link<Vec<u8>> {
    Link::new(traced(RateTrace::parse(trace).unwrap()), Seed(1))
}

fn drain(link: &mut Link<Vec<u8>>) -> Vec<(Instant, u8)> {
    let mut arrivals = Vec::new();
    while let Some(due) = link.deadline() {
        while let Some(item) = link.take_due(due) {
            arrivals.push((due, item[0]));
        }
    }
    arrivals
}

#[test]
fn full_packets_leave_at_the_opportunities() {
    let mut link = link("2\n3\n3\n7\n");
    for number in 0..6 {
        link.offer(at(0), vec![number], 1_500);
    }
    let moments: Vec<Instant> = drain(&mut link).into_iter().map(|(moment, _)| moment).collect();
    assert_eq!(moments, [2, 3, 3, 7, 9, 10].map(at));
}

#[test]
fn short_packets_share_an_opportunity_and_long_ones_need_several() {
    let mut link = link("5\n");
    link.apply(at(0), LinkChange::Mtu(9_000));
    for (number, bytes) in [(0, 500), (1, 700), (2, 400), (3, 4_000), (4, 400)] {
        link.offer(at(0), vec![number], bytes);
    }
    // 1,500 bytes at each multiple of 5 ms; the sum after each packet is 500, 1,200, 1,600, 5,600 and 6,000.
    assert_eq!(
        drain(&mut link),
        [(at(5), 0), (at(5), 1), (at(10), 2), (at(20), 3), (at(20), 4)]
    );
}

#[test]
fn opportunities_without_packets_are_lost() {
    let mut link = link("1\n");
    link.offer(at(0), vec![0], 100);
    assert_eq!(drain(&mut link), [(at(1), 0)]);
    // The rest of that opportunity and nine others have passed.
    link.offer(at(10), vec![1], 1_500);
    link.offer(at(10), vec![2], 1_500);
    assert_eq!(drain(&mut link), [(at(11), 1), (at(12), 2)]);
}

#[test]
fn saturated_link_delivers_the_bytes_of_its_opportunities() {
    for model in TraceModel::ALL {
        for bytes in [1_500_u32, 1_000, 333] {
            let trace = model.trace(Rate::mbit(40), ms(4_000), Seed(3)).unwrap();
            let expected = trace.opportunities() as u64 * 1_500 * 5;
            let mut link = Link::new(traced(trace), Seed(1));
            for _ in 0..expected / u64::from(bytes) + 10 {
                link.offer(at(0), vec![0], bytes);
            }
            while link.take_due(at(20_000)).is_some() {}
            let delivered = link.stats().delivered.bytes;
            assert!(
                (0..u64::from(bytes)).contains(&(expected - delivered)),
                "{model:?}, {bytes}: {delivered} of {expected}"
            );
        }
    }
}

#[test]
fn rate_change_replaces_the_trace_within_a_packet() {
    let mut link = link("2\n");
    link.apply(at(0), LinkChange::Mtu(9_000));
    link.offer(at(0), vec![0], 4_000);
    // By 5 ms, 3,000 bytes have left; 1,000 remain at 8 Mbit/s.
    link.apply(at(5), LinkChange::Rate(Some(Rate::mbit(8))));
    link.offer(at(5), vec![1], 1_000);
    assert_eq!(drain(&mut link), [(at(6), 0), (at(7), 1)]);
}

#[test]
fn trace_continues_after_a_cut() {
    let mut link = link("4\n");
    link.offer(at(0), vec![0], 1_500);
    link.apply(at(1), LinkChange::Cut);
    link.apply(at(2), LinkChange::Heal);
    link.offer(at(2), vec![1], 1_500);
    assert_eq!(drain(&mut link), [(at(4), 1)]);
}

#[test]
fn waiting_time_counts_the_opportunities_ahead() {
    let mut link = link("1\n10\n");
    for number in 0..3 {
        link.offer(at(0), vec![number], 1_500);
    }
    // In transmission until 1 ms; two wait, the second of them until 11 ms.
    assert_eq!(link.waiting_time(at(0)), ms(11));
}
