//! Test bed tests. Can a test bed be set up, seen and put away, again and again? Needs root, which CI has.

use std::process::Command;

use serde_json::Value;

use crate::harness::{PROGRAM, anabranch, run};

/// Whether this is root; elsewhere than on a machine of somebody's own, it must be.
fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output().unwrap();
    let is_root = output.stdout.trim_ascii() == b"0";
    assert!(
        is_root || std::env::var_os("CI").is_none(),
        "CI runs this as root"
    );
    if !is_root {
        eprintln!("skipped: a test bed needs root");
    }
    is_root
}

fn say(arguments: &[&str]) -> Vec<Value> {
    let output = run(&[&["testbed"], arguments, &["--json"]].concat());
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{said} {}",
        String::from_utf8_lossy(&output.stderr)
    );
    said.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn known(name: &str) -> Option<Value> {
    say(&["status"]).into_iter().find(|bed| bed["name"] == name)
}

#[test]
fn testbed_can_be_replaced_and_removed_twice() {
    if !is_root() {
        return;
    }
    let name = "test-program";
    let up = [
        "up",
        "--name",
        name,
        "--path",
        "10Mbit,1ms",
        "--path",
        "40Mbit,1ms",
    ];
    say(&up);
    let first = known(name).unwrap()["owner"].clone();
    let hosts = say(&up)[0]["hosts"].clone();
    assert_eq!(hosts[0], "anabranch-test-program-near");
    assert_ne!(
        known(name).unwrap()["owner"],
        first,
        "the second took the place of the first"
    );
    let there = Command::new("ip")
        .args([
            "netns",
            "exec",
            hosts[0].as_str().unwrap(),
            "ip",
            "route",
            "get",
            "10.1.0.2",
        ])
        .output()
        .unwrap();
    assert!(
        String::from_utf8_lossy(&there.stdout).contains("dev path1 src 10.1.0.1"),
        "{there:?}"
    );
    assert_eq!(say(&["down", "--name", name])[0]["existed"], true);
    assert_eq!(known(name), None);
    assert_eq!(say(&["down", "--name", name])[0]["existed"], false);
}

/// Nothing in `/run` tells of test beds before.
#[test]
fn testbed_creates_its_state_folder() {
    if !is_root() {
        return;
    }
    let script = "mount -t tmpfs none /run && \"$0\" testbed up --name first --path 10Mbit,1ms && \
                  \"$0\" testbed down --name first";
    let output = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-ec", script])
        .arg(PROGRAM)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn testbed_failure_is_reported_once() {
    if !is_root() {
        return;
    }
    let paths = ["--path", "10Mbit,1ms"].repeat(65);
    let output = run(&[&["testbed", "up", "--name", "test-many", "--json"][..], &paths].concat());
    assert_eq!(output.status.code(), Some(2));
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    let message = said["message"].as_str().unwrap();
    assert!(message.contains("paths") && !message.contains('{'), "{message}");
}

const PLAN: &str = r#"
title = "Two paths"
claim = "they carry something"

[time]
measure = "500ms"

[paths.north]
rate = "10Mbit"
delay = "1ms"

[paths.south]
rate = "20Mbit"
delay = "2ms"

[apps.sender]
kind = "bulk"
message = 1400
"#;

#[test]
fn simulator_plan_runs_on_a_test_bed_and_keeps_all_runs() {
    if !is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    for (backend, keeps_runs) in [("sim", false), ("testbed", true)] {
        std::fs::write(place("two.toml"), format!("backend = \"{backend}\"\n{PLAN}")).unwrap();
        let output = anabranch()
            .current_dir(folder.path())
            .args(["lab", "run", "two.toml", "--keep", "results"])
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(place("results/two.json").is_file());
        assert_eq!(place("results/two.runs.csv").is_file(), keeps_runs, "{backend}");
    }
    let runs = std::fs::read_to_string(place("results/two.runs.csv")).unwrap();
    assert_eq!(runs.lines().count(), 2, "a head and one run: {runs}");
}

#[test]
fn invalid_testbed_name_is_a_usage_error() {
    if !is_root() {
        return;
    }
    let output = run(&["testbed", "up", "--name", "../x", "--path", "1Mbit,1ms"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("a-z"),
        "{output:?}"
    );
}
