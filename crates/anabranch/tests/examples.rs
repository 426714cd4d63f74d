//! The examples that the documents mention run to their end.
#![cfg(test)]

use std::path::PathBuf;
use std::process::Command;

/// Builds an example with the features of the whole workspace, whose tests then have built the libraries already.
fn program(example: &str) -> PathBuf {
    let options = "build --quiet --workspace --test examples --message-format json --example";
    let cargo = Command::new(env!("CARGO"))
        .args(options.split(' '))
        .arg(example)
        .output()
        .expect("cargo runs");
    let messages = String::from_utf8_lossy(&cargo.stdout);
    let end = format!("/examples/{example}");
    let mut files = messages
        .split("\"executable\":\"")
        .filter_map(|rest| rest.split('"').next());
    let file = files.find(|file| file.ends_with(&end));
    let errors = String::from_utf8_lossy(&cargo.stderr);
    file.map(PathBuf::from)
        .unwrap_or_else(|| panic!("no {end} in {messages}{errors}"))
}

/// What an example prints.
fn output(example: &str, arguments: &[&str]) -> String {
    let done = Command::new(program(example))
        .args(arguments)
        .output()
        .expect("the example runs");
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(
        done.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&done.stderr)
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
