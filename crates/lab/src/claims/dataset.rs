//! Data set of all kept results: one row for each value of each run, for data frame libraries.

use super::{Claim, Entry};
use crate::results::Table;
use crate::summary::{Panel, PanelPoint, PanelSeries, ResultSummary, SeriesOrigin, Size};

/// A value of a run, or of several runs where only their statistics were kept.
struct Row<'e> {
    claim: &'e Claim,
    summary: &'e ResultSummary,
    panel: &'e Panel,
    series: &'e PanelSeries,
    point: &'e PanelPoint,
    seed: Option<u64>,
    value: f64,
}

/// The table of all measured claims: plan, coordinates, seed and value, with the verdict on the claim and the version with its commit.
///
/// `seed` is missing where only statistics were kept, and for formulas and papers; `value` is then the mean or the median, between
/// `low` and `high`.
#[must_use]
pub fn dataset(entries: &[Entry]) -> Table {
    let rows: Vec<Row<'_>> = entries.iter().flat_map(rows_of).collect();
    let rows = || rows.iter();
    let mut table = Table::default();
    table.words("plan", rows().map(|row| row.summary.plan.clone()));
    table.words("source", rows().map(|row| row.claim.plan.source.clone()));
    table.words("verdict", rows().map(|row| row.claim.verdict().to_string()));
    table.words("size", rows().map(|row| size(row.summary).to_owned()));
    table.whole(
        "plan-changed",
        rows().map(|row| i64::from(row.summary.is_outdated)),
    );
    let changed = |row: &Row<'_>| row.summary.changed_defaults.join(", ");
    table.words(
        "defaults-changed",
        rows().map(|row| Some(changed(row)).filter(|keys| !keys.is_empty())),
    );
    table.words("version", rows().map(|row| row.summary.version.clone()));
    table.words(
        "commit",
        rows().map(|row| commit(&row.summary.version).map(str::to_owned)),
    );
    table.words("metric", rows().map(|row| row.panel.metric.clone()));
    table.words("series", rows().map(|row| row.series.name.clone()));
    table.words("origin", rows().map(|row| origin(row.series.origin).to_owned()));
    table.words("x-label", rows().map(|row| row.summary.x.label.clone()));
    table.numbers("x", rows().map(|row| row.point.x));
    let word = |row: &Row<'_>| row.summary.x.words.get(row.point.x as usize).cloned();
    table.words("x-word", rows().map(word));
    let others = |row: &Row<'_>| row.series.coordinates.join(", ");
    table.words(
        "coordinates",
        rows().map(|row| Some(others(row)).filter(|text| !text.is_empty())),
    );
    table.whole(
        "seed",
        rows().map(|row| row.seed.and_then(|seed| i64::try_from(seed).ok())),
    );
    table.numbers("value", rows().map(|row| row.value));
    let range = |row: &Row<'_>, end: f64| row.seed.is_none().then_some(end);
    table.numbers("low", rows().map(|row| range(row, row.point.low)));
    table.numbers("high", rows().map(|row| range(row, row.point.high)));
    table.whole("runs", rows().map(|row| row.point.count as i64));
    table
}

fn rows_of(entry: &Entry) -> Vec<Row<'_>> {
    let Entry::Measured(claim) = entry else {
        return Vec::new();
    };
    let Some(summary) = &claim.summary else {
        return Vec::new();
    };
    let mut rows = Vec::new();
    for panel in summary.panels.iter().chain(&summary.checked) {
        for series in &panel.series {
            for point in &series.points {
                rows.extend(
                    values(summary, series, point)
                        .into_iter()
                        .map(|(seed, value)| Row {
                            claim,
                            summary,
                            panel,
                            series,
                            point,
                            seed,
                            value,
                        }),
                );
            }
        }
    }
    rows
}

/// The values of a point with their seeds. Where some seeds have none, which ones these are was not kept.
fn values(summary: &ResultSummary, series: &PanelSeries, point: &PanelPoint) -> Vec<(Option<u64>, f64)> {
    let is_known = !point.values.is_empty() && point.values.len() == point.count;
    let is_complete = || summary.repetitions_of(series, point) == (point.count, point.count);
    match (point.count, is_known && is_complete()) {
        (1, _) if summary.seeds.len() == 1 => vec![(summary.seeds.first().copied(), point.value)],
        (_, true) => {
            let seeds = summary.seeds.iter().map(|seed| Some(*seed));
            seeds.zip(point.values.iter().copied()).collect()
        }
        _ => vec![(None, point.value)],
    }
}

