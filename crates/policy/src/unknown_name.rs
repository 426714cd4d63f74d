//! Unknown names. The error for a name that is not in the catalog, with the name that was probably meant.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

/// Renamed names: what they name, the old name, the new one.
const RENAMED: &[(&str, &str, &str)] = &[
    ("failover", "fast-abandonment", "fast-failover"),
    ("fixed parameter of cc", "window", "cwnd"),
];

/// An unknown name or value.
///
/// ```
/// let error = anabranch_policy::PolicyRecipe::default()
///     .set("path-scheduler", "min-rt")
///     .unwrap_err();
/// let text = error.to_string();
/// assert!(text.starts_with("unknown path-scheduler `min-rt`, did you mean `min-rtt`? Known: primary, round-robin,"));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownName {
    /// The kind of name that was expected, such as `path-scheduler`.
    pub what: String,
    /// The name that the user typed.
    pub given: String,
    /// The known names; for values of parameters, the description of the parameter.
    pub known: Vec<&'static str>,
}

impl UnknownName {
    pub(crate) fn new(what: &str, given: &str, known: impl IntoIterator<Item = &'static str>) -> Self {
        Self {
            what: what.to_string(),
            given: given.to_string(),
            known: known.into_iter().collect(),
        }
    }

    /// The new name, if the given name was renamed.
    #[must_use]
    pub fn renamed(&self) -> Option<&'static str> {
        let mut renamed = RENAMED.iter();
        let found = renamed.find(|(what, old, _)| *what == self.what && *old == self.given);
        found.map(|(_, _, new)| *new)
    }

    /// The known name that begins with the given one, if there is only one; else the one with the smallest edit
    /// distance, if that is at most a third of its length.
    #[must_use]
    pub fn nearest(&self) -> Option<&'static str> {
        nearest(&self.given, self.known.iter().copied())
    }
}

/// The name among `known` that `given` probably means, as [`UnknownName::nearest`] finds it.
#[must_use]
pub fn nearest<'k>(given: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let known: Vec<&str> = known.into_iter().collect();
    let mut longer = known.iter().filter(|name| name.starts_with(given));
    if let (Some(name), None, false) = (longer.next(), longer.next(), given.is_empty()) {
        return Some(name);
    }
    let distance = |name: &str| edit_distance(name, given);
    let nearest = known.iter().copied().min_by_key(|name| distance(name))?;
    (distance(nearest) <= nearest.len().div_ceil(3)).then_some(nearest)
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown {} `{}`", self.what, self.given)?;
        if let Some(new) = self.renamed() {
            return write!(f, ", renamed to `{new}`");
        }
        if let Some(nearest) = self.nearest() {
            write!(f, ", did you mean `{nearest}`?")?;
        }
        let separator = if self.nearest().is_some() {
            " Known: "
        } else {
            ", known: "
        };
        if self.known.is_empty() {
            return write!(f, "{separator}none");
        }
        for (index, name) in self.known.iter().enumerate() {
            write!(f, "{}{name}", if index == 0 { separator } else { ", " })?;
        }
        Ok(())
    }
}

impl core::error::Error for UnknownName {}

/// Letters to insert, remove or replace (Levenshtein).
fn edit_distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (index, letter) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for (column, other) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}
