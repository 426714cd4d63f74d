//! Executes `docs/add-a-path-scheduler.md` in a copy of the workspace.
//!
//! Code blocks of the page are marked: ```` ```rust new=FILE ```` is a new file, ```` ```rust after="LINE" in=FILE ````
//! is inserted after a line of a file, ```` ```sh ```` is run, except `make`, which the copy does not have.
#![cfg(test)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const PAGE: &str = include_str!("../../../docs/add-a-path-scheduler.md");
const EXAMPLE: &str = include_str!("../../anabranch/examples/own_scheduler.rs");

/// A code block: its info string and its lines.
struct Block {
    info: String,
    code: String,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(info) = line.strip_prefix("```") {
            let code: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            blocks.push(Block {
                info: info.to_owned(),
                code: code.join("\n") + "\n",
            });
        }
    }
    blocks
}

/// Value of `key=` in the info string of a block.
fn said<'a>(info: &'a str, key: &str) -> Option<&'a str> {
    let (_, value) = info.split_once(&format!("{key}="))?;
    value.split(' ').next()
}

/// Folders of the crates that the page's commands build: the scenario tests and their dependencies.
fn crates(here: &Path) -> Vec<String> {
    let mut names = vec![String::from("tests")];
    let mut next = 0;
    while let Some(name) = names.get(next) {
        let manifest = fs::read_to_string(here.join("crates").join(name).join("Cargo.toml")).unwrap();
        let ours = manifest
            .lines()
            .filter_map(|line| line.strip_prefix("anabranch-"));
        let ours = ours.filter_map(|line| line.split(['.', ' ']).next());
        for dependency in ours.map(str::to_owned) {
            if !names.contains(&dependency) {
                names.push(dependency);
            }
        }
        next += 1;
    }
    names
}

/// Creates a workspace with some crates of this one, next to the build directory so that build results are reused.
fn workspace_copy() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join("walkthrough");
    let _ = fs::remove_dir_all(copy.join("crates"));
    fs::create_dir_all(copy.join("crates")).unwrap();
    let crates = crates(&here);
    for name in &crates {
        copy_folder(&here.join("crates").join(name), &copy.join("crates").join(name));
    }
    for file in ["Cargo.toml", "Cargo.lock", "rust-toolchain.toml"] {
        fs::copy(here.join(file), copy.join(file)).unwrap();
    }
    // Without this test and the files that it reads.
    fs::remove_dir_all(copy.join("crates/tests/tests")).unwrap();
    let manifest = fs::read_to_string(copy.join("Cargo.toml")).unwrap();
    let (before, members) = manifest.split_once("members = [").unwrap();
    let (_, after) = members.split_once(']').unwrap();
    let list: Vec<String> = crates.iter().map(|name| format!("\"crates/{name}\"")).collect();
    fs::write(
        copy.join("Cargo.toml"),
        format!("{before}members = [{}]{after}", list.join(", ")),
    )
    .unwrap();
    copy
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&from, &to);
        } else {
            fs::copy(from, to).unwrap();
        }
    }
}

fn insert(file: &Path, after: &str, code: &str) {
    let text = fs::read_to_string(file).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let places: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].trim() == after).collect();
    assert_eq!(places.len(), 1, "`{after}` in {}", file.display());
    let (before, behind) = lines.split_at(places[0] + 1);
    let text = before.join("\n") + "\n" + code + &behind.join("\n") + "\n";
    fs::write(file, text).unwrap();
}

fn run(command: &str, workspace: &Path) {
    let words: Vec<&str> = command.split_whitespace().collect();
    if words[0] == "make" {
        return;
    }
    let output = Command::new(words[0])
        .args(&words[1..])
        .arg("--offline")
        .current_dir(workspace)
        .env("CARGO_TARGET_DIR", workspace.join("target"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{command}\n{said}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let passed = said.lines().filter(|line| line.ends_with("... ok")).count();
    assert!(passed > 0, "{command} ran nothing:\n{said}");
}

#[test]
fn walkthrough_adds_a_path_scheduler() {
    let workspace = workspace_copy();
    for block in blocks(PAGE) {
        let (info, code) = (&block.info, &block.code);
        if let Some(file) = said(info, "new") {
            fs::write(workspace.join(file), code).unwrap();
        } else if let Some(file) = said(info, " in") {
            let (_, rest) = info.split_once("after=\"").unwrap();
            let (after, _) = rest.rsplit_once("\" in=").unwrap();
            insert(&workspace.join(file), &after.replace("\\\"", "\""), code);
        } else if info == "sh" {
            code.lines().for_each(|command| run(command, &workspace));
        }
    }
}

#[test]
fn walkthrough_quotes_match_the_example() {
    let quoted: Vec<Block> = blocks(PAGE)
        .into_iter()
        .filter(|block| block.info == "rust")
        .collect();
    assert_eq!(quoted.len(), 2);
    for block in quoted {
        assert!(EXAMPLE.contains(&block.code), "{}", block.code);
    }
}
