//! What is kept of an experiment? What was claimed and what came out, in a form that is small enough to be read, compared
//! and kept beside the plans, and that a report is made of.

mod file;
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
use crate::results::Results;

/// An experiment and what came out of it.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ResultSummary {
    /// The name of the plan.
    pub plan: String,
    /// The plan's file, if it is not where the project keeps the one of this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// What the experiment is, in one line.
    pub title: String,
    /// Where the claim was made.
    pub source: String,
    /// The claim, in words.
    pub claim: String,
    /// Whether it is the size that the plan gives it, or the quick one.
    pub size: Size,
    /// Changes `key=value` to what the plan says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<String>,
    /// The digest of the plan, words for people aside.
    pub digest: String,
    /// Whether the plan was changed after that, as far as [`ResultSummary::compared_with_plan`] was asked.
    #[serde(skip)]
    pub is_outdated: bool,
    /// The keys that this program sets otherwise, by defaults and profiles of its own, as far as [`ResultSummary::compared_with_plan`] was
    /// asked.
    #[serde(skip)]
    pub changed_defaults: Vec<String>,
    /// The version of the program, with the commit that it was built from if that is known.
    pub version: String,
    /// The seeds, each of which ran everything.
    pub seeds: Vec<u64>,
    /// How many runs there were.
    pub runs: usize,
    /// How many of them failed.
    pub failed: usize,
    /// What the checks say together; missing if there are none.
    pub verdict: Option<Verdict>,
    /// Why that differs from the claim, as far as it is known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cause: String,
    /// What each check found.
    pub findings: Vec<Finding>,
    /// What several seeds are told by.
    pub statistic: Statistic,
    /// The x axis of the figure.
    pub x: XAxis,
    /// The figure: a panel for each metric.
    pub panels: Vec<Panel>,
    /// What the runs were set to.
    pub settings: Settings,
    /// Pictures beside the figure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plots: Vec<Plot>,
    /// SeriesSet of real hosts beside the simulated ones with the same setting.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub testbed_comparisons: Vec<TestbedComparison>,
    /// By name, what runs on real hosts were made with: kernels, versions of stacks.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
}

/// The size of an experiment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Size {
    /// As the paper did it, or as the plan says.
    Full,
    /// Shorter, with fewer points and seeds.
    Quick,
}

/// The x axis of a figure.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct XAxis {
    /// What is written beside it; empty if nothing is swept.
    pub label: String,
    /// The words that stand for the places 0, 1, …; empty if the places are numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
    /// Where numbers are.
    pub scale: FigureScale,
}

/// The lines of one metric.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Panel {
    /// The metric.
    pub metric: String,
    /// What is written beside the y axis.
    pub label: String,
    /// Where numbers are on it.
    pub scale: FigureScale,
    /// The lines: variants, then references.
    pub series: Vec<PanelSeries>,
}

/// A line.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PanelSeries {
    /// The variant or reference.
    pub name: String,
    /// Where its values come from.
    pub origin: SeriesOrigin,
    /// Where it is on the axes that are not drawn along, in words such as `delay 10 ms`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub coordinates: Vec<String>,
    /// Its values, by x.
    pub points: Vec<PanelPoint>,
}

/// Where the values of a line come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SeriesOrigin {
    /// Runs of a variant.
    Variant,
    /// Runs over single paths.
    SinglePath,
    /// A formula.
    Formula,
    /// A paper.
    Paper,
}

/// A value with its range: mean and 95 % confidence interval, or median, least and greatest.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PanelPoint {
    /// Where on the x axis.
    pub x: f64,
    /// The mean or the median.
    pub value: f64,
    /// The lower end of the range.
    pub low: f64,
    /// The upper end of the range.
    pub high: f64,
    /// How many runs it is made of; 0 if of none.
    pub count: usize,
}

/// A plot beside the figure.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Plot {
    /// What it shows, in a line.
    pub title: String,
    /// What is written beside its axes.
    pub labels: (String, String),
    /// Its lines.
    pub series: Vec<PlotSeries>,
}

/// A line of a plot.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PlotSeries {
    /// Its name.
    pub name: String,
    /// Where it goes.
    pub points: Vec<(f64, f64)>,
}

impl ResultSummary {
    /// What came out of a plan.
    #[must_use]
    pub fn of(results: &Results<'_>) -> Self {
        let plan = results.plan;
        let mut seeds: Vec<u64> = plan.points.iter().map(|point| point.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        let (x, panels) = panels::of(results);
        Self {
            plan: plan.name.clone(),
            file: Some(plan.file.clone()).filter(|file| *file != usual_file(&plan.name)),
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
            runs: results.runs.len(),
            failed: results.failures().count(),
            verdict: results.verdict,
            cause: plan.cause.trim().to_owned(),
            findings: results.findings.clone(),
            statistic: plan.figure.statistic,
            x,
            panels,
            settings: Settings::of(plan),
            plots: plots::of(results),
            testbed_comparisons: testbed::of(results),
            environment: testbed::environment(results),
        }
    }

    /// The summary, knowing whether it is of the plan as it is now, which is given in both its sizes, and whether that means to this
    /// program what it meant to the one that ran it. One of a changed plan stays as it is: it never was of the plan alone.
    #[must_use]
    pub fn compared_with_plan(self, full: &Plan, quick: &Plan) -> Self {
        if !self.changes.is_empty() {
            return self;
        }
        let plan = match self.size {
            Size::Full => full,
            Size::Quick => quick,
        };
        Self {
            is_outdated: self.digest != plan.digest,
            changed_defaults: self.settings.changed_defaults(&Settings::of(plan)),
            ..self
        }
    }

    /// The summary without plots, which are large and of which nothing is claimed.
    #[must_use]
    pub fn in_short(&self) -> Self {
        Self {
            file: None,
            plots: Vec::new(),
            ..self.clone()
        }
    }

    /// Where its plan is, or was.
    #[must_use]
    pub fn plan_file(&self) -> PathBuf {
        self.file.clone().unwrap_or_else(|| usual_file(&self.plan))
    }
}

/// Where the project keeps the plan of this name.
fn usual_file(plan: &str) -> PathBuf {
    Path::new("experiments").join(format!("{plan}.toml"))
}

/// A number with six digits that count, which is more than any run is exact to.
fn rounded(number: f64) -> f64 {
    format!("{number:.5e}").parse().unwrap_or(number)
}

#[cfg(test)]
pub(crate) mod tests;
