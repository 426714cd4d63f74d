//! Which of many names? Those that fit a pattern: `goodput`, `path.*.timeouts`, `delay.*`.

use serde::{Deserialize, Serialize};

/// Patterns of names, in which a `*` stands for anything.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Selection(Vec<String>);

impl Selection {
    /// Whether it has the name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|pattern| fits(name, pattern))
    }

    /// The first pattern that fits none of the names.
    pub(super) fn useless(&self, names: &[String]) -> Option<&str> {
        let mut patterns = self.0.iter();
        let useless = patterns.find(|pattern| !names.iter().any(|name| fits(name, pattern)));
        useless.map(String::as_str)
    }
}

fn fits(name: &str, pattern: &str) -> bool {
    let Some((before, after)) = pattern.split_once('*') else {
        return name == pattern;
    };
    let Some(rest) = name.strip_prefix(before) else {
        return false;
    };
    let ends = rest.char_indices().map(|(end, _)| end).chain([rest.len()]);
    ends.into_iter().any(|end| fits(&rest[end..], after))
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn a_star_stands_for_anything_and_the_rest_for_itself() {
        for (name, pattern) in [
            ("goodput", "goodput"),
            ("path.north.timeouts", "path.*.timeouts"),
            ("path.a.b.timeouts", "path.*.timeouts"),
            ("delay.p95", "delay.*"),
            ("anything", "*"),
            ("a.b.c", "*.b.*"),
        ] {
            assert!(fits(name, pattern), "{name} {pattern}");
        }
        for (name, pattern) in [
            ("goodput", "good"),
            ("path.north.rto", "path.*.timeouts"),
            ("x.delay.p95", "delay.*"),
        ] {
            assert!(!fits(name, pattern), "{name} {pattern}");
        }
    }
}
