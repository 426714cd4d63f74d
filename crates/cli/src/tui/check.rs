//! Whether the live view can be shown in this terminal, and if not, what the user can do.

use std::env;
use std::io::{self, IsTerminal as _};

use crate::failure::Failure;
use crate::output::Output;

/// Refuses `--tui` where it cannot be shown.
pub(crate) fn check(output: Output) -> Result<(), Failure> {
    let is_dumb = env::var_os("TERM").is_some_and(|name| name == "dumb");
    match refusal(output, io::stdout().is_terminal(), is_dumb) {
        Some(text) => Err(Failure::usage(text)),
        None => Ok(()),
    }
}

/// Why it cannot be shown.
const fn refusal(output: Output, is_terminal: bool, is_dumb: bool) -> Option<&'static str> {
    if output.is_json() {
        return Some("--json prints on standard output, where --tui draws; leave out one of them");
    }
    if output.is_quiet() {
        return Some("--quiet prints nothing, and --tui draws; leave out one of them");
    }
    if output.is_aside() {
        return Some("the file goes to standard output with -, where --tui draws; leave out one of them");
    }
    if !is_terminal {
        return Some(
            "--tui draws on a terminal, and standard output is none; leave it out, or use --dashboard",
        );
    }
    if is_dumb {
        return Some("--tui cannot draw on this terminal (TERM=dumb); leave it out, or use --dashboard");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_says_what_to_do() {
        let refused = [
            refusal(Output::of(true), true, false),
            refusal(Output::default().aside(true), true, false),
            refusal(Output::default(), false, false),
            refusal(Output::default(), true, true),
        ];
        for text in refused {
            assert!(text.unwrap().contains("leave"), "{text:?}");
        }
        assert_eq!(refusal(Output::default(), true, false), None);
    }
}
