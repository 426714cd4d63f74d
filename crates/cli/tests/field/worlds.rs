//! Worlds drawn at random, several at once. In `make test` six of them; `make field` runs more.
//!
//! `ANABRANCH_WORLDS=n` runs n worlds, `ANABRANCH_SEED=n` begins with the world of that seed, `ANABRANCH_PARALLEL=n` runs n at once.
//! A world that fails leaves its transcript in the target directory; a single world prints it.

use std::path::Path;
use std::time::Instant;

use super::harness::needs_root;
use super::network::{Network, Turn};
use super::parallel::{self, number};
use super::world::{Outcome, RandomWorld, run};

/// Seed of the first world and number of worlds of `make test`.
const SEED: u64 = 1;
const WORLDS: u64 = 6;

#[test]
fn files_arrive_whole_or_fail_with_a_reason_in_random_worlds() {
    let turn = Turn::take();
    if needs_root("network namespaces", || Network::beside_others(&turn)).is_none() {
        return;
    }
    let first = number("ANABRANCH_SEED").unwrap_or(SEED);
    let count = number("ANABRANCH_WORLDS").unwrap_or(WORLDS);
    println!(
        "{count} worlds from seed {first}, {} at once",
        parallel::at_once()
    );
    let seeds: Vec<u64> = (first..first + count).collect();
    let began = Instant::now();
    let verdicts = parallel::all(
        &seeds,
        |seed| visit(*seed, count == 1, &turn),
        |done, seed, verdict| {
            let text = describe(*seed, verdict);
            println!("{done:4} of {count}, seed {seed}, {text}");
        },
    );
    let failed: Vec<&u64> = seeds
        .iter()
        .zip(&verdicts)
        .filter_map(|(seed, verdict)| verdict.is_err().then_some(seed))
        .collect();
    let stored = verdicts
        .iter()
        .filter(|verdict| matches!(verdict, Ok((Outcome::Stored, _))))
        .count();
    println!(
        "{count} worlds in {} s: {stored} files stored, {} ended with a clear error while no path was left, {} failed",
        began.elapsed().as_secs(),
        verdicts.len() - stored - failed.len(),
        failed.len()
    );
    for seed in &failed {
        println!("FAILED: make field N=1 SEED={seed}");
    }
    assert!(failed.is_empty(), "{} of {count} worlds failed", failed.len());
}

/// How a world ended, and its time in seconds.
type Verdict = Result<(Outcome, f64), String>;

fn visit(seed: u64, prints: bool, turn: &Turn) -> Verdict {
    let world = RandomWorld::draw(seed);
    let began = Instant::now();
    let mut transcript = format!("{world:#?}\n");
    let result = run(&world, turn, &mut transcript).ok_or("no right to make namespaces")?;
    if prints {
        println!("{transcript}");
    }
    let outcome = result.inspect_err(|_| {
        // Without it, the world can be run again.
        let _ = std::fs::write(transcript_of(seed), &transcript);
    })?;
    Ok((outcome, began.elapsed().as_secs_f64()))
}

fn describe(seed: u64, verdict: &Verdict) -> String {
    let world = RandomWorld::draw(seed);
    match verdict {
        Ok((Outcome::Stored, seconds)) => format!("{world}: stored in {seconds:.1} s"),
        Ok((Outcome::Error(error), seconds)) => {
            format!("{world}: an error as expected after {seconds:.1} s: {error}")
        }
        Err(what) => format!("{world}: FAILED: {what}; {}", transcript_of(seed)),
    }
}

fn transcript_of(seed: u64) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    folder.join(format!("world-{seed}.txt")).display().to_string()
}
