//! `anabranch completions`: prints a shell completion script.

use clap::CommandFactory as _;

use clap_complete::Shell;

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::output;

/// Prints the script for `shell`.
pub(crate) fn print(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "anabranch", &mut script);
    output::print(script)
}
