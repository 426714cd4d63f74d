//! docs/tutorial.md, followed to the letter. Do its commands do what it says?

use std::path::Path;
use std::process::{Command, Stdio};

use crate::harness::PROGRAM;

const PAGE: &str = include_str!("../../../../docs/tutorial.md");

/// The commands of the page's `sh` blocks, in their order.
fn commands() -> String {
    let blocks = PAGE.split("```sh\n").skip(1);
    let blocks = blocks.filter_map(|block| block.split("```").next());
    blocks.collect()
}

/// A reader starts the receiver, sees that it listens, and goes on: its first line is read before the next command.
fn as_typed(commands: &str) -> String {
    let lines = commands.lines().map(|line| match line.strip_suffix(" &") {
        Some(receiver) => format!("exec 3< <(exec {receiver} 2>&1); receiver=$!; read -r -u 3 _"),
        None if line == "wait" => "wait \"$receiver\"".to_owned(),
        None => line.to_owned(),
    });
    lines.collect::<Vec<String>>().join("\n")
}

#[test]
fn tutorial_can_be_followed() {
    let folder = tempfile::tempdir().unwrap();
    let programs = Path::new(PROGRAM).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let script = as_typed(&commands());
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-c", &script])
        .current_dir(folder.path())
        .env("PATH", format!("{}:{path}", programs.display()))
        .env("XDG_CONFIG_HOME", folder.path().join("configuration"))
        .env("XDG_CACHE_HOME", folder.path().join("cache"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(shown.contains("The claim is reproduced."), "{shown}");
    assert!(folder.path().join("target/lab/unlike/unlike.html").exists());
    assert!(folder.path().join("larger").is_dir());
}
