//! Tests of drawn cells. Are they what the plan says, the same each time, and refused where they cannot be drawn?

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use super::Cell;
use crate::check::Verdict;
use crate::plan::{LossPlan, Plan, PlanOptions, QueuePlan};
use crate::report;
use crate::results::{Results, tables};
use crate::run::Record;
use crate::summary::ResultSummary;

const PLAN: &str = r#"
title = "Drawn networks"
claim = "all paths are never slower than the best of them"

[paths.a]
rate = "10Mbit"
reverse = { delay = "0ms" }

[paths.b]
rate = "10Mbit"
reverse = { delay = "0ms" }

[paths.c]
rate = "10Mbit"
reverse = { delay = "0ms" }

[apps.bulk]
kind = "bulk"
message = 1400

[draw]
cells = 40
seed = 7
paths = { choice = [2, 3], weights = [3, 1] }

[draw.queue]
sets = "paths.*.queue"
weights = [8, 1, 1]
choice = [
  { packets = { log-uniform = [10, "2BDP"] } },
  { codel = {} },
  { red = { limit = 100, max-threshold = { uniform = [20.0, 40.0] } } },
]

[draw.rate]
sets = "paths.*.rate"
log-uniform = ["1Mbit", "400Mbit"]

[draw.delay]
sets = ["paths.*.delay", "paths.*.reverse.delay"]
log-uniform = ["1ms", "500ms"]

[draw.jitter]
sets = "paths.*.delay-variation"
chance = "25%"
choice = [{ normal = { uniform = ["0delay", "0.3delay"] } }]

[draw.loss]
sets = "paths.*.loss"
chance = 0.5
choice = [
  { random = { log-uniform = ["0.05%", "10%"] } },
  { bursts = { loss = { log-uniform = ["0.05%", "10%"] }, length = { uniform = [2.0, 8.0] } } },
]

[draw.buffer]
sets = ["association.send-buffer", "association.receive-buffer"]
log-uniform = ["64KiB", "8MiB"]

[draw.scheduler]
sets = "policies.path-scheduler"
choice = ["min-rtt", "blest"]

[[variant]]
name = "all paths"

[[reference]]
name = "best part"
subset = "best"

[[reference]]
name = "best path"
single-path = "best"
"#;

fn read(text: &str, changes: &[&str]) -> Result<Plan, String> {
    let options = PlanOptions {
        quick: false,
        changes: changes.iter().map(ToString::to_string).collect(),
    };
    Plan::read(Path::new("x.toml"), text, &options).map_err(|error| error.to_string())
}

fn plan(changes: &[&str]) -> Plan {
    read(PLAN, changes).unwrap()
}

#[test]
fn cells_have_drawn_settings_within_their_bounds() {
    let plan = plan(&[]);
    assert_eq!(plan.cells.len(), 40);
    let mut kinds = BTreeSet::new();
    for point in plan.points.iter().filter(|point| point.series == "all paths") {
        let buffer = point.setting.association.send_buffer.bytes();
        assert!((65_000..=8_390_000).contains(&buffer), "{buffer}");
        assert_eq!(
            buffer,
            point.setting.association.receive_buffer.bytes(),
            "one value for both keys"
        );
        kinds.insert(format!("{} paths", point.setting.paths.len()));
        for (_, link) in point.setting.paths.iter() {
            let delay = link.delay.unwrap();
            assert_eq!(link.reverse.as_ref().unwrap().delay, Some(delay));
            kinds.insert(match link.queue.as_ref().unwrap() {
                QueuePlan::Packets(_) => "drop-tail".into(),
                QueuePlan::Red(_) => "red".into(),
                _ => "other queue".into(),
            });
            kinds.insert(match &link.loss {
                None => "no loss".into(),
                Some(LossPlan::Random(_)) => "random loss".into(),
                Some(LossPlan::Bursts(bursts)) => {
                    assert!((2.0..=8.0).contains(&bursts.length));
                    "bursts".into()
                }
                Some(LossPlan::Batches(_)) => "batches".into(),
            });
            kinds.insert(format!("jitter {}", link.delay_variation.is_some()));
        }
    }
    let expected = [
        "2 paths",
        "3 paths",
        "bursts",
        "drop-tail",
        "jitter false",
        "jitter true",
        "no loss",
        "other queue",
        "random loss",
        "red",
    ];
    assert_eq!(kinds.iter().map(String::as_str).collect::<Vec<_>>(), expected);
}

