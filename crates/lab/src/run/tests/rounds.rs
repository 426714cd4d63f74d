//! Tests of repetitions under a stop rule: which cells go on, and is the result always the same?

use std::sync::Mutex;

use super::{go, plan};
use crate::results::{CellRepetitions, Results, StopReason, repetitions};
use crate::run::{Cache, Progress, Round, Runner};
use crate::summary::ResultSummary;

/// Without loss, all repetitions are alike; with 5 %, they are not.
const PLAN: &str = r#"
title = "Two lossy networks"
claim = "the means are known well enough"
repetitions = 2

[repeat]
at-most = 7
half-width = "0.1%"

[time]
measure = "1s"

[paths.north]
rate = "2Mbit"
delay = "5ms"
loss = { random = "0%" }

[apps.sender]
kind = "bulk"
message = 1400

[sweep.loss]
sets = "paths.north.loss.random"
values = [0, 5, 6]
unit = "%"

[[check]]
claim = "it is fast"
kind = "value"
series = "base"
x = [0, 5]
at-least = 0.1
"#;

/// The repetitions of each cell, the rounds, and the whole summary as text.
fn run(cache: &Cache, jobs: usize, text: &str) -> (Vec<CellRepetitions>, Vec<(usize, usize, usize)>, String) {
    let plan = plan(text);
    let stop = go();
    let rounds = Mutex::new(Vec::new());
    let watch = |progress: Progress, round: Round| {
        let mut rounds = rounds.lock().unwrap();
        rounds.retain(|(number, _, _)| *number != round.number);
        rounds.push((round.number, round.cells, progress.all));
    };
    let repeated = Runner::new(cache, jobs, &stop).run_plan(&plan, &watch);
    let results = Results::of(&repeated.plan, repeated.outcomes);
    let text = ResultSummary::of(&results).text();
    (repetitions(&results), rounds.into_inner().unwrap(), text)
}

#[test]
fn cells_go_on_until_their_intervals_are_narrow() {
    let (cells, rounds, _) = run(&Cache::none(), 2, PLAN);
    let ended: Vec<(u64, Option<StopReason>)> = cells.iter().map(|cell| (cell.count, cell.ended)).collect();
    assert_eq!(
        ended,
        [
            (2, Some(StopReason::Narrow)),
            (7, Some(StopReason::Most)),
            (2, Some(StopReason::Unexamined)),
        ]
    );
    assert_eq!(cells[0].half_width, Some(0.0));
    let wide = cells[1].half_width.unwrap();
    assert!(wide > 0.001 && cells[1].widest == "it is fast", "{wide}");
    // Two further runs in each round, and one in the last.
    assert_eq!(rounds, [(1, 3, 6), (2, 1, 8), (3, 1, 10), (4, 1, 11)]);
    // Wider intervals are reached after fewer repetitions.
    let twice = PLAN.replace("0.1%", &format!("{}%", wide * 200.0));
    let (cells, _, _) = run(&Cache::none(), 2, &twice);
    assert!(
        cells[1].count < 7 && cells[1].ended == Some(StopReason::Narrow),
        "{cells:?}"
    );
    assert!(cells[1].half_width.unwrap() <= wide * 2.0);
}

#[test]
fn threads_and_interruptions_do_not_change_repetitions() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::new(folder.path(), "this build");
    let alone = run(&Cache::none(), 1, PLAN);
    // An earlier command was interrupted: it has left the first round, and one run of a later one.
    let stop = go();
    let first = plan(PLAN);
    Runner::new(&cache, 4, &stop).run(&first.points, &|_| {});
    let all = first.repeated(&[(vec!["5".to_owned()], 6)].into());
    Runner::new(&cache, 4, &stop).run(&all.points[all.points.len() - 3..], &|_| {});
    assert_eq!(run(&cache, 4, PLAN), alone);
    assert_eq!(run(&cache, 3, PLAN), alone, "everything is cached");
}

#[test]
fn cells_with_failed_runs_and_without_events_are_named() {
    let failing = PLAN
        .replace("[0, 5, 6]", "[0, 100, 6]")
        .replace("x = [0, 5]", "x = [0, 100]");
    let (cells, _, _) = run(&Cache::none(), 2, &failing);
    assert_eq!((cells[1].count, cells[1].ended), (2, Some(StopReason::Failed)));
    // Without loss there are neither drops nor timeouts, so their ratio is 0/0.
    let timeouts = PLAN
        .replace(
            "at-least = 0.1",
            "y = \"path.north.drops.loss\"\nto-y = \"timeouts\"\nat-most = 1",
        )
        .replace("\"value\"", "\"ratio\"");
    let (cells, _, _) = run(&Cache::none(), 2, &timeouts);
    assert_eq!((cells[0].count, cells[0].ended), (7, Some(StopReason::Most)));
    assert_eq!(cells[0].half_width, None);
}

#[test]
fn kept_results_of_cells_are_judged_by_their_own_repetitions() {
    let plan = plan(PLAN);
    let stop = go();
    let repeated = Runner::new(&Cache::none(), 2, &stop).run_plan(&plan, &|_, _| {});
    let summary = ResultSummary::of(&Results::of(&repeated.plan, repeated.outcomes));
    assert_eq!(summary.repetitions_in_words(), "2 to 7 repetitions");
    let again = summary.clone().compared_with_plan(&plan, &plan);
    assert!(!again.is_outdated);
    assert_eq!(again.findings, summary.findings);
    assert_eq!(again.findings[0].total, 2);
}
