//! Tests of the `lab` command. Is an experiment run, resumed, compared and refused as the help says?

use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{Running, anabranch, run};

const PLAN: &str = r#"
title = "A small experiment"
claim = "two paths are faster than one"

[time]
measure = "1s"

[paths.a]
rate = "10Mbit"
delay = "5ms"

[paths.b]
rate = "10Mbit"
delay = "5ms"

[apps.sender]
kind = "bulk"
message = 1400

[sweep.b]
sets = "paths.b.rate"
values = [10, 20]
unit = "Mbit"

[[variant]]
name = "both"

[[reference]]
name = "alone"
single-path = "best"

[[check]]
claim = "two paths are faster than one"
kind = "ratio"
series = "both"
to = "alone"
at-least = 1.2
"#;

fn plan(folder: &TempDir, text: &str) -> String {
    let file = folder.path().join("small.toml");
    std::fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

fn inside(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).to_str().unwrap().to_owned()
}

fn objects(stdout: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(stdout).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn of_event<'o>(objects: &'o [Value], event: &str) -> Vec<&'o Value> {
    objects.iter().filter(|object| object["event"] == event).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn experiment_is_cached_and_compared() {
    let folder = tempfile::tempdir().unwrap();
    let (plan, cache) = (plan(&folder, PLAN), inside(&folder, "cache"));
    let experiment = |out: &str, set: &str| {
        let out = inside(&folder, out);
        let arguments = [
            "lab", "run", &plan, "--json", "--cache", &cache, "--out", &out, "--set", set,
        ];
        let output = run(&arguments);
        assert!(output.status.success(), "{output:?}");
        objects(&output.stdout)
    };
    let first = experiment("first", "seed=1");
    assert_eq!(of_event(&first, "finding")[0]["verdict"], "undecided", "one run");
    assert_eq!(of_event(&first, "experiment-done")[0]["runs"], 6);
    let again = experiment("again", "seed=1");
    let progress = of_event(&again, "lab-progress");
    assert_eq!(progress[0]["cached"], progress[0]["all"], "nothing is run twice");
    for file in files(&folder.path().join("first")) {
        let other = folder.path().join("again").join(file.file_name().unwrap());
        assert_eq!(
            std::fs::read(&file).unwrap(),
            std::fs::read(other).unwrap(),
            "{file:?}"
        );
    }
    experiment("slower", "paths.a.rate=5Mbit");
    let arguments = [
        "lab",
        "compare",
        &inside(&folder, "first"),
        &inside(&folder, "slower"),
        "--metric",
        "goodput",
    ];
    let text = String::from_utf8(run(&arguments).stdout).unwrap();
    assert!(text.contains("both, b 10") && text.contains("goodput"), "{text}");
    let arguments = [
        "lab",
        "compare",
        &inside(&folder, "first"),
        &inside(&folder, "again"),
        "--json",
    ];
    let same = objects(&run(&arguments).stdout);
    assert_eq!(of_event(&same, "difference").len(), 0);
    assert_eq!(of_event(&same, "compared")[0]["pairs"], 6);
    let [first, again, pages] = ["first", "again", "pages"].map(|name| inside(&folder, name));
    let refused = run(&["lab", "report", &first, &again, "--out", &pages]);
    assert_eq!(refused.status.code(), Some(2), "two pages of one name");
    assert!(!folder.path().join("pages").exists());
}

#[test]
fn quiet_experiment_prints_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (plan, cache, out) = (
        plan(&folder, PLAN),
        inside(&folder, "cache"),
        inside(&folder, "out"),
    );
    let output = run(&["lab", "run", &plan, "--quiet", "--cache", &cache, "--out", &out]);
    assert!(output.status.success());
    assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
    assert!(folder.path().join("out/summary.csv").exists());
}

#[test]
fn interrupted_experiment_continues() {
    let folder = tempfile::tempdir().unwrap();
    let long = PLAN
        .replace("[time]", "repetitions = 8\n\n[time]")
        .replace("\"1s\"", "\"5s\"");
    let (plan, cache, out) = (
        plan(&folder, &long),
        inside(&folder, "cache"),
        inside(&folder, "out"),
    );
    let arguments = [
        "lab", "run", &plan, "--json", "--jobs", "1", "--cache", &cache, "--out", &out,
    ];
    let mut running = Running::start(anabranch().args(arguments));
    let done = |object: &Value| object["done"].as_u64().unwrap();
    while done(&running.event("lab-progress")) < 2 {}
    running.interrupt();
    let (code, _) = running.end();
    assert_eq!(code, Some(130));
    assert!(!folder.path().join("out").exists(), "nothing is half-written");
    let again = run(&arguments);
    assert!(again.status.success());
    let progress = objects(&again.stdout);
    let found = of_event(&progress, "lab-progress")[0]["cached"].as_u64().unwrap();
    assert!(found >= 2, "{found}");
}

