//! Selection of names by patterns: `goodput`, `path.*.timeouts`, `delay.*`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Patterns of names; `*` matches any text.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(transparent)]
pub struct Selection(Vec<String>);

impl Selection {
    /// Whether a pattern matches the name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|pattern| matches(name, pattern))
    }

    /// The first pattern that matches none of the names.
    pub(super) fn unmatched(&self, names: &[String]) -> Option<&str> {
        let mut patterns = self.0.iter();
        let unmatched = patterns.find(|pattern| !names.iter().any(|name| matches(name, pattern)));
        unmatched.map(String::as_str)
    }
}

fn matches(name: &str, pattern: &str) -> bool {
    let Some((before, after)) = pattern.split_once('*') else {
        return name == pattern;
    };
    let Some(rest) = name.strip_prefix(before) else {
        return false;
    };
    let ends = rest.char_indices().map(|(end, _)| end).chain([rest.len()]);
    ends.into_iter().any(|end| matches(&rest[end..], after))
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn star_matches_any_text() {
        for (name, pattern) in [
            ("goodput", "goodput"),
            ("path.north.timeouts", "path.*.timeouts"),
            ("path.a.b.timeouts", "path.*.timeouts"),
            ("delay.p95", "delay.*"),
            ("anything", "*"),
            ("a.b.c", "*.b.*"),
        ] {
            assert!(matches(name, pattern), "{name} {pattern}");
        }
        for (name, pattern) in [
            ("goodput", "good"),
            ("path.north.rto", "path.*.timeouts"),
            ("x.delay.p95", "delay.*"),
        ] {
            assert!(!matches(name, pattern), "{name} {pattern}");
        }
    }
}
