//! Which claims need no measurement, because tests show them? Worked examples and properties, where numbers are exact.

use std::path::Path;

use serde::Deserialize;

use crate::check::Verdict;
use crate::plan::PlanError;

/// A claim that tests show.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Tested {
    /// The name of the file without its ending.
    #[serde(skip)]
    pub name: String,
    /// What it is about, in one line.
    pub title: String,
    /// Where the claim was made.
    pub source: String,
    /// The claim, in words.
    pub claim: String,
    /// What tests assert of it.
    pub shown: Vec<Shown>,
    /// Why that differs from the claim; empty if there is nothing to say.
    #[serde(default)]
    pub cause: String,
}

/// A part of a claim, and the test that shows it.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Shown {
    /// What must hold.
    pub claim: String,
    /// What the test asserts.
    pub found: String,
    /// What that says of the claim. Reproduced unless set.
    #[serde(default = "reproduced")]
    pub verdict: Verdict,
    /// The crate that the test is in.
    pub package: String,
    /// The name of the test.
    pub test: String,
}

const fn reproduced() -> Verdict {
    Verdict::Reproduced
}

impl Tested {
    /// Reads `file`.
    ///
    /// # Errors
    ///
    /// [`PlanError`] for what cannot be read.
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

    /// What all of it says together.
    pub(super) fn verdict(&self) -> Verdict {
        let verdicts = self.shown.iter().map(|shown| shown.verdict);
        Verdict::of_all(verdicts).unwrap_or(Verdict::NotMeasured)
    }
}

impl Shown {
    /// What runs the test.
    pub(super) fn command(&self) -> String {
        format!("cargo test --package {} {}", self.package, self.test)
    }
}
