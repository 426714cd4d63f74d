//! Failures of verbs: a message with what to do, and an exit code.

use std::fmt;

/// Why a verb failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Failure {
    /// Invalid arguments or input.
    Usage(String),
    /// The operation failed.
    Work(String),
    /// A program cannot be run; with the exit code that shells have for that.
    NotRun(String, u8),
    /// Interrupted by the user or the system.
    Interrupted,
}

impl Failure {
    pub(crate) fn usage(what: impl fmt::Display) -> Self {
        Self::Usage(what.to_string())
    }

    pub(crate) fn work(what: impl fmt::Display) -> Self {
        Self::Work(what.to_string())
    }

    /// Exit code; 130 is what shells report for a program ended by Ctrl-C.
    pub(crate) const fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Work(_) => 1,
            Self::NotRun(_, code) => *code,
            Self::Interrupted => 130,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(what) | Self::Work(what) | Self::NotRun(what, _) => f.write_str(what),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}
