//! Tests of lines for users. Do they name the file and the peer, and does a terminal get colours unless the user objects?

use std::process::Command;

use crate::harness::{PROGRAM, Receiver, anabranch, file, ip, needs_root, run, silent_address};

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

#[test]
fn empty_file_arrives_and_is_called_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "nothing", 0);
    let mut receiver = Receiver::start("127.0.0.1", &["--once"]);
    let sent = run(&["send", path.to_str().unwrap(), "--to", &receiver.to]);
    let line = text(sent.stdout);
    let (_, address) = receiver.to.split_once('@').unwrap();
    assert!(
        line.contains(&format!(
            "sent nothing to {address}: an empty file, SHA-256 e3b0c442"
        )),
        "{line}"
    );
    let offered = receiver.running.event("offered");
    assert_eq!(offered["size"], 0);
    assert!(
        offered["peer"].as_str().unwrap().starts_with("127.0.0.1:"),
        "{offered}"
    );
    let stored = receiver.running.event("stored");
    assert_eq!((&stored["size"], &stored["peer"]), (&0.into(), &offered["peer"]));
    assert_eq!(receiver.running.event("summary")["peer"], offered["peer"]);
    assert_eq!(
        std::fs::read(receiver.folder.path().join("nothing")).unwrap(),
        b""
    );
}

/// A file in /proc seems to be empty until it is read.
#[test]
fn virtual_file_is_not_empty() {
    let receiver = Receiver::start("127.0.0.1", &["--once"]);
    let sent = run(&["send", "/proc/self/status", "--to", &receiver.to]);
    assert_eq!(sent.status.code(), Some(0), "{}", text(sent.stderr));
    let stored = std::fs::read_to_string(receiver.folder.path().join("status")).unwrap();
    assert!(stored.starts_with("Name:\tanabranch"), "{stored}");
}

#[test]
fn failures_name_the_file_and_the_peer() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "a", 10);
    let mut receiver = Receiver::start("127.0.0.1", &[]);
    std::fs::write(receiver.folder.path().join("a"), "precious").unwrap();
    let sent = run(&["send", path.to_str().unwrap(), "--to", &receiver.to]);
    let (_, address) = receiver.to.split_once('@').unwrap();
    let line = text(sent.stderr);
    // Each side is told what it can do.
    assert!(line.starts_with(&format!("error: a to {address}: ")), "{line}");
    assert!(line.contains("send it under another --name"), "{line}");
    let failure = receiver.running.event("error");
    let line = failure["message"].as_str().unwrap();
    assert!(line.starts_with("a from 127.0.0.1:"), "{line}");
    assert!(
        line.contains("run with --force") && !line.contains("--name"),
        "{line}"
    );
}

#[test]
fn absent_receiver_and_device_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "a", 10);
    // The port is free again when the socket is dropped.
    let (_, address) = silent_address();
    let send = |to: &str| run(&["send", path.to_str().unwrap(), "--insecure", "--to", to]);
    let absent = send(&address);
    let line = text(absent.stderr);
    assert!(
        line.starts_with(&format!("error: a: nothing listens at {address}")),
        "{line}"
    );
    let no_device = send("fe80::1%no-such");
    let line = text(no_device.stderr);
    assert!(
        line.starts_with("error: fe80::1%no-such names no device of this host"),
        "{line}"
    );
    assert_eq!(
        (absent.status.code(), no_device.status.code()),
        (Some(1), Some(2))
    );
}

/// What the program prints at a terminal, which `script` (bsdutils) is.
fn at_a_terminal(set: &[(&str, &str)]) -> String {
    let (code, shown) = terminal(&format!("{PROGRAM} recv /nonexistent"), set);
    assert_eq!(code, Some(2));
    shown
}

/// Runs a line of a shell at a terminal; its exit code, and what the terminal gets.
fn terminal(line: &str, set: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut command = Command::new("script");
    // On CI machines, colours are shown whatever the terminal is.
    command
        .env_remove("CI")
        .env_remove("NO_COLOR")
        .env("TERM", "xterm");
    command.envs(set.iter().copied());
    let output = command
        .args(["-q", "-e", "-c", line, "/dev/null"])
        .output()
        .unwrap();
    (output.status.code(), text(output.stdout))
}

/// Lines that are longer than the terminal is wide stay there when the next ones are drawn over them.
#[test]
fn bars_fit_a_narrow_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "big", 3_000_000);
    let receiver = Receiver::start("127.0.0.1,127.0.0.2", &["--once", "--insecure"]);
    let (path, to) = (path.display(), &receiver.to);
    let line = format!(
        "stty rows 24 columns 30; {PROGRAM} send {path} --insecure --to {to} --limit-rate 25Mbit 2>&1 >/dev/null"
    );
    let (code, shown) = terminal(&line, &[]);
    assert_eq!(code, Some(0), "{shown}");
    // Control sequences begin with ESC and end with a letter.
    let parts = shown.split(['\r', '\n', '\u{1b}']).map(|part| {
        let rest = part
            .strip_prefix('[')
            .map(|rest| rest.split_once(|end: char| end.is_alphabetic()));
        rest.flatten().map_or(part, |(_, text)| text)
    });
    let longest = parts.max_by_key(|part| part.chars().count()).unwrap();
    // One line for the transfer and one for each path, which the terminal wraps at its width.
    assert!(
        shown.contains(" %  ") && longest.chars().count() <= 3 * 30,
        "{longest:?} in {shown:?}"
    );
}

#[test]
fn terminal_has_colours_unless_the_user_objects() {
    assert!(at_a_terminal(&[]).contains("\u{1b}[31merror:\u{1b}[0m "));
    for set in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let shown = at_a_terminal(&[set]);
        assert!(shown.starts_with("error: /nonexistent"), "{shown:?}");
    }
    let refused = anabranch()
        .env("TERM", "xterm")
        .args(["recv", "/nonexistent"])
        .output();
    assert!(text(refused.unwrap().stderr).starts_with("error: /nonexistent"));
}

/// Two ends of a virtual cable on this host; removed when dropped.
struct Cable;

impl Cable {
    fn make() -> Option<Self> {
        let made = ip(&[
            "link",
            "add",
            "ab-every0",
            "type",
            "veth",
            "peer",
            "name",
            "ab-every1",
        ]);
        let made = made.then_some(Self)?;
        for (device, address) in [("ab-every0", "fe80::a0/64"), ("ab-every1", "fe80::a1/64")] {
            ip(&["address", "add", address, "dev", device, "nodad"]);
            ip(&["link", "set", device, "up"]);
        }
        Some(made)
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        ip(&["link", "delete", "ab-every0"]);
    }
}

#[test]
fn link_local_address_reaches_the_receiver_over_its_device() {
    let Some(_cable) = needs_root("virtual cables", Cable::make) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "a", 300_000);
    let receiver = Receiver::start("[fe80::a0%ab-every0]", &["--once", "--insecure"]);
    let (_, port) = receiver.to.rsplit_once(':').unwrap();
    let to = format!("[fe80::a0%ab-every0]:{port}");
    let sent = run(&["send", path.to_str().unwrap(), "--insecure", "--to", &to]);
    assert_eq!(sent.status.code(), Some(0), "{}", text(sent.stderr));
    assert_eq!(receiver.stored_names(), ["a"]);
}
