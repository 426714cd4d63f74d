//! Tests of reading and validating plans.

use std::path::Path;

use anabranch_policy::catalog::Choice as _;

use super::{Plan, PlanOptions};

const PLAN: &str = r#"
title = "Two dissimilar paths"
claim = "together they are faster than the better one"
repetitions = 2

[paths.north]
rate = "10Mbit"
delay = "1ms"

[paths.south]
rate = "10Mbit"
delay = "1ms"

[policies]
profile = "cmt"

[apps.bulk]
kind = "bulk"
message = 1452

[sweep.south]
sets = "paths.south.rate"
values = [10, 100]
unit = "Mbit"

[[variant]]
name = "plain"

[[variant]]
name = "split"
policies.buffer-split = "both"

[[reference]]
name = "better path"
single-path = "best"

[quick]
repetitions = 1
time.measure = "5s"
"#;

fn read(text: &str, changes: &[&str]) -> Result<Plan, String> {
    let options = PlanOptions {
        quick: false,
        changes: changes.iter().map(ToString::to_string).collect(),
    };
    Plan::read(Path::new("x.toml"), text, &options).map_err(|error| error.to_string())
}

/// The message for the plan with `from` replaced by `to`, once.
fn refusal(from: &str, to: &str) -> String {
    assert!(PLAN.contains(from), "{from}");
    read(&PLAN.replacen(from, to, 1), &[]).expect_err("a plan that cannot be run")
}

fn is_refused(from: &str, to: &str, message: &str) {
    let found = refusal(from, to);
    assert!(found.contains(message), "expected {message}\n   found {found}");
    assert!(!found.contains('\n'), "{found}");
}

#[test]
fn plan_has_a_run_for_each_series_coordinate_and_seed() {
    let plan = read(PLAN, &[]).unwrap();
    let shown: Vec<String> = plan
        .points
        .iter()
        .filter(|point| point.seed == 1)
        .map(|point| {
            let alone = point.single_path.as_deref().unwrap_or("all paths");
            format!("{} {} {alone}", point.series, point.coordinates[0].text)
        })
        .collect();
    assert_eq!(
        shown,
        [
            "plain 10 all paths",
            "plain 100 all paths",
            "split 10 all paths",
            "split 100 all paths",
            "better path 10 north",
            "better path 10 south",
            "better path 100 north",
            "better path 100 south",
        ]
    );
    let split = plan.points.iter().find(|point| point.series == "split").unwrap();
    assert_eq!(split.setting.policies.0.buffer.name(), "both");
    assert_eq!(plan.points.len(), 16);
}

#[test]
fn quick_size_and_overrides_change_the_plan() {
    let options = PlanOptions {
        quick: true,
        changes: [
            "paths.north.rate=20Mbit",
            "sweep.south.values=[50]",
            "policies.cc.growth=cuc-v1",
        ]
        .map(str::to_owned)
        .into(),
    };
    let plan = Plan::read(Path::new("x.toml"), PLAN, &options).unwrap();
    assert_eq!(plan.points.len(), 4);
    let setting = serde_json::to_value(&*plan.points[0].setting).unwrap();
    assert_eq!(setting["time"]["measure"], "5s");
    assert_eq!(setting["paths"]["north"]["rate"], "20Mbit");
    assert_eq!(setting["paths"]["south"]["rate"], "50Mbit");
    assert_eq!(setting["policies"]["cc.growth"], "cuc-v1");
}