#[test]
fn invalid_plan_is_refused_with_its_position() {
    let folder = tempfile::tempdir().unwrap();
    for (from, to, expected) in [
        (
            "delay = \"5ms\"",
            "dealy = \"5ms\"",
            "small.toml:10:1: unknown key `dealy`, did you mean `delay`?",
        ),
        (
            "\"10Mbit\"",
            "\"-10Mbit\"",
            "small.toml:9:8: expected a rate above zero",
        ),
        ("[10, 20]", "[]", "the sweep `b` is empty"),
        (
            "[apps.sender]",
            "[policies]\ncc = \"liaa\"\n\n[apps.sender]",
            "unknown cc `liaa`, did you mean `lia`?",
        ),
    ] {
        let plan = plan(&folder, &PLAN.replacen(from, to, 1));
        let out = inside(&folder, "out");
        let output = run(&[
            "lab",
            "run",
            &plan,
            "--out",
            &out,
            "--cache",
            &inside(&folder, "cache"),
        ]);
        assert_eq!(output.status.code(), Some(2));
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(expected), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert_eq!(files(folder.path()).len(), 1, "nothing but the plan is there");
    }
}

#[test]
fn unwritable_cache_is_refused_before_running() {
    let folder = tempfile::tempdir().unwrap();
    let (plan, out) = (plan(&folder, PLAN), inside(&folder, "out"));
    let cache = inside(&folder, "small.toml/cache");
    let output = run(&["lab", "run", &plan, "--out", &out, "--cache", &cache]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("cannot write to the cache") && said.contains("choose another folder with --cache"),
        "{said}"
    );
    assert!(!Path::new(&out).exists());
}

