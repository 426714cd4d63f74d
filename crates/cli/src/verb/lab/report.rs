//! `anabranch lab report`: writes an HTML page for each experiment, and an index.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anabranch_lab::Plan;
use anabranch_lab::report::{Entry, write, write_index};
use anabranch_lab::summary::{ResultSummary, Size};

use super::text::print_json;
use crate::arguments::LabReportArguments;
use crate::failure::Failure;
use crate::output::{print, remark};

pub(super) fn run(arguments: &LabReportArguments) -> Result<(), Failure> {
    let asked = if arguments.what.is_empty() {
        super::plans(Path::new("experiments"))?
    } else {
        arguments.what.clone()
    };
    let entries = asked.iter().map(|what| entry(what, &arguments.results));
    let entries: Vec<Entry> = entries.collect::<Result<_, _>>()?;
    check_names(&entries, &asked)?;
    for entry in &entries {
        match entry {
            Entry::Measured(summary) => {
                let page = write(summary, &arguments.out).map_err(Failure::work)?;
                print_page(arguments, &summary.plan, Some(&page))?;
            }
            Entry::Open { plan, .. } => print_page(arguments, plan, None)?,
        }
    }
    let index = write_index(&entries, &arguments.out).map_err(Failure::work)?;
    print_page(arguments, "index", Some(&index))
}

/// Refuses two results of the same plan, which would overwrite each other's page.
fn check_names(entries: &[Entry], asked: &[PathBuf]) -> Result<(), Failure> {
    let mut known = BTreeMap::new();
    for (entry, what) in entries.iter().zip(asked) {
        let (Entry::Measured(summary), what) = (entry, what.display()) else {
            continue;
        };
        if let Some(other) = known.insert(&summary.plan, what.to_string()) {
            let name = &summary.plan;
            return Err(Failure::Usage(format!(
                "{other} and {what} are results of the same plan and would both write {name}.html; run the command once for each, \
                 with different --out folders"
            )));
        }
    }
    Ok(())
}

fn print_page(arguments: &LabReportArguments, name: &str, page: Option<&Path>) -> Result<(), Failure> {
    if arguments.output.is_json() {
        let page = page.map(|page| page.display().to_string());
        return print_json(&serde_json::json!({"event": "report", "name": name, "page": page}));
    }
    if arguments.output.is_quiet() {
        return Ok(());
    }
    let location = page.map_or_else(
        || "no results; run `anabranch lab run` first".to_owned(),
        |page| page.display().to_string(),
    );
    print(format!("{name}: {location}\n"))
}

/// The results in a folder, or the best available results of a plan.
fn entry(what: &Path, results: &Path) -> Result<Entry, Failure> {
    if what.is_dir() {
        let summary = ResultSummary::load(&what.join(super::SUMMARY)).map_err(Failure::usage)?;
        let plan = summary.plan_file();
        let summary = match super::both_sizes(&plan) {
            Ok([full, quick]) => summary.compared_with_plan(&full, &quick),
            // The plan is not available: nothing to compare with.
            Err(_) => summary,
        };
        return Ok(Entry::Measured(Box::new(summary)));
    }
    let [full, quick] = super::both_sizes(what)?;
    let own = |size: &str| results.join(format!("{}{size}", full.name)).join(super::SUMMARY);
    let kept = super::kept_file(&super::kept_folder(what), &full.name);
    match best(&[own(""), own("-quick"), kept], &full, &quick)? {
        Some(summary) => Ok(Entry::Measured(Box::new(summary))),
        None => Ok(Entry::Open {
            plan: full.name,
            title: full.title,
            source: full.source,
        }),
    }
}

/// The best summary among `files`: without overrides, of the current plan, of the full size, then the first.
fn best(files: &[PathBuf], full: &Plan, quick: &Plan) -> Result<Option<ResultSummary>, Failure> {
    let files = files.iter().filter(|file| file.is_file());
    let summaries = files.map(|file| ResultSummary::load(file).map_err(Failure::usage));
    let summaries: Vec<ResultSummary> = summaries.collect::<Result<_, _>>()?;
    let compared = summaries
        .into_iter()
        .map(|summary| summary.compared_with_plan(full, quick));
    let rank = |summary: &ResultSummary| {
        let is_quick = summary.size == Size::Quick;
        (!summary.changes.is_empty(), summary.is_outdated, is_quick)
    };
    let best = compared.min_by_key(rank);
    if let Some(summary) = best.as_ref().filter(|summary| summary.is_outdated) {
        remark(format_args!(
            "{}: the plan has changed since these results; run the experiment again",
            summary.plan
        ));
    }
    Ok(best)
}
