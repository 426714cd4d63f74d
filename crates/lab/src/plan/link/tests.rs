//! Tests of reading the keys of links and clocks, and of their input files.

use std::fs;
use std::path::Path;

use super::VariationPlan;
use crate::plan::{Plan, PlanOptions};

const PLAN: &str = r#"
title = "A link"
claim = "it carries"
time.warm-up = "2s"

[paths.link]
delay = "10ms"
LINK

[apps.sender]
kind = "bulk"
message = 1400
"#;

/// Reads the plan in `folder` with these lines in the table of the link.
fn read_in(folder: &Path, link: &str) -> Result<Plan, String> {
    let text = PLAN.replace("LINK", link);
    Plan::read(&folder.join("x.toml"), &text, &PlanOptions::default()).map_err(|error| error.to_string())
}

fn read(link: &str) -> Result<Plan, String> {
    read_in(Path::new(""), link)
}

#[test]
fn new_keys_are_absent_from_settings_without_them() {
    let plan = read("rate = \"1Mbit\"\nqueue = { red = { limit = 10 } }").unwrap();
    let text = plan.points[0].setting_text();
    let setting: serde_json::Value = serde_json::from_str(&text).unwrap();
    let link = &setting["paths"]["link"];
    assert!(link["queue"]["red"].get("ecn").is_none(), "{text}");
    assert!(setting.get("clocks").is_none(), "{text}");
    for key in ["trace", "delay-variation"] {
        assert!(link.get(key).is_none(), "{key}: {text}");
    }
}

