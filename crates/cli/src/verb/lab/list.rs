//! Which experiments are there?

use anabranch_lab::Plan;
use anabranch_lab::plan::Reading;

use super::text::{columns, print, print_json};
use crate::arguments::LabListArguments;
use crate::failure::Failure;

pub(super) fn run(arguments: &LabListArguments) -> Result<(), Failure> {
    let mut rows = vec![["PLAN", "TITLE", "SOURCE"].map(str::to_owned).to_vec()];
    for file in super::plans(&arguments.folder)? {
        let plan = Plan::load(&file, &Reading::default()).map_err(Failure::usage)?;
        if arguments.output.is_json() {
            print_json(&serde_json::json!({
                "event": "experiment",
                "plan": file,
                "title": plan.title,
                "source": plan.source,
                "claim": plan.claim.trim(),
                "points": plan.points.len(),
            }));
        }
        rows.push(vec![file.display().to_string(), plan.title, plan.source]);
    }
    if !arguments.output.is_json() {
        print(&columns(&rows));
    }
    Ok(())
}
