//! Which experiments are there?

use anabranch_lab::Plan;
use anabranch_lab::plan::Reading;

use super::text::print_json;
use crate::arguments::LabListArguments;
use crate::failure::Failure;
use crate::output::print;

pub(super) fn run(arguments: &LabListArguments) -> Result<(), Failure> {
    let mut rows = vec![["PLAN", "TITLE", "SOURCE"].map(str::to_owned)];
    for file in super::plans(&arguments.folder)? {
        let plan = Plan::load(&file, &Reading::default()).map_err(Failure::usage)?;
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
    if arguments.output.is_json() {
        return Ok(());
    }
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let (first, second) = (width(0), width(1));
    let line = |[plan, title, source]: &[String; 3]| format!("{plan:<first$}  {title:<second$}  {source}\n");
    print(rows.iter().map(line).collect::<String>())
}
