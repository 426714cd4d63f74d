//! Randomized simulations of two SCTP hosts. Do all invariants hold in thousands of random scenarios?
//!
//! `ANABRANCH_SEEDS=n` runs the first n seeds (default 20,000); `ANABRANCH_SEED=n` runs only seed n and prints the
//! packets if it fails.

use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use anabranch_sim::Side;
use anabranch_sim::randomized::RandomizedTest;
use anabranch_sim::replay;

use crate::fixture::print_packet;

const SEEDS: u64 = 20_000;
/// Tests named of those that fail.
const LISTED: usize = 100;
/// Packets shown of a test that fails.
const SHOWN_PACKETS: usize = 400;

#[test]
fn randomized_simulations_hold_all_invariants() {
    if let Some(seed) = number("ANABRANCH_SEED") {
        play_in_the_open(seed);
        return;
    }
    let seeds = number("ANABRANCH_SEEDS").unwrap_or(SEEDS);
    let begin = std::time::Instant::now();
    let broken = play(seeds);
    println!("{seeds} plans in {:?}", begin.elapsed());
    for (seed, what) in broken.iter().take(LISTED) {
        println!("seed {seed}: {what}");
    }
    if let Some((seed, _)) = broken.first() {
        play_in_the_open(*seed);
    }
    assert!(broken.is_empty(), "{} of {seeds} plans failed", broken.len());
}

#[test]
fn randomized_simulation_is_deterministic() {
    for seed in 0..50 {
        let test = RandomizedTest::draw(seed);
        assert_eq!(test.run(), test.run(), "seed {seed}");
    }
}

/// The seeds of the tests that failed, and how, in ascending order.
fn play(seeds: u64) -> Vec<(u64, String)> {
    let (next, broken) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    let worker = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds {
                return;
            }
            if let Err(what) = verdict(&RandomizedTest::draw(seed)) {
                broken.lock().unwrap().push((seed, what));
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(worker);
        }
    });
    let mut broken = broken.into_inner().unwrap();
    broken.sort();
    broken
}

/// Failures that look alike: the same words, whatever the numbers.
fn kind(what: &str) -> String {
    what.chars()
        .filter(|character| character.is_alphabetic())
        .take(24)
        .collect()
}

/// How a test fails, a panic included.
fn verdict(test: &RandomizedTest) -> Result<(), String> {
    match catch_unwind(AssertUnwindSafe(|| test.run())) {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(failure)) => Err(failure.to_string()),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
            Err(format!("panic: {}", text.unwrap_or_default()))
        }
    }
}

/// Plays a test, and if it fails, makes it small and shows everything about it.
fn play_in_the_open(seed: u64) {
    let test = RandomizedTest::draw(seed);
    let Err(what) = verdict(&test) else { return };
    let smallest = replay::shrink(&test, |test| {
        verdict(test).is_err_and(|other| kind(&other) == kind(&what))
    });
    println!("{}", replay::source("what_went_wrong", &smallest));
    if let Err(failure) = smallest.run_keeping(SHOWN_PACKETS) {
        for (side, log) in Side::BOTH.iter().zip(&failure.logs) {
            println!("{side:?}:");
            log.iter().for_each(print_packet);
        }
        println!("{failure}");
    }
    panic!("seed {seed}: {what}");
}

fn number(variable: &str) -> Option<u64> {
    env::var(variable).ok()?.parse().ok()
}