#[test]
fn unsupported_recording_is_refused_before_running() {
    let folder = tempfile::tempdir().unwrap();
    let [one, other] = ["one", "other"].map(|name| {
        let file = folder.path().join(name).join("small.toml");
        std::fs::create_dir(file.parent().unwrap()).unwrap();
        std::fs::write(&file, PLAN).unwrap();
        file.to_str().unwrap().to_owned()
    });
    let logs = inside(&folder, "logs");
    let refused = |arguments: &[&str], expected: &str| {
        let output = run(&[&["lab", "run", &one][..], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(expected), "{said}");
    };
    refused(&[&other], "would both write to target/lab/small");
    refused(
        &["--set", "backend=testbed", "--capture", &logs],
        "need the simulator",
    );
    let tcp = ["--set", "transport=mptcp", "--set", "paths.b.delay=6ms"];
    refused(
        &[&tcp[..], &["--events", &logs]].concat(),
        "--events supports SCTP only",
    );
    assert!(!Path::new(&logs).exists());
}

#[test]
fn earlier_results_survive_failed_runs() {
    let folder = tempfile::tempdir().unwrap();
    let (cache, out) = (inside(&folder, "cache"), inside(&folder, "out"));
    let experiment = |text: &str| {
        let plan = plan(&folder, text);
        run(&["lab", "run", &plan, "--json", "--cache", &cache, "--out", &out])
    };
    assert!(experiment(PLAN).status.success());
    let runs = || std::fs::read(folder.path().join("out/runs.csv")).unwrap();
    let before = runs();
    let deaf = PLAN.replace("delay = \"5ms\"", "delay = \"5ms\"\nloss.random = \"100%\"");
    let output = experiment(&deaf);
    assert_eq!((output.status.code(), runs()), (Some(1), before));
    let objects = objects(&output.stdout);
    assert_eq!(of_event(&objects, "failed").len(), 6);
    assert!(of_event(&objects, "experiment-done")[0]["folder"].is_null());
}

#[test]
fn invalid_plan_does_not_hide_the_others() {
    let folder = tempfile::tempdir().unwrap();
    plan(&folder, PLAN);
    std::fs::write(folder.path().join("broken.toml"), "title = 1").unwrap();
    let output = run(&["lab", "list", folder.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    let [listed, said] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(
        listed.contains("A small experiment") && said.contains("broken.toml:1:9"),
        "{said}"
    );
}

#[test]
fn show_lists_the_runs() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(&folder, PLAN);
    let text = String::from_utf8(run(&["lab", "show", &plan]).stdout).unwrap();
    assert!(
        text.contains("alone, a alone") && text.contains("6 runs"),
        "{text}"
    );
    let objects = objects(&run(&["lab", "show", &plan, "--json"]).stdout);
    assert_eq!(objects.len(), 6);
    assert_eq!(objects[1]["setting"]["paths"]["b"]["rate"], "20Mbit");
    let listed = run(&["lab", "list", folder.path().to_str().unwrap()]);
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(listed.contains("A small experiment"), "{listed}");
}

#[test]
fn kept_results_are_exported_with_seed_verdict_and_commit() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(&folder, PLAN);
    let [cache, out, kept, table] =
        ["cache", "out", "results", "new/kept.csv"].map(|name| inside(&folder, name));
    let experiments = folder.path().to_str().unwrap();
    let nothing = run(&["lab", "export", experiments, "--out", &table]);
    assert_eq!(nothing.status.code(), Some(2), "nothing is kept: {nothing:?}");
    let ran = run(&[
        "lab", "run", &plan, "--quiet", "--cache", &cache, "--out", &out, "--keep", &kept,
    ]);
    assert!(ran.status.success(), "{ran:?}");
    let written = run(&["lab", "export", experiments, "--out", &table]);
    assert!(written.status.success(), "{written:?}");
    let text = std::fs::read_to_string(&table).unwrap();
    let mut lines = text.lines();
    let head = lines.next().unwrap();
    for column in [
        "plan",
        "verdict",
        "commit",
        "series",
        "coordinates",
        "seed",
        "value",
    ] {
        assert!(head.split(',').any(|name| name == column), "{head}");
    }
    let first = lines.next().unwrap();
    assert!(
        first.starts_with("small,") && first.contains(",both,variant,"),
        "{first}"
    );
    let parquet = inside(&folder, "kept.parquet");
    assert!(
        run(&["lab", "export", experiments, "--out", &parquet])
            .status
            .success()
    );
    assert!(std::fs::read(&parquet).unwrap().starts_with(b"PAR1"));
}

#[test]
fn claims_page_is_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let experiments = root.join("experiments");
    let output = run(&["lab", "claims", experiments.to_str().unwrap()]);
    assert!(output.status.success(), "{output:?}");
    let page = std::fs::read_to_string(root.join("docs/claims.md")).unwrap();
    assert!(
        page == String::from_utf8(output.stdout).unwrap(),
        "docs/claims.md is out of date: run `make docs`"
    );
    let counts = |text: &str| {
        let (_, rest) = text.split_once("<!-- counts -->").unwrap();
        rest.split_once("<!-- /counts -->").unwrap().0.to_owned()
    };
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    assert!(
        counts(&readme) == counts(&page),
        "the counts in README.md are out of date: run `make docs`"
    );
    for kept in files(&experiments.join("results")) {
        let name = kept.file_name().unwrap().to_str().unwrap();
        let name = name
            .strip_suffix(".runs.csv")
            .or_else(|| name.strip_suffix(".json"));
        let plan = experiments.join(format!("{}.toml", name.unwrap()));
        assert!(
            plan.is_file(),
            "{} is kept of an experiment that is not there",
            kept.display()
        );
    }
}

#[test]
fn tests_named_in_claims_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut named = 0;
    for file in files(&root.join("experiments/tested")) {
        let text = std::fs::read_to_string(&file).unwrap();
        let values = |key: &str| -> Vec<String> {
            let lines = text
                .lines()
                .filter_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""));
            lines
                .map(|value| value.trim_end_matches('"').to_owned())
                .collect()
        };
        for (package, test) in values("package").iter().zip(values("test")) {
            let name = package.strip_prefix("anabranch-").unwrap();
            let declared = format!("fn {test}()");
            assert!(
                source_of(&root.join("crates").join(name)).contains(&declared),
                "{}: {package} has no test {test}",
                file.display()
            );
            named += 1;
        }
    }
    assert!(named > 5, "{named}");
}

/// Everything written in Rust below a folder.
fn source_of(folder: &Path) -> String {
    let mut source = String::new();
    for file in files(folder) {
        if file.is_dir() {
            source += &source_of(&file);
        } else if file.extension().is_some_and(|ending| ending == "rs") {
            source += &std::fs::read_to_string(file).unwrap();
        }
    }
    source
}

