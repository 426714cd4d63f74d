//! Tests of FQ-CoDel: fairness in bytes, sparse flows first, and drops from the longest queue.

use super::{CodelConfig, FqCodelConfig};
use crate::link::{DropCause, Packet, QueueConfig};
use crate::{Link, LinkConfig};
use anabranch_types::{Instant, Rate, Rng, Seed};
use std::time::Duration;

fn at(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

/// A packet of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Sent {
    flow: u64,
    bytes: u32,
}

impl Packet for Sent {
    fn corrupt(&mut self, _rng: &mut Rng) {}

    fn flow(&self) -> u64 {
        self.flow
    }
}

/// 8 Mbit/s: a byte each microsecond.
fn link(limit: u32) -> Link<Sent> {
    let standard = FqCodelConfig::standard();
    let codel = CodelConfig {
        limit,
        // Only scheduling is tested here.
        target: Duration::from_secs(1_000),
        ..standard.codel
    };
    let queue = QueueConfig::FqCodel(FqCodelConfig { codel, ..standard });
    Link::new(
        LinkConfig::new(Rate::mbit(8), Duration::ZERO).queue(queue),
        Seed(4),
    )
}

fn offer(link: &mut Link<Sent>, now: Instant, flow: u64, bytes: u32) {
    link.offer(now, Sent { flow, bytes }, bytes);
}

/// Bytes of each flow that have been delivered by `now`.
fn delivered(link: &mut Link<Sent>, now: Instant, sums: &mut [u64]) {
    while let Some(sent) = link.take_due(now) {
        sums[sent.flow as usize] += u64::from(sent.bytes);
    }
}

#[test]
fn busy_flows_get_equal_bytes_whatever_their_packet_size() {
    let mut link = link(100_000);
    let sizes = [1_500, 700, 100];
    for (flow, bytes) in (0..).zip(sizes) {
        for _ in 0..2_000_000 / bytes {
            offer(&mut link, at(0), flow, bytes);
        }
    }
    let mut sums = [0; 3];
    for step in 1..600 {
        delivered(&mut link, at(step * 10_000), &mut sums);
        // Deficit round robin: any two busy flows differ by at most a quantum and a packet.
        let spread = sums.iter().max().unwrap() - sums.iter().min().unwrap();
        assert!(spread <= 1_514 + 1_500, "{sums:?}");
    }
    assert!(sums.iter().all(|bytes| *bytes > 1_900_000), "{sums:?}");
}

#[test]
fn sparse_flow_waits_for_one_packet_of_a_bulk_flow() {
    let mut link = link(10_000);
    for _ in 0..3_000 {
        offer(&mut link, at(0), 0, 1_500);
    }
    for round in 0..100_u64 {
        let sent = round * 20_000 + 7_000;
        delivered(&mut link, at(sent), &mut [0; 2]);
        offer(&mut link, at(sent), 1, 200);
        // At most the packet in transmission and its own 200 bytes.
        let mut sums = [0; 2];
        delivered(&mut link, at(sent + 1_700), &mut sums);
        assert_eq!(sums[1], 200, "round {round}");
    }
}

#[test]
fn packets_above_the_limit_are_dropped_from_the_longest_queue() {
    let mut link = link(100);
    for _ in 0..20 {
        offer(&mut link, at(0), 1, 1_000);
    }
    for _ in 0..500 {
        offer(&mut link, at(0), 0, 1_000);
    }
    assert!(link.waiting().packets <= 100);
    let full = link.stats().dropped(DropCause::QueueFull);
    let mut sums = [0; 2];
    delivered(&mut link, at(1_000_000), &mut sums);
    assert_eq!(sums[1], 20_000, "the short queue loses nothing");
    assert_eq!(sums[0] + full.bytes, 500_000);
    assert_eq!(link.inside(), 0);
}

#[test]
fn full_queue_drops_half_of_the_longest_but_at_most_64() {
    for (limit, expected) in [(20, 10), (1_000, 64)] {
        let mut link = link(limit);
        // One is in transmission, and one more than the limit waits.
        for _ in 0..limit + 2 {
            offer(&mut link, at(0), 0, 1_000);
        }
        assert_eq!(link.stats().dropped(DropCause::QueueFull).packets, expected);
    }
}

#[test]
fn each_flow_has_codel_of_its_own() {
    let queue = QueueConfig::FqCodel(FqCodelConfig::standard());
    let config = LinkConfig::new(Rate::mbit(8), Duration::ZERO).queue(queue);
    let mut link: Link<Sent> = Link::new(config, Seed(4));
    for _ in 0..2_000 {
        offer(&mut link, at(0), 0, 1_000);
    }
    let mut sums = [0; 2];
    for round in 0..100 {
        offer(&mut link, at(round * 10_000), 1, 100);
        delivered(&mut link, at((round + 1) * 10_000), &mut sums);
    }
    assert_eq!(sums[1], 10_000, "the sparse flow loses nothing");
    let dropped = link.stats().dropped(DropCause::Early).packets;
    // By the control law, from 105 ms on: the n-th drop comes 100/√(n − 1) ms after the one before, the 28th at 1,000 ms. The
    // queue's packets leave a little slower than alone.
    assert!((26..=28).contains(&dropped), "{dropped}");
}

#[test]
fn cut_empties_all_queues() {
    let mut link = link(1_000);
    for flow in 0..10 {
        offer(&mut link, at(0), flow, 1_000);
    }
    link.apply(at(1), crate::LinkChange::Cut);
    assert_eq!((link.inside(), link.waiting().bytes), (0, 0));
    link.apply(at(2), crate::LinkChange::Heal);
    offer(&mut link, at(2), 3, 1_000);
    let mut sums = [0; 10];
    delivered(&mut link, at(1_002), &mut sums);
    assert_eq!(sums[3], 1_000);
}
