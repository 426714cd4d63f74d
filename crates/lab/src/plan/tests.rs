//! Are plans read as they are meant, and refused where they cannot be?

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
fn a_plan_becomes_a_run_for_each_line_coordinate_and_seed() {
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
fn the_quick_size_and_the_command_line_lie_over_the_plan() {
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
fn a_plan_that_cannot_be_run_is_refused_with_the_place_and_what_was_expected() {
    for (from, to, message) in [
        (
            "delay = \"1ms\"",
            "dealy = \"1ms\"",
            "x.toml:8:1: unknown key `dealy`, did you mean `delay`? Known: rate, delay, queue, loss, jitter, tick, mtu, framing, \
             back",
        ),
        (
            "rate = \"10Mbit\"",
            "rate = \"-10Mbit\"",
            "x.toml:7:8: expected a rate above zero such as \"10Mbit\" or \"1.5Gbit\", or \"unlimited\", found `-10Mbit`",
        ),
        (
            "values = [10, 100]",
            "values = []",
            "x.toml:23:10: the sweep `south` is empty, expected at least one value",
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
            "alone = \"best\"",
            "alone = \"nrth\"",
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
            "a paced application needs `every`",
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
fn what_is_drawn_and_what_the_quick_size_changes_is_there() {
    for (from, to, message) in [
        (
            "repetitions = 2",
            "repetitions = 2\n[figure]\ny = []",
            "x.toml:6:5: expected one metric at least",
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
fn a_plan_of_more_runs_than_anybody_waits_for_is_refused() {
    is_refused(
        "repetitions = 2",
        "repetitions = 4_000_000_000",
        "the plan asks for 24000000000 runs, expected 1000000 at most",
    );
}

#[test]
fn addresses_come_and_go_only_where_they_can() {
    for (join, policies, message) in [
        (
            "north",
            "add-ip = \"on\"\n",
            "x.toml:6:8: the first path is there from the start; let another one `join`",
        ),
        (
            "south",
            "",
            "addresses `join` and `leave` only with `policies.add-ip = \"on\"`",
        ),
    ] {
        let script = format!("[[script]]\nat = \"1s\"\njoin = \"{join}\"\n[policies]\n{policies}");
        is_refused("[policies]\n", &script, message);
    }
}

#[test]
fn a_plan_in_which_nobody_sends_is_refused() {
    let app = "[apps.bulk]\nkind = \"bulk\"\nmessage = 1452\n";
    is_refused(app, "", "or nothing would be sent");
}

#[test]
fn what_the_command_line_says_wrongly_is_reported_there() {
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
fn a_change_that_would_change_no_run_is_refused() {
    let found = read(PLAN, &["paths.south.rate=50Mbit"]).unwrap_err();
    let expected = "--set paths.south.rate = \"50Mbit\": the sweep `south` sets `paths.south.rate` in each run; \
                    change `sweep.south.values`";
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
        found.contains("each line of the plan sets `policies.buffer-split` itself"),
        "{found}"
    );
    assert!(
        read(PLAN, &["policies.buffer-split=receiver"]).is_ok(),
        "one of its lines does not"
    );
}

#[test]
fn what_the_command_line_says_of_seeds_and_figures_is_reported_there_too() {
    for change in ["repetitions=0", "figure.y=goodputt", "figure.x=north"] {
        let found = read(PLAN, &[change]).unwrap_err();
        assert!(found.starts_with("--set "), "{found}");
    }
}

#[test]
fn every_plan_of_the_project_can_be_read_in_both_sizes() {
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
fn a_processor_is_known_by_its_name() {
    let found = refusal("[policies]", "[hosts.far]\nprocessor = \"abacus\"\n[policies]");
    let message = "x.toml:15:13: unknown processor `abacus`, known: desktop-3.5ghz, embedded-1ghz";
    assert!(found.contains(message), "{found}");
}

#[test]
fn a_picture_is_of_what_was_recorded_at_few_places() {
    let with = |plot: &str| {
        let text = PLAN.replacen("[quick]", &format!("[[plot]]\n{plot}\n\n[quick]"), 1);
        read(&text, &["record.time_series=100ms"])
    };
    let plan = with("kind = \"series\"\ny = \"window\"\nline = \"split\"\nwhere.south = 100").unwrap();
    let about = plan.points.iter().filter(|point| plan.plots[0].is_about(point));
    assert_eq!(about.count(), 2, "one for each seed");
    for (plot, expected) in [
        ("kind = \"series\"\ny = \"windwo\"", "did you mean `window`?"),
        (
            "kind = \"series\"\ny = \"window\"\nwhere.south = 11",
            "no run that this plot is about",
        ),
        (
            "kind = \"series\"\ny = \"window\"\nline = \"spilt\"",
            "did you mean `split`?",
        ),
        (
            "kind = \"distribution\"\ny = \"delay\"",
            "needs `histograms` in `[record]`",
        ),
    ] {
        let refusal = with(plot).expect_err(plot);
        assert!(refusal.contains(expected), "{refusal}");
    }
}

#[test]
fn the_cause_of_a_contradiction_and_the_size_stand_in_the_plan() {
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
fn where_does_not_name_the_axis_along_which_is_drawn() {
    let check = "[[check]]\nclaim = \"z\"\nkind = \"value\"\nline = \"plain\"\nat-least = 1\nwhere.south = 10\n\n[quick]";
    is_refused(
        "[quick]",
        check,
        "`where` names `south`, along which is drawn; expected another axis, or a range `x = [from, to]`",
    );
}

#[test]
fn lines_and_axes_have_names_that_tell_them_apart() {
    for (from, to, message) in [
        (
            "name = \"split\"",
            "name = \"plain\"",
            "there are two lines `plain`",
        ),
        (
            "name = \"better path\"",
            "name = \"split\"",
            "there are two lines `split`",
        ),
        (
            "[sweep.south]",
            "[sweep.seed]",
            "results have a column `seed` already",
        ),
        (
            "[sweep.south]",
            "[sweep.goodput]",
            "results have a column `goodput` already",
        ),
        (
            "[sweep.south]",
            "[record]\nseries = \"1s\"\n[sweep.window]",
            "results have a column `window` already",
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
fn a_check_that_could_never_hold_or_never_look_is_refused() {
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
            "0 places of the x axis lie in `x = [20, 90]`",
        ),
        (
            "kind = \"monotone\"\ndirection = \"rising\"\nx = [10, 20]",
            "expected 2 or more",
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
            "`to` means nothing to this kind of check",
        ),
        (
            "kind = \"value\"\nat-least = 1\nto-y = \"timeouts\"",
            "`to-y` means nothing",
        ),
        (
            "kind = \"ratio\"\nto = \"split\"\nat-least = 1\ntolerance = \"5%\"",
            "`tolerance` means nothing",
        ),
    ] {
        let another = "[sweep.north]\nsets = \"paths.north.rate\"\nunit = \"Mbit\"\nvalues = [10, 20]";
        let check = format!("{another}\n\n[[check]]\nclaim = \"z\"\nline = \"plain\"\n{check}\n\n[quick]");
        is_refused("[quick]", &check, message);
    }
}

#[test]
fn what_an_application_would_pass_over_is_refused() {
    let app = |text: &str| format!("kind = {text}");
    for (from, to, message) in [
        ("\"bulk\"", "\"even\"\nstream = 3", "`stream` is nothing"),
        ("\"bulk\"", "\"client\"\nstreams = 3", "`streams` is nothing"),
        ("\"bulk\"", "\"even\"\nunordered = true", "`unordered` is nothing"),
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
    let refused = mptcp("[record]\nseries = \"1s\"").unwrap_err();
    assert!(refused.contains("no series is recorded"), "{refused}");
}

#[test]
fn packets_that_no_path_lets_through_are_refused() {
    let narrow = "delay = \"1ms\"\nmtu = 1400";
    is_refused(
        "delay = \"1ms\"",
        narrow,
        "no packet of 1500 bytes gets through 1400 bytes",
    );
    is_refused(
        "delay = \"1ms\"",
        "delay = \"1ms\"\nback.mtu = 1400",
        "no packet of 1500 bytes",
    );
    let narrow = PLAN.replacen("delay = \"1ms\"", narrow, 1);
    assert!(read(&narrow, &["association.mtu=1400"]).is_ok());
    assert!(read(&narrow, &["policies.pmtu=search"]).is_ok());
}

#[test]
fn rivals_that_would_not_be_met_are_refused_or_left_out() {
    let rival = |text: &str| {
        format!(
            "[cross-traffic.other]\nthrough = \"north\"\n{text}\napps.r = {{ kind = \"bulk\", message = 1000 }}\n\n[sweep.south]"
        )
    };
    is_refused(
        "[sweep.south]",
        &rival("access = { delay = \"1ms\", back = { delay = \"9ms\" } }"),
        "the same in both directions",
    );
    let far = rival("access.delay = \"1ms\"").replace("1000 }", "1000, end = \"far\" }");
    is_refused("[sweep.south]", &far, "a rival sends from its near end");
    let met = PLAN.replacen("[sweep.south]", &rival("access.delay = \"1ms\""), 1);
    let plan = read(&met, &[]).unwrap();
    let rivals = |path: &str| {
        let mut points = plan.points.iter();
        let alone = points.find(|point| point.single_path.as_deref() == Some(path));
        alone.unwrap().setting.cross_traffic.iter().count()
    };
    assert_eq!((rivals("north"), rivals("south")), (1, 0));
}

#[test]
fn a_picture_of_many_lines_is_one_for_each_place() {
    let lines: String = (0..20)
        .map(|number| format!("[[variant]]\nname = \"v{number}\"\n\n"))
        .collect();
    let text = PLAN.replacen(
        "[quick]",
        &format!("{lines}[[plot]]\nkind = \"series\"\ny = \"window\"\n\n[quick]"),
        1,
    );
    let text = text.replacen("[policies]", "[record]\nseries = \"1s\"\n\n[policies]", 1);
    assert!(read(&text, &[]).is_ok());
}

#[test]
fn the_quick_size_is_looked_at_before_the_full_one_runs() {
    is_refused(
        "time.measure = \"5s\"",
        "time.measuree = \"5s\"",
        "unknown key `measuree`",
    );
}

#[test]
fn steps_have_no_digits_that_nobody_wrote_and_numbers_are_compared_as_such() {
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
fn another_kind_of_queue_takes_the_place_of_the_one_before() {
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
    // What somebody calls a queue is none.
    let named = PLAN.replace("north", "queue");
    assert!(read(&named, &["paths.queue.mtu=9000"]).is_ok());
}

#[test]
fn bursts_that_cannot_lose_so_much_are_refused() {
    let lossy = |loss: &str| format!("delay = \"1ms\"\nloss.bursts = {{ loss = \"60%\", length = {loss} }}");
    is_refused(
        "delay = \"1ms\"",
        &lossy("1"),
        "expected a `length` of 1.50 or more",
    );
    let possible = PLAN.replacen("delay = \"1ms\"", &lossy("2"), 1);
    assert!(read(&possible, &[]).is_ok());
    let later = "[[script]]\nat = \"1s\"\nchange = \"south\"\nloss.bursts = { loss = \"1%\", length = -3 }\n[policies]\n";
    is_refused("[policies]\n", later, "a `length` of at least 1");
}
