//! Tests of the evaluation of checks, on hand-made results.

use std::path::Path;
use std::sync::Arc;

use super::Verdict;
use crate::plan::{Plan, PlanOptions, Point};
use crate::results::Results;
use crate::run::{Bucket, Outcome, Record, RunError};

const PLAN: &str = r#"
title = "x"
claim = "y"
repetitions = 2

[paths.a]
rate = "10Mbit"

[apps.sender]
kind = "bulk"
message = 1400

[sweep.rate]
sets = "paths.a.rate"
values = [10, 20, 30]
unit = "Mbit"

[record]
histograms = true

[[variant]]
name = "fast"

[[variant]]
name = "slow"

[[reference]]
name = "ideal"
formula = "rate"

[[reference]]
name = "paper"
points = [[10, 9.0], [30, 29.0]]
"#;

/// `fast` has 10, 19 and 25 of 10, 20 and 30; `slow` has 5, 10 and 9, and half the seeds more and half less than that.
fn record(point: &Point) -> Record {
    let x = point.coordinates[0].number.unwrap();
    let value = match (point.series.as_str(), x as u32) {
        ("fast", 10) => 10.0,
        ("fast", 20) => 19.0,
        ("fast", _) => 25.0,
        (_, 10) => 5.0,
        (_, 20) => 10.0,
        (_, _) => 9.0,
    };
    let noise = if point.seed == 1 { 0.5 } else { -0.5 };
    let bucket = |low: u64, count: u64| Bucket {
        low,
        high: low,
        count,
    };
    let mut record = Record::default();
    record.values.insert("goodput".into(), value + noise);
    record.values.insert("stream.0.goodput".into(), value);
    let timeouts = if point.series == "slow" && x > 10.0 {
        3.0
    } else {
        0.0
    };
    record.values.insert("timeouts".into(), timeouts);
    if x < 30.0 && point.series == "fast" {
        record.values.insert("completion-time".into(), x);
    }
    record
        .histograms
        .insert("sack.tsns".into(), vec![bucket(5, 90), bucket(200, 10)]);
    record
}

fn verdict(check: &str) -> (Verdict, String) {
    verdict_of(check, |point| Ok(Arc::new(record(point))))
}

fn verdict_of(check: &str, outcome: impl Fn(&Point) -> Outcome) -> (Verdict, String) {
    let text = format!("{PLAN}\n[[check]]\nclaim = \"z\"\n{check}");
    let plan = Plan::read(Path::new("x.toml"), &text, &PlanOptions::default()).unwrap();
    let outcomes = plan.points.iter().map(outcome);
    let results = Results::of(&plan, outcomes.collect());
    let finding = results.findings[0].clone();
    (finding.verdict, finding.found)
}

#[test]
fn value_holds_at_all_some_or_no_points() {
    let about = |series: &str, least: f64| {
        verdict(&format!(
            "kind = \"value\"\nseries = \"{series}\"\nat-least = {least}"
        ))
    };
    assert_eq!(about("fast", 10.0).0, Verdict::Reproduced);
    assert_eq!(
        about("fast", 20.0),
        (Verdict::Partly, "not so: 10.000 at 10, 19.000 at 20".into())
    );
    assert_eq!(about("slow", 20.0).0, Verdict::Contradicted);
}

#[test]
fn ratio_compares_variants_references_and_metrics() {
    let of = |rest: &str| verdict(&format!("kind = \"ratio\"\n{rest}")).0;
    assert_eq!(
        of("series = \"fast\"\nto = \"slow\"\nat-least = 1.9"),
        Verdict::Reproduced
    );
    assert_eq!(
        of("series = \"fast\"\nto = \"ideal\"\nx = [10, 20]\nat-least = 0.95"),
        Verdict::Reproduced
    );
    assert_eq!(
        of("series = \"fast\"\nto = \"ideal\"\nat-least = 0.95"),
        Verdict::Partly
    );
    assert_eq!(
        of("series = \"fast\"\nto = \"paper\"\nat-least = 1.0"),
        Verdict::Partly
    );
    let itself = "series = \"fast\"\nto-y = \"stream.0.goodput\"\nat-least = 1.0\nat-most = 1.0";
    assert_eq!(of(itself), Verdict::Reproduced);
}

#[test]
fn missing_value_fails_the_check() {
    let early = |x: &str| {
        verdict(&format!(
            "kind = \"value\"\ny = \"completion-time\"\nseries = \"fast\"\n{x}\nat-most = 25"
        ))
    };
    assert_eq!(early(""), (Verdict::Partly, "not so: nothing at 30".into()));
    assert_eq!(early("x = [10, 20]").0, Verdict::Reproduced);
}

