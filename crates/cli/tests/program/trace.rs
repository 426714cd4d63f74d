//! Tests of the `trace` command. Are captures read, drawn and refused as the help says?

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::harness::run;

/// A pcap file with the first two segments of a TCP connection.
fn capture(folder: &TempDir) -> PathBuf {
    let syn =
        "4500002c000040004006000 00a000001 0a010001 9c40 0050 00000009 00000000 6002 0400 0000 0000 02040578";
    let syn_ack =
        "4500002c0000400040060000 0a010001 0a000001 0050 9c40 00000063 0000000a 6012 0400 0000 0000 02040578";
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101] {
        file.extend(word.to_le_bytes());
    }
    for (micros, frame) in [(0_u32, syn), (20_000, syn_ack)] {
        let digits: String = frame.split_whitespace().collect();
        let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
        let bytes: Vec<u8> = (0..digits.len()).step_by(2).map(byte).collect();
        for word in [1, micros, bytes.len() as u32, bytes.len() as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend(bytes);
    }
    let path = folder.path().join("handshake.pcap");
    fs::write(&path, file).unwrap();
    path
}

#[test]
fn tcp_connection_is_listed_drawn_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let file = capture(&folder);
    let file = file.to_str().unwrap();
    let said = |arguments: &[&str]| String::from_utf8(run(arguments).stdout).unwrap();
    let list = said(&["trace", "list", file]);
    assert!(
        list.contains("TCP 10.0.0.1:40000 ↔ 10.1.0.1:80, 1 path, 2 segments"),
        "{list}"
    );
    let flow = said(&["trace", "flow", file]);
    assert!(
        flow.contains("#1 SYN 9–9") && flow.contains("#2 SYN 99–99 (0 B) Ack 10, covers #1"),
        "{flow}"
    );
    let idle: serde_json::Value =
        serde_json::from_str(&said(&["trace", "idle", file, "--longer", "1ms", "--json"])).unwrap();
    assert_eq!(idle["paths"][0]["seconds"], 0.02);
}

#[test]
fn svg_is_written_to_the_given_file() {
    let folder = tempfile::tempdir().unwrap();
    let (file, svg) = (capture(&folder), folder.path().join("flow.svg"));
    let drawn = run(&[
        "trace",
        "flow",
        file.to_str().unwrap(),
        "--svg",
        svg.to_str().unwrap(),
    ]);
    assert_eq!(drawn.status.code(), Some(0));
    assert!(fs::read_to_string(svg).unwrap().contains("covers #1"));
}

#[test]
fn truncated_capture_is_shown_up_to_the_cut() {
    let folder = tempfile::tempdir().unwrap();
    let whole = fs::read(capture(&folder)).unwrap();
    let file = folder.path().join("cut.pcap");
    fs::write(&file, &whole[..whole.len() - 3]).unwrap();
    let listed = run(&["trace", "list", file.to_str().unwrap()]);
    let (list, error) = (
        String::from_utf8(listed.stdout).unwrap(),
        String::from_utf8(listed.stderr).unwrap(),
    );
    assert!(list.contains("1 path, 1 segment"), "{list}");
    assert!(
        error.contains("truncated after frame 1") && error.lines().count() == 1,
        "{error}"
    );
    assert_eq!(listed.status.code(), Some(2));
}

#[test]
fn empty_time_range_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = capture(&folder);
    for (time, expected) in [
        (&["--from", "1us", "--to", "2us"][..], "nothing was said between"),
        (&["--from", "1s"], "nothing was said after --from"),
    ] {
        let refused = run(&[&["trace", "flow", file.to_str().unwrap()], time].concat());
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn svg_is_written_to_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let file = capture(&folder);
    let drawn = run(&["trace", "flow", file.to_str().unwrap(), "--svg", "/dev/stdout"]);
    assert!(drawn.stdout.starts_with(b"<svg"), "{drawn:?}");
}

#[test]
fn svg_follows_a_symbolic_link() {
    let folder = tempfile::tempdir().unwrap();
    let (file, name) = (capture(&folder), folder.path().join("name"));
    let picture = folder.path().join("picture.svg");
    fs::write(&picture, "an earlier one").unwrap();
    std::os::unix::fs::symlink(&picture, &name).unwrap();
    run(&[
        "trace",
        "flow",
        file.to_str().unwrap(),
        "--svg",
        name.to_str().unwrap(),
    ]);
    assert!(fs::read_to_string(&picture).unwrap().starts_with("<svg"));
    assert!(name.is_symlink());
}

#[test]
fn svg_over_the_capture_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = capture(&folder);
    let before = fs::read(&file).unwrap();
    let file = file.to_str().unwrap();
    let refused = run(&["trace", "flow", file, "--svg", file]);
    assert_eq!(
        (refused.status.code(), fs::read(file).unwrap()),
        (Some(2), before)
    );
}

#[test]
fn invalid_capture_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let whole = fs::read(capture(&folder)).unwrap();
    let svg = folder.path().join("flow.svg");
    let cases: [(&str, &[u8], &str); 2] = [
        ("text", b"this is no capture at all", "no pcap or pcapng file"),
        ("empty", &whole[..24], "no SCTP and no TCP"),
    ];
    for (name, bytes, message) in cases {
        let file = folder.path().join(name);
        fs::write(&file, bytes).unwrap();
        let refused = run(&[
            "trace",
            "flow",
            file.to_str().unwrap(),
            "--svg",
            svg.to_str().unwrap(),
        ]);
        let error = String::from_utf8(refused.stderr).unwrap();
        assert!(error.contains(message) && error.lines().count() == 1, "{error}");
        assert_eq!(refused.status.code(), Some(2));
        assert!(!svg.exists(), "nothing is half-written");
    }
}
