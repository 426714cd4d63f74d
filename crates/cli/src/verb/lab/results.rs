//! Printing of results: tables and verdicts as text, or JSON objects.

use std::collections::BTreeMap;
use std::path::Path;

use anabranch_lab::check::Verdict;
use anabranch_lab::metric::unit_of;
use anabranch_lab::results::{Results, Run, Series, SeriesSet, repetitions};

use super::text::{columns, print_json};
use crate::failure::Failure;
use crate::output::print;

/// Prints the figure as tables, the findings of the checks, and the output files.
pub(super) fn print_full(results: &Results<'_>, folder: &Path, page: &Path) -> Result<(), Failure> {
    print(text(results))?;
    print(format!(
        "\nresults in {}\nreport in {}\n",
        folder.display(),
        page.display()
    ))
}

/// Prints the verdict and the report on one line.
pub(super) fn print_line(results: &Results<'_>, page: &Path) -> Result<(), Failure> {
    let verdict = results
        .verdict
        .map_or_else(|| "no checks".to_owned(), |verdict| verdict.to_string());
    print(format!(
        "{verdict:>12}  {}: {}  {}\n{}",
        results.plan.name,
        results.plan.title,
        page.display(),
        failures(results)
    ))
}

/// Prints why all runs of a plan failed.
pub(super) fn print_failures(results: &Results<'_>) -> Result<(), Failure> {
    print(format!(
        "all runs of {} failed; earlier results are unchanged\n{}",
        results.plan.name,
        failures(results)
    ))
}

/// Prints a JSON object for each failure and each finding, and one at the end. `written` is the output folder and the report,
/// if written.
pub(super) fn print_objects(results: &Results<'_>, written: Option<(&Path, &Path)>) -> Result<(), Failure> {
    for run in results.failures() {
        let error = run.outcome.as_ref().err().map(ToString::to_string);
        print_json(&serde_json::json!({
            "event": "failed", "run": name(run), "seed": run.point.seed, "error": error,
        }))?;
    }
    for finding in &results.findings {
        let mut object = serde_json::json!(finding);
        object["event"] = "finding".into();
        print_json(&object)?;
    }
    for cell in repetitions(results) {
        print_json(&serde_json::json!({
            "event": "repetitions",
            "cell": cell.cell,
            "count": cell.count,
            "ended": cell.ended,
            "half_width": cell.half_width,
            "widest": cell.widest,
        }))?;
    }
    print_json(&serde_json::json!({
        "event": "experiment-done",
        "plan": results.plan.name,
        "runs": results.runs.len(),
        "failed": results.failures().count(),
        "verdict": results.verdict,
        "folder": written.map(|(folder, _)| folder.display().to_string()),
        "report": written.map(|(_, page)| page.display().to_string()),
    }))
}

/// The figure as tables, and the findings of the checks.
fn text(results: &Results<'_>) -> String {
    let plan = results.plan;
    let mut text = format!("{} ({})\n", plan.title, plan.source);
    for metric in plan.figure.y.all() {
        let unit = unit_of(metric);
        let unit = if unit.is_empty() {
            String::new()
        } else {
            format!(", {unit}")
        };
        text += &format!("\n{metric}{unit}\n{}", table(&SeriesSet::of(results, metric)));
    }
    text += &failures(results);
    if !results.findings.is_empty() {
        text.push('\n');
    }
    for finding in &results.findings {
        let undecided = match finding.undecided {
            0 => String::new(),
            count => format!(", {count} undecided"),
        };
        text += &format!(
            "{:>12}  {} ({} of {}{undecided}; {})\n",
            finding.verdict.to_string(),
            finding.claim,
            finding.passed,
            finding.total,
            finding.found
        );
    }
    text += &repeated(results);
    if let Some(verdict) = results.verdict {
        text += &format!("\nThe claim is {}.\n", verdict_text(verdict));
    }
    text
}

/// How many repetitions the cells took under a stop rule, and why they ended.
fn repeated(results: &Results<'_>) -> String {
    let mut by_reason: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for cell in repetitions(results) {
        let why = cell
            .ended
            .map_or_else(|| "not ended".to_owned(), |why| why.to_string());
        by_reason.entry(why).or_default().push(cell.count);
    }
    let line = |(why, counts): (&String, &Vec<u64>)| {
        let (least, most) = (
            counts.iter().min().unwrap_or(&0),
            counts.iter().max().unwrap_or(&0),
        );
        let range = if least == most {
            least.to_string()
        } else {
            format!("{least} to {most}")
        };
        format!("{range} repetitions in {} cells: {why}\n", counts.len())
    };
    let lines: String = by_reason.iter().map(line).collect();
    if lines.is_empty() {
        lines
    } else {
        format!("\n{lines}")
    }
}

/// A line for each failed run.
fn failures(results: &Results<'_>) -> String {
    let series = |run: &Run<'_>| {
        let error = run.outcome.as_ref().err()?;
        Some(format!(
            "failed: {}, seed {}: {error}\n",
            name(run),
            run.point.seed
        ))
    };
    results.failures().filter_map(series).collect()
}

fn verdict_text(verdict: Verdict) -> String {
    match verdict {
        Verdict::Partly => "partly reproduced".into(),
        verdict => verdict.to_string(),
    }
}

fn name(run: &Run<'_>) -> String {
    let point = run.point;
    let alone = point.single_path.iter().map(|path| format!("{path} alone"));
    let coordinates = point
        .coordinates
        .iter()
        .map(|coordinate| format!("{} {}", coordinate.axis, coordinate.text));
    let parts: Vec<String> = [point.series.clone()]
        .into_iter()
        .chain(alone)
        .chain(coordinates)
        .collect();
    parts.join(", ")
}

/// A row for each series, a column for each x.
fn table(all_series: &SeriesSet) -> String {
    let mut xs: Vec<(f64, String)> = Vec::new();
    for point in all_series.series.iter().flat_map(|series| &series.points) {
        if !xs.iter().any(|(x, _)| *x == point.x) {
            xs.push((point.x, point.label.clone()));
        }
    }
    xs.sort_by(|left, right| left.0.total_cmp(&right.0));
    let head = [String::new()]
        .into_iter()
        .chain(xs.iter().map(|(_, label)| label.clone()));
    let mut rows: Vec<Vec<String>> = vec![head.collect()];
    for series in all_series.visible() {
        let value = |x: f64| {
            series
                .at(x)
                .map(|point| format!("{:.2}", all_series.value(&point.stats)))
        };
        let cells = xs.iter().map(|(x, _)| value(*x).unwrap_or_else(|| "-".into()));
        rows.push([title(series)].into_iter().chain(cells).collect());
    }
    columns(&rows)
}

fn title(series: &Series) -> String {
    let others = series
        .others
        .iter()
        .map(|other| format!(", {} {}", other.axis, other.text));
    [series.name.clone()].into_iter().chain(others).collect()
}
