//! Table of paths in a terminal. What is said of a path on one line, and what is left out first?

use anabranch_dashboard::PathSample;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget as _;

use super::rates::Rates;
use super::theme::Theme;
use super::words::{limit, milliseconds, percent, state, use_of};
use super::{below, rates};
use crate::output::{bytes_text, rate_text};

/// Columns between two values.
const SPACE: u16 = 2;

/// A column of the table.
struct Column {
    name: &'static str,
    width: u16,
    /// Those of the highest rank are left out first.
    rank: u8,
    value: fn(&PathSample) -> String,
}

const fn column(name: &'static str, width: u16, rank: u8, value: fn(&PathSample) -> String) -> Column {
    Column {
        name,
        width,
        rank,
        value,
    }
}

/// All columns, from left to right.
const COLUMNS: [Column; 14] = [
    column("path", 4, 0, |path| path.path.to_string()),
    column("state", 15, 1, state),
    column("sends", 12, 2, |path| rate_text(path.sent_bit_s as f64)),
    column("receives", 12, 4, |path| rate_text(path.received_bit_s as f64)),
    column("share", 5, 5, |path| percent(path.share)),
    column("trip", 7, 3, |path| milliseconds(path.rtt_ms)),
    column("queue", 7, 8, |path| milliseconds(path.queue_ms)),
    column("loss", 5, 6, |path| percent(path.loss)),
    column("in flight", 9, 10, |path| bytes_text(path.in_flight_bytes)),
    column("cwnd", 9, 9, |path| bytes_text(path.cwnd_bytes)),
    column("sent", 9, 11, |path| {
        bytes_text(path.sent_bytes + path.retransmitted_bytes)
    }),
    column("received", 9, 12, |path| bytes_text(path.received_bytes)),
    column("limited by", 24, 7, |path| limit(path.limit).to_owned()),
    column("use", 12, 13, use_of),
];

/// The columns that there is room for.
fn columns(width: u16) -> Vec<&'static Column> {
    let mut ranked: Vec<&Column> = COLUMNS.iter().collect();
    ranked.sort_by_key(|column| column.rank);
    let mut used = 0;
    let mut rank = None;
    for column in ranked {
        if used + column.width > width {
            break;
        }
        used += column.width + SPACE;
        rank = Some(column.rank);
    }
    let fits = |column: &&Column| Some(column.rank) <= rank;
    COLUMNS.iter().filter(fits).collect()
}

/// Draws a line for each of the first `shown` paths, and below charts of `chart` rows. Returns the rows that they took.
pub(super) fn draw(
    area: Rect,
    buffer: &mut Buffer,
    paths: &[PathSample],
    (shown, chart): (u16, u16),
    rates: &Rates<'_>,
    theme: Theme,
) -> u16 {
    let columns = columns(area.width);
    let mut rows = area.rows();
    let Some(row) = rows.next() else {
        return 0;
    };
    let is_all = paths.len() <= usize::from(shown);
    heading(
        &columns,
        (!is_all).then(|| paths.len() - usize::from(shown)),
        theme,
    )
    .render(row, buffer);
    let shown = &paths[..paths.len().min(shown.into())];
    for (path, row) in shown.iter().zip(rows) {
        line(&columns, path, theme).render(row, buffer);
    }
    let mut used = u16::try_from(1 + shown.len()).unwrap_or(u16::MAX);
    if chart > 0 {
        for path in shown {
            let place = Rect {
                height: chart,
                ..below(area, used)
            };
            labelled(place.intersection(area), buffer, rates, path.path, theme);
            used = used.saturating_add(chart);
        }
    }
    used.min(area.height)
}

/// The names of columns, and how many paths are not shown.
fn heading(columns: &[&Column], hidden: Option<usize>, theme: Theme) -> Line<'static> {
    let mut text = String::new();
    for column in columns {
        let width = usize::from(column.width);
        text += &format!("{:<width$}  ", column.name);
    }
    if let Some(hidden) = hidden {
        text = format!("{hidden} more  {}", text.trim_start_matches("path").trim_start());
    }
    Line::styled(text, theme.strong())
}

fn line(columns: &[&Column], path: &PathSample, theme: Theme) -> Line<'static> {
    let spans = columns.iter().map(|column| {
        let width = usize::from(column.width);
        let value: String = (column.value)(path).chars().take(width).collect();
        let text = format!("{value:<width$}  ");
        match column.name {
            "state" => Span::styled(text, theme.state(path)),
            _ => Span::raw(text),
        }
    });
    Line::from_iter(spans)
}

/// Draws the chart of a path after its number.
fn labelled(area: Rect, buffer: &mut Buffer, rates: &Rates<'_>, path: u64, theme: Theme) {
    let label = Line::raw(format!("{path:<4}  "));
    let width = u16::try_from(label.width()).unwrap_or(u16::MAX).min(area.width);
    label.render(area, buffer);
    let chart = Rect {
        x: area.x + width,
        width: area.width - width,
        ..area
    };
    rates::draw(chart, buffer, rates, path, theme);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(width: u16) -> Vec<&'static str> {
        columns(width).iter().map(|column| column.name).collect()
    }

    #[test]
    fn narrow_table_leaves_out_what_tells_least() {
        assert_eq!(names(1), Vec::<&str>::new());
        assert_eq!(names(30), ["path", "state"]);
        assert_eq!(names(40), ["path", "state", "sends"]);
        let common = ["path", "state", "sends", "receives", "share", "trip", "loss"];
        assert_eq!(names(80), common);
        assert_eq!(names(200).len(), COLUMNS.len());
    }

    #[test]
    fn each_column_has_a_rank_of_its_own() {
        let mut ranks: Vec<u8> = COLUMNS.iter().map(|column| column.rank).collect();
        ranks.sort_unstable();
        assert!(ranks.into_iter().eq(0..COLUMNS.len() as u8));
    }
}
