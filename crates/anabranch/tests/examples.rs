//! The examples that the documents mention run to their end.
#![cfg(test)]

use std::process::Command;

/// What an example prints.
fn output(example: &str, arguments: &[&str]) -> String {
    let cargo = Command::new(env!("CARGO"))
        .args([
            "run",
            "--quiet",
            "--package",
            "anabranch",
            "--example",
            example,
            "--",
        ])
        .args(arguments)
        .output()
        .expect("cargo runs");
    let text = String::from_utf8_lossy(&cargo.stdout).into_owned();
    assert!(
        cargo.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&cargo.stderr)
    );
    text
}

#[test]
fn connection_is_set_up_and_ends() {
    let text = output("connection", &[]);
    assert!(text.contains("[client] connected: Some(127.0.0."), "{text}");
    assert!(text.contains("[client] ended: finished"), "{text}");
}

#[test]
fn bulk_streams_carry_everything_in_both_directions() {
    let arguments = "--clients 2 --streams 20 --max-streams 5 --download 300k --upload 200k";
    let arguments: Vec<&str> = arguments.split(' ').collect();
    let text = output("bulk_streams", &arguments);
    assert_eq!(
        text.matches("upload: 4096000 bytes on 20 streams").count(),
        2,
        "{text}"
    );
    assert_eq!(
        text.matches("download: 6144000 bytes on 20 streams").count(),
        2,
        "{text}"
    );
}