#[test]
fn invalid_plan_is_refused_with_position_and_expectation() {
    for (from, to, message) in [
        (
            "delay = \"1ms\"",
            "dealy = \"1ms\"",
            "x.toml:8:1: unknown key `dealy`, did you mean `delay`? Known: rate, trace, delay, \
             delay-variation, queue, loss, jitter, tick, mtu, framing, reverse",
        ),
        (
            "rate = \"10Mbit\"",
            "rate = \"-10Mbit\"",
            "x.toml:7:8: expected a rate above zero such as \"10Mbit\" or \"1.5Gbit\", or \"unlimited\", found `-10Mbit`",
        ),
        (
            "values = [10, 100]",
            "values = []",
            "x.toml:23:10: the sweep `south` is empty; expected at least one value",
        ),
        (
            "buffer-split = \"both\"",
            "buffer-split = \"boht\"",
            "x.toml:31:25: unknown buffer-split `boht`, did you mean `both`? Known: none, sender, receiver, both",
        ),
        (
            "profile = \"cmt\"",
            "profle = \"cmt\"",
            "x.toml:15:10: unknown policy `profle`",
        ),
        (
            "title =",
            "titel =",
            "x.toml:2:1: unknown key `titel`, did you mean `title`?",
        ),
        (
            "single-path = \"best\"",
            "single-path = \"nrth\"",
            "x.toml:33:1: unknown path `nrth`, did you mean `north`?",
        ),
        (
            "paths.south.rate",
            "paths.suoth.rate",
            "x.toml:22:8: unknown name `suoth`, did you mean `south`?",
        ),
        (
            "kind = \"bulk\"",
            "kind = \"periodic\"",
            "a periodic application needs `interval`",
        ),
        (
            "repetitions = 2",
            "repetitions = 2\n[figure]\ny = \"goodptu\"",
            "unknown metric `goodptu`, did you mean `goodput`?",
        ),
        ("[apps.bulk]", "[apps.bulk", "x.toml:17:11: "),
    ] {
        is_refused(from, to, message);
    }
}

#[test]
fn unknown_names_in_figure_and_quick_size_are_refused() {
    for (from, to, message) in [
        (
            "repetitions = 2",
            "repetitions = 2\n[figure]\ny = []",
            "x.toml:6:5: expected at least one metric",
        ),
        (
            "time.measure = \"5s\"",
            "paths.suoth.rate = \"5Mbit\"",
            "x.toml:39:7: unknown path `suoth`, did you mean `south`?",
        ),
    ] {
        is_refused(from, to, message);
    }
}

#[test]
fn plan_with_too_many_runs_is_refused() {
    is_refused(
        "repetitions = 2",
        "repetitions = 4_000_000_000",
        "the plan has 24000000000 runs, expected at most 1000000",
    );
}

#[test]
fn join_needs_add_ip_and_not_the_first_path() {
    for (join, policies, message) in [
        (
            "north",
            "add-ip = \"on\"\n",
            "x.toml:6:8: the first path must exist from the start; choose another one to `join`",
        ),
        ("south", "", "`join` and `leave` need `policies.add-ip = \"on\"`"),
    ] {
        let script = format!("[[script]]\nat = \"1s\"\njoin = \"{join}\"\n[policies]\n{policies}");
        is_refused("[policies]\n", &script, message);
    }
}

#[test]
fn plan_without_applications_is_refused() {
    let app = "[apps.bulk]\nkind = \"bulk\"\nmessage = 1452\n";
    is_refused(app, "", "no application sends data");
}

#[test]
fn invalid_override_is_reported_at_the_option() {
    let found = read(PLAN, &["paths.north.rate=fast"]).unwrap_err();
    assert!(
        found.starts_with("--set paths.north.rate = \"fast\": expected a rate"),
        "{found}"
    );
    let found = read(PLAN, &["paths.north.speed=1"]).unwrap_err();
    assert!(
        found.starts_with("--set paths.north.speed = 1: unknown key `speed`"),
        "{found}"
    );
    let found = read(PLAN, &["paths.suoth.rate=1Mbit"]).unwrap_err();
    let expected =
        "--set paths.suoth.rate = \"1Mbit\": unknown path `suoth`, did you mean `south`? Known: north, south";
    assert_eq!(found, expected);
}

