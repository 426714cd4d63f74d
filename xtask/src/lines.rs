//! Length and first line of each Rust file. Is it short enough to hold in mind, and does it say what it holds?
//!
//! The first line names the thing with the field's term, so that searching the docs for the term finds the file; then it
//! may ask the question that the file answers.

use std::path::Path;

use crate::finding::{Finding, Outcome};
use crate::sources::{self, Source};

/// Most files have half as many.
const MAX_LINES: usize = 600;

/// Checks every Rust file of the repository.
pub(crate) fn run(root: &Path) -> Outcome {
    let sources = sources::all(root)?;
    println!("lines: {} files", sources.len());
    Ok(sources.iter().flat_map(check).collect())
}

fn check(source: &Source) -> Vec<Finding> {
    let too_long = (!is_test(&source.path) && production_lines(&source.text) > MAX_LINES).then(|| {
        let lines = production_lines(&source.text);
        format!("{lines} lines before the tests; split it, {MAX_LINES} are allowed")
    });
    let unnamed = (!names_its_thing(&source.text)).then(|| {
        "the first line must be `//!` and the standard term for what the file holds; a question may follow".to_owned()
    });
    let finding = |what| Finding {
        at: source.path.clone(),
        what,
    };
    too_long.into_iter().chain(unnamed).map(finding).collect()
}

/// Whether the first line is documentation whose first sentence is no question.
fn names_its_thing(text: &str) -> bool {
    let Some(line) = text.lines().next().and_then(|line| line.strip_prefix("//! ")) else {
        return false;
    };
    let ends = |(at, character): &(usize, char)| {
        let next = line[at + character.len_utf8()..].chars().next();
        matches!(character, '.' | '?' | '!' | ':') && next.is_none_or(char::is_whitespace)
    };
    let end = line.char_indices().find(ends);
    !line.is_empty() && !matches!(end, Some((_, '?')))
}

/// Scenarios and cases may be as long as they need: they are read one at a time.
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
    fn too_long_file_is_found_unless_it_is_a_test() {
        let long = format!("//! Long file.\n{}", "x();\n".repeat(MAX_LINES));
        assert_eq!(check(&file("crates/proto/src/lib.rs", long.clone())).len(), 1);
        assert_eq!(check(&file("crates/proto/src/path/tests.rs", long.clone())), []);
        assert_eq!(check(&file("crates/tests/src/fixture.rs", long)), []);
    }

    #[test]
    fn inline_tests_do_not_count() {
        let text = format!(
            "//! Short file.\n#[cfg(test)]\nmod tests {{\n{}}}\n",
            "x();\n".repeat(MAX_LINES)
        );
        assert_eq!(check(&file("crates/wire/src/tlv.rs", text)), []);
    }

    #[test]
    fn lines_after_a_test_module_of_another_file_count() {
        let text = format!(
            "//! Short file.\n#[cfg(test)]\nmod tests;\n{}",
            "x();\n".repeat(MAX_LINES)
        );
        assert_eq!(check(&file("crates/wire/src/tlv.rs", text)).len(), 1);
    }

    #[test]
    fn first_line_that_is_missing_or_asks_first_is_found() {
        let found = |first: &str| check(&file("crates/wire/src/tlv.rs", format!("{first}\n"))).len();
        assert_eq!(found("use core::fmt;"), 1);
        assert_eq!(found("//! How are parameters framed? Type, length, value."), 1);
        assert_eq!(
            found("//! Type-length-value framing. How are parameters framed?"),
            0
        );
        assert_eq!(
            found("//! Serial number arithmetic (RFC 1982), as RFC 9260 §1.6 asks"),
            0
        );
    }
}
