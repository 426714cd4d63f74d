//! Tests of the evaluation of checks, on hand-made results.

use std::path::Path;
use std::sync::Arc;

use super::{Verdict, widths};
use crate::plan::{Plan, PlanOptions, Point};
use crate::results::Results;
use crate::run::{Bucket, Outcome, Record, RunError};

const PLAN: &str = r#"
title = "x"
claim = "y"
repetitions = 6

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

/// `fast` has 10, 19 and 25 of 10, 20 and 30; `slow` has 5, 10 and 9, and half the seeds more and half less than that by 0.25.
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
    let noise = if point.seed % 2 == 1 { 0.25 } else { -0.25 };
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
    // Its means are nearly equal, and it differs from run to run.
    let random = [1.0, 5.0, 2.0, 7.0, 3.0, 4.0][(point.seed as usize * 5 + x as usize / 10) % 6];
    record.values.insert("delay.mean".into(), random);
    if x < 30.0 && point.series == "fast" {
        record.values.insert("completion-time".into(), x);
    }
    record
        .histograms
        .insert("sack.tsns".into(), vec![bucket(5, 90), bucket(200, 10)]);
    let odd = if point.seed % 2 == 1 { 85 } else { 95 };
    record
        .histograms
        .insert("sack.blocks".into(), vec![bucket(5, odd), bucket(200, 100 - odd)]);
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
    assert_eq!(about("fast", 9.0).0, Verdict::Reproduced);
    let (partly, told) = about("fast", 22.0);
    assert_eq!(partly, Verdict::Partly);
    assert!(
        told.starts_with("not so: 10.000 [9.") && told.contains("; so: 25.000 ["),
        "{told}"
    );
    assert_eq!(about("slow", 20.0).0, Verdict::Contradicted);
}

#[test]
fn interval_that_covers_the_threshold_is_undecided() {
    let verdict_of = |check: &str| verdict(check).0;
    for check in [
        "kind = \"value\"\nseries = \"fast\"\nx = [10, 10]\nat-least = 10.1",
        "kind = \"value\"\nseries = \"fast\"\nx = [10, 10]\nat-least = 9.9\nat-most = 10.1",
        "kind = \"value\"\nseries = \"fast\"\nat-least = 10.0",
        "kind = \"ratio\"\nseries = \"fast\"\nto = \"ideal\"\nx = [10, 10]\nat-least = 1.01",
        "kind = \"first\"\nseries = \"fast\"\nx = [10, 10]\nat-most = 10.1",
        "kind = \"peak\"\nseries = \"slow\"\ny = \"delay.mean\"\nx = [20, 20]",
        "kind = \"monotone\"\nseries = \"slow\"\ny = \"delay.mean\"\ndirection = \"rising\"",
        "kind = \"share\"\ny = \"sack.blocks\"\nseries = \"fast\"\nbetween = [0, 100]\nat-least = 0.9",
    ] {
        assert_eq!(verdict_of(check), Verdict::Undecided, "{check}");
    }
}

#[test]
fn equivalence_is_one_check_with_two_bounds() {
    let same = |margin: f64| {
        let (least, most) = (1.0 - margin, 1.0 + margin);
        verdict(&format!(
            "kind = \"ratio\"\nseries = \"fast\"\nto = \"ideal\"\nx = [10, 20]\nat-least = {least}\nat-most = {most}"
        ))
        .0
    };
    assert_eq!((same(0.1), same(0.06)), (Verdict::Reproduced, Verdict::Undecided));
    assert_eq!(
        same(0.01),
        Verdict::Undecided,
        "one place is far off, at the other the interval is wide"
    );
}

#[test]
fn more_places_widen_each_interval() {
    let at = |x: &str| {
        verdict(&format!(
            "kind = \"value\"\nseries = \"fast\"\nx = {x}\nat-least = 9.7"
        ))
        .0
    };
    assert_eq!(at("[10, 10]"), Verdict::Reproduced);
    assert_eq!(
        at("[10, 30]"),
        Verdict::Undecided,
        "the interval at 10 reaches below 9.7"
    );
}

