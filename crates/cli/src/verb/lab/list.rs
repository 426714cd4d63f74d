//! `anabranch lab list`: lists the experiments in a folder.

use anabranch_lab::Plan;
use anabranch_lab::plan::PlanOptions;

use super::text::print_json;
use crate::arguments::LabListArguments;
use crate::failure::Failure;
use crate::output::print;

pub(super) fn run(arguments: &LabListArguments) -> Result<(), Failure> {
    let mut rows = vec![["PLAN", "TITLE", "SOURCE"].map(str::to_owned)];
    let mut broken = Vec::new();
    for file in super::plans(&arguments.folder)? {
        let plan = match Plan::load(&file, &PlanOptions::default()) {
            Ok(plan) => plan,
            Err(error) => {
                broken.push(error.to_string());
                continue;
            }
        };
        if arguments.output.is_json() {
            print_json(&serde_json::json!({
                "event": "experiment",
                "plan": file.display().to_string(),
                "title": plan.title,
                "source": plan.source,
                "claim": plan.claim.trim(),
                "points": plan.points.len(),
            }))?;
        }
        rows.push([file.display().to_string(), plan.title, plan.source]);
    }
    if !arguments.output.is_json() {
        print(table(&rows))?;
    }
    match broken.is_empty() {
        true => Ok(()),
        false => Err(Failure::Usage(broken.join("\n"))),
    }
}

fn table(rows: &[[String; 3]]) -> String {
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let (first, second) = (width(0), width(1));
    let row = |[plan, title, source]: &[String; 3]| format!("{plan:<first$}  {title:<second$}  {source}\n");
    rows.iter().map(row).collect()
}
