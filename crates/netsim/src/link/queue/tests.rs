//! Queues at their limits.

use super::{Admission, Arrival, Parcel, Queue, QueueConfig, RedConfig};
use crate::link::DropCause;
use anabranch_types::Seed;
use std::time::Duration;

const BUSY: Arrival = Arrival {
    bytes: 1_000,
    idle: None,
    service: Duration::from_millis(1),
};

fn queue(config: QueueConfig) -> Queue<()> {
    Queue::new(config, Seed(3).rng())
}

fn fill(queue: &mut Queue<()>, packets: usize) {
    for _ in 0..packets {
        queue.push(Parcel {
            item: (),
            bytes: BUSY.bytes,
        });
    }
}

/// Judges `packets` arrivals at a queue that always holds `length`; how many were not welcome.
fn turned_away(config: RedConfig, length: usize, packets: usize) -> usize {
    let mut queue = queue(QueueConfig::Red(config));
    fill(&mut queue, length);
    (0..packets)
        .filter(|_| queue.judge(BUSY) != Admission::Welcome)
        .count()
}

#[test]
fn drop_tail_by_packets_refuses_the_one_too_many() {
    let mut queue = queue(QueueConfig::Packets(2));
    fill(&mut queue, 1);
    assert_eq!(queue.judge(BUSY), Admission::Welcome);
    fill(&mut queue, 1);
    assert_eq!(queue.judge(BUSY), Admission::Refused(DropCause::QueueFull));
}

#[test]
fn drop_tail_by_bytes_admits_a_small_packet_where_a_large_one_does_not_fit() {
    let mut queue = queue(QueueConfig::Bytes(1_500));
    fill(&mut queue, 1);
    assert_eq!(queue.judge(BUSY), Admission::Refused(DropCause::QueueFull));
    assert_eq!(queue.judge(Arrival { bytes: 500, ..BUSY }), Admission::Welcome);
}

#[test]
fn an_idle_line_takes_a_packet_even_without_any_queue() {
    let mut queue = queue(QueueConfig::Packets(0));
    assert_eq!(
        queue.judge(Arrival {
            idle: Some(Duration::ZERO),
            ..BUSY
        }),
        Admission::Welcome
    );
}

#[test]
fn red_turns_away_nobody_below_its_minimum_some_above_and_all_beyond_its_maximum() {
    let fast = RedConfig {
        weight: 0.5,
        max_chance: 0.1,
        ..RedConfig::classic(100)
    };
    assert_eq!(turned_away(fast, 4, 10_000), 0);
    let some = turned_away(fast, 10, 10_000);
    // Half way the base chance is 0.05; spreading by count makes gaps uniform over 1 to 20: 10.5 on average.
    assert!((900..1_010).contains(&some), "{some}");
    assert!(turned_away(fast, 20, 10_000) > 9_990);
}

#[test]
fn gentle_red_does_not_jump_at_its_maximum() {
    let gentle = RedConfig {
        weight: 0.5,
        gentle: true,
        ..RedConfig::classic(100)
    };
    let some = turned_away(gentle, 16, 10_000);
    assert!((500..9_000).contains(&some), "{some}");
    assert!(turned_away(gentle, 31, 10_000) > 9_900);
}

#[test]
fn red_forgets_its_average_while_the_line_is_idle() {
    let config = RedConfig {
        weight: 0.1,
        ..RedConfig::classic(100)
    };
    let mut queue = queue(QueueConfig::Red(config));
    fill(&mut queue, 50);
    while queue.judge(BUSY) == Admission::Welcome {}
    while queue.pop().is_some() {}
    let rested = Arrival {
        idle: Some(Duration::from_secs(1)),
        ..BUSY
    };
    assert_eq!(queue.judge(rested), Admission::Welcome);
    assert_eq!(queue.judge(BUSY), Admission::Welcome);
}
