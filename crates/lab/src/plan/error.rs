//! Errors of plans: what is wrong, what was expected, and where in the file.

use core::fmt;
use core::ops::Range;
use std::path::Path;

use anabranch_policy::nearest;

use super::renamed::renamed;

/// An error in a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlanError {
    /// File, line and column, or the option on the command line.
    pub place: String,
    /// The error, and the expected value.
    pub problem: String,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.problem)
    }
}

impl std::error::Error for PlanError {}

/// An error at a byte range of the text.
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

    /// An unknown name.
    pub(super) fn unknown<'k>(
        span: Range<usize>,
        what: &str,
        given: &str,
        known: impl IntoIterator<Item = &'k str>,
    ) -> Self {
        Self::new(span, unknown_name(what, given, known))
    }

    /// An error of the TOML parser or of serde.
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

/// Rewords ``unknown field `a`, expected one of `b`, `c` ``, the message of serde, as an unknown key or word.
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

/// The text of a plan followed by the overrides of the command line, so that byte ranges cover both.
#[derive(Clone, Debug)]
pub(super) struct Source {
    name: String,
    text: String,
    /// Length of the file in bytes; the overrides follow.
    end_of_file: usize,
}

/// The table that holds the overrides of the command line.
pub(super) const CHANGES: &str = "command-line";

impl Source {
    /// The text of `file` with overrides `key=value`. Values that are not TOML become strings.
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

/// `key=value` as a line of TOML; a value that is not TOML is quoted.
fn as_toml(change: &str) -> String {
    let line = change.replace('\n', " ");
    let Some((key, value)) = line.split_once('=') else {
        return line;
    };
    let (key, value) = (key.trim(), value.trim());
    // A parameter such as `cc.growth` is one key with a dot; users need not quote it.
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
    fn unknown_field_is_reworded_with_the_nearest_key() {
        let text = reworded("unknown field `rat`, expected one of `rate`, `delay`\n");
        assert_eq!(text, "unknown key `rat`, did you mean `rate`? Known: rate, delay");
    }

    #[test]
    fn renamed_key_is_refused_with_the_new_name() {
        let text = reworded("unknown field `rivals`, expected one of `paths`, `cross-traffic`\n");
        assert_eq!(text, "unknown key `rivals`: it is now called `cross-traffic`");
    }
}
