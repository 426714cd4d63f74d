//! Scenarios drawn at random, several at once. In `make test` six of them; `make field` runs more.
//!
//! `ANABRANCH_SCENARIOS=n` runs n scenarios, `ANABRANCH_SEED=n` begins with the scenario of that seed, `ANABRANCH_PARALLEL=n` runs n at once.
//! A scenario that fails leaves its transcript in the target directory; a single scenario prints it.

use std::path::Path;
use std::time::Instant;

use super::harness::needs_root;
use super::network::{Network, Turn};
use super::parallel::{self, number};
use super::scenario::{Outcome, RandomScenario, run};

/// Seed of the first scenario and number of scenarios of `make test`.
const SEED: u64 = 1;
const SCENARIOS: u64 = 6;

#[test]
fn files_arrive_whole_or_fail_with_a_reason_in_random_scenarios() {
    let turn = Turn::take();
    if needs_root("network namespaces", || Network::beside_others(&turn)).is_none() {
        return;
    }
    let first = number("ANABRANCH_SEED").unwrap_or(SEED);
    let count = number("ANABRANCH_SCENARIOS").unwrap_or(SCENARIOS);
    println!(
        "{count} scenarios from seed {first}, {} at once",
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
        "{count} scenarios in {} s: {stored} files stored, {} ended with a clear error while no path was left, {} failed",
        began.elapsed().as_secs(),
        verdicts.len() - stored - failed.len(),
        failed.len()
    );
    for seed in &failed {
        println!("FAILED: make field N=1 SEED={seed}");
    }
    assert!(failed.is_empty(), "{} of {count} scenarios failed", failed.len());
}

/// How a scenario ended, and its time in seconds.
type Verdict = Result<(Outcome, f64), String>;

fn visit(seed: u64, prints: bool, turn: &Turn) -> Verdict {
    let scenario = RandomScenario::draw(seed);
    let began = Instant::now();
    let mut transcript = format!("{scenario:#?}\n");
    let result = run(&scenario, turn, &mut transcript).ok_or("no right to make namespaces")?;
    if prints {
        println!("{transcript}");
    }
    let outcome = result.inspect_err(|_| {
        // Without it, the scenario can be run again.
        let _ = std::fs::write(transcript_of(seed), &transcript);
    })?;
    Ok((outcome, began.elapsed().as_secs_f64()))
}

fn describe(seed: u64, verdict: &Verdict) -> String {
    let scenario = RandomScenario::draw(seed);
    match verdict {
        Ok((Outcome::Stored, seconds)) => format!("{scenario}: stored in {seconds:.1} s"),
        Ok((Outcome::Error(error), seconds)) => {
            format!("{scenario}: an error as expected after {seconds:.1} s: {error}")
        }
        Err(what) => format!("{scenario}: FAILED: {what}; {}", transcript_of(seed)),
    }
}

fn transcript_of(seed: u64) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    folder.join(format!("scenario-{seed}.txt")).display().to_string()
}
