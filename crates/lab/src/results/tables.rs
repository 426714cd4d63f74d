//! Result tables: runs, summary, histograms, time series and findings.

use std::collections::BTreeSet;

use super::series::SeriesSet;
use super::table::{Table, whole};
use super::{Results, Run};
use crate::metric::{self, TIME_SERIES};
use crate::plan::{Cell, Drawn, Plan, Selection};
use crate::run::{Bucket, TimeSeriesRow};

/// One row for each completed run: its point, its setting, and its metrics.
#[must_use]
pub fn runs(results: &Results<'_>) -> Table {
    let done: Vec<&Run<'_>> = results.runs.iter().filter(|run| run.outcome.is_ok()).collect();
    let mut table = places(results, done.iter().copied());
    table.words("setting", done.iter().map(|run| run.setting.clone()));
    table.words("version", done.iter().map(|_| results.version.clone()));
    let environment = |run: &&Run<'_>| {
        let facts = run.record().into_iter().flat_map(|record| &record.environment);
        let facts: Vec<String> = facts.map(|(name, value)| format!("{name} {value}")).collect();
        (!facts.is_empty()).then(|| facts.join(", "))
    };
    if done.iter().any(|run| environment(run).is_some()) {
        table.words("environment", done.iter().map(environment));
    }
    let settings = || results.plan.points.iter().map(|point| &*point.setting);
    let is_written = |name: &str| is_chosen(settings().map(|setting| setting.record.metrics.as_ref()), name);
    for name in metric::names(settings())
        .into_iter()
        .filter(|name| is_written(name))
    {
        let value = |run: &&Run<'_>| run.record().and_then(|record| record.values.get(&name).copied());
        table.numbers(&name, done.iter().map(value));
    }
    table
}

/// Whether a selection contains the name; no selection contains all.
fn is_chosen<'s>(selections: impl Iterator<Item = Option<&'s Selection>>, name: &str) -> bool {
    let mut selections = selections;
    selections.any(|selection| selection.is_none_or(|selection| selection.has(name)))
}

