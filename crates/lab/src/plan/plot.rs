//! Plots beside the figure: time series and cumulative distributions.

use core::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::Problem;
use super::figure::Label;
use super::head::Head;
use super::named::Named;
use super::points::Point;
use super::quantity::Time;
use crate::metric;

/// A plot of some runs.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PlotPlan {
    /// Kind of plot.
    pub kind: PlotKind,
    /// The column of the time series, or the histogram.
    pub y: String,
    /// Only this variant or reference. All unless set.
    pub series: Option<String>,
    /// Only runs with these values on the axes. All unless set.
    #[serde(default, rename = "where")]
    pub only: Named<Label>,
    /// `time-series`: start time. Start of the run unless set.
    pub from: Option<Time>,
    /// `time-series`: end time. End of the run unless set.
    pub to: Option<Time>,
}

/// Kind of plot.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlotKind {
    /// Values over time in the run with the first seed; one plot for each point of the sweep.
    TimeSeries,
    /// Cumulative distribution over all seeds; all points of the sweep in one plot.
    Cdf,
}

/// Maximum number of sweep points in one plot, and of plots of one time series.
const MAX_POINTS: usize = 8;

impl PlotPlan {
    /// Whether the plot includes this run, whatever its seed.
    #[must_use]
    pub fn is_about(&self, point: &Point) -> bool {
        let has = |(axis, value): (&str, &Label)| {
            let mut coordinates = point.coordinates.iter();
            coordinates.any(|own| own.axis == axis && value.is(own))
        };
        self.series.as_ref().is_none_or(|series| *series == point.series)
            && (self.series.is_some() || point.single_path.is_none())
            && self.only.iter().all(has)
    }

    /// Refuses unknown columns, runs without the record, and too many points.
    pub(super) fn check(
        &self,
        head: &Head<'_>,
        points: &[Point],
        place: &Range<usize>,
    ) -> Result<(), Problem> {
        head.check_axes(&self.only, place)?;
        let (known, record, what): (Vec<&str>, &str, &str) = match self.kind {
            PlotKind::TimeSeries => (
                metric::TIME_SERIES.iter().map(|metric| metric.name).collect(),
                "time-series",
                "column",
            ),
            PlotKind::Cdf => (metric::HISTOGRAMS.to_vec(), "histograms", "histogram"),
        };
        if !known.contains(&self.y.as_str()) {
            return Err(Problem::unknown(place.clone(), what, &self.y, known));
        }
        let included: Vec<&Point> = points.iter().filter(|point| self.is_about(point)).collect();
        let is_recorded = |point: &&Point| match self.kind {
            PlotKind::TimeSeries => point.setting.record.time_series.is_some(),
            PlotKind::Cdf => point.setting.record.histograms,
        };
        // All series of a point share one plot.
        let mut sweep_points = Vec::new();
        for point in &included {
            if !sweep_points.contains(&&point.coordinates) {
                sweep_points.push(&point.coordinates);
            }
        }
        let text = match (sweep_points.len(), included.iter().all(is_recorded)) {
            (0, _) => "no run matches this plot; check `series` and `where`".to_owned(),
            (_, false) => format!("this plot needs `{record}` in `[record]`"),
            (1..=MAX_POINTS, true) => return Ok(()),
            (count, true) => format!(
                "{count} sweep points are too many for one plot, expected {MAX_POINTS} at most; select some with `where`"
            ),
        };
        Err(Problem::new(place.clone(), text))
    }
}
