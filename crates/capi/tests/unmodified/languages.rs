//! SCTP of programming languages: Erlang/OTP, Java and Python.

use std::fs;
use std::process::Command;

use crate::harness::{has, port, program, run, source};

/// Both styles, streams, notifications and peeling off, by `gen_sctp`.
#[test]
fn erlang_talks() {
    if has("/usr/bin/escript") {
        let script = source("gen_sctp.escript");
        let told = run(&mut program("escript", [script.as_os_str(), port().as_ref()]));
        assert_eq!(told, "ok\n");
    }
}

/// Both styles, by `com.sun.nio.sctp`, with a selector.
#[test]
fn java_talks() {
    if has("/usr/bin/javac") {
        let source = source("Channels.java");
        let told = run(&mut program(
            "java",
            [source.as_os_str(), port().as_ref(), port().as_ref()],
        ));
        assert_eq!(told, "ok\n");
    }
}

/// A server and a client of netty, whose event loops wait by selectors.
#[test]
fn netty_echoes() {
    if has("/usr/bin/javac") && has("/usr/share/java/netty-transport-sctp.jar") {
        let libraries = [
            "netty-transport",
            "netty-transport-sctp",
            "netty-common",
            "netty-buffer",
            "netty-codec",
            "netty-resolver",
            "jctools-core",
        ];
        let path = libraries
            .map(|name| format!("/usr/share/java/{name}.jar"))
            .join(":");
        let source = source("Echo.java");
        let mut echoing = program("java", ["-cp", &path]);
        let told = run(echoing.args([source.as_os_str(), port().as_ref()]));
        assert_eq!(told, "ok\n");
    }
}

/// Both styles, by pysctp, which pip builds.
#[test]
fn python_talks() {
    if !has("/usr/bin/python3-config") {
        return;
    }
    let packages = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("pysctp");
    let installed = packages.join("installed");
    if !installed.exists() {
        let mut install = Command::new("/usr/bin/python3");
        install
            .args(["-m", "pip", "install", "--quiet", "--no-deps", "--target"])
            .arg(&packages);
        install.arg("pysctp==0.7.3").env("PIP_ROOT_USER_ACTION", "ignore");
        let output = install.output().unwrap();
        if !output.status.success() {
            assert!(std::env::var_os("CI").is_none(), "{output:?}");
            eprintln!("skipped: pip cannot install pysctp: {output:?}");
            return;
        }
        fs::write(installed, "").unwrap();
    }
    let script = source("pysctp.py");
    let mut talking = program(
        "/usr/bin/python3",
        [script.as_os_str(), port().as_ref(), port().as_ref()],
    );
    let told = run(talking
        .env("PYTHONPATH", packages)
        .env("PYTHONDONTWRITEBYTECODE", "1"));
    assert_eq!(told, "ok\n");
}
