//! How does a shell know the verbs and options? From a script that is made of their definitions.

use std::io::Write as _;

use clap::CommandFactory as _;

use clap_complete::Shell;

use crate::arguments::Arguments;

/// Prints the script for `shell`.
pub(crate) fn print(shell: Shell) {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "anabranch", &mut script);
    // A reader that has seen enough is no error.
    let _ = std::io::stdout().write_all(&script);
}
