//! `anabranch lab show`: lists the runs of an experiment.

use anabranch_lab::Point;

use super::text::{columns, print_json};
use crate::arguments::LabShowArguments;
use crate::failure::Failure;
use crate::output::print;

pub(super) fn run(arguments: &LabShowArguments) -> Result<(), Failure> {
    let plan = super::load(&arguments.plan, &arguments.plan_options)?;
    if arguments.output.is_json() {
        for point in &plan.points {
            print_json(&serde_json::json!({
                "event": "point",
                "series": point.series,
                "single_path": point.single_path,
                "coordinates": point.coordinates,
                "seed": point.seed,
                "setting": *point.setting,
            }))?;
        }
        return Ok(());
    }
    let first = plan.points.iter().map(|point| point.seed).min();
    let of_first_seed = plan.points.iter().filter(|point| Some(point.seed) == first);
    let seeds = plan
        .points
        .iter()
        .filter(|point| same_but_seed(point, plan.points.first()))
        .count();
    let mut head = vec!["series".to_owned()];
    head.extend(
        plan.axes
            .iter()
            .map(|axis| format!("{} {}", axis.name, axis.unit)),
    );
    let mut rows = vec![head];
    rows.extend(of_first_seed.map(row));
    print(format!(
        "{} ({})\n{}\n\n{}\n{} runs; {seeds} seeds for each point\n",
        plan.title,
        plan.source,
        plan.claim.trim(),
        columns(&rows),
        plan.points.len(),
    ))
}

fn same_but_seed(point: &Point, other: Option<&Point>) -> bool {
    other.is_some_and(|other| {
        (&point.series, &point.single_path, &point.coordinates)
            == (&other.series, &other.single_path, &other.coordinates)
    })
}

fn row(point: &Point) -> Vec<String> {
    let alone = point.single_path.as_ref().map(|path| format!(", {path} alone"));
    let mut cells = vec![format!("{}{}", point.series, alone.unwrap_or_default())];
    cells.extend(point.coordinates.iter().map(|coordinate| coordinate.text.clone()));
    cells
}