#[test]
fn override_without_effect_is_refused() {
    let found = read(PLAN, &["paths.south.rate=50Mbit"]).unwrap_err();
    let expected = "--set paths.south.rate = \"50Mbit\": the sweep `south` sets `paths.south.rate` in every run; \
                    override `sweep.south.values` instead";
    assert_eq!(found, expected);
    assert_eq!(
        read(PLAN, &["sweep.south.values=[50]"]).unwrap().axes[0]
            .values
            .len(),
        1
    );

    let both = PLAN
        .replace(
            "name = \"plain\"",
            "name = \"plain\"\npolicies.buffer-split = \"none\"",
        )
        .replace(
            "[[reference]]\nname = \"better path\"\nsingle-path = \"best\"",
            "",
        );
    let found = read(&both, &["policies.buffer-split=receiver"]).unwrap_err();
    assert!(
        found.contains("every series of the plan sets `policies.buffer-split`"),
        "{found}"
    );
    assert!(
        read(PLAN, &["policies.buffer-split=receiver"]).is_ok(),
        "one of its series does not"
    );
}

#[test]
fn invalid_override_of_seeds_and_figure_is_reported() {
    for change in ["repetitions=0", "figure.y=goodputt", "figure.x=north"] {
        let found = read(PLAN, &[change]).unwrap_err();
        assert!(found.starts_with("--set "), "{found}");
    }
}

#[test]
fn all_plans_of_the_project_are_valid_in_both_sizes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let files = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let plans: Vec<_> = files
        .filter(|file| file.extension().is_some_and(|ending| ending == "toml"))
        .collect();
    assert!(plans.len() >= 18, "{}", plans.len());
    for file in plans {
        for quick in [false, true] {
            let options = PlanOptions {
                quick,
                changes: Vec::new(),
            };
            let plan = Plan::load(&file, &options).map_err(|error| error.to_string());
            assert_eq!(plan.map(|plan| plan.checks.is_empty()), Ok(false));
        }
    }
}

#[test]
fn unknown_processor_is_refused() {
    let found = refusal("[policies]", "[hosts.far]\nprocessor = \"abacus\"\n[policies]");
    let message = "x.toml:15:13: unknown processor `abacus`, known: desktop-3.5ghz, embedded-1ghz";
    assert!(found.contains(message), "{found}");
}

#[test]
fn plot_needs_records_and_few_sweep_points() {
    let with = |plot: &str| {
        let text = PLAN.replacen("[quick]", &format!("[[plot]]\n{plot}\n\n[quick]"), 1);
        read(&text, &["record.time-series=100ms"])
    };
    let plan = with("kind = \"time-series\"\ny = \"cwnd\"\nseries = \"split\"\nwhere.south = 100").unwrap();
    let about = plan.points.iter().filter(|point| plan.plots[0].is_about(point));
    assert_eq!(about.count(), 2, "one for each seed");
    for (plot, expected) in [
        (
            "kind = \"time-series\"\ny = \"windwo\"",
            "unknown column `windwo`",
        ),
        (
            "kind = \"time-series\"\ny = \"cwnd\"\nwhere.south = 11",
            "no run matches this plot",
        ),
        (
            "kind = \"time-series\"\ny = \"cwnd\"\nseries = \"spilt\"",
            "did you mean `split`?",
        ),
        (
            "kind = \"cdf\"\ny = \"delay\"",
            "needs `histograms` in `[record]`",
        ),
    ] {
        let refusal = with(plot).expect_err(plot);
        assert!(refusal.contains(expected), "{refusal}");
    }
}

