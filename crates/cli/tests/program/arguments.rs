//! Tests of argument errors. Are wrong arguments and impossible requests refused in one line with the right exit code?

use crate::harness::{Receiver, file, run};

#[test]
fn invalid_arguments_give_one_line_and_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "a", 10);
    let (path, folder) = (path.to_str().unwrap(), folder.path().to_str().unwrap());
    let cases: [&[&str]; 17] = [
        &["sned"],
        &["send"],
        &["send", path],
        &["send", path, "--to", "127.0.0.1:99999"],
        &["send", path, "--to", "0.0.0.0"],
        &["send", path, "--to", "127.0.0.1", "--name", "../a"],
        &["send", path, "--to", "127.0.0.1", "--timeout", "soon"],
        &["send", path, "--to", "127.0.0.1", "--set", "cc=fastest"],
        &["send", "-", "--to", "127.0.0.1"],
        &["send", "-", path, "--to", "127.0.0.1", "--name", "a"],
        &["send", "-", "--to", "127.0.0.1", "--name", "a", "--retry", "1min"],
        &["send", path, path, "--to", "127.0.0.1"],
        &["recv", "/nonexistent"],
        &["recv", path],
        &["recv", folder, "--listen", "localhost"],
        &["demo", "--path", "1Mbit,1ms"],
        &["demo", "--cut", "9"],
    ];
    for arguments in cases {
        let refused = run(arguments);
        let error = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(
            error.starts_with("error: ") && error.lines().count() == 1,
            "{arguments:?}: {error}"
        );
        assert!(refused.stdout.is_empty());
    }
}

#[test]
fn port_in_use_is_named() {
    let receiver = Receiver::start("127.0.0.1", &[]);
    let (_, listening) = receiver.to.split_once('@').unwrap();
    let refused = run(&[
        "recv",
        "--listen",
        listening,
        receiver.folder.path().to_str().unwrap(),
    ]);
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(error.contains(&format!("{listening} is in use")), "{error}");
    assert_eq!((refused.status.code(), error.lines().count()), (Some(1), 1));
}

#[test]
fn unreadable_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("missing");
    let name = path.to_str().unwrap();
    let refused = run(&["send", name, "--to", "127.0.0.1", "--name", "a"]);
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(error.contains("cannot read") && error.contains(name), "{error}");
    assert_eq!((refused.status.code(), error.lines().count()), (Some(2), 1));
}

#[test]
fn errors_are_events_for_programs() {
    for folder in ["/nonexistent", "-"] {
        let refused = run(&["recv", "--json", folder]);
        let event: serde_json::Value = serde_json::from_slice(&refused.stdout).unwrap();
        assert_eq!(
            (&event["event"], &event["exit_code"]),
            (&"error".into(), &2.into())
        );
        assert!(refused.stderr.is_empty());
    }
}

#[test]
fn every_verb_has_examples_and_completions() {
    let verbs = "|send|recv|tunnel|tunnel init|tunnel check|tunnel status|tunnel reload|demo|lab|lab run|lab list|lab show|lab compare|lab report|lab trace|lab claims|lab schema|testbed|testbed up|testbed down\
                 |testbed status|policies|profiles|genkey|pubkey|trace|trace list|trace flow|trace gaps|trace idle|completions|manual";
    for verb in verbs.split('|') {
        let words: Vec<&str> = verb.split_whitespace().chain(["--help"]).collect();
        let help = run(&words);
        let text = String::from_utf8(help.stdout).unwrap();
        assert!(
            text.contains("Examples:\n  ") || text.contains("Example:\n  "),
            "{verb}"
        );
        let has_codes = ["", "lab", "testbed", "trace"].contains(&verb) || text.contains("Exit codes: ");
        assert!(has_codes, "{verb}");
        assert_eq!(help.status.code(), Some(0));
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(
            String::from_utf8(run(&["completions", shell]).stdout)
                .unwrap()
                .contains("listen"),
            "{shell}"
        );
    }
    assert!(
        String::from_utf8(run(&["--version"]).stdout)
            .unwrap()
            .starts_with("anabranch 0.")
    );
}

#[test]
fn invalid_policy_file_is_refused_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let policies = folder.path().join("mine.policies");
    std::fs::write(&policies, "profile = dre-2010\n\npath-schedule = min-rtt\n").unwrap();
    let policies = policies.to_str().unwrap();
    let refused = run(&["policies", "--policies", policies]);
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(
        error.contains("mine.policies, line 3") && error.contains("`path-scheduler`"),
        "{error}"
    );
    assert_eq!((refused.status.code(), error.lines().count()), (Some(2), 1));
}

#[test]
fn printed_profile_can_be_used_as_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let printed = run(&["profiles", "freebsd-2017"]);
    let policies = folder.path().join("mine.policies");
    std::fs::write(&policies, printed.stdout).unwrap();
    let list = |arguments: &[&str]| run(arguments).stdout;
    let by_file = list(&["policies", "--policies", policies.to_str().unwrap()]);
    assert!(!by_file.is_empty());
    assert_eq!(by_file, list(&["policies", "--profile", "freebsd-2017"]));
    assert_ne!(by_file, list(&["policies", "--profile", "rfc9260"]));
}
