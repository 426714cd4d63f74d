//! Tests of result summaries.

use std::path::Path;
use std::sync::Arc;

use super::{ResultSummary, SeriesOrigin, Size};
use crate::Plan;
use crate::check::Verdict;
use crate::plan::{PlanOptions, Point};
use crate::results::Results;
use crate::run::{Bucket, Record, RunError, TimeSeriesRow};

pub(crate) const PLAN: &str = r#"
title = "Two paths"
claim = "two are faster"
repetitions = 3

[paths.a]
rate = "10Mbit"
delay = "5ms"

[paths.b]
rate = "10Mbit"
delay = "5ms"

[apps.sender]
kind = "bulk"
message = 1400

[record]
time-series = "100ms"
histograms = true

[sweep.b]
sets = "paths.b.rate"
values = [10, 20]
unit = "Mbit"

[sweep.delay]
sets = "paths.b.delay"
values = [5, 50]
unit = "ms"

[[variant]]
name = "plain"

[[variant]]
name = "split"
policies.nr-sack = "on"

[[reference]]
name = "ideal"
formula = "10 + b"

[figure]
statistic = "median"

[[plot]]
kind = "time-series"
y = "cwnd"
series = "split"
where.b = 20
from = "1s"

[[plot]]
kind = "cdf"
y = "delay"
where.b = 20
where.delay = 5

[[check]]
claim = "at most the ideal"
kind = "ratio"
series = "split"
to = "ideal"
at-most = 1.0

[verdict]
cause = "nothing to add"
"#;

/// A record in which the goodput is the seed plus ten.
pub(crate) fn record(seed: u64) -> Record {
    let row = |time: f64, path: &str| TimeSeriesRow {
        time,
        path: path.to_owned(),
        cwnd: 2_048,
        ssthresh: None,
        flight: 0,
        queued: 0,
        blocked: 0.0,
        srtt: None,
        rto: 1_000.0,
        link_queue: 0,
        send_buffer: 0,
        receive_buffer: 0,
        delivered: 0,
    };
    let bucket = |high: u64, count: u64| Bucket {
        low: high,
        high,
        count,
    };
    Record {
        values: [("goodput".to_owned(), seed as f64 + 10.0)].into(),
        histograms: [("delay".to_owned(), vec![bucket(1_000, 1), bucket(3_000, 3)])].into(),
        environment: std::collections::BTreeMap::new(),
        time_series: [0.5, 1.0, 1.5]
            .iter()
            .flat_map(|time| [row(*time, "a"), row(*time, "b")])
            .collect(),
    }
}

pub(crate) fn summary() -> ResultSummary {
    let plan = Plan::read(Path::new("two.toml"), PLAN, &PlanOptions::default()).unwrap();
    let outcomes = plan.points.iter().map(|point| Ok(Arc::new(record(point.seed))));
    ResultSummary::of(&Results::of(&plan, outcomes.collect()))
}

#[test]
fn summary_has_medians_ranges_and_origins() {
    let summary = summary();
    assert_eq!(
        (summary.size, summary.seeds.len(), summary.runs),
        (Size::Full, 3, 24)
    );
    assert_eq!(summary.x.label, "b, Mbit");
    let all_series = &summary.panels[0].series;
    assert_eq!(all_series.len(), 6, "three series at two delays");
    let point = &all_series[0].points[1];
    assert_eq!(
        (point.x, point.value, point.low, point.high, point.count),
        (20.0, 12.0, 11.0, 13.0, 3)
    );
    assert_eq!(all_series[1].coordinates, ["delay 50 ms"]);
    assert_eq!(
        (all_series[4].origin, all_series[4].points[0].count),
        (SeriesOrigin::Formula, 0)
    );
}

#[test]
fn settings_are_common_changed_or_swept() {
    let settings = summary().settings;
    assert_eq!(settings.common["paths.a.rate"], "10Mbit");
    assert!(!settings.common.contains_key("paths.b.rate"), "swept");
    assert_eq!(settings.swept[0].keys, ["paths.b.rate"]);
    let [changed] = &settings.changed[..] else {
        panic!("{:?}", settings.changed)
    };
    assert_eq!(
        (changed.key.as_str(), changed.values["split"].as_str()),
        ("policies.nr-sack", "on")
    );
}

