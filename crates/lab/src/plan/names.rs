//! Names that a plan may choose. Series and axes become rows and columns of the result tables, so their names must be unique.

use super::error::Problem;
use super::head::Head;
use super::points::Point;
use crate::metric;

/// Columns of `runs.csv` and `summary.csv`, beside the metrics.
const COLUMNS: [&str; 15] = [
    "series",
    "single-path",
    "seed",
    "setting",
    "version",
    "environment",
    "metric",
    "x",
    "label",
    "count",
    "mean",
    "confidence",
    "median",
    "min",
    "max",
];
/// Columns of tables that are written on request only.
const OF_TIME_SERIES: [&str; 3] = ["time", "path", "delivered"];
const OF_HISTOGRAMS: [&str; 4] = ["histogram", "low", "high", "count"];

impl Head<'_> {
    /// Refuses series with equal names, and axes named like another column.
    pub(super) fn check_names(&self, points: &[Point], metrics: &[String]) -> Result<(), Problem> {
        self.check_series_names()?;
        let mut columns: Vec<&str> = COLUMNS.to_vec();
        columns.extend(metrics.iter().map(String::as_str));
        let mut records = points.iter().map(|point| &point.setting.record);
        if records.clone().any(|record| record.time_series.is_some()) {
            columns.extend(OF_TIME_SERIES);
            columns.extend(metric::TIME_SERIES.iter().map(|metric| metric.name));
        }
        if records.any(|record| record.histograms) {
            columns.extend(OF_HISTOGRAMS);
        }
        let is_taken = |name: &str| columns.contains(&name);
        let Some(axis) = self.axes.iter().find(|axis| is_taken(&axis.name)) else {
            return Ok(());
        };
        let name = &axis.name;
        let text = format!(
            "the result tables have a column `{name}`; rename the sweep, for example to `{name}-set`"
        );
        Err(Problem::new(axis.place(), text))
    }

    fn check_series_names(&self) -> Result<(), Problem> {
        let variants = self
            .variants
            .iter()
            .map(|variant| (&variant.name, &variant.place));
        let references = self.references.iter();
        let references = references.map(|(reference, _, place)| (&reference.name, place));
        let mut known: Vec<&String> = Vec::new();
        for (name, place) in variants.chain(references) {
            if known.contains(&name) {
                let text = format!("there are two series `{name}`; rename this one");
                return Err(Problem::new(place.clone(), text));
            }
            known.push(name);
        }
        Ok(())
    }
}
