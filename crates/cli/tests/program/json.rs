//! Tests of the events for programs. Are they what docs/cli-json.schema.json says, and does docs/cli-json.md explain them?

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;

use serde_json::Value;

use crate::harness::{Receiver, anabranch, file, run, silent_address};
use crate::measure::Server;

const SCHEMA: &str = include_str!("../../../../docs/cli-json.schema.json");
const PAGE: &str = include_str!("../../../../docs/cli-json.md");

fn schema() -> Value {
    serde_json::from_str(SCHEMA).unwrap()
}

/// Checks a value by the key words of JSON Schema that ours uses. Fields that it does not name are errors here: it is to be complete.
fn check(value: &Value, by: &Value, whole: &Value) -> Result<(), String> {
    if let Some(name) = by["$ref"].as_str() {
        let (_, name) = name.rsplit_once('/').unwrap();
        return check(value, &whole["$defs"][name], whole);
    }
    if by.get("const").is_some_and(|only| only != value) {
        return Err(format!("{value} is not {}", by["const"]));
    }
    if by["enum"].as_array().is_some_and(|all| !all.contains(value)) {
        return Err(format!("{value} is not one of {}", by["enum"]));
    }
    let is_of = |kind: &str| match kind {
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        other => panic!("{other} is no type"),
    };
    let is_right = match &by["type"] {
        Value::String(kind) => is_of(kind),
        Value::Array(kinds) => kinds.iter().any(|kind| is_of(kind.as_str().unwrap())),
        _ => true,
    };
    if !is_right {
        return Err(format!("{value} is not of the type {}", by["type"]));
    }
    if value.is_null() {
        return Ok(());
    }
    for item in value.as_array().into_iter().flatten() {
        check(item, &by["items"], whole)?;
    }
    for name in by["required"].as_array().into_iter().flatten() {
        if value.get(name.as_str().unwrap()).is_none() {
            return Err(format!("no {name}"));
        }
    }
    for (name, field) in value.as_object().into_iter().flatten() {
        let by = by["properties"]
            .get(name)
            .ok_or_else(|| format!("{name} is not in the schema"))?;
        check(field, by, whole).map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(())
}

/// Checks an event, and gives back its name.
pub(crate) fn check_event(event: &Value) -> String {
    let whole = schema();
    let name = event["event"].as_str().unwrap().to_owned();
    let all = whole["oneOf"].as_array().unwrap();
    let by = all.iter().find(|by| by["title"] == *name);
    let checked = check(
        event,
        by.unwrap_or_else(|| panic!("{name} has no schema")),
        &whole,
    );
    assert_eq!(checked, Ok(()), "{event}");
    name
}

/// Checks lines of output, and gives back the names of their events.
fn events(output: &[u8]) -> BTreeSet<String> {
    let text = std::str::from_utf8(output).unwrap();
    let names = text
        .lines()
        .map(|line| check_event(&serde_json::from_str(line).unwrap()));
    names.collect()
}

#[test]
fn events_are_as_the_schema_says() {
    let outbox = tempfile::tempdir().unwrap();
    let top = outbox.path().join("top");
    fs::create_dir(&top).unwrap();
    symlink("/etc/passwd", top.join("link")).unwrap();
    fs::rename(file(&outbox, "big", 3_000_000), top.join("big")).unwrap();
    let top = top.to_str().unwrap();
    let mut receiver = Receiver::start("127.0.0.1", &[]);
    let send = |options: &[&str]| run(&[&["send", top, "--json", "--to", &receiver.to], options].concat());
    let mut seen = events(&send(&["--limit-rate", "15Mbit"]).stdout);
    // It exists now.
    seen.extend(events(&send(&[]).stdout));
    seen.extend(events(&send(&["--dry-run"]).stdout));
    seen.extend(events(&run(&["check", "--json", &receiver.to]).stdout));
    let server = Server::start(&["--one-off"]);
    let options = ["--json", "--bidir", "--time", "200ms", "--interval", "100ms"];
    seen.extend(events(&server.client(&options).stdout));
    let (_socket, silent) = silent_address();
    let options = [
        "--json",
        "--to",
        &silent,
        "--insecure",
        "--timeout",
        "100ms",
        "--retry",
        "1s",
    ];
    seen.extend(events(&run(&[&["send", top], &options[..]].concat()).stdout));
    let mut received = Vec::new();
    receiver.running.interrupt();
    let is_over = receiver.running.skip_until(|event| {
        received.extend(event.to_string().into_bytes());
        received.push(b'\n');
        event["exit_code"].is_u64()
    });
    assert!(is_over);
    seen.extend(events(&received));
    let mut command = anabranch();
    command.args(["demo", "--json", "--duration", "1s", "--cut", "1", "--dashboard"]);
    command.args(["--path", "20Mbit,5ms", "--path", "20Mbit,10ms"]);
    seen.extend(events(&command.output().unwrap().stdout));
    let whole = schema();
    let all = whole["oneOf"].as_array().unwrap().iter();
    let all: BTreeSet<String> = all
        .map(|event| event["title"].as_str().unwrap().to_owned())
        .collect();
    let unseen: Vec<&String> = all.difference(&seen).collect();
    // The first lines of a receiver and of a server were read already; senders wait in the tests of slots; tunnels check their own events.
    let (of_tunnels, unseen): (Vec<&String>, Vec<&String>) =
        unseen.into_iter().partition(|name| name.starts_with("tunnel-"));
    assert_eq!(unseen, ["listening", "test-listening", "waiting"]);
    assert_eq!(of_tunnels.len(), 7, "{of_tunnels:?}");
}

#[test]
fn page_explains_every_field_of_the_schema() {
    let whole = schema();
    for event in whole["oneOf"].as_array().unwrap() {
        let name = event["title"].as_str().unwrap();
        let row = PAGE
            .lines()
            .find(|line| line.starts_with(&format!("| `{name}` |")));
        let row = row.unwrap_or_else(|| panic!("{name} has no row"));
        for field in event["properties"].as_object().unwrap().keys() {
            let is_common = matches!(field.as_str(), "schema" | "event");
            assert!(
                is_common || row.contains(&format!("`{field}`")),
                "{name}: {field}"
            );
        }
    }
    for table in ["path", "row", "tunnel-peer", "tunnel"] {
        for field in whole["$defs"][table]["properties"].as_object().unwrap().keys() {
            assert!(PAGE.contains(&format!("`{field}`")), "{table}: {field}");
        }
    }
}
