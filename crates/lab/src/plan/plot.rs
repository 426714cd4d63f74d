//! What is drawn beside the figure? What happened in the course of time, and how something is distributed.

use core::ops::Range;

use serde::{Deserialize, Serialize};

use super::error::Problem;
use super::figure::Label;
use super::head::Head;
use super::named::Named;
use super::points::Point;
use super::quantity::Time;
use crate::metric;

/// A plot of some of the runs.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PlotPlan {
    /// What kind of plot.
    pub kind: PlotKind,
    /// What is drawn: a column of the time series, or a histogram.
    pub y: String,
    /// Only this variant or reference; all of them unless set.
    pub series: Option<String>,
    /// Only where the axes have these values; everywhere unless set.
    #[serde(default, rename = "where")]
    pub only: Named<Label>,
    /// `series`: the moment at which it begins; that of the run unless set.
    pub from: Option<Time>,
    /// `series`: the moment at which it ends; that of the run unless set.
    pub to: Option<Time>,
}

/// A kind of plot.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlotKind {
    /// In the course of time, in the run with the first seed: a plot for each place of the axes.
    TimeSeries,
    /// The share of what is not more than x, of all seeds together: all places in one plot.
    Cdf,
}

/// More places than these in one plot, or more plots of one series, tell nobody anything.
const MAX_PLACES: usize = 8;

impl PlotPlan {
    /// Whether the plot is about this run, seeds left aside.
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

    /// The plot shows what there is, and not too much of it.
    pub(super) fn check(
        &self,
        head: &Head<'_>,
        points: &[Point],
        place: &Range<usize>,
    ) -> Result<(), Problem> {
        head.check_axes(&self.only, place)?;
        let (known, record): (Vec<&str>, &str) = match self.kind {
            PlotKind::TimeSeries => (
                metric::TIME_SERIES.iter().map(|metric| metric.name).collect(),
                "series",
            ),
            PlotKind::Cdf => (metric::HISTOGRAMS.to_vec(), "histograms"),
        };
        if !known.contains(&self.y.as_str()) {
            return Err(Problem::unknown(place.clone(), record, &self.y, known));
        }
        let meant: Vec<&Point> = points.iter().filter(|point| self.is_about(point)).collect();
        let is_recorded = |point: &&Point| match self.kind {
            PlotKind::TimeSeries => point.setting.record.time_series.is_some(),
            PlotKind::Cdf => point.setting.record.histograms,
        };
        // All lines of a place are in one drawing.
        let mut places = Vec::new();
        for point in &meant {
            if !places.contains(&&point.coordinates) {
                places.push(&point.coordinates);
            }
        }
        let text = match (places.len(), meant.iter().all(is_recorded)) {
            (0, _) => "there is no run that this plot is about".to_owned(),
            (_, false) => format!("this plot needs `{record}` in `[record]`"),
            (1..=MAX_PLACES, true) => return Ok(()),
            (count, true) => format!("{count} places are too many for this plot: it needs `where`"),
        };
        Err(Problem::new(place.clone(), text))
    }
}
