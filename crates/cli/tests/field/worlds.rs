//! Worlds drawn at random, several at once. In `make test` six of them; `make field` runs more.
//!
//! `ANABRANCH_WORLDS=n` runs n worlds, `ANABRANCH_SEED=n` begins with the world of that seed, `ANABRANCH_PARALLEL=n` runs n at once.
//! A world that fails leaves its transcript in the target directory; a single world prints it.

use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use super::harness::needs_root;
use super::network::{Network, Turn};
use super::world::{Outcome, RandomWorld, run};

/// Seed of the first world and number of worlds of `make test`.
const SEED: u64 = 1;
const WORLDS: u64 = 6;

/// Worlds for each processor: most of the time they wait.
const PER_PROCESSOR: u64 = 4;

#[test]
fn files_arrive_whole_or_fail_with_a_reason_in_random_worlds() {
    let turn = Turn::take();
    if needs_root("network namespaces", || Network::beside_others(&turn)).is_none() {
        return;
    }
    let first = number("ANABRANCH_SEED").unwrap_or(SEED);
    let count = number("ANABRANCH_WORLDS").unwrap_or(WORLDS);
    let processors = thread::available_parallelism().map_or(1, |processors| processors.get() as u64);
    let parallel = number("ANABRANCH_PARALLEL").unwrap_or(PER_PROCESSOR * processors);
    println!("{count} worlds from seed {first}, {parallel} at once");
    let tour = Tour {
        turn,
        first,
        count,
        next: AtomicU64::new(0),
        done: Mutex::new(Vec::new()),
    };
    let began = Instant::now();
    thread::scope(|scope| {
        for _ in 0..parallel.min(count) {
            scope.spawn(|| tour.work());
        }
    });
    let done = tour.done.into_inner().unwrap();
    let failed: Vec<&(u64, Verdict)> = done.iter().filter(|(_, verdict)| verdict.is_err()).collect();
    let is_stored = |(_, verdict): &&(u64, Verdict)| *verdict == Ok(Outcome::Stored);
    let stored = done.iter().filter(is_stored).count();
    let ended = done.len() - stored - failed.len();
    let seconds = began.elapsed().as_secs();
    println!(
        "{count} worlds in {seconds} s: {stored} files stored, {ended} ended with a clear error while no path was left, {} failed",
        failed.len()
    );
    for (seed, verdict) in &failed {
        println!("FAILED: make field N=1 SEED={seed}: {verdict:?}");
    }
    assert!(failed.is_empty(), "{} of {count} worlds failed", failed.len());
}

type Verdict = Result<Outcome, String>;

/// The worlds that are run, and their results.
#[derive(Debug)]
struct Tour {
    turn: Turn,
    first: u64,
    count: u64,
    next: AtomicU64,
    done: Mutex<Vec<(u64, Verdict)>>,
}

impl Tour {
    /// Runs one world after the other until none is left.
    fn work(&self) {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.count {
                return;
            }
            let seed = self.first + number;
            let world = RandomWorld::draw(seed);
            let began = Instant::now();
            let mut transcript = format!("{world:#?}\n");
            let verdict = self.run_caught(&world, &mut transcript);
            if self.count == 1 {
                println!("{transcript}");
            }
            let text = match &verdict {
                Ok(Outcome::Stored) => "stored".to_owned(),
                Ok(Outcome::Error(error)) => format!("error as expected: {error}"),
                Err(what) => {
                    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("world-{seed}.txt"));
                    let _ = std::fs::write(&kept, &transcript);
                    format!("FAILED: {what}; make field N=1 SEED={seed}; {}", kept.display())
                }
            };
            let mut done = self.done.lock().unwrap();
            done.push((seed, verdict));
            println!(
                "{:4} of {}, seed {seed}, {:5.1} s, {world}: {text}",
                done.len(),
                self.count,
                began.elapsed().as_secs_f64()
            );
        }
    }

    /// A world that cannot even be made has failed, and others go on.
    fn run_caught(&self, world: &RandomWorld, transcript: &mut String) -> Verdict {
        let run = || run(world, &self.turn, transcript);
        match catch_unwind(AssertUnwindSafe(run)) {
            Ok(Some(verdict)) => verdict,
            Ok(None) => Err("no right to make namespaces".to_owned()),
            Err(panic) => {
                let text = panic.downcast_ref::<String>().cloned();
                Err(text.unwrap_or_else(|| "a panic".to_owned()))
            }
        }
    }
}

fn number(variable: &str) -> Option<u64> {
    env::var(variable).ok()?.parse().ok()
}
