//! Charts of rates in a terminal: a bar for each column of time, of the same scale for all paths. How high is each?

use anabranch_dashboard::{PathRates, Shown};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Sparkline, Widget as _};

use super::Scene;
use super::theme::Theme;
use crate::output::rate_text;

/// Longest time, in milliseconds, between two points that belong together.
const GAP: u64 = 1_000;

/// Columns beside a chart for the rate of its highest bar.
const LABEL: u16 = 13;

/// Columns below which a chart has no label.
const NARROW: u16 = 3 * LABEL;

/// What charts show of all paths.
#[derive(Clone, Debug)]
pub(super) struct Rates<'s> {
    paths: &'s [PathRates],
    /// Milliseconds since the start.
    from: u64,
    until: u64,
    /// The highest of all rates.
    highest: u64,
}

impl<'s> Rates<'s> {
    pub(super) fn of(scene: &'s Scene) -> Self {
        let shown = scene.view.shown.as_ref();
        let paths = shown.map_or(&[][..], |shown| &*shown.rates);
        let points = || paths.iter().flat_map(|path| &path.points);
        let until = shown.map_or(0, |shown: &Shown| shown.until);
        let span = u64::try_from(scene.choice.span().length.as_millis()).unwrap_or(u64::MAX);
        // All of it is as long as it is.
        let first = points().map(|(at, _)| *at).min().unwrap_or(until);
        let from = until.saturating_sub(span).max(match span {
            u64::MAX => first,
            _ => 0,
        });
        Self {
            paths,
            from,
            until,
            highest: points().map(|(_, rate)| *rate).max().unwrap_or(0),
        }
    }

    /// The mean rate of each column of a chart, if there was any; the last one is that of now.
    fn bars(&self, path: u64, columns: u16) -> Vec<Option<u64>> {
        let known = self.paths.iter().find(|known| known.path == path);
        let points = known.map_or(&[][..], |known| &*known.points);
        let span = self.until.saturating_sub(self.from).max(1);
        let time = |column: u16| {
            self.from + (u128::from(span) * u128::from(column) / u128::from(columns.max(1))) as u64
        };
        (0..columns)
            .map(|column| mean(points, time(column), time(column + 1)))
            .collect()
    }
}

/// The mean rate between two times. A point stands for the time since the one before.
fn mean(points: &[(u64, u64)], from: u64, until: u64) -> Option<u64> {
    let begin = points.partition_point(|(at, _)| *at <= from);
    let end = points.partition_point(|(at, _)| *at <= until);
    let within = &points[begin..end];
    if within.is_empty() {
        let (after, rate) = *points.get(end)?;
        let before = points[..end].last().map_or(after, |(at, _)| *at);
        let is_covered = before < after && after - before <= GAP.max(until - from);
        return is_covered.then_some(rate);
    }
    let sum: u128 = within.iter().map(|(_, rate)| u128::from(*rate)).sum();
    Some((sum / within.len() as u128) as u64)
}

/// Draws the chart of a path, with the highest rate beside it.
pub(super) fn draw(area: Rect, buffer: &mut Buffer, rates: &Rates<'_>, path: u64, theme: Theme) {
    let label = if area.width < NARROW { 0 } else { LABEL };
    let chart = Rect {
        width: area.width - label,
        ..area
    };
    Sparkline::default()
        .data(rates.bars(path, chart.width))
        .max(rates.highest.max(1))
        .absent_value_symbol(" ")
        .style(theme.chart(path))
        .render(chart, buffer);
    let place = Rect {
        x: chart.right(),
        width: label,
        height: area.height.min(1),
        ..area
    };
    Line::raw(format!(" {}", rate_text(rates.highest as f64))).render(place, buffer);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn column_has_the_mean_of_its_points() {
        let points = [(250, 10), (500, 20), (750, 60), (1_000, 0)];
        assert_eq!(mean(&points, 0, 500), Some(15));
        assert_eq!(mean(&points, 500, 1_000), Some(30));
        // Less than the time between two points: that of the point after it.
        assert_eq!(mean(&points, 510, 520), Some(60));
        assert_eq!(mean(&points, 1_000, 1_500), None);
    }

    #[test]
    fn time_without_an_association_has_no_bar() {
        let points = [(250, 10), (20_000, 20)];
        assert_eq!(mean(&points, 5_000, 5_250), None);
        assert_eq!(mean(&[], 0, 250), None);
        // Nothing is known of the time before the first point.
        assert_eq!(mean(&points, 0, 100), None);
    }
}
