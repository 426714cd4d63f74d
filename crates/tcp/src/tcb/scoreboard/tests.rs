//! Tests of the SACK scoreboard: loss detection, acknowledgement and counters.

use alloc::vec;
use alloc::vec::Vec;

use anabranch_types::Seed;
use bytes::Bytes;

use super::*;

const SEGMENT: u64 = 100;

fn payload(bytes: Bytes) -> Payload {
    Payload {
        bytes,
        ..Payload::default()
    }
}

fn sent(count: u64) -> Scoreboard {
    let mut scoreboard = Scoreboard::new(1, false);
    for _ in 0..count {
        scoreboard.push(payload(Bytes::from(vec![0; SEGMENT as usize])), Instant::ZERO);
    }
    scoreboard
}

/// Sequence number range of the segments numbered `nth`.
fn segments(nth: Range<u64>) -> Range<Position> {
    1 + nth.start * SEGMENT..1 + nth.end * SEGMENT
}

fn lost(scoreboard: &Scoreboard) -> Vec<u64> {
    scoreboard
        .lost
        .iter()
        .map(|start| (start - 1) / SEGMENT)
        .collect()
}

#[test]
fn segment_is_lost_after_three_later_ones_are_sacked() {
    let mut scoreboard = sent(10);
    scoreboard.acknowledge(1, &[segments(1..3)]);
    scoreboard.find_lost(SEGMENT);
    assert_eq!(lost(&scoreboard), [0; 0], "two segments are not more than two");
    let changes = scoreboard.acknowledge(1, &[segments(1..4)]);
    assert_eq!(changes.newly_acked, SEGMENT);
    assert_eq!(scoreboard.find_lost(SEGMENT), SEGMENT);
    assert_eq!(lost(&scoreboard), [0]);
    assert_eq!(scoreboard.in_flight(), 6 * SEGMENT);
}

#[test]
fn segment_is_lost_below_three_separate_sack_blocks() {
    let mut scoreboard = sent(10);
    let small = |nth: u64| {
        let whole = segments(nth..nth + 1);
        whole.start..whole.end
    };
    scoreboard.acknowledge(1, &[small(2), small(4), small(6)]);
    scoreboard.find_lost(SEGMENT * 10);
    assert_eq!(lost(&scoreboard), [0, 1]);
}

#[test]
fn retransmission_is_lost_after_three_later_segments() {
    let mut scoreboard = sent(10);
    scoreboard.acknowledge(1, &[segments(1..4)]);
    scoreboard.find_lost(SEGMENT);
    scoreboard.repeat_lost(Instant::ZERO);
    scoreboard.acknowledge(1, &[segments(1..10)]);
    scoreboard.find_lost(SEGMENT);
    assert_eq!(lost(&scoreboard), [0; 0], "they left before it");
    for _ in 0..3 {
        scoreboard.push(payload(Bytes::from_static(&[0; SEGMENT as usize])), Instant::ZERO);
    }
    scoreboard.acknowledge(1, &[segments(1..13)]);
    scoreboard.find_lost(SEGMENT);
    assert_eq!(lost(&scoreboard), [0]);
}

#[test]
fn sacked_bytes_are_freed_only_with_nr_sack() {
    for nr_sack in [false, true] {
        let mut scoreboard = Scoreboard::new(1, nr_sack);
        for _ in 0..4 {
            scoreboard.push(payload(Bytes::from_static(&[0; SEGMENT as usize])), Instant::ZERO);
        }
        let changes = scoreboard.acknowledge(1, &[segments(1..3)]);
        assert_eq!(changes.freed, if nr_sack { 2 * SEGMENT } else { 0 });
        assert_eq!(
            scoreboard.in_flight(),
            2 * SEGMENT,
            "numbers are counted all the same"
        );
        let changes = scoreboard.acknowledge(segments(0..4).end, &[]);
        assert_eq!(changes.newly_acked, 2 * SEGMENT);
        assert_eq!(changes.freed, if nr_sack { 2 * SEGMENT } else { 4 * SEGMENT });
        assert_eq!(scoreboard.held(), 0);
    }
}

