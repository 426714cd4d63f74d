//! Which tables do results make? Runs with their scalars, summaries, histograms, time series, and what the checks found.

use super::lines::Lines;
use super::table::{Table, whole};
use super::{Results, Run};
use crate::metric;
use crate::run::{Bar, SeriesRow};

/// The version of the program, as rows record it.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// One row for each run that came to an end: where it is in the plan, what it depends on, and its scalars.
pub(super) fn runs(results: &Results<'_>) -> Table {
    let done: Vec<&Run<'_>> = results.runs.iter().filter(|run| run.outcome.is_ok()).collect();
    let mut table = places(results, done.iter().copied());
    table.words("setting", done.iter().map(|run| run.setting.clone()));
    table.words("version", done.iter().map(|_| VERSION.to_owned()));
    for name in metric::names(results.plan.points.iter().map(|point| &*point.setting)) {
        let value = |run: &&Run<'_>| run.record().and_then(|record| record.values.get(&name).copied());
        table.numbers(&name, done.iter().map(value));
    }
    table
}

/// The columns that say where in the plan rows are: line, path if alone, coordinates, seed.
fn places<'r>(results: &Results<'_>, runs: impl Iterator<Item = &'r Run<'r>> + Clone) -> Table {
    let mut table = Table::default();
    table.words("line", runs.clone().map(|run| run.point.line.clone()));
    table.words("alone", runs.clone().map(|run| run.point.alone.clone()));
    for (index, axis) in results.plan.axes.iter().enumerate() {
        let coordinates = runs.clone().map(|run| &run.point.coordinates[index]);
        if axis.values.iter().all(|value| value.number.is_some()) {
            table.numbers(&axis.name, coordinates.map(|coordinate| coordinate.number));
        } else {
            table.words(&axis.name, coordinates.map(|coordinate| coordinate.text.clone()));
        }
    }
    table.whole("seed", runs.map(|run| whole(run.point.seed)));
    table
}

/// One row for each place of each line of the figure's metrics: what its seeds say together.
pub(super) fn summary(results: &Results<'_>) -> Table {
    let metrics = results.plan.figure.y.all().iter();
    let all: Vec<Lines> = metrics.map(|metric| Lines::of(results, metric)).collect();
    let spots: Vec<_> = all
        .iter()
        .flat_map(|lines| lines.lines.iter().map(move |line| (lines, line)))
        .flat_map(|(lines, line)| line.spots.iter().map(move |spot| (lines, line, spot)))
        .collect();
    let mut table = Table::default();
    table.words("metric", spots.iter().map(|(lines, _, _)| lines.metric.clone()));
    table.words("line", spots.iter().map(|(_, line, _)| line.name.clone()));
    for axis in &results.plan.axes {
        let other = |line: &super::Line| {
            let mut others = line.others.iter();
            others
                .find(|other| other.axis == axis.name)
                .map(|other| other.text.clone())
        };
        let is_drawn_along = spots.iter().all(|(_, line, _)| other(line).is_none());
        if !is_drawn_along {
            table.words(&axis.name, spots.iter().map(|(_, line, _)| other(line)));
        }
    }
    table.numbers("x", spots.iter().map(|(_, _, spot)| spot.x));
    table.words("label", spots.iter().map(|(_, _, spot)| spot.label.clone()));
    table.whole(
        "count",
        spots.iter().map(|(_, _, spot)| spot.summary.count as i64),
    );
    table.numbers("mean", spots.iter().map(|(_, _, spot)| spot.summary.mean));
    table.numbers(
        "confidence",
        spots.iter().map(|(_, _, spot)| spot.summary.confidence),
    );
    table.numbers("median", spots.iter().map(|(_, _, spot)| spot.summary.median));
    table.numbers("min", spots.iter().map(|(_, _, spot)| spot.summary.min));
    table.numbers("max", spots.iter().map(|(_, _, spot)| spot.summary.max));
    table
}

/// One row for each class of each histogram.
pub(super) fn histograms(results: &Results<'_>) -> Table {
    let mut rows: Vec<(&Run<'_>, &str, Bar)> = Vec::new();
    for run in &results.runs {
        let histograms = run.record().into_iter().flat_map(|record| &record.histograms);
        for (name, bars) in histograms {
            rows.extend(bars.iter().map(|bar| (run, name.as_str(), *bar)));
        }
    }
    let mut table = places(results, rows.iter().map(|(run, _, _)| *run));
    table.words("histogram", rows.iter().map(|(_, name, _)| (*name).to_owned()));
    table.whole("low", rows.iter().map(|(_, _, bar)| whole(bar.low)));
    table.whole("high", rows.iter().map(|(_, _, bar)| whole(bar.high)));
    table.whole("count", rows.iter().map(|(_, _, bar)| whole(bar.count)));
    table
}

/// One row for each sample of each path.
pub(super) fn series(results: &Results<'_>) -> Table {
    let mut rows: Vec<(&Run<'_>, &SeriesRow)> = Vec::new();
    for run in &results.runs {
        let series = run.record().into_iter().flat_map(|record| &record.series);
        rows.extend(series.map(|row| (run, row)));
    }
    let mut table = places(results, rows.iter().map(|(run, _)| *run));
    let rows = || rows.iter().map(|(_, row)| row);
    table.numbers("time", rows().map(|row| row.time));
    table.words("path", rows().map(|row| row.path.clone()));
    table.whole("window", rows().map(|row| whole(row.window)));
    table.whole("threshold", rows().map(|row| row.threshold.map(whole)));
    table.whole("flight", rows().map(|row| whole(row.flight)));
    table.whole("queued", rows().map(|row| whole(row.queued)));
    table.numbers("blocked", rows().map(|row| row.blocked));
    table.numbers("srtt", rows().map(|row| row.srtt));
    table.numbers("rto", rows().map(|row| row.rto));
    table.whole("waiting", rows().map(|row| whole(row.waiting)));
    table.whole("send-buffer", rows().map(|row| whole(row.send_buffer)));
    table.whole("receive-buffer", rows().map(|row| whole(row.receive_buffer)));
    table.whole("delivered", rows().map(|row| whole(row.delivered)));
    table
}

/// One row for each check.
pub(super) fn findings(results: &Results<'_>) -> Table {
    let findings = || results.findings.iter();
    let mut table = Table::default();
    table.words("claim", findings().map(|finding| finding.claim.clone()));
    table.words("verdict", findings().map(|finding| finding.verdict.to_string()));
    table.whole("held", findings().map(|finding| finding.held as i64));
    table.whole("all", findings().map(|finding| finding.all as i64));
    table.words("found", findings().map(|finding| finding.found.clone()));
    table
}
