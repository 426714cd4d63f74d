//! `anabranch lab`: lists, shows, runs, compares, reports and exports experiments.

mod claims;
mod compare;
mod list;
mod on;
mod progress;
mod report;
mod results;
mod run;
mod show;
mod text;
mod trace;

use std::path::{Path, PathBuf};

use anabranch_lab::Plan;
use anabranch_lab::plan::{PlanOptions, plan_schema};

use crate::arguments::{LabVerb, PlanArguments};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::print;

/// File name of the result summary in a folder of results.
const SUMMARY: &str = "summary.json";

/// Runs a verb of the lab.
pub(crate) async fn run(verb: LabVerb) -> Result<(), Failure> {
    match verb {
        LabVerb::Run(arguments) => run::run(arguments, &mut Interrupt::listen()?).await,
        LabVerb::List(arguments) => list::run(&arguments),
        LabVerb::Show(arguments) => show::run(&arguments),
        LabVerb::Compare(arguments) => compare::run(&arguments),
        LabVerb::Report(arguments) => report::run(&arguments),
        LabVerb::Trace(arguments) => trace::run(&arguments),
        LabVerb::Claims(arguments) => claims::run(&arguments),
        LabVerb::Export(arguments) => claims::export(&arguments),
        LabVerb::Schema => print(plan_schema()),
    }
}

fn load(plan: &Path, arguments: &PlanArguments) -> Result<Plan, Failure> {
    let read = |changes| {
        let options = PlanOptions {
            quick: arguments.quick,
            changes,
        };
        Plan::load(plan, &options).map_err(Failure::usage)
    };
    let mut changes = arguments.set.clone();
    if !arguments.cell.is_empty() {
        if read(changes.clone())?.cells.is_empty() {
            return Err(Failure::Usage(format!(
                "{} draws no cells, of which --cell could select some; it works with plans that have a table `[draw]`",
                plan.display()
            )));
        }
        changes.push(format!("draw.only={:?}", arguments.cell));
    }
    read(changes)
}

/// Loads a plan in full and in quick size.
fn both_sizes(plan: &Path) -> Result<[Plan; 2], Failure> {
    let of_size = |quick| {
        let options = PlanOptions {
            quick,
            changes: Vec::new(),
        };
        Plan::load(plan, &options).map_err(Failure::usage)
    };
    Ok([of_size(false)?, of_size(true)?])
}

/// The folder of kept result summaries beside `plan`.
fn kept_folder(plan: &Path) -> PathBuf {
    plan.parent().unwrap_or_else(|| Path::new(".")).join("results")
}

/// The kept result summary of the plan `name` in `folder`.
fn kept_file(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.json"))
}

/// The plan files in a folder, sorted by name and number.
fn plans(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let shown = folder.display();
    let unreadable = |error| {
        Failure::Usage(format!(
            "{shown}: {error}; give a folder with plans, such as `experiments` in the repository"
        ))
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let file = entry.map_err(unreadable)?.path();
        if file.extension().is_some_and(|ending| ending == "toml") {
            files.push(file);
        }
    }
    if files.is_empty() {
        return Err(Failure::Usage(format!(
            "{shown} contains no plans (files `*.toml`)"
        )));
    }
    sort(&mut files);
    Ok(files)
}

/// Sorts files by name and number, whatever their folder.
fn sort(files: &mut [PathBuf]) {
    files.sort_by_key(|file| natural(&file.file_stem().unwrap_or_default().to_string_lossy()));
}

/// Sort key with numbers as numbers: `sar-10` comes after `sar-9`.
fn natural(name: &str) -> Vec<(String, u64)> {
    let parts = name.split('-');
    let key = |part: &str| match part.parse() {
        Ok(number) => (String::new(), number),
        Err(_) => (part.to_owned(), 0),
    };
    parts.map(key).collect()
}

#[cfg(test)]
mod tests {
    use super::natural;

    #[test]
    fn numbers_in_names_are_sorted_as_numbers() {
        let mut names = ["sar-10", "aba-1-delay", "sar-9", "aba-1"];
        names.sort_by_key(|name| natural(name));
        assert_eq!(names, ["aba-1", "aba-1-delay", "sar-9", "sar-10"]);
    }
}
