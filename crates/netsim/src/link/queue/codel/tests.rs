//! Tests of CoDel against the control law of RFC 8289 in closed form.

use super::{Codel, CodelConfig, Fifo};
use crate::link::{DropCause, LinkStats, QueueConfig};
use crate::{Datagram, Link, LinkConfig, Protocol};
use anabranch_types::{Ecn, Instant, PathAddr, Rate, Seed};
use std::time::Duration;

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + ms(millis)
}

fn codel(mark: bool) -> QueueConfig {
    let standard = CodelConfig::standard(u32::MAX);
    QueueConfig::Codel(CodelConfig { mark, ..standard })
}

/// 8 Mbit/s: 1,000 bytes leave each millisecond.
fn link(mark: bool) -> Link<Datagram> {
    Link::new(
        LinkConfig::new(Rate::mbit(8), Duration::ZERO).queue(codel(mark)),
        Seed(1),
    )
}

fn datagram(ecn: Ecn) -> Datagram {
    let path = PathAddr {
        local: "10.0.0.1:1".parse().unwrap(),
        remote: "10.0.0.2:1".parse().unwrap(),
    };
    Datagram {
        path,
        protocol: Protocol::SCTP,
        ecn,
        may_fragment: false,
        payload: vec![0; 972],
    }
}

fn fill(link: &mut Link<Datagram>, now: Instant, packets: u32, ecn: Ecn) {
    for _ in 0..packets {
        link.offer(now, datagram(ecn), 1_000);
    }
}

fn dropped(link: &Link<Datagram>) -> u64 {
    link.stats().dropped(DropCause::Early).packets
}

/// Number of drops by `millis` in a queue that has been too long since time 0 and is asked each millisecond: the first drop at
/// `first`, and the n-th one 100/√(n − 1) ms later.
fn drops_by_control_law(first: f64, millis: f64) -> u64 {
    let (mut next, mut drops) = (first, 0_u32);
    while next <= millis {
        drops += 1;
        next += 100.0 / f64::from(drops).sqrt();
    }
    drops.into()
}

#[test]
fn drops_of_a_standing_queue_follow_the_control_law() {
    let mut link = link(false);
    fill(&mut link, at(0), 100_000, Ecn::NotCapable);
    // The first packet to wait for 5 ms leaves at 5 ms; an interval later, at 105 ms, the first one is dropped.
    for millis in 1..5_000 {
        while link.take_due(at(millis)).is_some() {}
        let expected = drops_by_control_law(105.0, millis as f64);
        assert_eq!(dropped(&link), expected, "at {millis} ms");
    }
    assert!(dropped(&link) > 500);
}

#[test]
fn marks_of_a_standing_queue_follow_the_control_law_and_drop_nothing() {
    let mut link = link(true);
    fill(&mut link, at(0), 10_000, Ecn::Capable0);
    let mut marked = 0;
    for millis in 1..2_000 {
        while let Some(arrived) = link.take_due(at(millis)) {
            marked += u64::from(arrived.ecn == Ecn::CongestionExperienced);
        }
        // Each packet in turn may be marked, so no two marks fall into one millisecond, at these distances.
        let started = drops_by_control_law(105.0, millis as f64);
        assert_eq!(link.stats().marked, started, "at {millis} ms");
    }
    assert!(marked > 50 && marked <= link.stats().marked, "{marked}");
    assert_eq!(dropped(&link), 0);
}

#[test]
fn packets_that_cannot_be_marked_are_dropped() {
    let mut link = link(true);
    fill(&mut link, at(0), 1_000, Ecn::NotCapable);
    while link.take_due(at(300)).is_some() {}
    assert_eq!(dropped(&link), drops_by_control_law(105.0, 300.0));
    assert_eq!(link.stats().marked, 0);
}

#[test]
fn waiting_below_the_target_drops_nothing() {
    let mut link = link(false);
    // Bursts of five packets each 5 ms: the last one waits for 4 ms.
    for round in 0..1_000 {
        fill(&mut link, at(round * 5), 5, Ecn::NotCapable);
        while link.take_due(at(round * 5 + 5)).is_some() {}
    }
    assert_eq!(dropped(&link), 0);
    assert_eq!(link.stats().delivered.packets, 5_000);
}

#[test]
fn queue_that_empties_within_each_interval_drops_nothing() {
    let mut link = link(false);
    // Bursts of 80 ms each 100 ms: the wait is long, but falls to nothing in every interval.
    for round in 0..100 {
        fill(&mut link, at(round * 100), 80, Ecn::NotCapable);
        while link.take_due(at(round * 100 + 99)).is_some() {}
    }
    assert_eq!(dropped(&link), 0);
}

/// Drops within 20 s at a link where a packet takes 100 ms, so that each waits for longer than the target, with `standing`
/// packets in the queue after each departure.
fn drops_at_slow_link(standing: u32) -> u64 {
    let config = LinkConfig::new(Rate::bits_per_second(80_000), Duration::ZERO).queue(codel(false));
    let mut link = Link::new(config, Seed(1));
    fill(&mut link, at(0), standing + 1, Ecn::NotCapable);
    for round in 1..200 {
        while link.take_due(at(round * 100)).is_some() {}
        fill(&mut link, at(round * 100), 1, Ecn::NotCapable);
    }
    dropped(&link)
}

#[test]
fn queue_of_one_packet_drops_nothing_at_a_slow_link() {
    assert_eq!(drops_at_slow_link(1), 0);
    assert_eq!(drops_at_slow_link(2), 0, "1,000 bytes remain as one leaves");
    assert!(drops_at_slow_link(3) > 0);
}

/// Puts a machine of its own through a standing queue of `packets`, one leaving each millisecond from `from`, and returns the
/// times of its drops.
fn drop_times(codel: &mut Codel, from: u64, packets: u64) -> Vec<u64> {
    let (mut fifo, mut stats) = (Fifo::new(), LinkStats::default());
    for _ in 0..packets {
        fifo.push(crate::link::queue::QueuedPacket {
            item: vec![0_u8],
            bytes: 1_000,
            offered: at(from) - ms(50),
        });
    }
    let mut times = Vec::new();
    for millis in from.. {
        let before = stats.dropped(DropCause::Early).packets;
        let packet = codel.pop(at(millis), &mut fifo, &mut stats);
        let after = stats.dropped(DropCause::Early).packets;
        times.extend((before..after).map(|_| millis));
        if packet.is_none() {
            break;
        }
    }
    times
}

#[test]
fn dropping_state_resumes_its_rate_after_a_short_pause() {
    let config = CodelConfig::standard(u32::MAX);
    let mut codel = Codel::new(config, 1_500);
    let first = drop_times(&mut codel, 1_000, 1_000);
    // It begins with 1 and so has counted all drops; entering again within 16 intervals starts from all but the first.
    let counted = first.len() as f64;
    let again = drop_times(&mut codel, 3_000, 400);
    let gap = (again[1] - again[0]) as f64;
    assert!(
        (gap - 100.0 / (counted - 1.0).sqrt()).abs() <= 1.0,
        "{gap} ms after {counted} drops"
    );
    let late = drop_times(&mut codel, 20_000, 400);
    assert_eq!(late[1] - late[0], 100, "a long pause forgets it");
}