const fn size(summary: &ResultSummary) -> &'static str {
    match summary.size {
        Size::Full => "full",
        Size::Quick => "quick",
    }
}

const fn origin(origin: SeriesOrigin) -> &'static str {
    match origin {
        SeriesOrigin::Variant => "variant",
        SeriesOrigin::SinglePath => "single-path",
        SeriesOrigin::Formula => "formula",
        SeriesOrigin::Paper => "paper",
    }
}

/// The commit in a version such as `0.1.0 (9980fae06ca7)`.
fn commit(version: &str) -> Option<&str> {
    let (_, commit) = version.split_once('(')?;
    commit.strip_suffix(')')
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{commit, dataset};
    use crate::claims::{Claim, Entry};
    use crate::plan::{Plan, PlanOptions};
    use crate::results::{CellRepetitions, Table, Values};
    use crate::summary::ResultSummary;
    use crate::summary::tests::{PLAN, summary};

    fn table(summary: ResultSummary) -> Table {
        let plan = Plan::read(Path::new("two.toml"), PLAN, &PlanOptions::default()).unwrap();
        dataset(&[Entry::Measured(Box::new(Claim::new(
            plan.clone(),
            &plan,
            Some(summary),
        )))])
    }

    fn column<'t>(table: &'t Table, name: &str) -> &'t Values {
        let mut columns = table.columns.iter();
        &columns.find(|column| column.name == name).unwrap().values
    }

    #[test]
    fn each_value_of_each_run_is_a_row_with_its_seed() {
        let table = table(ResultSummary {
            version: "0.1.0 (abcdef)".into(),
            ..summary()
        });
        // Two series at four places with three seeds, and a formula at four places.
        assert_eq!(table.rows(), 2 * 4 * 3 + 4);
        let (Values::Whole(seeds), Values::Numbers(values)) =
            (column(&table, "seed"), column(&table, "value"))
        else {
            panic!("{table:?}");
        };
        assert_eq!(
            (&seeds[..3], &values[..3]),
            (
                &[Some(1), Some(2), Some(3)][..],
                &[Some(11.0), Some(12.0), Some(13.0)][..]
            )
        );
        assert!(
            seeds.iter().filter(|seed| seed.is_none()).count() == 4,
            "the formula has no seeds"
        );
        let Values::Words(verdicts) = column(&table, "verdict") else {
            panic!("{table:?}")
        };
        assert!(
            verdicts
                .iter()
                .all(|verdict| verdict.as_deref() == Some("reproduced"))
        );
        let Values::Words(commits) = column(&table, "commit") else {
            panic!("{table:?}")
        };
        assert_eq!(commits[0].as_deref(), Some("abcdef"));
        assert_eq!(commit("0.1.0"), None);
    }

    #[test]
    fn values_of_some_repetitions_of_a_cell_have_no_seed() {
        let cell = |b: u32, delay: u32, count| CellRepetitions {
            cell: vec![format!("b {b} Mbit"), format!("delay {delay} ms")],
            count,
            ended: None,
            half_width: None,
            widest: String::new(),
        };
        let mut summary = summary();
        summary.seeds = vec![1, 2, 3, 4, 5];
        summary.repetitions = vec![cell(10, 5, 3), cell(10, 50, 5), cell(20, 5, 3), cell(20, 50, 3)];
        let table = table(summary);
        // Of the cell with five repetitions, three have a value, and it is not known which ones: one row for each of the two series.
        assert_eq!(table.rows(), 2 * (3 * 3 + 1) + 4);
        let Values::Whole(seeds) = column(&table, "seed") else {
            panic!("{table:?}");
        };
        assert_eq!(seeds.iter().filter(|seed| seed.is_none()).count(), 2 + 4);
    }

    #[test]
    fn statistics_without_values_have_no_seed() {
        let mut old = summary();
        for point in old
            .panels
            .iter_mut()
            .flat_map(|panel| &mut panel.series)
            .flat_map(|series| &mut series.points)
        {
            point.values.clear();
        }
        let table = table(old);
        assert_eq!(table.rows(), 2 * 4 + 4);
        let (Values::Numbers(low), Values::Whole(runs)) = (column(&table, "low"), column(&table, "runs"))
        else {
            panic!("{table:?}");
        };
        assert_eq!((low[0], runs[0]), (Some(11.0), Some(3)));
    }
}