#[test]
fn series_or_baseline_without_values_fails_the_check() {
    let nowhere = "not so: nothing at 10, nothing at 20, nothing at 30";
    let completed = |rest: &str| verdict(&format!("y = \"completion-time\"\n{rest}"));
    let value = completed("kind = \"value\"\nseries = \"slow\"\nat-most = 25");
    assert_eq!(value, (Verdict::Contradicted, nowhere.into()));
    let ratio = completed("kind = \"ratio\"\nseries = \"fast\"\nto = \"slow\"\nat-most = 25");
    assert_eq!(ratio, (Verdict::Contradicted, nowhere.into()));
    for kind in [
        "kind = \"peak\"\nx = [10, 20]",
        "kind = \"first\"\nx = [10, 20]\nat-most = 1",
        "kind = \"monotone\"\ndirection = \"rising\"",
    ] {
        let (verdict, told) = completed(&format!("{kind}\nseries = \"slow\""));
        assert_eq!(
            (verdict, told.as_str()),
            (Verdict::Contradicted, "not so: nothing at all points")
        );
    }
}

#[test]
fn first_and_peak_must_lie_in_the_range() {
    let first = |from: u32, until: u32| {
        let check = format!(
            "kind = \"first\"\nseries = \"fast\"\nto = \"ideal\"\nx = [{from}, {until}]\nat-most = 0.96"
        );
        verdict(&check).0
    };
    assert_eq!(first(15, 25), Verdict::Reproduced);
    assert_eq!(first(30, 30), Verdict::Contradicted);
    let peak = |series: &str| verdict(&format!("kind = \"peak\"\nseries = \"{series}\"\nx = [20, 20]")).0;
    assert_eq!(
        (peak("slow"), peak("fast")),
        (Verdict::Reproduced, Verdict::Contradicted)
    );
}

#[test]
fn monotone_checks_each_step() {
    let rising = |rest: &str| verdict(&format!("kind = \"monotone\"\ndirection = \"rising\"\n{rest}"));
    assert_eq!(rising("series = \"fast\"").0, Verdict::Reproduced);
    assert_eq!(
        rising("series = \"slow\""),
        (Verdict::Partly, "not so: -1.000 at 20 to 30".into())
    );
    assert_eq!(
        rising("series = \"slow\"\ntolerance = \"10%\"").0,
        Verdict::Reproduced
    );
}

#[test]
fn share_is_computed_from_the_histogram() {
    let share = |least: f64| {
        let check = format!(
            "kind = \"share\"\ny = \"sack.tsns\"\nseries = \"fast\"\nbetween = [0, 100]\nat-least = {least}"
        );
        verdict(&check).0
    };
    assert_eq!(
        (share(0.9), share(0.95)),
        (Verdict::Reproduced, Verdict::Contradicted)
    );
}

#[test]
fn check_without_points_is_not_measured() {
    let beyond = verdict("kind = \"value\"\nseries = \"paper\"\nx = [15, 25]\nat-least = 1.0");
    assert_eq!(beyond, (Verdict::NotMeasured, "nothing was measured".into()));
    assert_eq!(
        Verdict::of_all([Verdict::Reproduced, Verdict::Contradicted]),
        Some(Verdict::Partly)
    );
    assert_eq!(Verdict::of_all([]), None);
}

#[test]
fn ratio_of_zero_to_zero_is_one() {
    let ratio = "kind = \"ratio\"\ny = \"timeouts\"\nseries = \"slow\"\nto = \"fast\"\nat-most = 1.05";
    let (found, told) = verdict(ratio);
    assert_eq!(
        (found, told.as_str()),
        (Verdict::Partly, "not so: ∞ at 20, ∞ at 30")
    );
}

#[test]
fn failed_runs_are_not_measured() {
    let failing = |check: &str, series: &'static str| {
        verdict_of(check, move |point| {
            match (&*point.series, &*point.coordinates[0].text) {
                (name, "20") if name == series => Err(RunError::NoAssociation),
                _ => Ok(Arc::new(record(point))),
            }
        })
    };
    let value = "kind = \"value\"\nseries = \"fast\"\nat-least = 1";
    let ratio = "kind = \"ratio\"\nseries = \"fast\"\nto = \"slow\"\nat-least = 1";
    let nobody_knows = (Verdict::NotMeasured, "runs failed at 20".to_owned());
    assert_eq!(failing(value, "fast"), nobody_knows);
    assert_eq!(failing(value, "slow").0, Verdict::Reproduced);
    assert_eq!(failing(ratio, "slow"), nobody_knows);
    assert_eq!(
        failing(&format!("{ratio}\nx = [30, 30]"), "slow").0,
        Verdict::Reproduced
    );
    let peak = "kind = \"peak\"\nseries = \"fast\"\nx = [30, 30]";
    assert_eq!(
        failing(peak, "fast"),
        nobody_knows,
        "it could have been the greatest"
    );
}