#[test]
fn single_run_is_undecided() {
    let text = PLAN.replace("repetitions = 6", "repetitions = 1");
    let check = "[[check]]\nclaim = \"z\"\nkind = \"value\"\nseries = \"fast\"\nat-least = 1";
    let plan = Plan::read(
        Path::new("x.toml"),
        &format!("{text}\n{check}"),
        &PlanOptions::default(),
    )
    .unwrap();
    let outcomes = plan.points.iter().map(|point| Ok(Arc::new(record(point))));
    let finding = Results::of(&plan, outcomes.collect()).findings[0].clone();
    assert_eq!((finding.verdict, finding.undecided), (Verdict::Undecided, 3));
    assert!(
        finding.found.contains("10.250 (one run) at 10"),
        "{}",
        finding.found
    );
}

#[test]
fn none_at_all_is_counted_in_the_runs() {
    let none = |series: &str| {
        let check = format!("kind = \"value\"\ny = \"timeouts\"\nseries = \"{series}\"\nat-most = 0");
        verdict(&check).0
    };
    assert_eq!(
        (none("fast"), none("slow")),
        (Verdict::Reproduced, Verdict::Partly)
    );
    let few = "kind = \"value\"\ny = \"timeouts\"\nseries = \"fast\"\nx = [10, 10]\nat-most = 0.5";
    let (verdict, told) = verdict(few);
    assert_eq!(
        (verdict, told.as_str()),
        (Verdict::Undecided, "undecided: 0.000 [0.000, 0.615] at 10"),
        "none in six runs may be 3.69 / 6 of a run"
    );
}

#[test]
fn ratio_compares_variants_references_and_metrics() {
    let of = |rest: &str| verdict(&format!("kind = \"ratio\"\n{rest}")).0;
    assert_eq!(
        of("series = \"fast\"\nto = \"slow\"\nat-least = 1.7"),
        Verdict::Reproduced
    );
    assert_eq!(
        of("series = \"fast\"\nto = \"ideal\"\nx = [10, 20]\nat-least = 0.9"),
        Verdict::Reproduced
    );
    for (to, least) in [("ideal", 0.9), ("paper", 0.95)] {
        let check = format!("series = \"fast\"\nto = \"{to}\"\nat-least = {least}");
        assert_eq!(of(&check), Verdict::Partly, "{to}");
    }
    let itself = "series = \"fast\"\nto-y = \"stream.0.goodput\"\nat-least = 0.9\nat-most = 1.1";
    assert_eq!(of(itself), Verdict::Reproduced);
}

#[test]
fn missing_value_fails_the_check() {
    let early = |x: &str| {
        verdict(&format!(
            "kind = \"value\"\ny = \"completion-time\"\nseries = \"fast\"\n{x}\nat-most = 25"
        ))
    };
    let (partly, told) = early("");
    assert_eq!(partly, Verdict::Partly);
    assert!(
        told.starts_with("not so: nothing at 30; so: from 10.000"),
        "{told}"
    );
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
    let first = |from: u32, until: u32, most: f64| {
        let check = format!(
            "kind = \"first\"\nseries = \"fast\"\nto = \"ideal\"\nx = [{from}, {until}]\nat-most = {most}"
        );
        verdict(&check).0
    };
    assert_eq!(first(25, 30, 0.9), Verdict::Reproduced);
    assert_eq!(first(10, 20, 0.9), Verdict::Contradicted);
    assert_eq!(first(10, 10, 1.5), Verdict::Reproduced);
    assert_eq!(first(20, 30, 1.5), Verdict::Contradicted, "it is at 10");
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
    let (partly, told) = rising("series = \"slow\"");
    assert_eq!(partly, Verdict::Partly);
    assert!(
        told.starts_with("not so: -1.000 [-1.000, -1.000] at 20 to 30"),
        "the noise of a seed is the same at all places: {told}"
    );
    assert_eq!(
        rising("series = \"slow\"\ntolerance = \"20%\"").0,
        Verdict::Reproduced
    );
    let falling = "kind = \"monotone\"\ndirection = \"falling\"\nseries = \"fast\"";
    assert_eq!(verdict(falling).0, Verdict::Contradicted);
}

