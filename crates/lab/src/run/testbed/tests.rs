//! Tests of the test bed. Do all stacks communicate, and are plans refused that real hosts cannot run? Needs root, as
//! in CI.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::super::{Record, Recording, perform};
use crate::plan::{Plan, PlanOptions};

const PLAN: &str = r#"
title = "Two real paths"
claim = "they carry something"
backend = "testbed"

# From the very beginning: who waits for a timeout later has carried something nevertheless.
[time]
measure = "1s"

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

fn plan(changes: &[&str]) -> Result<Plan, String> {
    let options = PlanOptions {
        quick: false,
        changes: changes.iter().map(ToString::to_string).collect(),
    };
    Plan::read(Path::new("x.toml"), PLAN, &options).map_err(|error| error.to_string())
}

/// Returns the record, or prints a message and returns `None` outside CI if the user is not root.
fn record(changes: &[&str]) -> Option<Record> {
    let is_root = rustix::process::geteuid().is_root();
    assert!(
        is_root || std::env::var_os("CI").is_none(),
        "CI runs this as root"
    );
    if !is_root {
        eprintln!("skipped: a test bed needs root");
        return None;
    }
    let plan = plan(changes).unwrap();
    Some(
        perform(
            &plan.points[0],
            None,
            &AtomicBool::new(false),
            &Recording::default(),
        )
        .unwrap(),
    )
}

fn carries(record: &Record, paths: &[&str]) {
    let value = |name: &str| {
        record
            .values
            .get(name)
            .copied()
            .unwrap_or_else(|| panic!("{name}: {record:?}"))
    };
    assert!(value("goodput") > 0.0 && value("goodput") < 31.0, "{record:?}");
    assert_eq!(
        (value("testbed.integrity-errors"), value("testbed.stray-losses")),
        (0.0, 0.0),
        "{record:?}"
    );
    for path in paths {
        assert!(value(&format!("path.{path}.carried")) > 0.0, "{record:?}");
    }
    for metric in [
        "timeouts",
        "fast-retransmits",
        "stalls",
        "outage",
        "testbed.lateness.p99",
    ] {
        value(metric);
    }
    // A flow that waits for timeouts all the time may have sent nothing, so the share may be missing.
    let again = record.values.get("retransmitted");
    assert!(
        again.is_none_or(|share| (0.0..=1.0).contains(share)),
        "{record:?}"
    );
    assert_eq!(record.environment["backend"], "testbed");
}

/// One test for all stacks, because there is only one test bed.
#[test]
fn every_stack_sends_over_all_its_paths() {
    let both = &["north", "south"][..];
    let cases: &[(&[&str], &[&str])] = &[
        (&[], both),
        (&["association.udp=true", "apps.sender.streams=4"], both),
        (
            &["stack=usrsctp", "usrsctp.cmt_on_off=1", "usrsctp.cmt_use_dac=1"],
            both,
        ),
        (&["transport=mptcp"], both),
        // The emulator has the links of the simulator: overtaking packets, traces, queues with active management, clocks.
        (
            &[
                "paths.north.delay-variation={ normal = \"200us\" }",
                "paths.north.queue={ fq-codel = {} }",
                "paths.north.tick=500us",
                "paths.south.queue={ pie = {} }",
                "paths.south.loss={ batches = { loss = \"0.1%\" } }",
                "clocks={ phases = true, drift = 50 }",
            ],
            both,
        ),
    ];
    for (changes, paths) in cases {
        if let Some(record) = record(changes) {
            carries(&record, paths);
        }
    }
}

#[test]
fn simulator_only_keys_are_refused_on_a_test_bed() {
    for (change, message) in [
        ("hosts.near.processor=embedded-1ghz", "as fast as this machine"),
        ("record.time-series=100ms", "in the simulator only"),
        ("record.overhead=true", "`overhead` is recorded"),
        ("time.until-complete=true", "fixed length"),
        ("apps.sender.kind=balanced", "`bulk`"),
        ("stack=kernel", "TCP and MPTCP need"),
        ("transport=tcp", "TCP uses a single path"),
        ("bottleneck.rate=1Mbit", "share no link"),
    ] {
        let refused = plan(&[change]).unwrap_err();
        assert!(refused.contains(message), "{change}: {refused}");
    }
    let refused = plan(&["time.warm-up=1s", "clocks.start=1s"]).unwrap_err();
    assert!(refused.contains("real hosts start"), "{refused}");
    let refused = plan(&["backend=sim", "stack=usrsctp"]).unwrap_err();
    assert!(refused.contains("backend = \"testbed\""), "{refused}");
}