#[test]
fn queue_is_a_multiple_of_what_was_drawn_for_its_path() {
    for point in plan(&[]).points {
        for (_, link) in point.setting.paths.iter() {
            let Some(QueuePlan::Packets(packets)) = &link.queue else {
                continue;
            };
            let crate::plan::RateLimit::At(rate) = link.rate.unwrap() else {
                panic!("a rate");
            };
            let rate = rate.0.as_bits_per_second() as f64;
            let product = rate * 2.0 * link.delay.unwrap().0.as_secs_f64() / 8.0 / 1_500.0;
            let most = (2.02 * product + 0.5).max(10.0);
            assert!((10.0..=most).contains(&f64::from(packets.0)), "{packets} {most}");
        }
    }
}

fn of_number(cells: &[Cell], number: u64) -> &Cell {
    cells.iter().find(|cell| cell.number == number).unwrap()
}

#[test]
fn cell_is_the_same_with_more_cells_alone_and_beside_another_draw() {
    let few = plan(&[]);
    let settings = |plan: &Plan, cell: &str| -> Vec<String> {
        let own = plan
            .points
            .iter()
            .filter(|point| point.coordinates[0].text == cell);
        own.map(super::super::points::Point::setting_text).collect()
    };
    let more = plan(&["draw.cells=60"]);
    assert_eq!(settings(&few, "17"), settings(&more, "17"));
    let alone = plan(&["draw.only=[17]"]);
    assert_eq!(settings(&few, "17"), settings(&alone, "17"));
    assert_eq!(alone.cells.len(), 1);
    assert_ne!(settings(&few, "17"), settings(&few, "18"));
    let text = PLAN.replace(
        "[draw.rate]",
        "[draw.tick]\nsets = \"paths.*.tick\"\nchoice = [\"1ms\"]\n\n[draw.rate]",
    );
    let other = read(&text, &[]).unwrap();
    let [before, after] = [&few, &other].map(|plan| of_number(&plan.cells, 17).in_words());
    assert_eq!(before[0], after[0], "the buffer");
    assert_ne!(
        of_number(&few.cells, 17),
        of_number(&plan(&["draw.seed=8"]).cells, 17)
    );
}

#[test]
fn cell_is_described_for_the_whole_and_for_each_path() {
    let plan = plan(&["draw.only=[1]"]);
    let cell = &plan.cells[0];
    let names: Vec<String> = cell.in_words().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names[..3], ["buffer", "scheduler", "a"]);
    let (_, path) = &cell.in_words()[2];
    assert!(path.contains("bit") && path.contains("ms"), "{path}");
    assert!(cell.drawn.iter().any(|drawn| drawn.full_name() == "rate.a"));
}

#[test]
fn best_subset_runs_each_part_of_the_paths() {
    let plan = plan(&[]);
    let of_three = plan.cells.iter().find(|cell| cell.paths.len() == 3).unwrap();
    let parts: Vec<&str> = plan
        .points
        .iter()
        .filter(|point| point.series == "best part")
        .filter(|point| point.coordinates[0].text == of_three.number.to_string())
        .map(|point| point.single_path.as_deref().unwrap())
        .collect();
    assert_eq!(parts, ["a", "b", "c", "a+b", "a+c", "b+c"]);
    let alone = |series: &str| {
        let mut points = plan.points.iter();
        points
            .find(|point| point.series == series)
            .unwrap()
            .setting
            .clone()
    };
    assert_eq!(alone("best part"), alone("best path"), "they share a result");
}