/// The columns that identify runs: series, single path, coordinates, seed.
fn places<'r>(results: &Results<'_>, runs: impl Iterator<Item = &'r Run<'r>> + Clone) -> Table {
    let mut table = Table::default();
    table.words("series", runs.clone().map(|run| run.point.series.clone()));
    table.words(
        "single-path",
        runs.clone().map(|run| run.point.single_path.clone()),
    );
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

/// One row for each point of each series of the figure's metrics: statistics over the seeds.
#[must_use]
pub fn summary(results: &Results<'_>) -> Table {
    let metrics = results.plan.figure.y.all().iter();
    let all: Vec<SeriesSet> = metrics.map(|metric| SeriesSet::of(results, metric)).collect();
    let points: Vec<_> = all
        .iter()
        .flat_map(|all_series| all_series.series.iter().map(move |series| (all_series, series)))
        .flat_map(|(all_series, series)| series.points.iter().map(move |point| (all_series, series, point)))
        .collect();
    let mut table = Table::default();
    table.words(
        "metric",
        points.iter().map(|(all_series, _, _)| all_series.metric.clone()),
    );
    table.words("series", points.iter().map(|(_, series, _)| series.name.clone()));
    for axis in &results.plan.axes {
        let other = |series: &super::Series| {
            let mut others = series.others.iter();
            others
                .find(|other| other.axis == axis.name)
                .map(|other| other.text.clone())
        };
        let is_drawn_along = points.iter().all(|(_, series, _)| other(series).is_none());
        if !is_drawn_along {
            table.words(&axis.name, points.iter().map(|(_, series, _)| other(series)));
        }
    }
    table.numbers("x", points.iter().map(|(_, _, point)| point.x));
    table.words("label", points.iter().map(|(_, _, point)| point.label.clone()));
    table.whole(
        "count",
        points.iter().map(|(_, _, point)| point.stats.count as i64),
    );
    table.numbers("mean", points.iter().map(|(_, _, point)| point.stats.mean));
    table.numbers(
        "confidence",
        points.iter().map(|(_, _, point)| point.stats.confidence),
    );
    table.numbers("median", points.iter().map(|(_, _, point)| point.stats.median));
    table.numbers("min", points.iter().map(|(_, _, point)| point.stats.min));
    table.numbers("max", points.iter().map(|(_, _, point)| point.stats.max));
    table
}

/// One row for each bucket of each histogram.
#[must_use]
pub fn histograms(results: &Results<'_>) -> Table {
    let mut rows: Vec<(&Run<'_>, &str, Bucket)> = Vec::new();
    for run in &results.runs {
        let histograms = run.record().into_iter().flat_map(|record| &record.histograms);
        for (name, buckets) in histograms {
            rows.extend(buckets.iter().map(|bucket| (run, name.as_str(), *bucket)));
        }
    }
    let mut table = places(results, rows.iter().map(|(run, _, _)| *run));
    table.words("histogram", rows.iter().map(|(_, name, _)| (*name).to_owned()));
    table.whole("low", rows.iter().map(|(_, _, bucket)| whole(bucket.low)));
    table.whole("high", rows.iter().map(|(_, _, bucket)| whole(bucket.high)));
    table.whole("count", rows.iter().map(|(_, _, bucket)| whole(bucket.count)));
    table
}

/// Name in plans for a column of the time series: the goodput is the increase of `delivered`.
fn time_series_column(column: &str) -> &str {
    match column {
        "delivered" => "goodput",
        name => name,
    }
}

/// One row for each path and sampling time.
#[must_use]
pub fn time_series(results: &Results<'_>) -> Table {
    let mut rows: Vec<(&Run<'_>, &TimeSeriesRow)> = Vec::new();
    for run in &results.runs {
        let series = run.record().into_iter().flat_map(|record| &record.time_series);
        rows.extend(series.map(|row| (run, row)));
    }
    let mut table = places(results, rows.iter().map(|(run, _)| *run));
    let rows = || rows.iter().map(|(_, row)| row);
    table.numbers("time", rows().map(|row| row.time));
    table.words("path", rows().map(|row| row.path.clone()));
    table.whole("cwnd", rows().map(|row| whole(row.cwnd)));
    table.whole("ssthresh", rows().map(|row| row.ssthresh.map(whole)));
    table.whole("flight", rows().map(|row| whole(row.flight)));
    table.whole("queued", rows().map(|row| whole(row.queued)));
    table.numbers("blocked", rows().map(|row| row.blocked));
    table.numbers("srtt", rows().map(|row| row.srtt));
    table.numbers("rto", rows().map(|row| row.rto));
    table.whole("link-queue", rows().map(|row| whole(row.link_queue)));
    table.whole("send-buffer", rows().map(|row| whole(row.send_buffer)));
    table.whole("receive-buffer", rows().map(|row| whole(row.receive_buffer)));
    table.whole("delivered", rows().map(|row| whole(row.delivered)));
    let settings = || results.plan.points.iter().map(|point| &*point.setting);
    table.retain(|column| {
        let is_optional = TIME_SERIES
            .iter()
            .any(|metric| metric.name == time_series_column(column));
        let selections = settings().map(|setting| setting.record.columns.as_ref());
        !is_optional || is_chosen(selections, time_series_column(column))
    });
    table
}

/// One row for each drawn cell: its number, the number of its paths, and what was drawn.
#[must_use]
pub fn cells(plan: &Plan) -> Table {
    let cells = || plan.cells.iter();
    let mut table = Table::default();
    table.whole("cell", cells().map(|cell| whole(cell.number)));
    table.whole("paths", cells().map(|cell| cell.paths.len() as i64));
    let all = || cells().flat_map(|cell| &cell.drawn);
    let mut draws: Vec<&str> = Vec::new();
    for drawn in all() {
        if !draws.contains(&drawn.name.as_str()) {
            draws.push(&drawn.name);
        }
    }
    let order = |drawn: &Drawn| draws.iter().position(|name| *name == drawn.name);
    let columns: BTreeSet<_> = all().map(|drawn| (order(drawn), drawn.full_name())).collect();
    for (_, column) in columns {
        let value = |cell: &Cell| {
            let found = cell.drawn.iter().find(|drawn| drawn.full_name() == column);
            found.and_then(|drawn| drawn.value.clone())
        };
        table.words(&column, cells().map(value));
    }
    table
}

/// One row for each cell, if the plan has a stop rule: its repetitions, and why they ended.
#[must_use]
pub fn repetitions(results: &Results<'_>) -> Table {
    let cells = super::repetitions(results);
    let mut table = Table::default();
    table.words("cell", cells.iter().map(|cell| cell.cell.join(", ")));
    table.whole("repetitions", cells.iter().map(|cell| whole(cell.count)));
    table.words(
        "ended",
        cells.iter().map(|cell| cell.ended.map(|why| why.to_string())),
    );
    table.numbers("half-width", cells.iter().map(|cell| cell.half_width));
    table.words("widest", cells.iter().map(|cell| cell.widest.clone()));
    table
}

/// One row for each check.
#[must_use]
pub fn findings(results: &Results<'_>) -> Table {
    let findings = || results.findings.iter();
    let mut table = Table::default();
    table.words("claim", findings().map(|finding| finding.claim.clone()));
    table.words("verdict", findings().map(|finding| finding.verdict.to_string()));
    table.whole("passed", findings().map(|finding| finding.passed as i64));
    table.whole("undecided", findings().map(|finding| finding.undecided as i64));
    table.whole("total", findings().map(|finding| finding.total as i64));
    table.words("threshold", findings().map(|finding| finding.threshold.clone()));
    table.words("found", findings().map(|finding| finding.found.clone()));
    table
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::{runs, time_series};
    use crate::plan::{Plan, PlanError, PlanOptions};
    use crate::results::{Results, Table};
    use crate::summary::tests::{PLAN, record};

    fn plan(chosen: &str) -> Result<Plan, PlanError> {
        let text = PLAN.replacen("histograms = true", &format!("histograms = true\n{chosen}"), 1);
        Plan::read(Path::new("two.toml"), &text, &PlanOptions::default())
    }

    fn columns(plan: &Plan, table: fn(&Results<'_>) -> Table) -> Vec<String> {
        let outcomes = plan.points.iter().map(|point| Ok(Arc::new(record(point.seed))));
        let table = table(&Results::of(plan, outcomes.collect()));
        table.columns.into_iter().map(|column| column.name).collect()
    }

    #[test]
    fn selected_columns_are_written_with_the_same_digest() {
        let all = plan("").unwrap();
        let chosen = plan("metrics = [\"goodput\", \"path.*.timeouts\"]\ncolumns = [\"cwnd\"]").unwrap();
        let metrics: Vec<String> = columns(&chosen, runs);
        assert!(metrics.contains(&"path.a.timeouts".to_owned()), "{metrics:?}");
        assert!(!metrics.contains(&"timeouts".to_owned()) && columns(&all, runs).len() > 2 * metrics.len());
        assert!(
            metrics.contains(&"seed".to_owned()),
            "columns that identify runs are always written"
        );
        let kept: Vec<String> = columns(&chosen, time_series);
        assert!(
            kept.ends_with(&["time".into(), "path".into(), "cwnd".into()]),
            "{kept:?}"
        );
        assert_eq!(all.points[0].setting_text(), chosen.points[0].setting_text());
        assert_eq!(all.digest, plan("metrics = [\"goodput\"]").unwrap().digest);
    }

    #[test]
    fn unknown_metric_or_column_is_refused() {
        let refused = plan("metrics = [\"goodputt\"]").unwrap_err().to_string();
        assert!(refused.contains("did you mean `goodput`?"), "{refused}");
        let refused = plan("columns = [\"cwnds\"]").unwrap_err().to_string();
        assert!(refused.contains("did you mean `cwnd`?"), "{refused}");
    }
}
