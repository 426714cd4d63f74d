//! `anabranch lab claims`: prints docs/claims.md from plans, kept result summaries, and claims shown by tests.

use std::path::Path;

use anabranch_lab::claims::{Claim, Entry, Tested, markdown};
use anabranch_lab::summary::ResultSummary;

use crate::arguments::LabClaimsArguments;
use crate::failure::Failure;
use crate::output::print;

/// Subfolder with claims that are shown by tests.
const TESTED: &str = "tested";

pub(super) fn run(arguments: &LabClaimsArguments) -> Result<(), Failure> {
    let mut files = super::plans(&arguments.folder)?;
    let tested = arguments.folder.join(TESTED);
    if tested.is_dir() {
        files.extend(super::plans(&tested)?);
    }
    super::sort(&mut files);
    let entries = files.iter().map(|file| entry(file));
    print(markdown(&entries.collect::<Result<Vec<_>, _>>()?))
}

fn entry(file: &Path) -> Result<Entry, Failure> {
    if file.parent().is_some_and(|folder| folder.ends_with(TESTED)) {
        return Tested::load(file).map(Entry::Tested).map_err(Failure::usage);
    }
    let [full, quick] = super::both_sizes(file)?;
    let kept = super::kept_file(&super::kept_folder(file), &full.name);
    let summary = match kept.is_file() {
        true => Some(ResultSummary::load(&kept).map_err(Failure::usage)?),
        false => None,
    };
    Ok(Entry::Measured(Box::new(Claim::new(full, &quick, summary))))
}