#[test]
fn written_setting_contains_all_keys_of_the_link() {
    let plan = read(
        "trace = { model = \"starlink\", mean = \"100Mbit\", seed = 3 }\n\
         delay-variation = { pareto = \"5ms\" }\n\
         queue = { fq-codel = { target = \"4ms\", ecn = false } }\n\
         loss = { batches = { loss = \"1%\", packets = 10 } }\n\
         [clocks]\nphases = true\ndrift = 50\nstart = \"1s\"",
    );
    let text = plan.unwrap().points[0].setting_text();
    for part in [
        r#""clocks":{"phases":true,"drift":50.0,"start":"1s"}"#,
        r#""model":"starlink","mean":"100Mbit","length":null,"seed":"3""#,
        r#""delay-variation":{"pareto":"5ms"}"#,
        r#""fq-codel":{"limit":null,"flows":null,"quantum":null,"target":"4ms","interval":null,"ecn":false}"#,
        r#""batches":{"loss":"0.01","packets":"10"}"#,
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn alternatives_replace_each_other_in_overrides() {
    let text = PLAN.replace(
        "LINK",
        "trace = { model = \"lte\", mean = \"20Mbit\" }\nqueue = { codel = { limit = 5 } }\n\
         delay-variation = { normal = \"1ms\" }\nloss = { random = \"1%\" }",
    );
    let options = PlanOptions {
        quick: false,
        changes: [
            "paths.link.queue={ pie = { update = \"10ms\" } }",
            "paths.link.delay-variation={ uniform = \"2ms\" }",
            "paths.link.loss={ batches = { loss = \"2%\" } }",
        ]
        .map(str::to_owned)
        .into(),
    };
    let plan = Plan::read(Path::new("x.toml"), &text, &options).unwrap();
    let link = plan.points[0].setting.paths.get("link").unwrap();
    assert!(matches!(link.delay_variation, Some(VariationPlan::Uniform(_))));
}

/// Refuses each of these links with this message.
fn are_refused(cases: &[(&str, &str)]) {
    for (link, message) in cases {
        let refused = read(link).unwrap_err();
        assert!(refused.contains(message), "{link}: {refused}");
        assert!(refused.starts_with("x.toml:"), "{refused}");
    }
}

#[test]
fn wrong_traces_and_delay_variations_are_refused() {
    let model = "trace = { model = \"lte\", mean = \"20Mbit\"";
    are_refused(&[
        (
            "",
            "a path needs a `rate`, such as \"10Mbit\" or \"unlimited\", or a `trace`",
        ),
        (
            &format!("rate = \"1Mbit\"\n{model} }}"),
            "`trace` takes the place of `rate`",
        ),
        ("trace = { model = \"lte\" }", "a `model` needs a `mean` rate"),
        ("trace = { mean = \"1Mbit\" }", "expected a `file`"),
        (
            "trace = { model = \"dsl\", mean = \"1Mbit\" }",
            "unknown word `dsl`",
        ),
        (&format!("{model}, file = \"x\" }}"), "expected a `file`"),
        (&format!("{model}, length = \"2h\" }}"), "from 1 ms to 1 h"),
        (
            "trace = { model = \"lte\", mean = \"1kbit\", length = \"1s\" }",
            "no opportunity",
        ),
        (
            "rate = \"1Mbit\"\njitter = \"1ms\"\ndelay-variation = { normal = \"1ms\" }",
            "keeps the order",
        ),
        (
            "rate = \"1Mbit\"\ndelay-variation = { gamma = \"1ms\" }",
            "unknown word `gamma`",
        ),
    ]);
}

#[test]
fn wrong_queues_losses_and_clocks_are_refused() {
    are_refused(&[
        (
            "rate = \"1Mbit\"\nqueue = { codel = { target = \"0s\" } }",
            "`target` and an `interval` above zero",
        ),
        (
            "rate = \"1Mbit\"\nqueue = { codel = { limit = 0 } }",
            "`limit` of at least 1",
        ),
        (
            "rate = \"1Mbit\"\nqueue = { codel = { quantum = 1 } }",
            "unknown key `quantum`",
        ),
        (
            "rate = \"1Mbit\"\nqueue = { fq-codel = { flows = 0 } }",
            "between 1 and 65536 `flows`",
        ),
        (
            "rate = \"1Mbit\"\nqueue = { fq-codel = { quantum = 0 } }",
            "a `quantum` between",
        ),
        (
            "rate = \"1Mbit\"\nqueue = { pie = { update = \"0s\" } }",
            "an `update` above zero",
        ),
        (
            "rate = \"1Mbit\"\nqueue = { pie = { alpha = -1.0 } }",
            "`alpha` and `beta` from 0",
        ),
        (
            "rate = \"1Mbit\"\nloss = { batches = { loss = \"1%\", packets = 0 } }",
            "`packets` of at least 1",
        ),
        (
            "rate = \"1Mbit\"\n[clocks]\ndrift = 20000",
            "parts per million from 0 to 10000",
        ),
        (
            "rate = \"1Mbit\"\n[clocks]\nstart = \"3s\"",
            "at most `time.warm-up`",
        ),
        (
            "rate = \"1Mbit\"\n[clocks]\nphase = true",
            "unknown key `phase`, did you mean `phases`?",
        ),
    ]);
}

#[test]
fn input_files_are_read_beside_the_plan_with_their_digest() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("slow.trace"), "10\n20\n").unwrap();
    fs::write(folder.path().join("some.dist"), "0 8192\n").unwrap();
    let with = |digest: &str| {
        let link = format!(
            "trace = {{ file = \"slow.trace\"{digest} }}\n\
             delay-variation = {{ table = {{ file = \"some.dist\", deviation = \"1ms\" }} }}"
        );
        read_in(folder.path(), &link)
    };
    let plan = with("").unwrap();
    let trace = plan.points[0]
        .setting
        .paths
        .get("link")
        .unwrap()
        .trace
        .clone()
        .unwrap();
    assert_eq!(trace.mean_rate().unwrap().as_bits_per_second(), 1_200_000);
    let text = plan.points[0].setting_text();
    let digest = trace.digest.unwrap();
    assert!(text.contains(&format!("\"digest\":\"{digest}\"")), "{text}");
    let pinned = with(&format!(", digest = \"{digest}\"")).unwrap();
    assert_eq!(pinned.points, plan.points);
    // Another content is another setting, and is refused where the plan gives the digest.
    fs::write(folder.path().join("slow.trace"), "10\n30\n").unwrap();
    assert_ne!(with("").unwrap().points[0].setting_text(), text);
    let refused = with(&format!(", digest = \"{digest}\"")).unwrap_err();
    assert!(refused.contains("the file has changed"), "{refused}");
}

#[test]
fn invalid_input_files_are_refused_with_file_and_line() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("bad.trace"), "10\nx\n").unwrap();
    fs::write(folder.path().join("bad.dist"), "1\n2\n99999\n").unwrap();
    let shown = folder.path().display();
    let refused = |link: &str| read_in(folder.path(), link).unwrap_err();
    assert_eq!(
        refused("trace = { file = \"bad.trace\" }"),
        format!("{shown}/x.toml:8:18: {shown}/bad.trace:2: expected a time in whole milliseconds, found `x`")
    );
    let table =
        "rate = \"1Mbit\"\nreverse.delay-variation.table = { file = \"bad.dist\", deviation = \"1ms\" }";
    let found = refused(table);
    assert!(found.contains("bad.dist:3: expected a whole number"), "{found}");
    let found = refused("trace = { file = \"none.trace\" }");
    assert!(found.contains("none.trace: No such file"), "{found}");
}
