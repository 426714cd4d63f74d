//! `anabranch lab show`: lists the runs of an experiment.

use std::collections::BTreeSet;

use anabranch_lab::plan::Drawn;
use anabranch_lab::{Plan, Point};

use super::text::{columns, print_json};
use crate::arguments::LabShowArguments;
use crate::failure::Failure;
use crate::output::print;

pub(super) fn run(arguments: &LabShowArguments) -> Result<(), Failure> {
    let plan = super::load(&arguments.plan, &arguments.plan_options)?;
    if arguments.output.is_json() {
        for cell in &plan.cells {
            print_json(&serde_json::json!({
                "event": "cell",
                "cell": cell.number,
                "paths": cell.paths,
                "drawn": cell.drawn,
            }))?;
        }
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
    let listed = if plan.cells.is_empty() {
        columns(&rows)
    } else {
        cells(&plan)
    };
    let until = plan.repeat.as_ref().map_or_else(String::new, |repeat| {
        let (most, half) = (repeat.at_most, repeat.half_width * 100.0);
        format!(", and up to {most} until the intervals of the checks are within {half} % of their values")
    });
    print(format!(
        "{} ({})\n{}\n\n{listed}\n{} runs; {seeds} seeds for each point{until}\n",
        plan.title,
        plan.source,
        plan.claim.trim(),
        plan.points.len(),
    ))
}

/// The drawn cells and the names of the series that are run over them. If something is drawn for each path, each has a row.
fn cells(plan: &Plan) -> String {
    let all = || plan.cells.iter().flat_map(|cell| &cell.drawn);
    let of_cell = names(all().filter(|drawn| drawn.path.is_none()));
    let of_path = names(all().filter(|drawn| drawn.path.is_some()));
    let words = |text: &str| [text.to_owned()].into_iter();
    let has_rows = !of_path.is_empty();
    let last = if has_rows { "path" } else { "paths" };
    let head = words("cell").chain(of_cell.clone()).chain(words(last));
    let mut rows: Vec<Vec<String>> = vec![head.chain(of_path.clone()).collect()];
    for cell in &plan.cells {
        let value = |name: &String, path: Option<&String>| {
            let mut drawn = cell.drawn.iter();
            let found = drawn.find(|drawn| drawn.name == *name && drawn.path.as_ref() == path);
            found.and_then(|drawn| drawn.value.clone()).unwrap_or_default()
        };
        if !has_rows {
            let own = words(&cell.number.to_string()).chain(of_cell.iter().map(|name| value(name, None)));
            rows.push(own.chain(words(&cell.paths.join(", "))).collect());
            continue;
        }
        for (index, path) in cell.paths.iter().enumerate() {
            // What belongs to the whole cell stands in its first row.
            let own = words(&cell.number.to_string()).chain(of_cell.iter().map(|name| value(name, None)));
            let own = own.map(|text| if index == 0 { text } else { String::new() });
            let of_this = of_path.iter().map(|name| value(name, Some(path)));
            rows.push(own.chain(words(path)).chain(of_this).collect());
        }
    }
    let series: BTreeSet<&str> = plan.points.iter().map(|point| point.series.as_str()).collect();
    let series: Vec<&str> = series.into_iter().collect();
    format!("{}\nEach with: {}\n", columns(&rows), series.join("; "))
}

/// The names of draws, each once.
fn names<'d>(drawn: impl Iterator<Item = &'d Drawn>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for drawn in drawn {
        if !names.contains(&drawn.name) {
            names.push(drawn.name.clone());
        }
    }
    names
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
