//! Result of a check: findings if it ran, a failure if it could not.

use std::fmt;

/// A rule that is broken, and where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// A file, a file with a line, or the name of a crate.
    pub(crate) at: String,
    /// What is wrong there and what would be right.
    pub(crate) what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.what)
    }
}

/// Why a check could not be made.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) String);

/// The findings of a check that ran; none means that all is well.
pub(crate) type Outcome = Result<Vec<Finding>, Failure>;