#[test]
fn step_of_cells_with_different_repetitions_has_one_value() {
    let text = format!(
        "{PLAN}\n[[check]]\nclaim = \"z\"\nkind = \"monotone\"\ndirection = \"rising\"\nseries = \"fast\"\nx = [10, 20]"
    );
    let mut plan = Plan::read(Path::new("x.toml"), &text, &PlanOptions::default()).unwrap();
    let is_kept = |point: &Point| point.coordinates[0].text != "10" || point.seed <= 3;
    plan.points.retain(is_kept);
    // Seeds 1 to 3 have a mean noise of 0.25 / 3 at both places; all six of 20 have none.
    let outcomes = plan.points.iter().map(|point| Ok(Arc::new(record(point))));
    let results = Results::of(&plan, outcomes.collect());
    assert_eq!(results.findings[0].found, "9.000 [9.000, 9.000] at 10 to 20");
}

/// Half the width of a check's interval at `x`.
fn half_width(check: &str, x: f64) -> f64 {
    let text = format!("{PLAN}\n[[check]]\nclaim = \"z\"\n{check}");
    let plan = Plan::read(Path::new("x.toml"), &text, &PlanOptions::default()).unwrap();
    let outcomes = plan.points.iter().map(|point| Ok(Arc::new(record(point))));
    let results = Results::of(&plan, outcomes.collect());
    let all = widths(&plan.checks[0], &results);
    all.iter().find(|width| width.x == x).unwrap().half
}

#[test]
fn ratio_to_nothing_is_never_narrow() {
    let ratio = |x| {
        let check = "kind = \"ratio\"\ny = \"timeouts\"\nseries = \"slow\"\nto = \"fast\"\nat-least = 1";
        half_width(check, x)
    };
    assert_eq!(ratio(20.0), f64::INFINITY, "three timeouts to none");
    assert_eq!(ratio(10.0), f64::INFINITY, "none to none");
}

#[test]
fn bounds_do_not_decide_what_is_narrow() {
    let count = |series: &str, most: &str, x| {
        let check = format!("kind = \"value\"\ny = \"timeouts\"\nseries = \"{series}\"\nat-most = {most}");
        half_width(&check, x)
    };
    assert_eq!(count("fast", "0", 10.0), f64::INFINITY, "no event yet");
    assert_eq!(count("fast", "1", 10.0), f64::INFINITY);
    assert!(count("slow", "0", 20.0) > 0.0);
    assert_eq!(count("slow", "0", 20.0), count("slow", "1", 20.0));
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
    for (verdicts, overall) in [
        ([Verdict::Reproduced, Verdict::Undecided], Verdict::Undecided),
        ([Verdict::Contradicted, Verdict::Undecided], Verdict::Undecided),
        ([Verdict::Partly, Verdict::Undecided], Verdict::Partly),
        ([Verdict::Undecided, Verdict::NotMeasured], Verdict::NotMeasured),
    ] {
        assert_eq!(Verdict::of_all(verdicts), Some(overall));
    }
    let three = [Verdict::Reproduced, Verdict::Undecided, Verdict::Contradicted];
    assert_eq!(Verdict::of_all(three), Some(Verdict::Partly), "in any order");
    assert_eq!(Verdict::of_all([]), None);
}

#[test]
fn no_check_passes_where_nothing_happened() {
    let ratio = |bound: &str| {
        verdict(&format!(
            "kind = \"ratio\"\ny = \"timeouts\"\nseries = \"slow\"\nto = \"fast\"\n{bound}"
        ))
    };
    for bound in [
        "at-most = 1.05",
        "at-least = 0.5",
        "at-least = 0.5\nat-most = 2.0",
    ] {
        let (_, told) = ratio(&format!("x = [10, 10]\n{bound}"));
        assert_eq!(told, "undecided: nothing happened at 10", "{bound}");
    }
    // 18 of 18 timeouts are those of one side: at least 3.6 to 1, with two places.
    let (contradicted, told) = ratio("x = [20, 30]\nat-most = 1.05");
    assert_eq!(contradicted, Verdict::Contradicted, "{told}");
    assert!(told.contains("∞ [3.") && told.contains(", ∞] at 20"), "{told}");
    assert_eq!(
        ratio("at-most = 1.05").0,
        Verdict::Undecided,
        "it fails at two, nothing happened at one"
    );
    for direction in ["rising", "falling"] {
        let check = "kind = \"monotone\"\ny = \"timeouts\"\nseries = \"fast\"\nx = [10, 20]";
        let (_, told) = verdict(&format!("{check}\ndirection = \"{direction}\""));
        assert_eq!(told, "undecided: nothing happened at 10 to 20", "{direction}");
    }
}