#[test]
fn drawn_cells_are_shown_and_run_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let draw = "[draw]\ncells = 3\n\n[draw.b]\nsets = \"paths.b.rate\"\nlog-uniform = [\"5Mbit\", \"20Mbit\"]\n\n[[variant]]";
    let (before, after) = PLAN.split_once("[sweep.b]").unwrap();
    let (_, after) = after.split_once("[[variant]]").unwrap();
    let plan = plan(&folder, &format!("{before}{draw}{after}"));
    let text = String::from_utf8(run(&["lab", "show", &plan]).stdout).unwrap();
    assert!(text.contains("cell") && text.contains("Mbit"), "{text}");
    assert!(
        text.contains("Each with: alone; both") && text.contains("9 runs"),
        "{text}"
    );
    // Nothing is drawn for each path, so each cell has one row, which names both.
    let rows: Vec<&str> = text.lines().filter(|line| line.ends_with("a, b")).collect();
    assert_eq!(rows.len(), 3, "{text}");
    let shown = objects(&run(&["lab", "show", &plan, "--json", "--cell", "2"]).stdout);
    let cells = of_event(&shown, "cell");
    assert_eq!((cells.len(), &cells[0]["cell"]), (1, &Value::from(2)));
    assert_eq!(cells[0]["drawn"][0]["value"], "6.73Mbit");
    let setting = &of_event(&shown, "point")[0]["setting"];
    assert_eq!(setting["paths"]["b"]["rate"], "6730kbit");
    let cache = inside(&folder, "cache");
    let cached = |arguments: &[&str]| {
        let out = inside(&folder, "out");
        let whole = [
            &["lab", "run", &plan, "--json", "--cache", &cache, "--out", &out],
            arguments,
        ]
        .concat();
        let output = run(&whole);
        assert!(output.status.success(), "{output:?}");
        let progress = of_event(&objects(&output.stdout), "lab-progress")[0].clone();
        (progress["cached"].clone(), progress["all"].clone())
    };
    // The path `a` alone is the same in all cells.
    assert_eq!(cached(&["--cell", "2"]), (Value::from(0), Value::from(3)));
    assert_eq!(
        cached(&[]),
        (Value::from(3), Value::from(7)),
        "the cell is not run again"
    );
    let alone = run(&["lab", "run", &plan, "--cell", "2", "--keep", "x"]);
    assert_eq!(
        alone.status.code(),
        Some(2),
        "one cell is not kept as the result of the plan"
    );
}

#[test]
fn cell_of_a_plan_that_draws_none_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let refused = run(&["lab", "show", &plan(&folder, PLAN), "--cell", "2"]);
    assert_eq!(refused.status.code(), Some(2));
    let text = String::from_utf8(refused.stderr).unwrap();
    assert!(
        text.contains("draws no cells, of which --cell could select some"),
        "{text}"
    );
}

#[test]
fn stop_rule_is_shown_in_progress_and_results() {
    let folder = tempfile::tempdir().unwrap();
    let rule = "repetitions = 2\n\n[repeat]\nat-most = 3\nhalf-width = \"0.01%\"\n\n[time]";
    let check = "\n[[check]]\nclaim = \"fast\"\nkind = \"value\"\nseries = \"both\"\nat-least = 1\n";
    let lossy = PLAN.replacen(
        "delay = \"5ms\"",
        "delay = \"5ms\"\nloss = { random = \"1%\" }",
        1,
    );
    let plan = plan(&folder, &format!("{}{check}", lossy.replacen("[time]", rule, 1)));
    let [cache, out] = ["cache", "out"].map(|name| inside(&folder, name));
    let arguments = ["lab", "run", &plan, "--cache", &cache, "--out", &out];
    let output = run(&[&arguments[..], &["--json"]].concat());
    assert!(output.status.success(), "{output:?}");
    let lines = objects(&output.stdout);
    let progress = of_event(&lines, "lab-progress");
    assert_eq!(progress[0]["round"], 1);
    assert_eq!(
        (
            &progress[progress.len() - 1]["round"],
            &progress[progress.len() - 1]["open_cells"]
        ),
        (&2.into(), &2.into())
    );
    let cells = of_event(&lines, "repetitions");
    assert_eq!(
        (cells.len(), &cells[0]["count"], &cells[0]["ended"]),
        (2, &3.into(), &"most".into())
    );
    assert!(cells[0]["half_width"].as_f64().unwrap() > 0.0001, "{cells:?}");
    let text = String::from_utf8(run(&arguments).stdout).unwrap();
    assert!(
        text.contains("3 repetitions in 2 cells: largest number reached"),
        "{text}"
    );
    let table = std::fs::read_to_string(folder.path().join("out/repetitions.csv")).unwrap();
    assert!(
        table.starts_with("cell,repetitions,ended,half-width,widest\n"),
        "{table}"
    );
    let page = std::fs::read_to_string(folder.path().join("out/small.html")).unwrap_or_default();
    assert!(
        page.is_empty() || page.contains("Repetitions of each cell"),
        "{page}"
    );
    let refused = run(&[&arguments[..], &["--on", "tcp://127.0.0.1:1"]].concat());
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
}