#[test]
fn plan_has_cause_and_size() {
    let text = PLAN.replacen(
        "[quick]",
        "[verdict]\ncause = \"the queue is too short\"\n\n[quick]",
        1,
    );
    let full = read(&text, &[]).unwrap();
    assert_eq!(
        (full.cause.as_str(), full.is_quick),
        ("the queue is too short", false)
    );
    let quick = PlanOptions {
        quick: true,
        ..PlanOptions::default()
    };
    assert!(Plan::read(Path::new("x.toml"), &text, &quick).unwrap().is_quick);
    let (without, _) = text.split_once("[quick]").unwrap();
    let same = Plan::read(Path::new("x.toml"), without, &quick).unwrap();
    assert!(!same.is_quick, "without a quick size, it is the full one");
}

#[test]
fn where_with_the_x_axis_is_refused() {
    let check = "[[check]]\nclaim = \"z\"\nkind = \"value\"\nseries = \"plain\"\nat-least = 1\nwhere.south = 10\n\n[quick]";
    is_refused(
        "[quick]",
        check,
        "`where` names `south`, the x axis; use another axis, or a range `x = [from, to]`",
    );
}

#[test]
fn duplicate_names_of_series_and_columns_are_refused() {
    for (from, to, message) in [
        (
            "name = \"split\"",
            "name = \"plain\"",
            "there are two series `plain`",
        ),
        (
            "name = \"better path\"",
            "name = \"split\"",
            "there are two series `split`",
        ),
        (
            "[sweep.south]",
            "[sweep.seed]",
            "the result tables have a column `seed`",
        ),
        (
            "[sweep.south]",
            "[sweep.goodput]",
            "the result tables have a column `goodput`",
        ),
        (
            "[sweep.south]",
            "[record]\ntime-series = \"1s\"\n[sweep.cwnd]",
            "the result tables have a column `cwnd`",
        ),
        (
            "[[variant]]",
            "[sweep.again]\nsets = \"paths.south.rate\"\nvalues = [\"1Mbit\"]\n[[variant]]",
            "x.toml:27:8: `paths.south.rate` is set by two sweeps",
        ),
    ] {
        is_refused(from, to, message);
    }
}

#[test]
fn check_that_cannot_pass_or_fail_is_refused() {
    for (check, message) in [
        (
            "kind = \"value\"\nat-least = 2\nat-most = 1",
            "`at-least` not above `at-most`",
        ),
        (
            "kind = \"value\"\nat-least = nan",
            "`at-least` not above `at-most`",
        ),
        (
            "kind = \"peak\"\nx = [100, 10]",
            "`x = [from, to]` with `from` not above `to`",
        ),
        ("kind = \"peak\"\nx = [10, 50, 100]", "two numbers, from and to"),
        (
            "kind = \"value\"\nat-least = 1\nx = [20, 90]",
            "0 points of the sweep lie in `x = [20, 90]`",
        ),
        (
            "kind = \"monotone\"\ndirection = \"rising\"\nx = [10, 20]",
            "expected at least 2",
        ),
        (
            "kind = \"value\"\nat-least = 1\nwhere.north = 11",
            "unknown value of `north` `11`, did you mean `10`? Known: 10, 20",
        ),
        (
            "kind = \"share\"\ny = \"sack.tsns\"\nbetween = [0, 1]\nat-least = 0.5",
            "this check needs `histograms = true` in `[record]`",
        ),
        (
            "kind = \"share\"\ny = \"sack.tsns\"\nbetween = [0, 1]\nat-least = 2",
            "expected a share from 0 to 1",
        ),
        (
            "kind = \"monotone\"\ndirection = \"rising\"\nto = \"split\"",
            "`to` has no effect on this kind of check",
        ),
        (
            "kind = \"value\"\nat-least = 1\nto-y = \"timeouts\"",
            "`to-y` has no effect",
        ),
        (
            "kind = \"ratio\"\nto = \"split\"\nat-least = 1\ntolerance = \"5%\"",
            "`tolerance` has no effect",
        ),
    ] {
        let another = "[sweep.north]\nsets = \"paths.north.rate\"\nunit = \"Mbit\"\nvalues = [10, 20]";
        let check = format!("{another}\n\n[[check]]\nclaim = \"z\"\nseries = \"plain\"\n{check}\n\n[quick]");
        is_refused("[quick]", &check, message);
    }
}

