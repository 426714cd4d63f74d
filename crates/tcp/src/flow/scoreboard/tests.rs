//! What is lost, what is there, and do the counts agree?

use alloc::vec;
use alloc::vec::Vec;

use anabranch_types::Seed;
use bytes::Bytes;

use super::*;

const SEGMENT: u64 = 100;

fn load(bytes: Bytes) -> Load {
    Load {
        bytes,
        ..Load::default()
    }
}

fn sent(count: u64) -> Scoreboard {
    let mut board = Scoreboard::new(1, false);
    for _ in 0..count {
        board.push(load(Bytes::from(vec![0; SEGMENT as usize])), Instant::ZERO);
    }
    board
}

/// The numbers of the `nth` segments.
fn segments(nth: Range<u64>) -> Range<Position> {
    1 + nth.start * SEGMENT..1 + nth.end * SEGMENT
}

fn lost(board: &Scoreboard) -> Vec<u64> {
    board.lost.iter().map(|start| (start - 1) / SEGMENT).collect()
}

#[test]
fn what_three_later_segments_have_overtaken_is_lost() {
    let mut board = sent(10);
    board.acknowledge(1, &[segments(1..3)]);
    board.find_lost(SEGMENT);
    assert_eq!(lost(&board), [0; 0], "two segments are not more than two");
    let changes = board.acknowledge(1, &[segments(1..4)]);
    assert_eq!(changes.newly_acked, SEGMENT);
    assert_eq!(board.find_lost(SEGMENT), SEGMENT);
    assert_eq!(lost(&board), [0]);
    assert_eq!(board.in_flight(), 6 * SEGMENT);
}

#[test]
fn three_separate_blocks_above_suffice() {
    let mut board = sent(10);
    let small = |nth: u64| {
        let whole = segments(nth..nth + 1);
        whole.start..whole.end
    };
    board.acknowledge(1, &[small(2), small(4), small(6)]);
    board.find_lost(SEGMENT * 10);
    assert_eq!(lost(&board), [0, 1]);
}

#[test]
fn a_retransmission_is_lost_when_three_later_segments_arrive() {
    let mut board = sent(10);
    board.acknowledge(1, &[segments(1..4)]);
    board.find_lost(SEGMENT);
    board.repeat_lost(Instant::ZERO);
    board.acknowledge(1, &[segments(1..10)]);
    board.find_lost(SEGMENT);
    assert_eq!(lost(&board), [0; 0], "they left before it");
    for _ in 0..3 {
        board.push(load(Bytes::from_static(&[0; SEGMENT as usize])), Instant::ZERO);
    }
    board.acknowledge(1, &[segments(1..13)]);
    board.find_lost(SEGMENT);
    assert_eq!(lost(&board), [0]);
}

#[test]
fn sacked_bytes_stay_unless_the_peer_never_reneges() {
    for nr_sack in [false, true] {
        let mut board = Scoreboard::new(1, nr_sack);
        for _ in 0..4 {
            board.push(load(Bytes::from_static(&[0; SEGMENT as usize])), Instant::ZERO);
        }
        let changes = board.acknowledge(1, &[segments(1..3)]);
        assert_eq!(changes.freed, if nr_sack { 2 * SEGMENT } else { 0 });
        assert_eq!(board.in_flight(), 2 * SEGMENT, "numbers are counted all the same");
        let changes = board.acknowledge(segments(0..4).end, &[]);
        assert_eq!(changes.newly_acked, 2 * SEGMENT);
        assert_eq!(changes.freed, if nr_sack { 2 * SEGMENT } else { 4 * SEGMENT });
        assert_eq!(board.held(), 0);
    }
}

#[test]
fn a_peer_that_discards_what_it_reported_gets_it_again() {
    let mut board = sent(4);
    board.acknowledge(1, &[segments(1..3)]);
    board.acknowledge(segments(0..1).end, &[]);
    board.lose_all();
    assert_eq!(lost(&board), [1, 2, 3]);
}

#[test]
fn what_waited_for_a_retransmission_measures_nothing() {
    let mut board = sent(3);
    board.lose_all();
    let later = Instant::ZERO + core::time::Duration::from_secs(60);
    board.repeat_lost(later);
    let changes = board.acknowledge(segments(0..3).end, &[]);
    assert_eq!(
        changes.sample, None,
        "the second and the third were there for a minute"
    );
    let mut board = sent(3);
    board.acknowledge(1, &[segments(1..3)]);
    assert_eq!(
        board.acknowledge(segments(0..3).end, &[]).sample,
        Some(Instant::ZERO)
    );
}

#[test]
fn parts_of_segments_may_be_acknowledged() {
    let mut board = sent(3);
    let changes = board.acknowledge(151, &[]);
    assert_eq!((changes.newly_acked, changes.freed), (150, 150));
    assert_eq!(
        board
            .records
            .front()
            .map(|oldest| (oldest.start, oldest.bytes.len())),
        Some((151, 50))
    );
    board.acknowledge(151, core::slice::from_ref(&(201..250)));
    assert!(
        board.sacked.is_empty(),
        "a part beyond the acknowledgement does not count"
    );
    assert_eq!(board.in_flight(), 150);
}

/// Whatever happens, the counters agree with the records.
#[test]
fn counters_agree_with_records() {
    for seed in 0..300 {
        let mut rng = Seed(seed).rng();
        let mut board = Scoreboard::new(1, rng.chance(1, 2));
        for _ in 0..200 {
            match rng.below(8) {
                0..3 => {
                    let length = 1 + rng.below(SEGMENT) as usize;
                    board.push(load(Bytes::from(vec![0; length])), Instant::ZERO);
                }
                3 => {
                    board.repeat_lost(Instant::ZERO);
                }
                4 if rng.chance(1, 10) => board.lose_all(),
                5 if rng.chance(1, 5) => {
                    board.repeat_last(Instant::ZERO);
                }
                _ => {
                    let ack = board.first() + rng.below((board.next() - board.first()) / 3 + 1);
                    let start = ack + rng.below(board.next() - ack + 1);
                    let end = start + rng.below(board.next() - start + 1);
                    let block = start..end;
                    board.acknowledge(
                        ack,
                        if start < end {
                            core::slice::from_ref(&block)
                        } else {
                            &[]
                        },
                    );
                    board.find_lost(SEGMENT);
                }
            }
            let of = |standing| {
                let records = board
                    .records
                    .iter()
                    .filter(move |record| record.standing == standing);
                records.map(Record::length).sum::<u64>()
            };
            assert_eq!(board.in_flight(), of(Standing::InFlight), "seed {seed}");
            assert_eq!(board.sacked.len(), of(Standing::Sacked), "seed {seed}");
            let held: u64 = board.records.iter().map(|record| record.bytes.len() as u64).sum();
            assert_eq!(board.held(), held, "seed {seed}");
            for start in &board.lost {
                assert_eq!(
                    board.records[board.index(*start)].standing,
                    Standing::Lost,
                    "seed {seed}"
                );
            }
            for repeated in board.repeated.values() {
                let record = &board.records[board.index(repeated.start)];
                assert_eq!(record.start, repeated.start, "seed {seed}");
                assert_eq!(record.standing, Standing::InFlight, "seed {seed}");
            }
        }
    }
}
