//! Where is a plan wrong, and what was expected there? One message with the place.

use core::fmt;
use core::ops::Range;
use std::path::Path;

use anabranch_policy::nearest;

use super::renamed::renamed;

/// What is wrong with a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlanError {
    /// File, line and column, or the option of the command line.
    pub place: String,
    /// What is wrong there, and what was expected.
    pub problem: String,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.problem)
    }
}

impl std::error::Error for PlanError {}

/// A problem at a place of the text, before the text is known by name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Problem {
    pub(super) span: Range<usize>,
    pub(super) text: String,
}

impl Problem {
    pub(super) fn new(span: Range<usize>, text: impl fmt::Display) -> Self {
        Self {
            span,
            text: text.to_string(),
        }
    }

    /// A name that is none of those that are known.
    pub(super) fn unknown<'k>(
        span: Range<usize>,
        what: &str,
        given: &str,
        known: impl IntoIterator<Item = &'k str>,
    ) -> Self {
        Self::new(span, unknown_name(what, given, known))
    }

    /// What a parser says, with the nearest name where it missed one.
    pub(super) fn of_toml(error: &toml::de::Error) -> Self {
        Self::new(error.span().unwrap_or_default(), reworded(error.message()))
    }
}

/// ``unknown WHAT `GIVEN`, did you mean `NEAREST`? Known: …``; of a renamed one, its current name.
pub(crate) fn unknown_name<'k>(what: &str, given: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let list = if known.is_empty() {
        "none".into()
    } else {
        known.join(", ")
    };
    if let Some(name) = renamed(what, given).filter(|name| known.contains(&name.as_str())) {
        return format!("unknown {what} `{given}`: it is now called `{name}`");
    }
    match nearest(given, known) {
        Some(name) => format!("unknown {what} `{given}`, did you mean `{name}`? Known: {list}"),
        None => format!("unknown {what} `{given}`, known: {list}"),
    }
}

/// serde says ``unknown field `a`, expected one of `b`, `c` ``; what is meant is a key or a word, and one is nearest.
fn reworded(message: &str) -> String {
    let what = [("unknown field ", "key"), ("unknown variant ", "word")];
    let Some((rest, what)) = what
        .iter()
        .find_map(|(begin, what)| Some((message.strip_prefix(begin)?, what)))
    else {
        return message.trim_end().replace('\n', ", ");
    };
    let mut quoted = rest.split('`').skip(1).step_by(2);
    let given = quoted.next().unwrap_or_default();
    unknown_name(what, given, quoted)
}

/// The text of a plan with the changes of the command line behind it, so that all of it has one kind of place.
#[derive(Clone, Debug)]
pub(super) struct Source {
    name: String,
    text: String,
    /// Where the changes begin, in bytes.
    end_of_file: usize,
}

/// The table that the changes of the command line become.
pub(super) const CHANGES: &str = "command-line";

impl Source {
    /// The text of `file`, changed by assignments `key=value`. Values that TOML does not understand count as text.
    pub(super) fn new(file: &Path, text: &str, changes: &[String]) -> Self {
        let end_of_file = text.len();
        let mut text = text.to_owned();
        if !changes.is_empty() {
            text += &format!("\n[{CHANGES}]\n");
        }
        for change in changes {
            text += &as_toml(change);
            text.push('\n');
        }
        Self {
            name: file.display().to_string(),
            text,
            end_of_file,
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn error(&self, problem: &Problem) -> PlanError {
        PlanError {
            place: self.place(problem.span.start),
            problem: problem.text.clone(),
        }
    }

    fn place(&self, at: usize) -> String {
        let before = &self.text[..at.min(self.text.len())];
        let begin = before.rfind('\n').map_or(0, |newline| newline + 1);
        if at > self.end_of_file {
            let line = self.text[begin..].lines().next().unwrap_or_default();
            return format!("--set {line}");
        }
        let line = before.matches('\n').count() + 1;
        let column = before[begin..].chars().count() + 1;
        format!("{}:{line}:{column}", self.name)
    }
}

/// `key=value` as a line of TOML; a value that is none is put in quotes.
fn as_toml(change: &str) -> String {
    let line = change.replace('\n', " ");
    let Some((key, value)) = line.split_once('=') else {
        return line;
    };
    let (key, value) = (key.trim(), value.trim());
    // The parameter of a choice is one name with a dot in it, which a shell's user need not quote.
    let key = match key.strip_prefix("policies.") {
        Some(name) if name.contains('.') && !name.contains('"') => format!("policies.\"{name}\""),
        _ => key.to_owned(),
    };
    if toml::de::DeValue::parse(value).is_ok() {
        format!("{key} = {value}")
    } else {
        format!("{key} = {value:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::reworded;

    #[test]
    fn the_nearest_name_is_offered_where_one_was_missed() {
        let text = reworded("unknown field `rat`, expected one of `rate`, `delay`\n");
        assert_eq!(text, "unknown key `rat`, did you mean `rate`? Known: rate, delay");
    }
}