#[test]
fn application_keys_without_effect_are_refused() {
    let app = |text: &str| format!("kind = {text}");
    for (from, to, message) in [
        ("\"bulk\"", "\"balanced\"\nstream = 3", "`stream` has no effect"),
        ("\"bulk\"", "\"client\"\nstreams = 3", "`streams` has no effect"),
        (
            "\"bulk\"",
            "\"balanced\"\nunordered = true",
            "`unordered` has no effect",
        ),
        (
            "\"bulk\"",
            "\"bulk\"\nmessages = 0",
            "expected one message or more",
        ),
    ] {
        is_refused(&app(from), &app(to), message);
    }
    let mptcp = |text: &str| {
        let app = format!("message = 1452\nstreams = 3\n{text}");
        let plan = PLAN.replacen("message = 1452", &app, 1);
        read(&format!("transport = \"mptcp\"\n{plan}"), &[])
    };
    assert!(mptcp("messages = 9").is_ok());
    let refused = mptcp("messages = 10").unwrap_err();
    assert!(refused.contains("expected a multiple of `streams`"), "{refused}");
    let refused = mptcp("[record]\ntime-series = \"1s\"").unwrap_err();
    assert!(
        refused.contains("a time series needs a single TCP connection"),
        "{refused}"
    );
}

#[test]
fn packets_larger_than_the_link_mtu_are_refused() {
    let narrow = "delay = \"1ms\"\nmtu = 1400";
    is_refused(
        "delay = \"1ms\"",
        narrow,
        "packets of 1500 bytes exceed the MTU of 1400 bytes",
    );
    is_refused(
        "delay = \"1ms\"",
        "delay = \"1ms\"\nreverse.mtu = 1400",
        "packets of 1500 bytes exceed",
    );
    let narrow = PLAN.replacen("delay = \"1ms\"", narrow, 1);
    assert!(read(&narrow, &["association.mtu=1400"]).is_ok());
    assert!(read(&narrow, &["policies.pmtu=search"]).is_ok());
}

#[test]
fn cross_traffic_must_share_a_link() {
    let cross_traffic = |text: &str| {
        format!(
            "[cross-traffic.other]\nthrough = \"north\"\n{text}\napps.r = {{ kind = \"bulk\", message = 1000 }}\n\n[sweep.south]"
        )
    };
    is_refused(
        "[sweep.south]",
        &cross_traffic("access = { delay = \"1ms\", reverse = { delay = \"9ms\" } }"),
        "the same in both directions",
    );
    let far = cross_traffic("access.delay = \"1ms\"").replace("1000 }", "1000, end = \"far\" }");
    is_refused("[sweep.south]", &far, "cross traffic is sent by the near end");
    let met = PLAN.replacen("[sweep.south]", &cross_traffic("access.delay = \"1ms\""), 1);
    let plan = read(&met, &[]).unwrap();
    let flows = |path: &str| {
        let mut points = plan.points.iter();
        let alone = points.find(|point| point.single_path.as_deref() == Some(path));
        alone.unwrap().setting.cross_traffic.iter().count()
    };
    assert_eq!((flows("north"), flows("south")), (1, 0));
}

#[test]
fn plot_of_many_series_is_valid() {
    let lines: String = (0..20)
        .map(|number| format!("[[variant]]\nname = \"v{number}\"\n\n"))
        .collect();
    let text = PLAN.replacen(
        "[quick]",
        &format!("{lines}[[plot]]\nkind = \"time-series\"\ny = \"cwnd\"\n\n[quick]"),
        1,
    );
    let text = text.replacen("[policies]", "[record]\ntime-series = \"1s\"\n\n[policies]", 1);
    assert!(read(&text, &[]).is_ok());
}

