//! Result summary of an experiment: claim, findings, figure and settings. Reports are made from it, and it is kept beside the
//! plans.

mod file;
mod judge;
mod panels;
mod plots;
mod settings;
mod testbed;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use file::SummaryError;
pub use settings::{Changed, Settings, Swept};
pub use testbed::{ComparedPoint, TestbedComparison};

use crate::check::{Finding, Verdict};
use crate::plan::{FigureScale, Plan, Statistic};
use crate::results::{CellRepetitions, Results, repetitions};

/// Result summary of an experiment.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ResultSummary {
    /// Name of the plan.
    pub plan: String,
    /// File of the plan, if it is not `experiments/NAME.toml`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// Title in one line.
    pub title: String,
    /// Source of the claim.
    pub source: String,
    /// The claim in words.
    pub claim: String,
    /// Full or quick size.
    pub size: Size,
    /// Overrides `key=value` of the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<String>,
    /// Digest of the plan, without titles and claims.
    pub digest: String,
    /// Whether the plan has changed since, as found by [`ResultSummary::compared_with_plan`].
    #[serde(skip)]
    pub is_outdated: bool,
    /// Keys whose defaults or profile values have changed since, as found by [`ResultSummary::compared_with_plan`].
    #[serde(skip)]
    pub changed_defaults: Vec<String>,
    /// Version of the program, with the commit if known.
    pub version: String,
    /// The seeds; each point was run with every seed, or with the first of them if the plan has a stop rule.
    pub seeds: Vec<u64>,
    /// The repetitions of each cell, if the plan has a stop rule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repetitions: Vec<CellRepetitions>,
    /// Number of runs.
    pub runs: usize,
    /// Number of failed runs.
    pub failed: usize,
    /// Overall verdict of the checks; missing without checks.
    pub verdict: Option<Verdict>,
    /// Known cause of a difference from the claim.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cause: String,
    /// Results of the checks.
    pub findings: Vec<Finding>,
    /// Statistic over the seeds.
    pub statistic: Statistic,
    /// The x axis of the figure.
    pub x: XAxis,
    /// The figure: a panel for each metric.
    pub panels: Vec<Panel>,
    /// Quantities that only checks examine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checked: Vec<Panel>,
    /// Settings of the runs.
    pub settings: Settings,
    /// The drawn cells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<DrawnCell>,
    /// Plots beside the figure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plots: Vec<Plot>,
    /// Comparisons of the simulator with a test bed in the same setting.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub testbed_comparisons: Vec<TestbedComparison>,
    /// Environment of runs on a test bed, by name: kernel, versions of stacks.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
}

/// A drawn cell.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct DrawnCell {
    /// Its number.
    pub number: u64,
    /// What was drawn for the whole cell and for each path, in words.
    pub drawn: Vec<(String, String)>,
}

/// Size of an experiment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Size {
    /// As in the paper, or as given in the plan.
    Full,
    /// Shorter runs, fewer points and seeds.
    Quick,
}

/// The x axis of a figure.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct XAxis {
    /// Label; empty without a sweep.
    pub label: String,
    /// Words at the positions 0, 1, …; empty if positions are numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
    /// Scale.
    pub scale: FigureScale,
}

/// A panel of the figure: the series of one metric.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Panel {
    /// The metric.
    pub metric: String,
    /// Label of the y axis.
    pub label: String,
    /// Scale of the y axis.
    pub scale: FigureScale,
    /// The series: variants, then references.
    pub series: Vec<PanelSeries>,
}

/// A series of a panel.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PanelSeries {
    /// The variant or reference.
    pub name: String,
    /// Origin of its values.
    pub origin: SeriesOrigin,
    /// Values on the other axes, such as `delay 10 ms`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub coordinates: Vec<String>,
    /// Its points, by x.
    pub points: Vec<PanelPoint>,
}

/// Origin of the values of a series.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SeriesOrigin {
    /// Runs of a variant.
    Variant,
    /// Runs over a single path.
    SinglePath,
    /// A formula.
    Formula,
    /// A paper.
    Paper,
}

/// A point with its range: mean and 95 % confidence interval, or median, minimum and maximum.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PanelPoint {
    /// Position on the x axis.
    pub x: f64,
    /// The mean or the median.
    pub value: f64,
    /// The lower end of the range.
    pub low: f64,
    /// The upper end of the range.
    pub high: f64,
    /// Number of runs; 0 if not from runs.
    pub count: usize,
    /// The values of the seeds that have one, in their order, from which checks are judged; empty for a single run, and in results
    /// of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<f64>,
}

