//! How does the program fail? With one line that says what went wrong and what to do, and an exit code.

use std::fmt;

/// Why a verb did not do what it was asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Failure {
    /// What was asked makes no sense.
    Usage(String),
    /// It made sense and did not work.
    Work(String),
    /// The user or the system ended it.
    Interrupted,
}

impl Failure {
    pub(crate) fn usage(what: impl fmt::Display) -> Self {
        Self::Usage(what.to_string())
    }

    pub(crate) fn work(what: impl fmt::Display) -> Self {
        Self::Work(what.to_string())
    }

    /// What the program's caller sees: 130 is what shells report for a program ended by Ctrl-C.
    pub(crate) const fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Work(_) => 1,
            Self::Interrupted => 130,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(what) | Self::Work(what) => f.write_str(what),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}
