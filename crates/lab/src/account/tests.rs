//! Does an account say what came out, and is it the same after it was written and read?

use std::path::Path;
use std::sync::Arc;

use super::{Account, LineOrigin, Size};
use crate::Plan;
use crate::plan::Reading;
use crate::results::Results;
use crate::run::{Bar, Record, SeriesRow};

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
series = "100ms"
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

[[picture]]
kind = "series"
y = "window"
line = "split"
where.b = 20
from = "1s"

[[picture]]
kind = "distribution"
y = "delay"
where.b = 20
where.delay = 5

[[check]]
claim = "at most the ideal"
kind = "ratio"
line = "split"
to = "ideal"
at-most = 1.0

[verdict]
cause = "nothing to add"
"#;

/// A record in which the goodput is the seed plus ten.
pub(crate) fn record(seed: u64) -> Record {
    let row = |time: f64, path: &str| SeriesRow {
        time,
        path: path.to_owned(),
        window: 2_048,
        threshold: None,
        flight: 0,
        queued: 0,
        blocked: 0.0,
        srtt: None,
        rto: 1_000.0,
        waiting: 0,
        send_buffer: 0,
        receive_buffer: 0,
        delivered: 0,
    };
    let bar = |high: u64, count: u64| Bar {
        low: high,
        high,
        count,
    };
    Record {
        values: [("goodput".to_owned(), seed as f64 + 10.0)].into(),
        histograms: [("delay".to_owned(), vec![bar(1_000, 1), bar(3_000, 3)])].into(),
        made_with: std::collections::BTreeMap::new(),
        series: [0.5, 1.0, 1.5]
            .iter()
            .flat_map(|time| [row(*time, "a"), row(*time, "b")])
            .collect(),
    }
}

pub(crate) fn account() -> Account {
    let plan = Plan::read(Path::new("two.toml"), PLAN, &Reading::default()).unwrap();
    let outcomes = plan.points.iter().map(|point| Ok(Arc::new(record(point.seed))));
    Account::of(&Results::of(&plan, outcomes.collect()))
}

#[test]
fn an_account_has_medians_with_their_range_and_where_they_come_from() {
    let account = account();
    assert_eq!(
        (account.size, account.seeds.len(), account.runs),
        (Size::Full, 3, 24)
    );
    assert_eq!(account.x.label, "b, Mbit");
    let lines = &account.panels[0].lines;
    assert_eq!(lines.len(), 6, "three lines at two delays");
    let spot = lines[0].spots[1];
    assert_eq!(
        (spot.x, spot.value, spot.low, spot.high, spot.count),
        (20.0, 12.0, 11.0, 13.0, 3)
    );
    assert_eq!(lines[1].place, ["delay 50 ms"]);
    assert_eq!(
        (lines[4].origin, lines[4].spots[0].count),
        (LineOrigin::Formula, 0)
    );
}

#[test]
fn settings_are_told_apart_by_what_they_depend_on() {
    let settings = account().settings;
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
fn what_runs_over_single_paths_are_set_to_otherwise_is_told_too() {
    let alone =
        "[[reference]]\nname = \"alone\"\nalone = \"best\"\npolicies.nr-sack = \"on\"\ntime.measure = \"7s\"";
    let text = PLAN.replacen("[figure]", &format!("{alone}\n\n[figure]"), 1);
    let plan = Plan::read(Path::new("two.toml"), &text, &Reading::default()).unwrap();
    let outcomes = plan.points.iter().map(|point| Ok(Arc::new(record(point.seed))));
    let settings = Account::of(&Results::of(&plan, outcomes.collect())).settings;
    let values = |key: &str| {
        let changed = settings.changed.iter().find(|changed| changed.key == key);
        let values = changed
            .unwrap_or_else(|| panic!("{key} of {settings:#?}"))
            .values
            .iter();
        values
            .map(|(line, value)| format!("{line}: {value}"))
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
fn what_a_program_sets_otherwise_since_is_told() {
    let mut account = account();
    let now = |text: &str| Plan::read(Path::new("two.toml"), text, &Reading::default()).unwrap();
    let otherwise = |account: &Account, plan: Plan| account.clone().held_against(&plan, &plan).otherwise;
    assert_eq!(otherwise(&account, now(PLAN)), [""; 0]);
    // A line had another value, a value of all was another one, and a key was not there yet.
    account.settings.changed[0]
        .values
        .insert("split".into(), "off".into());
    account
        .settings
        .common
        .insert("policies.burst".into(), "four".into());
    account.settings.common.remove("policies.cc");
    assert_eq!(
        otherwise(&account, now(PLAN)),
        ["policies.burst", "policies.nr-sack"]
    );
}

#[test]
fn pictures_show_the_first_seed_over_time_and_all_seeds_together() {
    let pictures = account().pictures;
    assert_eq!(pictures.len(), 3, "a series for each delay, and a distribution");
    assert_eq!(pictures[0].lines[1].name, "b");
    assert_eq!(pictures[0].lines[0].places, [(1.0, 2.0), (1.5, 2.0)]);
    assert_eq!(pictures[2].lines[1].name, "split, b 20 Mbit, delay 5 ms");
    assert_eq!(pictures[2].lines[1].places, [(1.0, 25.0), (3.0, 100.0)]);
}

#[test]
fn an_account_is_the_same_after_it_was_written_and_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("two.json");
    let account = account();
    account.store(&file).unwrap();
    assert_eq!(Account::load(&file).unwrap(), account);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(
        text.contains("\n            {\"count\":3,\"high\":13.0,\"low\":11.0,\"value\":12.0,\"x\":20.0}"),
        "{text}"
    );
    assert!(account.in_short().text().len() < text.len());
}

#[test]
fn what_is_no_account_is_refused_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("other.json");
    std::fs::write(&file, "{\"plan\": 3}").unwrap();
    let refusal = Account::load(&file).unwrap_err().to_string();
    assert!(
        refusal.contains("other.json") && refusal.contains("line 1"),
        "{refusal}"
    );
}
