//! `anabranch lab claims`: prints docs/claims.md from plans, kept result summaries, and claims shown by tests.

use std::path::Path;

use anabranch_lab::claims::{Claim, Entry, Tested, dataset, markdown};
use anabranch_lab::results::write_table;
use anabranch_lab::summary::ResultSummary;

use crate::arguments::{LabClaimsArguments, LabExportArguments};
use crate::failure::Failure;
use crate::output::print;

/// Subfolder with claims that are shown by tests.
const TESTED: &str = "tested";

pub(super) fn run(arguments: &LabClaimsArguments) -> Result<(), Failure> {
    print(markdown(&entries(&arguments.folder)?))
}

/// `anabranch lab export`: writes the values of all kept results into one table.
pub(super) fn export(arguments: &LabExportArguments) -> Result<(), Failure> {
    let table = dataset(&entries(&arguments.folder)?);
    if table.rows() == 0 {
        let folder = arguments.folder.display();
        return Err(Failure::Usage(format!(
            "{folder} has no kept results; `anabranch lab run --keep {folder}/results` keeps some"
        )));
    }
    write_table(&table, &arguments.out).map_err(Failure::work)?;
    print(format!(
        "{} values in {}\n",
        table.rows(),
        arguments.out.display()
    ))
}

/// The claims of a folder, measured ones and those shown by tests.
fn entries(folder: &Path) -> Result<Vec<Entry>, Failure> {
    let mut files = super::plans(folder)?;
    let tested = folder.join(TESTED);
    if tested.is_dir() {
        files.extend(super::plans(&tested)?);
    }
    super::sort(&mut files);
    files.iter().map(|file| entry(file)).collect()
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