/// What is replaced in the plan, by what, and the message.
const REFUSED: [(&str, &str, &str); 17] = [
    (
        "log-uniform = [\"1Mbit\", \"400Mbit\"]",
        "log-uniform = [\"400Mbit\", \"1Mbit\"]",
        "x.toml:37:15: expected the lower end first",
    ),
    (
        "log-uniform = [\"1Mbit\", \"400Mbit\"]",
        "log-uniform = [\"1Mbit\", \"400ms\"]",
        "x.toml:37:15: the ends count different things",
    ),
    (
        "log-uniform = [\"1Mbit\", \"400Mbit\"]",
        "log-uniform = [\"1Mbit\", \"400Mibt\"]",
        "x.toml:37:25: expected a number, a quantity",
    ),
    (
        "log-uniform = [\"1Mbit\", \"400Mbit\"]",
        "normal = [\"1Mbit\", \"400Mbit\"]",
        "the draw `rate` needs `choice`, `uniform` or `log-uniform`",
    ),
    (
        "log-uniform = [\"64KiB\", \"8MiB\"]",
        "log-uniform = [0, \"8MiB\"]",
        "the ends of `log-uniform` must be above zero",
    ),
    (
        "weights = [8, 1, 1]",
        "weights = [8, 1]",
        "found 3 values and 2 weights",
    ),
    (
        "weights = [8, 1, 1]",
        "weights = [0, 0, 0]",
        "expected a list of weights",
    ),
    (
        "choice = [2, 3]",
        "choice = [2, 4]",
        "expected a number of paths from 1 to 3",
    ),
    ("cells = 40", "cells = 0", "expected 1 to 100000 cells"),
    ("cells = 40\n", "", "missing field `cells`"),
    (
        "sets = \"paths.*.rate\"",
        "sets = \"paths.*.delay\"",
        "is set by two draws",
    ),
    (
        "sets = \"paths.*.rate\"",
        "sets = \"*.a.rate\"",
        "`*` stands for each path",
    ),
    (
        "sets = \"paths.*.rate\"",
        "sets = \"paths.d.rate\"",
        "unknown name `d`",
    ),
    (
        "choice = [\"min-rtt\", \"blest\"]",
        "choice = [\"min-rt\"]",
        "did you mean `min-rtt`?",
    ),
    (
        "sets = \"policies.path-scheduler\"\nchoice = [\"min-rtt\", \"blest\"]",
        "sets = \"association.mtu\"\nuniform = [\"1BDP\", \"2BDP\"]",
        "needs a path with a `rate`",
    ),
    (
        "[[variant]]",
        "[sweep.rate]\nsets = \"paths.a.rate\"\nvalues = [1]\nunit = \"Mbit\"\n\n[[variant]]",
        "or by a sweep too",
    ),
    (
        "[[variant]]",
        "[sweep.cell]\nsets = \"paths.a.tick\"\nvalues = [1]\nunit = \"ms\"\n\n[[variant]]",
        "rename this sweep",
    ),
];

#[test]
fn draws_that_cannot_be_made_are_refused_with_their_line() {
    for (from, to, message) in REFUSED {
        assert!(PLAN.contains(from), "{from}");
        let found = read(&PLAN.replacen(from, to, 1), &[]).expect_err(to);
        assert!(found.contains(message), "expected {message}\n   found {found}");
        assert!(found.starts_with("x.toml:") && !found.contains('\n'), "{found}");
    }
}

#[test]
fn overrides_of_drawn_keys_are_refused() {
    let refused = read(PLAN, &["paths.a.rate=5Mbit"]).unwrap_err();
    assert!(refused.contains("override `draw.rate` instead"), "{refused}");
    assert!(
        read(PLAN, &["paths.a.loss.random=1%"]).is_ok(),
        "drawn for some paths only"
    );
}

/// All paths carry twice what the best part carries, but half of it in the cells 5 and 20.
fn goodput(point: &crate::Point) -> f64 {
    match (point.series.as_str(), point.coordinates[0].text.as_str()) {
        ("all paths", "5" | "20") => 5.0,
        ("all paths", _) => 20.0,
        _ => 10.0,
    }
}

#[test]
fn report_names_the_worst_cells_with_what_was_drawn() {
    let check = r#"
[[check]]
claim = "in 90 % of the cells, all paths are faster"
kind = "share-of-points"
series = "all paths"
to = "best part"
at-least = 1
share = "90%"
"#;
    let text = format!(
        "{}{check}",
        PLAN.replace("[paths.a]", "repetitions = 2\n\n[paths.a]")
    );
    let plan = read(&text, &[]).unwrap();
    let outcome = |point: &crate::Point| {
        let mut record = Record::default();
        record.values.insert("goodput".into(), goodput(point));
        Ok(Arc::new(record))
    };
    let results = Results::of(&plan, plan.points.iter().map(outcome).collect());
    assert_eq!(results.verdict, Some(Verdict::Reproduced));
    let finding = &results.findings[0];
    assert_eq!((finding.passed, finding.total), (38, 40));
    let worst: Vec<&str> = finding.worst[..2]
        .iter()
        .map(|point| point.label.as_str())
        .collect();
    assert_eq!(worst, ["5", "20"]);
    let folder = tempfile::tempdir().unwrap();
    let summary = ResultSummary::of(&results);
    let page = report::write(&summary, folder.path()).unwrap();
    let page = std::fs::read_to_string(page).unwrap();
    let (_, drawn) = &of_number(&plan.cells, 5).in_words()[2];
    assert!(page.contains(drawn), "{drawn}");
    assert!(page.contains("Cumulative distribution over the drawn cells"));
    let judged = summary.clone().compared_with_plan(&plan, &plan);
    assert_eq!(judged.findings, summary.findings, "the same from what is kept");
    let columns: Vec<String> = tables::cells(&plan)
        .columns
        .into_iter()
        .map(|column| column.name)
        .collect();
    assert_eq!(columns[..5], ["cell", "paths", "queue.a", "queue.b", "queue.c"]);
    assert_eq!(columns.last().map(String::as_str), Some("scheduler"));
}
