//! Tests of `run`. Does a program get sockets and environment, and what is said if it cannot?

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Output;

use crate::harness::{anabranch, run};

fn text(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn program_gets_environment_and_its_exit_code_counts() {
    let shown = "echo $ANABRANCH_UDP_PORT $ANABRANCH_PROFILE $ANABRANCH_SET $ANABRANCH_DIALECT $1; exit 7";
    let ran = run(&[
        "run",
        "--udp-port",
        "+20000",
        "--profile",
        "cmt",
        "--set",
        "ecn=on",
        "--set",
        "cc=lia",
        "--dialect",
        "freebsd",
        "--",
        "sh",
        "-c",
        shown,
        "sh",
        "--flag",
    ]);
    let (code, output, errors) = text(&ran);
    assert_eq!(
        (code, output.as_str()),
        (Some(7), "+20000 cmt ecn=on cc=lia freebsd --flag\n"),
        "{errors}"
    );
}

/// Needs the C compiler that links Rust programs.
#[test]
fn program_has_sctp_sockets_also_if_it_is_static() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("socket.c");
    let text_of_source =
        "#include <sys/socket.h>\nint main(void) { return socket(AF_INET, SOCK_STREAM, 132) < 0; }\n";
    fs::write(&source, text_of_source).unwrap();
    for (name, option, way) in [
        ("dynamic", "-O1", None),
        ("static", "-static", None),
        ("seccomp", "-O1", Some("--seccomp")),
    ] {
        let program = folder.path().join(name);
        let mut compiler = std::process::Command::new("cc");
        let compiled = compiler
            .arg(option)
            .arg("-o")
            .arg(&program)
            .arg(&source)
            .output()
            .unwrap();
        assert!(compiled.status.success(), "{compiled:?}");
        let mut run = anabranch();
        let ran = run.arg("run").args(way).arg("--").arg(&program).output().unwrap();
        let (code, _, errors) = text(&ran);
        assert_eq!(code, Some(0), "{name}: {errors}");
    }
}

/// Needs root: others cannot give a file a group that they are not in.
#[test]
fn privileges_of_an_interpreter_count_and_not_those_of_its_script() {
    let folder = tempfile::tempdir().unwrap();
    let gains_group = |file: &Path| {
        let changed = std::os::unix::fs::chown(file, None, Some(65_534));
        changed.is_ok() && fs::set_permissions(file, fs::Permissions::from_mode(0o2755)).is_ok()
    };
    let shell = folder.path().join("shell");
    fs::copy("/bin/sh", &shell).unwrap();
    if !gains_group(&shell) {
        assert!(std::env::var_os("CI").is_none());
        eprintln!("skipped: a set-group-ID program needs root");
        return;
    }
    let (own, other) = (folder.path().join("own"), folder.path().join("other"));
    fs::write(&own, "#!/bin/sh\nexit 3\n").unwrap();
    fs::write(&other, format!("#!{}\nexit 3\n", shell.display())).unwrap();
    assert!(gains_group(&own));
    fs::set_permissions(&other, fs::Permissions::from_mode(0o755)).unwrap();
    for (script, wanted) in [(own, 3), (other, 126)] {
        let mut program = anabranch();
        let (code, _, errors) = text(&program.arg("run").arg("--").arg(&script).output().unwrap());
        assert_eq!(code, Some(wanted), "{errors}");
    }
}

#[test]
fn missing_program_is_127_and_invalid_options_are_2() {
    let (code, _, errors) = text(&run(&["run", "--", "no-such-program"]));
    assert_eq!((code, errors.lines().count()), (Some(127), 1), "{errors}");
    for arguments in [
        &["run"][..],
        &["run", "--udp-port", "0", "--", "true"],
        &["run", "--set", "cc=fastest", "--", "true"],
        &[
            "run",
            "--seccomp",
            "--statistics",
            "unused",
            "--statistics-signal",
            "USR1",
            "--",
            "true",
        ],
    ] {
        let (code, _, errors) = text(&run(arguments));
        assert_eq!((code, errors.lines().count()), (Some(2), 1), "{errors}");
    }
}

#[test]
fn program_gets_keys_and_the_user_learns_the_public_one() {
    let folder = tempfile::tempdir().unwrap();
    let ran = |arguments: &[&str]| {
        let mut command = anabranch();
        command
            .arg("run")
            .args(arguments)
            .env("XDG_CONFIG_HOME", folder.path());
        let shown = "echo $ANABRANCH_KEY $ANABRANCH_TRUST $ANABRANCH_CLEAR";
        text(&command.args(["--", "sh", "-c", shown]).output().unwrap())
    };
    let (code, output, errors) = ran(&["--encrypt", "--clear", "192.0.2.0/24", "--clear", "::1"]);
    let file = folder.path().join("anabranch/receiver.key");
    assert_eq!(code, Some(0), "{errors}");
    assert_eq!(output, format!("{} 192.0.2.0/24 ::1\n", file.display()));
    let key = errors
        .split("--trust ")
        .nth(1)
        .and_then(|rest| rest.split(';').next());
    let key = key.unwrap();
    let (code, output, errors) = ran(&["--key", file.to_str().unwrap(), "--trust", key]);
    assert_eq!(code, Some(0), "{errors}");
    assert_eq!(output, format!("{} {key}\n", file.display()));
    assert!(errors.ends_with(&format!("--trust {key}\n")), "{errors}");
    let (code, _, errors) = ran(&["--trust", key]);
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("--encrypt"), "{errors}");
}
