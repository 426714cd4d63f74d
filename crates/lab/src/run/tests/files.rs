//! Tests of event logs and packet captures. Do they match their schema, and can other programs read them?

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::super::{Cache, Files, Runner};
use super::{PLAN, go, plan};

const SCHEMA: &str = include_str!("../../../../../docs/event-log.schema.json");

/// Runs one point on lossy paths, one of which is cut for a while, and returns the file that was written.
fn recorded(folder: &Path, files: &Files) -> PathBuf {
    let text = PLAN.replace("delay = \"5ms\"", "delay = \"5ms\"\nloss = { random = \"2%\" }").replace(
        "[policies]",
        "[[script]]\nat = \"300ms\"\ncut = \"south\"\n[[script]]\nat = \"900ms\"\nrestore = \"south\"\n\n[policies]\n\"rto.min\" = \"100ms\"\n\"rto.initial\" = \"100ms\"",
    );
    let mut points = plan(&text).points;
    points.truncate(1);
    let cache = Cache::new(folder.join("cache"), "this build");
    let place = files.events.clone().or_else(|| files.captures.clone()).unwrap();
    let (stop, mut written) = (go(), Vec::new());
    // A cached point is run again to write its files.
    for _ in 0..2 {
        let _ = fs::remove_dir_all(&place);
        let runner = Runner::new(&cache, 1, &stop).recording(files.clone());
        assert!(runner.run(&points, &|_| {})[0].is_ok());
        written = fs::read_dir(&place)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        assert_eq!(written.len(), 1);
    }
    written.remove(0)
}

#[test]
fn event_log_lines_match_the_schema() {
    let folder = tempfile::tempdir().unwrap();
    let events = Some(folder.path().join("events"));
    let written = recorded(
        folder.path(),
        &Files {
            events,
            ..Files::default()
        },
    );
    assert!(written.ends_with("base_seed-1.jsonl"), "{written:?}");
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let text = fs::read_to_string(&written).unwrap();
    let mut names = std::collections::BTreeSet::new();
    let mut latest = 0.0;
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        fits(&schema, &schema, &line).unwrap_or_else(|why| panic!("{why}\nin {line}"));
        if let Some(name) = line["name"].as_str() {
            names.insert(name.to_owned());
            assert!(line["time"].as_f64().unwrap() >= latest, "{line}");
            latest = line["time"].as_f64().unwrap();
        }
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "sctp:chunks_lost",
            "sctp:congestion_state_updated",
            "sctp:packet_received",
            "sctp:packet_sent",
            "sctp:path_added",
            "sctp:path_state_updated",
            "sctp:primary_path_updated",
            "sctp:recovery_metrics_updated",
            "sctp:timer_updated",
        ]
    );
}

#[test]
fn tshark_reads_the_capture_of_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let captures = Some(folder.path().join("captures"));
    let written = recorded(
        folder.path(),
        &Files {
            captures,
            ..Files::default()
        },
    );
    if let Some(sacks) = seen(&written, "sctp.chunk_type == 3") {
        assert!(sacks > 100, "{sacks} SACKs");
    }
}

#[test]
fn tshark_reads_the_capture_of_an_mptcp_run() {
    let folder = tempfile::tempdir().unwrap();
    let captures = folder.path().join("captures");
    let files = Files {
        captures: Some(captures.clone()),
        ..Files::default()
    };
    let plan = plan(MULTIPATH_TCP);
    let cache = Cache::new(folder.path().join("cache"), "this build");
    let (stop, mut written) = (go(), Vec::new());
    let runner = Runner::new(&cache, 1, &stop).recording(files);
    assert!(runner.run(&plan.points, &|_| {})[0].is_ok());
    written.extend(fs::read_dir(&captures).unwrap());
    let file = written.remove(0).unwrap().path();
    if let Some(joins) = seen(&file, "tcp.options.mptcp.subtype == 1 && tcp.flags.syn == 1") {
        assert_eq!(joins, 2, "the second flow's SYN and its answer");
    }
}

const MULTIPATH_TCP: &str = r#"
title = "Two flows"
claim = "they are captured"
transport = "mptcp"
time.measure = "1s"
policies.profile = "tcp"
apps.sender = { kind = "bulk", message = 1400 }

[paths.north]
rate = "10Mbit"
delay = "1ms"

[paths.south]
rate = "10Mbit"
delay = "5ms"
"#;

/// Counts the packets of a capture that match `filter` in tshark; `None` if tshark is not installed.
fn seen(capture: &Path, filter: &str) -> Option<usize> {
    let mut shark = Command::new("tshark");
    shark.args(["-d", "udp.port==9899,sctp", "-Y", filter, "-r"]);
    let Ok(shark) = shark.arg(capture).output() else {
        assert!(
            std::env::var_os("CI").is_none(),
            "tshark is missing; a test that is skipped proves nothing"
        );
        eprintln!("tshark is not installed: not tested");
        return None;
    };
    let errors = String::from_utf8_lossy(&shark.stderr);
    assert!(shark.status.success(), "{errors}");
    Some(String::from_utf8_lossy(&shark.stdout).lines().count())
}

/// Whether `value` matches `schema`; supports only the keywords that our schema uses.
fn fits(root: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    for (word, says) in schema.as_object().unwrap() {
        let list = || says.as_array().unwrap();
        let holds = match word.as_str() {
            "$schema" | "$defs" | "title" => true,
            "const" => says == value,
            "enum" => list().contains(value),
            "type" => is_of_type(value, says.as_str().unwrap()),
            "required" => list()
                .iter()
                .all(|key| value.get(key.as_str().unwrap()).is_some()),
            "additionalProperties" => {
                assert_eq!(*says, Value::Bool(false));
                let known = &schema["properties"];
                let keys = value.as_object().into_iter().flat_map(|object| object.keys());
                keys.cloned().all(|key| known.get(key).is_some())
            }
            "minItems" => value
                .as_array()
                .is_none_or(|items| items.len() as u64 >= says.as_u64().unwrap()),
            "maxItems" => value
                .as_array()
                .is_none_or(|items| items.len() as u64 <= says.as_u64().unwrap()),
            further => inner_fits(root, (further, says), value)?,
        };
        if !holds {
            return Err(format!("{word} of {says} does not hold"));
        }
    }
    Ok(())
}

/// Keywords that contain subschemas.
fn inner_fits(root: &Value, (word, says): (&str, &Value), value: &Value) -> Result<bool, String> {
    match word {
        "$ref" => {
            let pointer = says.as_str().unwrap().trim_start_matches('#');
            fits(root, root.pointer(pointer).unwrap(), value)?;
        }
        "oneOf" => {
            let all = says.as_array().unwrap();
            let refusals = all.iter().filter_map(|one| fits(root, one, value).err());
            let refusals: Vec<String> = refusals.collect();
            if refusals.len() + 1 != all.len() {
                return Err(refusals.join("; "));
            }
        }
        "properties" => {
            for (key, schema) in says.as_object().unwrap() {
                value.get(key).map_or(Ok(()), |value| fits(root, schema, value))?;
            }
        }
        "items" => {
            let mut items = value.as_array().into_iter().flatten();
            items.try_for_each(|item| fits(root, says, item))?;
        }
        other => panic!("a schema with the word {other}"),
    }
    Ok(true)
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64(),
        "number" => value.is_number(),
        other => panic!("a schema with the type {other}"),
    }
}