#[test]
fn peak_is_not_where_nothing_happened() {
    let peak = |series: &str, to: &str| {
        let check =
            format!("kind = \"peak\"\ny = \"timeouts\"\nseries = \"{series}\"\nto = \"{to}\"\nx = [20, 30]");
        verdict(&check)
    };
    let (undecided, told) = peak("slow", "fast");
    assert_eq!(undecided, Verdict::Undecided, "its ratio at 10 is unknown");
    assert!(told.starts_with("undecided: ∞ ["), "{told}");
    let (undecided, told) = peak("fast", "fast");
    assert_eq!(
        (undecided, told.as_str()),
        (Verdict::Undecided, "undecided: nothing happened at 10"),
        "nor is there another point"
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

#[test]
fn share_of_points_counts_means_or_intervals() {
    let of = |rest: &str| verdict(&format!("kind = \"share-of-points\"\nseries = \"fast\"\n{rest}"));
    let (verdict, told) = of("at-least = 18\nshare = \"60%\"");
    assert_eq!(verdict, Verdict::Reproduced);
    assert!(
        told.starts_with("66.7 % of the points (2 of 3); not at 1: 10.000 ["),
        "{told}"
    );
    assert_eq!(
        of("at-least = 18\nshare = \"70%\"").0,
        Verdict::Contradicted,
        "never in part"
    );
    // The mean at 10 is 10.0, and its interval from 9.7 to 10.3.
    let at_ten = "x = [10, 10]\nat-least = 10.1\nshare = \"100%\"";
    assert_eq!(of(at_ten).0, Verdict::Contradicted);
    assert_eq!(
        of(&format!("{at_ten}\ncounted = \"intervals\"")).0,
        Verdict::Reproduced,
        "the interval does not lie wholly below"
    );
    assert_eq!(
        of("at-least = 18\nshare = \"100%\"\ncounted = \"intervals\"").0,
        Verdict::Contradicted
    );
    let zeros = "y = \"timeouts\"\nto = \"fast\"\nto-y = \"timeouts\"\nat-least = 1\nshare = \"50%\"";
    assert_eq!(of(zeros).0, Verdict::Undecided, "nothing happened");
    let missing = "y = \"completion-time\"\nat-least = 0\nshare = \"100%\"";
    assert_eq!(of(missing).0, Verdict::Contradicted, "a point without a value");
}

#[test]
fn of_several_series_the_greatest_at_each_point_is_compared() {
    let of = |to: &str, bounds: &str| {
        verdict(&format!(
            "kind = \"ratio\"\nseries = \"fast\"\nto = {to}\n{bounds}"
        ))
        .0
    };
    let equal = "at-least = 0.99\nat-most = 1.01";
    assert_eq!(of("[\"slow\", \"fast\"]", equal), Verdict::Reproduced);
    assert_eq!(of("[\"slow\"]", "at-least = 1.7"), Verdict::Reproduced);
    assert_eq!(of("[\"slow\", \"ideal\"]", "at-most = 1.1"), Verdict::Reproduced);
    let unknown = format!(
        "{PLAN}\n[[check]]\nclaim = \"z\"\nkind = \"ratio\"\nseries = \"fast\"\nto = [\"slow\", \"slwo\"]\nat-least = 1"
    );
    let refused = Plan::read(Path::new("x.toml"), &unknown, &PlanOptions::default()).unwrap_err();
    assert!(refused.to_string().contains("did you mean `slow`?"), "{refused}");
}

#[test]
fn keys_of_shares_belong_to_shares_of_points() {
    for (check, message) in [
        (
            "kind = \"share-of-points\"\nseries = \"fast\"\nat-least = 1",
            "needs `share`",
        ),
        (
            "kind = \"share-of-points\"\nseries = \"fast\"\nshare = 1",
            "needs `at-least` or `at-most`",
        ),
        (
            "kind = \"value\"\nseries = \"fast\"\nat-least = 1\nshare = 1",
            "`share` has no effect",
        ),
    ] {
        let text = format!("{PLAN}\n[[check]]\nclaim = \"z\"\n{check}");
        let refused = Plan::read(Path::new("x.toml"), &text, &PlanOptions::default()).unwrap_err();
        assert!(refused.to_string().contains(message), "{refused}");
    }
}
