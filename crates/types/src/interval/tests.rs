//! Tests of interval sets: a naive set as reference, and edge cases.

use alloc::collections::BTreeSet;
use alloc::string::ToString;
use alloc::vec::Vec;

use super::IntervalSet;
use crate::Seed;

#[test]
fn adjacent_ranges_merge() {
    let mut set = IntervalSet::new();
    set.insert(5..6);
    set.insert(7..8);
    set.insert(6..7);
    assert_eq!(set.to_string(), "5-7");
}

#[test]
fn removing_from_the_middle_splits_a_range() {
    let mut set = IntervalSet::new();
    set.insert(10..20);
    set.remove(13..15);
    assert_eq!(set.to_string(), "10-12 15-19");
    assert_eq!(set.len(), 8);
}

#[test]
fn missing_parts_of_a_range_are_those_between_and_beside_the_known_ones() {
    let set = IntervalSet::from_ascending(Vec::from([10..12, 15..16, 20..30]));
    let missing = |range| set.missing_in(range).collect::<IntervalSet>().to_string();
    assert_eq!(missing(8..25), "8-9 12-14 16-19");
    assert_eq!(missing(11..14), "12-13");
    assert_eq!(missing(22..30), "");
    assert_eq!(missing(28..40), "30-39");
    assert_eq!(set.into_ranges().len(), 3);
}

#[test]
fn random_operations_agree_with_a_set_of_single_numbers() {
    for seed in 0..200 {
        let mut rng = Seed(seed).rng();
        let mut set = IntervalSet::new();
        let mut other = IntervalSet::new();
        let mut naive = BTreeSet::new();
        let mut naive_other = BTreeSet::new();
        for _ in 0..60 {
            let start = rng.below(100);
            let range = start..start + rng.below(12);
            match rng.below(4) {
                0 | 1 => {
                    let grows = range.clone().any(|number| !naive.contains(&number));
                    naive.extend(range.clone());
                    assert_eq!(set.insert(range), grows);
                }
                2 => {
                    naive.retain(|number| !range.contains(number));
                    set.remove(range);
                }
                _ => {
                    naive_other.extend(range.clone());
                    other.insert(range);
                }
            }
            let listed: Vec<u64> = set.iter().flatten().collect();
            assert_eq!(listed, naive.iter().copied().collect::<Vec<_>>(), "seed {seed}");
            let difference: Vec<u64> = set.difference(&other).flatten().collect();
            let expected: Vec<u64> = naive.difference(&naive_other).copied().collect();
            assert_eq!(difference, expected, "seed {seed}: {set:?} minus {other:?}");
            assert!((0..120).all(|number| set.contains(number) == naive.contains(&number)));
            let mut united = set.clone();
            united.unite(&other);
            let one_by_one: IntervalSet = set.iter().chain(other.iter()).collect();
            assert_eq!(united, one_by_one, "seed {seed}: {set:?} and {other:?}");
        }
    }
}

#[test]
fn removing_below_a_number_cuts_the_range_it_falls_into() {
    let mut set: IntervalSet = [1..4, 6..9].into_iter().collect();
    assert_eq!(set.remove_below(7), 1);
    assert_eq!(set.to_string(), "7-8");
}

#[test]
fn a_cleared_set_can_grow_again() {
    let mut set: IntervalSet = [1..4, 6..9].into_iter().collect();
    set.clear();
    assert!(set.is_empty());
    assert!(set.insert(2..3));
    assert!(set.insert(3..5));
    assert_eq!(set.to_string(), "2-4");
}

#[test]
fn the_range_around_a_number_is_found() {
    let set: IntervalSet = [3..6, 9..10].into_iter().collect();
    assert_eq!(set.range_with(3), Some(3..6));
    assert_eq!(set.range_with(9), Some(9..10));
    assert_eq!(set.range_with(6), None);
    assert_eq!(set.range_with(10), None);
}
