//! Error in a text file that a person wrote or a tool recorded: the line, and what is wrong there.

use core::fmt;

/// Where and why a text file could not be read. It is displayed as `LINE: TEXT`; the caller, who knows the file's name, puts
/// that and a colon before it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineError {
    /// Number of the line, from 1.
    pub line: usize,
    /// What was expected and what was found.
    pub text: String,
}

impl LineError {
    pub(crate) fn new(line: usize, text: impl Into<String>) -> Self {
        Self {
            line,
            text: text.into(),
        }
    }
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.line, self.text)
    }
}

impl std::error::Error for LineError {}