#[test]
fn full_size_reports_errors_of_the_quick_size() {
    is_refused(
        "time.measure = \"5s\"",
        "time.measuree = \"5s\"",
        "unknown key `measuree`",
    );
}

#[test]
fn steps_are_rounded_and_compared_as_numbers() {
    let swept = PLAN.replacen("values = [10, 100]", "from = 0.1\nto = 0.5\nstep = 0.1", 1);
    let plan = read(&swept, &[]).unwrap();
    let texts: Vec<&str> = plan.axes[0]
        .values
        .iter()
        .map(|value| value.text.as_str())
        .collect();
    assert_eq!(texts, ["0.1", "0.2", "0.3", "0.4", "0.5"]);
    let same = super::Label::Number(100.0);
    assert!(same.is(&read(PLAN, &[]).unwrap().axes[0].values[1]));
}

#[test]
fn another_kind_of_queue_replaces_the_first() {
    let text = PLAN
        .replacen("delay = \"1ms\"", "delay = \"1ms\"\nqueue.packets = 10", 1)
        .replacen(
            "policies.buffer-split",
            "paths.north.queue.bytes = \"64KiB\"\npolicies.buffer-split",
            1,
        );
    let queue = |plan: &Plan, line: &str| {
        let point = plan.points.iter().find(|point| point.series == line).unwrap();
        point.setting.paths.0[0].1.queue.clone().unwrap()
    };
    let plan = read(&text, &[]).unwrap();
    assert_ne!(queue(&plan, "plain"), queue(&plan, "split"));
    let plan = read(&text, &["paths.north.queue.red.weight=0.5"]).unwrap_err();
    assert!(
        plan.contains("missing field"),
        "it is another kind, and not complete: {plan}"
    );
    // A path may be called `queue`.
    let named = PLAN.replace("north", "queue");
    assert!(read(&named, &["paths.queue.mtu=9000"]).is_ok());
}

#[test]
fn impossible_burst_loss_is_refused() {
    let lossy = |loss: &str| format!("delay = \"1ms\"\nloss.bursts = {{ loss = \"60%\", length = {loss} }}");
    is_refused(
        "delay = \"1ms\"",
        &lossy("1"),
        "expected a `length` of at least 1.50",
    );
    let possible = PLAN.replacen("delay = \"1ms\"", &lossy("2"), 1);
    assert!(read(&possible, &[]).is_ok());
    let later = "[[script]]\nat = \"1s\"\nchange = \"south\"\nloss.bursts = { loss = \"1%\", length = -3 }\n[policies]\n";
    is_refused("[policies]\n", later, "a `length` of at least 1");
}

#[test]
fn stop_rule_that_cannot_work_is_refused() {
    let check = "[[check]]\nclaim = \"c\"\nkind = \"value\"\nseries = \"ideal\"\nat-least = 1\n";
    let with = |repeat: &str| format!("{check}[repeat]\n{repeat}\n[quick]");
    for (repeat, message) in [
        ("at-most = 1\nhalf-width = \"5%\"", "expected at least"),
        ("at-most = 9\nhalf-width = \"0%\"", "a share above zero"),
        (
            "at-most = 9\nhalf-width = \"5%\"\nstep = 0",
            "expected at least one",
        ),
        (
            "at-most = 9\nhalf-width = \"5%\"\ny = \"goodputs\"",
            "did you mean `goodput`?",
        ),
        (
            "at-most = 9\nhalf-width = \"5%\"\ny = \"timeouts\"",
            "unknown metric of a check",
        ),
        ("at-most = 9", "half-width"),
        (
            "at-most = 2000000\nhalf-width = \"5%\"",
            "expected at most 1000000",
        ),
    ] {
        is_refused("[quick]", &with(repeat), message);
    }
    is_refused(
        "[quick]",
        "[repeat]\nat-most = 9\nhalf-width = \"5%\"\n[quick]",
        "needs checks",
    );
}
