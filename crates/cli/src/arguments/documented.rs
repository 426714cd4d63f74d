//! Commands in the documents. Does the program accept their arguments?

use clap::Parser;

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