#[test]
fn reneged_segments_are_lost_at_a_timeout() {
    let mut scoreboard = sent(4);
    scoreboard.acknowledge(1, &[segments(1..3)]);
    scoreboard.acknowledge(segments(0..1).end, &[]);
    scoreboard.lose_all();
    assert_eq!(lost(&scoreboard), [1, 2, 3]);
}

#[test]
fn segments_behind_a_retransmission_give_no_rtt_sample() {
    let mut scoreboard = sent(3);
    scoreboard.lose_all();
    let later = Instant::ZERO + core::time::Duration::from_secs(60);
    scoreboard.repeat_lost(later);
    let changes = scoreboard.acknowledge(segments(0..3).end, &[]);
    assert_eq!(
        changes.sample, None,
        "the second and the third were there for a minute"
    );
    let mut scoreboard = sent(3);
    scoreboard.acknowledge(1, &[segments(1..3)]);
    assert_eq!(
        scoreboard.acknowledge(segments(0..3).end, &[]).sample,
        Some(Instant::ZERO)
    );
}

#[test]
fn segments_can_be_acknowledged_in_part() {
    let mut scoreboard = sent(3);
    let changes = scoreboard.acknowledge(151, &[]);
    assert_eq!((changes.newly_acked, changes.freed), (150, 150));
    assert_eq!(
        scoreboard
            .records
            .front()
            .map(|oldest| (oldest.start, oldest.bytes.len())),
        Some((151, 50))
    );
    scoreboard.acknowledge(151, core::slice::from_ref(&(201..250)));
    assert!(
        scoreboard.sacked.is_empty(),
        "a part beyond the acknowledgement does not count"
    );
    assert_eq!(scoreboard.in_flight(), 150);
}

/// The counters agree with the records after any sequence of events.
#[test]
fn counters_agree_with_records() {
    for seed in 0..300 {
        let mut rng = Seed(seed).rng();
        let mut scoreboard = Scoreboard::new(1, rng.chance(1, 2));
        for _ in 0..200 {
            match rng.below(8) {
                0..3 => {
                    let length = 1 + rng.below(SEGMENT) as usize;
                    scoreboard.push(payload(Bytes::from(vec![0; length])), Instant::ZERO);
                }
                3 => {
                    scoreboard.repeat_lost(Instant::ZERO);
                }
                4 if rng.chance(1, 10) => scoreboard.lose_all(),
                5 if rng.chance(1, 5) => {
                    scoreboard.repeat_last(Instant::ZERO);
                }
                _ => {
                    let ack =
                        scoreboard.first() + rng.below((scoreboard.next() - scoreboard.first()) / 3 + 1);
                    let start = ack + rng.below(scoreboard.next() - ack + 1);
                    let end = start + rng.below(scoreboard.next() - start + 1);
                    let block = start..end;
                    scoreboard.acknowledge(
                        ack,
                        if start < end {
                            core::slice::from_ref(&block)
                        } else {
                            &[]
                        },
                    );
                    scoreboard.find_lost(SEGMENT);
                }
            }
            assert_counters_agree(&scoreboard, seed);
        }
    }
}

fn assert_counters_agree(scoreboard: &Scoreboard, seed: u64) {
    let of = |standing| {
        let records = scoreboard
            .records
            .iter()
            .filter(move |record| record.standing == standing);
        records.map(SentSegment::length).sum::<u64>()
    };
    assert_eq!(scoreboard.in_flight(), of(SegmentState::InFlight), "seed {seed}");
    assert_eq!(scoreboard.sacked.len(), of(SegmentState::Sacked), "seed {seed}");
    let held: u64 = scoreboard
        .records
        .iter()
        .map(|record| record.bytes.len() as u64)
        .sum();
    assert_eq!(scoreboard.held(), held, "seed {seed}");
    for start in &scoreboard.lost {
        assert_eq!(
            scoreboard.records[scoreboard.index(*start)].standing,
            SegmentState::Lost,
            "seed {seed}"
        );
    }
    for repeated in scoreboard.repeated.values() {
        let record = &scoreboard.records[scoreboard.index(repeated.start)];
        assert_eq!(record.start, repeated.start, "seed {seed}");
        assert_eq!(record.standing, SegmentState::InFlight, "seed {seed}");
    }
}