#[test]
fn settings_of_single_paths_are_listed() {
    let alone = "[[reference]]\nname = \"alone\"\nsingle-path = \"best\"\npolicies.nr-sack = \"on\"\ntime.measure = \"7s\"";
    let text = PLAN.replacen("[figure]", &format!("{alone}\n\n[figure]"), 1);
    let plan = Plan::read(Path::new("two.toml"), &text, &PlanOptions::default()).unwrap();
    let outcomes = plan.points.iter().map(|point| Ok(Arc::new(record(point.seed))));
    let settings = ResultSummary::of(&Results::of(&plan, outcomes.collect())).settings;
    let values = |key: &str| {
        let changed = settings.changed.iter().find(|changed| changed.key == key);
        let values = changed
            .unwrap_or_else(|| panic!("{key} of {settings:#?}"))
            .values
            .iter();
        values
            .map(|(series, value)| format!("{series}: {value}"))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        values("policies.nr-sack"),
        ["alone: on", "plain: off", "split: on"]
    );
    assert_eq!(values("time.measure").len(), 3);
    assert!(!settings.common.contains_key("time.measure"));
}

#[test]
fn changed_defaults_are_listed() {
    let mut summary = summary();
    let now = |text: &str| Plan::read(Path::new("two.toml"), text, &PlanOptions::default()).unwrap();
    let changed_defaults = |summary: &ResultSummary, plan: Plan| {
        summary.clone().compared_with_plan(&plan, &plan).changed_defaults
    };
    assert_eq!(changed_defaults(&summary, now(PLAN)), [""; 0]);
    // One series and one common setting had other values, and one key did not exist.
    summary.settings.changed[0]
        .values
        .insert("split".into(), "off".into());
    summary
        .settings
        .common
        .insert("policies.burst".into(), "four".into());
    summary.settings.common.remove("policies.cc");
    assert_eq!(
        changed_defaults(&summary, now(PLAN)),
        ["policies.burst", "policies.nr-sack"]
    );
}

#[test]
fn new_parameter_is_listed_if_it_is_not_at_its_default() {
    let text = |policies: &str| PLAN.replacen("[record]", &format!("[policies]\n{policies}\n\n[record]"), 1);
    let now = |policies: &str| Plan::read(Path::new("two.toml"), &text(policies), &PlanOptions::default());
    let changed_defaults = |policies: &str, then: Option<&str>| {
        let plan = now(policies).unwrap();
        let mut settings = super::Settings::of(&plan);
        let new = settings.common.remove("policies.chunk-rescheduling.overdue");
        assert!(new.is_some(), "{settings:#?}");
        if let Some(then) = then {
            let key = "policies.chunk-rescheduling";
            settings.common.insert(key.into(), then.into());
        }
        settings.changed_defaults(&super::Settings::of(&plan))
    };
    let (off, on) = (
        "chunk-rescheduling = \"both\"",
        "chunk-rescheduling = \"both\"\n\"chunk-rescheduling.overdue\" = \"on\"",
    );
    assert_eq!(changed_defaults(off, None), [""; 0]);
    assert_eq!(
        changed_defaults(on, None),
        ["policies.chunk-rescheduling.overdue"]
    );
    assert_eq!(
        changed_defaults(on, Some("sender")),
        ["policies.chunk-rescheduling"],
        "another policy has other parameters"
    );
}

#[test]
fn plots_show_first_seed_over_time_and_cdf_of_all_seeds() {
    let plots = summary().plots;
    assert_eq!(plots.len(), 3, "a time series for each delay, and a CDF");
    assert_eq!(plots[0].series[1].name, "b");
    assert_eq!(plots[0].series[0].points, [(1.0, 2.0), (1.5, 2.0)]);
    assert_eq!(plots[2].series[1].name, "split, b 20 Mbit, delay 5 ms");
    assert_eq!(plots[2].series[1].points, [(1.0, 25.0), (3.0, 100.0)]);
}

#[test]
fn stored_summary_loads_equal() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("two.json");
    let summary = summary();
    summary.store(&file).unwrap();
    assert_eq!(ResultSummary::load(&file).unwrap(), summary);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(
        text.contains("\n            {\"count\":3,\"high\":13.0,\"low\":11.0,\"value\":12.0,\"values\":[11.0,12.0,13.0],\"x\":20.0}"),
        "{text}"
    );
    assert!(summary.in_short().text().len() < text.len());
}

