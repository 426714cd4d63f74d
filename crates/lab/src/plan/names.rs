//! Which names may a plan give? Series and axes become rows and columns of tables, in which each has to be told from all others.

use super::error::Problem;
use super::head::Head;
use super::points::Point;
use crate::metric;

/// Columns of runs and of their summary, beside metrics.
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
/// Columns of what is not always recorded.
const OF_SERIES: [&str; 3] = ["time", "path", "delivered"];
const OF_HISTOGRAMS: [&str; 4] = ["histogram", "low", "high", "count"];

impl Head<'_> {
    /// No two lines have one name, and no axis has that of another column.
    pub(super) fn check_names(&self, points: &[Point], metrics: &[String]) -> Result<(), Problem> {
        self.check_line_names()?;
        let mut columns: Vec<&str> = COLUMNS.to_vec();
        columns.extend(metrics.iter().map(String::as_str));
        let mut records = points.iter().map(|point| &point.setting.record);
        if records.clone().any(|record| record.time_series.is_some()) {
            columns.extend(OF_SERIES);
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
            "results have a column `{name}` already; expected another name for the sweep, such as `{name}-set`"
        );
        Err(Problem::new(axis.place(), text))
    }

    fn check_line_names(&self) -> Result<(), Problem> {
        let variants = self
            .variants
            .iter()
            .map(|variant| (&variant.name, &variant.place));
        let references = self.references.iter();
        let references = references.map(|(reference, _, place)| (&reference.name, place));
        let mut known: Vec<&String> = Vec::new();
        for (name, place) in variants.chain(references) {
            if known.contains(&name) {
                let text = format!("there are two series `{name}`, expected another name for this one");
                return Err(Problem::new(place.clone(), text));
            }
            known.push(name);
        }
        Ok(())
    }
}