/// A plot beside the figure.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Plot {
    /// Title.
    pub title: String,
    /// Labels of the x and y axes.
    pub labels: (String, String),
    /// Its series.
    pub series: Vec<PlotSeries>,
}

/// A series of a plot.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PlotSeries {
    /// Its name.
    pub name: String,
    /// Its points (x, y).
    pub points: Vec<(f64, f64)>,
}

impl ResultSummary {
    /// Summary of the results of a plan.
    #[must_use]
    pub fn of(results: &Results<'_>) -> Self {
        let plan = results.plan;
        let mut seeds: Vec<u64> = plan.points.iter().map(|point| point.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        let (x, panels) = panels::of(results);
        Self {
            plan: plan.name.clone(),
            file: Some(plan.file.clone()).filter(|file| *file != default_file(&plan.name)),
            title: plan.title.clone(),
            source: plan.source.clone(),
            claim: plan.claim.trim().to_owned(),
            size: if plan.is_quick { Size::Quick } else { Size::Full },
            changes: plan.changes.clone(),
            digest: plan.digest.clone(),
            is_outdated: false,
            changed_defaults: Vec::new(),
            version: results.version.clone(),
            seeds,
            repetitions: repetitions(results),
            runs: results.runs.len(),
            failed: results.failures().count(),
            verdict: results.verdict,
            cause: plan.cause.trim().to_owned(),
            findings: results.findings.clone(),
            statistic: plan.figure.statistic,
            x,
            panels,
            checked: panels::only_checked(results),
            settings: Settings::of(plan),
            cells: plan
                .cells
                .iter()
                .map(|cell| DrawnCell {
                    number: cell.number,
                    drawn: cell.in_words(),
                })
                .collect(),
            plots: plots::of(results),
            testbed_comparisons: testbed::of(results),
            environment: testbed::environment(results),
        }
    }

    /// Compares the summary with the current plan, given in both sizes: sets `is_outdated` and `changed_defaults`, and judges the
    /// results by the checks of the plan. Results with other points, x axis or series and those with failed runs keep their findings. Summaries
    /// with overrides are not compared.
    #[must_use]
    pub fn compared_with_plan(self, full: &Plan, quick: &Plan) -> Self {
        if !self.changes.is_empty() {
            return self;
        }
        let plan = match self.size {
            Size::Full => full,
            Size::Quick => quick,
        };
        let compared = Self {
            is_outdated: self.digest != plan.digest,
            changed_defaults: self.settings.changed_defaults(&Settings::of(plan)),
            ..self
        };
        // Results of an earlier version of the plan are judged if they have the same points and series; otherwise the checks are not
        // about them. Which runs failed is not kept.
        let is_about_others = compared.is_outdated && !compared.has_places_of(plan);
        if is_about_others || compared.failed > 0 {
            compared
        } else {
            compared.judged_by(plan)
        }
    }

    /// The summary without plots, which are large and not part of the claim.
    #[must_use]
    pub fn in_short(&self) -> Self {
        Self {
            file: None,
            plots: Vec::new(),
            ..self.clone()
        }
    }

    /// The number of repetitions of a point, such as `5 repetitions` or `5 to 40 repetitions`.
    #[must_use]
    pub fn repetitions_in_words(&self) -> String {
        let counts = || self.repetitions.iter().map(|cell| cell.count);
        match (counts().min(), counts().max(), self.seeds.len()) {
            (Some(least), Some(most), _) if least < most => format!("{least} to {most} repetitions"),
            (_, _, 1) => "one repetition".to_owned(),
            (_, _, count) => format!("{count} repetitions"),
        }
    }

    /// The number of repetitions at a place, by its values on the axes in words.
    fn repetitions_at(&self, cell: &[String]) -> usize {
        let found = self.repetitions.iter().find(|known| known.cell == cell);
        found.map_or(self.seeds.len(), |known| known.count as usize)
    }

    /// File of its plan.
    #[must_use]
    pub fn plan_file(&self) -> PathBuf {
        self.file.clone().unwrap_or_else(|| default_file(&self.plan))
    }
}

/// Default file of the plan of this name.
fn default_file(plan: &str) -> PathBuf {
    Path::new("experiments").join(format!("{plan}.toml"))
}

/// A number rounded to six significant digits.
fn rounded(number: f64) -> f64 {
    format!("{number:.5e}").parse().unwrap_or(number)
}

#[cfg(test)]
pub(crate) mod tests;