#[test]
fn kept_results_are_judged_by_the_checks_of_the_plan() {
    let judged = |text: &str, summary: ResultSummary| {
        let plan = Plan::read(Path::new("two.toml"), text, &PlanOptions::default()).unwrap();
        let judged = summary.compared_with_plan(&plan, &plan);
        assert!(!judged.is_outdated);
        judged.findings[0].clone()
    };
    let as_run = summary();
    assert_eq!(judged(PLAN, as_run.clone()), as_run.findings[0]);
    // The goodput is 12 with an interval of ± 2.48, and the ideal is 20 and 30.
    for (most, verdict) in [
        ("1.0", Verdict::Reproduced),
        ("0.5", Verdict::Undecided),
        ("0.2", Verdict::Contradicted),
    ] {
        let text = PLAN.replace("at-most = 1.0", &format!("at-most = {most}"));
        assert_eq!(judged(&text, as_run.clone()).verdict, verdict, "{most}");
    }
    // Three values are known by median, minimum and maximum.
    let mut without_values = as_run.clone();
    let all_series = without_values
        .panels
        .iter_mut()
        .flat_map(|panel| &mut panel.series);
    for point in all_series.flat_map(|series| &mut series.points) {
        point.values = Vec::new();
    }
    assert_eq!(judged(PLAN, without_values).found, as_run.findings[0].found);
    let mut without_panel = as_run;
    without_panel.panels = Vec::new();
    let unknown = judged(PLAN, without_panel);
    assert_eq!(unknown.verdict, Verdict::Undecided);
    assert!(
        unknown.found.ends_with("the values of the runs were not kept"),
        "{}",
        unknown.found
    );
}

#[test]
fn results_at_other_words_of_the_x_axis_are_not_judged() {
    let of_words = |words: &str| {
        let axis = format!("sets = \"policies.cc\"\nvalues = {words}");
        let text = PLAN.replace(
            "sets = \"paths.b.rate\"\nvalues = [10, 20]\nunit = \"Mbit\"",
            &axis,
        );
        let text = text.replace("formula = \"10 + b\"", "formula = \"20\"");
        let text = text.replace("where.b = 20\n", "where.b = \"cubic\"\n");
        Plan::read(Path::new("two.toml"), &text, &PlanOptions::default())
            .unwrap_or_else(|error| panic!("{error}"))
    };
    let plan = of_words("[\"reno\", \"cubic\"]");
    let outcomes = plan.points.iter().map(|point| Ok(Arc::new(record(point.seed))));
    let as_run = ResultSummary::of(&Results::of(&plan, outcomes.collect()));
    assert!(as_run.has_places_of(&plan));
    let others = of_words("[\"bbr\", \"cubic\"]");
    assert!(
        !as_run.has_places_of(&others),
        "positions 0 and 1 mean other words"
    );
}

#[test]
fn findings_of_failed_runs_are_kept() {
    let text = PLAN.replace("at-most = 1.0", "at-most = 0.2");
    let plan = Plan::read(Path::new("two.toml"), &text, &PlanOptions::default()).unwrap();
    let is_failing = |point: &Point| point.series == "split" && point.seed == 2;
    let failing = plan.points.iter().position(is_failing);
    let outcomes = plan.points.iter().enumerate().map(|(index, point)| {
        if Some(index) == failing {
            Err(RunError::NoAssociation)
        } else {
            Ok(Arc::new(record(point.seed)))
        }
    });
    let as_run = ResultSummary::of(&Results::of(&plan, outcomes.collect()));
    assert_eq!((as_run.failed, as_run.verdict), (1, Some(Verdict::NotMeasured)));
    let compared = as_run.clone().compared_with_plan(&plan, &plan);
    assert!(!compared.is_outdated);
    assert_eq!(
        (compared.verdict, compared.findings),
        (as_run.verdict, as_run.findings)
    );
}

#[test]
fn results_of_an_earlier_version_are_judged_if_their_places_are_the_same() {
    let as_run = summary();
    let judged = |text: &str| {
        let plan = Plan::read(Path::new("two.toml"), text, &PlanOptions::default()).unwrap();
        let judged = as_run.clone().compared_with_plan(&plan, &plan);
        assert!(judged.is_outdated, "the plan has changed since");
        judged.findings[0].clone()
    };
    let strict = PLAN.replace("at-most = 1.0", "at-most = 0.2");
    let clocks = strict.replace("[record]", "[clocks]\nphases = true\n\n[record]");
    assert_eq!(judged(&clocks).verdict, Verdict::Contradicted);
    let more = strict.replace("values = [10, 20]", "values = [10, 20, 30]");
    assert_eq!(
        judged(&more),
        as_run.findings[0],
        "the checks are about other points"
    );
    let fewer = strict.replace("values = [5, 50]", "values = [5]");
    assert_eq!(judged(&fewer), as_run.findings[0]);
    let faster = strict.replace(
        "values = [10, 20]\nunit = \"Mbit\"",
        "values = [10, 20]\nunit = \"Gbit\"",
    );
    assert_eq!(
        judged(&faster),
        as_run.findings[0],
        "the same numbers of another unit"
    );
}

#[test]
fn invalid_summary_is_refused_with_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("other.json");
    std::fs::write(&file, "{\"plan\": 3}").unwrap();
    let refusal = ResultSummary::load(&file).unwrap_err().to_string();
    assert!(
        refusal.contains("other.json") && refusal.contains("line 1"),
        "{refusal}"
    );
}
