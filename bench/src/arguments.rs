//! Command line options of all benchmarks.

/// The options that all programs share.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Arguments {
    /// Prints JSON in place of a table.
    pub json: bool,
    /// Number of measurements; the median is reported.
    pub runs: usize,
    /// Seconds of wall time per measurement, for programs whose measurements have a length.
    pub seconds: f64,
}

impl Arguments {
    /// Reads the command line, with these defaults. With `--help` or an invalid option, prints `about` and the options and exits.
    #[must_use]
    pub fn or(self, about: &str) -> Self {
        self.of(std::env::args().skip(1), about)
    }

    /// Like [`or`](Self::or), with the words of a command line from which options of the program alone were taken.
    #[must_use]
    pub fn of(self, words: impl Iterator<Item = String>, about: &str) -> Self {
        self.parse(words).unwrap_or_else(|problem| {
            eprintln!(
                "{about}\n\n  --json       JSON in place of a table\n  --runs N     median of N [{}]",
                self.runs
            );
            eprintln!("  --seconds S  of each measurement [{}]{problem}", self.seconds);
            std::process::exit(i32::from(!problem.is_empty()));
        })
    }

    fn parse(mut self, mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        while let Some(word) = words.next() {
            match word.as_str() {
                "--json" => self.json = true,
                "--runs" => self.runs = number::<usize>(words.next(), &word)?.max(1),
                "--seconds" => self.seconds = number(words.next(), &word)?,
                "--help" => return Err(String::new()),
                _ => return Err(format!("\n\nunknown option {word}")),
            }
        }
        Ok(self)
    }
}

fn number<T: std::str::FromStr>(word: Option<String>, option: &str) -> Result<T, String> {
    word.and_then(|word| word.parse().ok())
        .ok_or_else(|| format!("\n\n{option} needs a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFAULTS: Arguments = Arguments {
        json: false,
        runs: 5,
        seconds: 0.5,
    };

    fn parse(line: &str) -> Result<Arguments, String> {
        DEFAULTS.parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn missing_options_keep_their_defaults() {
        let expected = Arguments {
            json: true,
            runs: 3,
            ..DEFAULTS
        };
        assert_eq!(parse("--json --runs 3"), Ok(expected));
    }

    #[test]
    fn invalid_options_are_named() {
        assert!(parse("--runs many").is_err_and(|problem| problem.contains("--runs")));
        assert!(parse("--fast").is_err_and(|problem| problem.contains("--fast")));
    }
}
