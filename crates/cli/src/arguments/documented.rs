//! Commands in the documents, and documents in the help. Does the program accept the ones, and do packages contain the others?

use std::path::Path;

use clap::{Command, CommandFactory as _, Parser};

use super::Arguments;

/// Documents with commands for users.
const PAGES: [&str; 10] = [
    include_str!("../../../../README.md"),
    include_str!("../../../../experiments/README.md"),
    include_str!("../../../../docs/dashboard.md"),
    include_str!("../../../../docs/event-log.md"),
    include_str!("../../../../docs/test.md"),
    include_str!("../../../../docs/tunnel.md"),
    include_str!("../../../../docs/troubleshooting.md"),
    include_str!("../../../../docs/tutorial.md"),
    include_str!("../../../../docs/how-to.md"),
    include_str!("../../../../docs/add-a-path-scheduler.md"),
];

/// The commands of a page's `sh` blocks that run this program, without comments and what the shell does with them.
fn commands(page: &str) -> Vec<&str> {
    let blocks = page.split("```sh\n").skip(1);
    let lines = blocks.flat_map(|block| block.split("\n```").next().unwrap_or_default().lines());
    let commands = lines.flat_map(|line| line.split(" #").next().unwrap_or_default().split(" && "));
    let commands = commands.filter_map(|command| command.split(['<', '>']).next());
    let commands = commands.map(|command| command.trim_end_matches('&').trim());
    commands
        .filter(|command| command.starts_with("anabranch "))
        .collect()
}

#[test]
fn commands_in_the_documents_are_accepted() {
    let commands: Vec<&str> = PAGES.iter().copied().flat_map(commands).collect();
    assert!(commands.len() > 20, "{commands:?}");
    for command in commands {
        let parsed = Arguments::try_parse_from(command.split_whitespace());
        assert!(parsed.is_ok(), "{command}: {}", parsed.err().unwrap());
    }
}

/// Help texts of a command and of all below it.
fn helps(command: &Command) -> Vec<String> {
    let own = command.clone().render_long_help().to_string();
    let below = command.get_subcommands().flat_map(helps);
    [own].into_iter().chain(below).collect()
}

#[test]
fn pages_that_help_texts_name_are_installed() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let helps = helps(&Arguments::command());
    let named = helps
        .iter()
        .flat_map(|help| help.split("docs/").skip(1))
        .filter_map(|rest| {
            let name = rest
                .split(|letter: char| !(letter.is_alphanumeric() || "-.".contains(letter)))
                .next()?;
            Some(name.trim_end_matches('.')).filter(|name| !name.is_empty())
        });
    let named: std::collections::BTreeSet<&str> = named.collect();
    assert!(
        named.contains("cli-json.md") && named.contains("event-log.md"),
        "{named:?}"
    );
    for name in named {
        let is_packed = name.ends_with(".md") || name.ends_with(".schema.json");
        assert!(is_packed && top.join("../../docs").join(name).exists(), "{name}");
    }
    let package = include_str!("../../Cargo.toml");
    for packed in ["*.md", "*.schema.json"] {
        let asset = format!(r#"["../../docs/{packed}", "usr/share/doc/anabranch/docs/", "644"]"#);
        assert!(package.contains(&asset), "{asset}");
    }
}
