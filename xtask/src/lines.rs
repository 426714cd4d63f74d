//! Is every file short enough to hold in mind, and does it begin with the question it answers?

use std::path::Path;

use crate::finding::{Finding, Outcome};
use crate::sources::{self, Source};

/// The wall. The norm is half of it.
const MOST_LINES: usize = 600;

/// Checks every Rust file of the repository.
pub(crate) fn run(root: &Path) -> Outcome {
    let sources = sources::all(root)?;
    println!("lines: {} files", sources.len());
    Ok(sources.iter().flat_map(check).collect())
}

fn check(source: &Source) -> Vec<Finding> {
    let too_long = (!is_test(&source.path) && production_lines(&source.text) > MOST_LINES).then(|| {
        let lines = production_lines(&source.text);
        format!("{lines} lines before the tests; split it, the wall is {MOST_LINES}")
    });
    let mute = (!source.text.starts_with("//! "))
        .then(|| "the first line must be `//!` and the question that the file answers".to_owned());
    let finding = |what| Finding {
        at: source.path.clone(),
        what,
    };
    too_long.into_iter().chain(mute).map(finding).collect()
}

/// Stories and cases may be as long as they need: they are read one at a time.
fn is_test(path: &str) -> bool {
    path.starts_with("crates/tests/") || path.ends_with("/tests.rs") || path.contains("/tests/")
}

/// Lines before the first inline test module. `#[cfg(test)] mod tests;` ends nothing: the tests are elsewhere.
fn production_lines(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let opens_tests =
        |pair: &[&str]| pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{');
    lines.windows(2).position(opens_tests).unwrap_or(lines.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: String) -> Source {
        Source {
            path: path.to_owned(),
            text,
        }
    }

    #[test]
    fn a_file_above_the_wall_is_found_unless_it_is_a_test() {
        let long = format!("//! Too long?\n{}", "x();\n".repeat(MOST_LINES));
        assert_eq!(check(&file("crates/proto/src/lib.rs", long.clone())).len(), 1);
        assert_eq!(check(&file("crates/proto/src/path/tests.rs", long.clone())), []);
        assert_eq!(check(&file("crates/tests/src/world.rs", long)), []);
    }

    #[test]
    fn inline_tests_do_not_count() {
        let text = format!(
            "//! Short?\n#[cfg(test)]\nmod tests {{\n{}}}\n",
            "x();\n".repeat(MOST_LINES)
        );
        assert_eq!(check(&file("crates/wire/src/tlv.rs", text)), []);
    }

    #[test]
    fn what_follows_a_test_module_in_another_file_counts() {
        let text = format!(
            "//! Short?\n#[cfg(test)]\nmod tests;\n{}",
            "x();\n".repeat(MOST_LINES)
        );
        assert_eq!(check(&file("crates/wire/src/tlv.rs", text)).len(), 1);
    }

    #[test]
    fn a_file_without_its_question_is_found() {
        let found = check(&file("crates/wire/src/tlv.rs", "use core::fmt;\n".to_owned()));
        assert_eq!(found.len(), 1);
        assert!(found[0].what.contains("question"), "{}", found[0]);
    }
}
