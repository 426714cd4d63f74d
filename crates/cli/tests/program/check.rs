//! `check`: which uplinks reach a receiver?

use serde_json::Value;

use crate::harness::{Receiver, anabranch, run, silent_address};

fn lines(output: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(output).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn working_uplink_is_reported_with_what_passes() {
    let receiver = Receiver::start("127.0.0.1", &["--once"]);
    let checked = run(&["check", &receiver.to, "--json", "--from", "127.0.0.9"]);
    assert_eq!(checked.status.code(), Some(0), "{checked:?}");
    let lines = lines(&checked.stdout);
    let uplink = &lines[0];
    assert_eq!(
        (&uplink["event"], &uplink["works"]),
        (&"uplink".into(), &true.into())
    );
    assert_eq!(
        (&uplink["nat"], &uplink["route"]),
        (&false.into(), &"routing-table".into())
    );
    assert!(
        uplink["seen_as"].as_str().unwrap().starts_with("127.0.0.9:"),
        "{uplink}"
    );
    assert_eq!(uplink["mtu"], 1_500);
    assert!(uplink["rtt_ms"].as_f64().unwrap() > 0.0);
    assert_eq!(lines[1]["working"], 1);
    // With `--once`, the receiver still waits for its file.
    let again = run(&["check", &receiver.to]);
    let text = String::from_utf8(again.stdout).unwrap();
    assert!(
        text.contains("works, RTT") && text.contains("1 of 1 uplinks work"),
        "{text}"
    );
}

#[test]
fn uplinks_that_do_not_work_are_reported_with_advice() {
    let (socket, silent) = silent_address();
    let checked = anabranch()
        .args(["check", &silent, "--json", "--timeout", "300ms"])
        .output()
        .unwrap();
    assert_eq!(checked.status.code(), Some(1));
    let uplink = &lines(&checked.stdout)[0];
    let advice = uplink["advice"].as_str().unwrap();
    assert!(
        advice.contains("no answer within 0.3 s") && advice.contains("firewall"),
        "{uplink}"
    );
    drop(socket);
    let checked = run(&["check", &silent, "--json"]);
    let lines = lines(&checked.stdout);
    assert!(
        lines[0]["advice"].as_str().unwrap().contains("nothing listens"),
        "{lines:?}"
    );
    assert_eq!(lines.last().unwrap()["exit_code"], 1);
}

#[test]
fn unknown_device_is_an_invalid_argument() {
    let checked = run(&["check", "127.0.0.1", "--from", "nosuchdevice0"]);
    assert_eq!(checked.status.code(), Some(2), "{checked:?}");
}
