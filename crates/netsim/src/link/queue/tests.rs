//! Tests of queue disciplines.

use super::{Admission, Arrival, Queue, QueueConfig, QueuedPacket, RedConfig};
use crate::link::{DropCause, LinkConfig, LinkStats};
use anabranch_types::{Instant, Seed};
use std::time::Duration;

const BUSY: Arrival = Arrival {
    bytes: 1_000,
    idle: None,
    service: Duration::from_millis(1),
};

fn queue(config: QueueConfig) -> Queue<Vec<u8>> {
    Queue::new(
        &LinkConfig::unlimited(Duration::ZERO).queue(config),
        Seed(3).rng(),
    )
}

fn fill(queue: &mut Queue<Vec<u8>>, packets: usize) {
    for _ in 0..packets {
        let packet = QueuedPacket {
            item: Vec::new(),
            bytes: BUSY.bytes,
            offered: Instant::ZERO,
        };
        queue.push(packet, &mut LinkStats::default());
    }
}

/// Number of `packets` arrivals that are not accepted by a queue that always holds `length` packets.
fn dropped(config: RedConfig, length: usize, packets: usize) -> usize {
    let mut queue = queue(QueueConfig::Red(config));
    fill(&mut queue, length);
    (0..packets)
        .filter(|_| queue.decide(Instant::ZERO, BUSY) != Admission::Accept)
        .count()
}

#[test]
fn drop_tail_limits_packets() {
    let mut queue = queue(QueueConfig::Packets(2));
    fill(&mut queue, 1);
    assert_eq!(queue.decide(Instant::ZERO, BUSY), Admission::Accept);
    fill(&mut queue, 1);
    assert_eq!(
        queue.decide(Instant::ZERO, BUSY),
        Admission::Drop(DropCause::QueueFull)
    );
}

#[test]
fn drop_tail_limits_bytes() {
    let mut queue = queue(QueueConfig::Bytes(1_500));
    fill(&mut queue, 1);
    assert_eq!(
        queue.decide(Instant::ZERO, BUSY),
        Admission::Drop(DropCause::QueueFull)
    );
    assert_eq!(
        queue.decide(Instant::ZERO, Arrival { bytes: 500, ..BUSY }),
        Admission::Accept
    );
}

#[test]
fn idle_link_accepts_a_packet_with_queue_limit_zero() {
    let mut queue = queue(QueueConfig::Packets(0));
    assert_eq!(
        queue.decide(
            Instant::ZERO,
            Arrival {
                idle: Some(Duration::ZERO),
                ..BUSY
            }
        ),
        Admission::Accept
    );
}

#[test]
fn red_drop_rate_follows_its_thresholds() {
    let fast = RedConfig {
        weight: 0.5,
        max_probability: 0.1,
        ..RedConfig::classic(100)
    };
    assert_eq!(dropped(fast, 4, 10_000), 0);
    let some = dropped(fast, 10, 10_000);
    // Halfway the base probability is 0.05; scaling by count makes gaps uniform over 1 to 20: 10.5 on average.
    assert!((900..1_010).contains(&some), "{some}");
    assert!(dropped(fast, 20, 10_000) > 9_990);
}

#[test]
fn gentle_red_drop_rate_rises_beyond_max_threshold() {
    let gentle = RedConfig {
        weight: 0.5,
        gentle: true,
        ..RedConfig::classic(100)
    };
    let some = dropped(gentle, 16, 10_000);
    assert!((500..9_000).contains(&some), "{some}");
    assert!(dropped(gentle, 31, 10_000) > 9_900);
}

#[test]
fn red_average_decays_while_idle() {
    let config = RedConfig {
        weight: 0.1,
        ..RedConfig::classic(100)
    };
    let mut queue = queue(QueueConfig::Red(config));
    fill(&mut queue, 50);
    while queue.decide(Instant::ZERO, BUSY) == Admission::Accept {}
    while queue.pop(Instant::ZERO, &mut LinkStats::default()).is_some() {}
    let rested = Arrival {
        idle: Some(Duration::from_secs(1)),
        ..BUSY
    };
    assert_eq!(queue.decide(Instant::ZERO, rested), Admission::Accept);
    assert_eq!(queue.decide(Instant::ZERO, BUSY), Admission::Accept);
}
