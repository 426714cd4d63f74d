//! Claims shown by tests: worked examples and properties with exact values.

use std::path::Path;

use serde::Deserialize;

use crate::check::Verdict;
use crate::plan::PlanError;

/// A claim shown by tests.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Tested {
    /// File name without extension.
    #[serde(skip)]
    pub name: String,
    /// Title in one line.
    pub title: String,
    /// Source of the claim.
    pub source: String,
    /// The claim in words.
    pub claim: String,
    /// The parts of the claim with their tests.
    pub shown: Vec<Shown>,
    /// Cause of a difference from the claim; empty if there is none.
    #[serde(default)]
    pub cause: String,
}

/// Part of a claim with the test that shows it.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Shown {
    /// The statement.
    pub claim: String,
    /// What the test asserts.
    pub found: String,
    /// The verdict. Reproduced unless set.
    #[serde(default = "reproduced")]
    pub verdict: Verdict,
    /// Package of the test.
    pub package: String,
    /// Name of the test.
    pub test: String,
}

const fn reproduced() -> Verdict {
    Verdict::Reproduced
}

impl Tested {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// [`PlanError`] if the file cannot be read.
    pub fn load(file: &Path) -> Result<Self, PlanError> {
        let wrong = |problem: String| PlanError {
            place: file.display().to_string(),
            problem,
        };
        let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
        let mut tested: Self = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        let name = file.file_stem().unwrap_or_default();
        tested.name = name.to_string_lossy().into_owned();
        Ok(tested)
    }

    /// Overall verdict.
    pub(super) fn verdict(&self) -> Verdict {
        let verdicts = self.shown.iter().map(|shown| shown.verdict);
        Verdict::of_all(verdicts).unwrap_or(Verdict::NotMeasured)
    }
}

impl Shown {
    /// The command that runs the test.
    pub(super) fn command(&self) -> String {
        format!("cargo test --package {} {}", self.package, self.test)
    }
}
