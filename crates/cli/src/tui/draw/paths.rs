//! Paths of the live view in a terminal. How much of each is there room for?

use anabranch_dashboard::Sample;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::rates::Rates;
use super::{EVENT_ROWS, Scene, card, table};

/// Columns from which on cards are side by side.
const CARD: u16 = 78;

/// Columns that a card needs.
const NARROWEST_CARD: u16 = 52;

/// Rows of the highest chart.
const HIGHEST_CHART: u16 = 8;

/// How paths are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// Some lines for each path, and a chart of so many rows.
    Cards { columns: u16, chart: u16 },
    /// A line for each path of so many, and below a chart of so many rows for each.
    Table { shown: u16, chart: u16 },
}

/// Draws all paths. Returns the rows that they took.
pub(super) fn draw(area: Rect, buffer: &mut Buffer, scene: &Scene, sample: &Sample) -> u16 {
    let count = u16::try_from(sample.paths.len()).unwrap_or(u16::MAX);
    let rates = Rates::of(scene);
    match form(area.width, area.height, count) {
        Form::Cards { columns, chart } => {
            let height = card::height(area.width / columns) + chart;
            for (path, place) in sample.paths.iter().zip(places(area, columns, height)) {
                card::draw(place, buffer, path, &rates, scene.theme);
            }
            count.div_ceil(columns) * height
        }
        Form::Table { shown, chart } => {
            table::draw(area, buffer, &sample.paths, (shown, chart), &rates, scene.theme)
        }
    }
}

/// The most telling form that leaves some rows for events.
pub(super) fn form(width: u16, height: u16, count: u16) -> Form {
    let room = height.saturating_sub(EVENT_ROWS);
    let count = count.max(1);
    let columns = (width / CARD).clamp(1, count);
    let rows = count.div_ceil(columns);
    // With the first row of each chart.
    let cards = rows.saturating_mul(card::height(width / columns) + 1);
    if width >= NARROWEST_CARD && cards <= room {
        // Charts and events share what is left.
        let chart = 1 + (room - cards) / 2 / rows;
        return Form::Cards {
            columns,
            chart: chart.min(HIGHEST_CHART),
        };
    }
    let table = count.saturating_add(1);
    let chart = (room.saturating_sub(table) / 2 / count).max(u16::from(room >= table.saturating_add(count)));
    Form::Table {
        shown: count.min(room.max(height.min(2)).saturating_sub(1)),
        chart: chart.min(HIGHEST_CHART),
    }
}

/// Places of cards, row by row.
fn places(area: Rect, columns: u16, height: u16) -> impl Iterator<Item = Rect> {
    let width = area.width / columns;
    let column = move |row: u16, column: u16| Rect {
        x: area.x + column * width,
        y: area.y.saturating_add(row.saturating_mul(height)),
        // Two columns of space between cards.
        width: width - if columns > 1 { 2 } else { 0 },
        height,
    };
    let place = move |at: u16| column(at / columns, at % columns).intersection(area);
    (0..u16::MAX).map(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_and_three_paths_have_cards_in_a_common_terminal_and_many_a_table() {
        let body = 24 - 3;
        assert_eq!(form(80, body, 2), Form::Cards { columns: 1, chart: 2 });
        assert_eq!(form(80, body, 3), Form::Cards { columns: 1, chart: 1 });
        assert_eq!(form(80, body, 4), Form::Table { shown: 4, chart: 1 });
        assert_eq!(form(80, body, 30), Form::Table { shown: 17, chart: 0 });
    }

    #[test]
    fn wide_terminal_has_cards_side_by_side() {
        assert_eq!(form(200, 57, 2), Form::Cards { columns: 2, chart: 8 });
        assert_eq!(form(200, 57, 1), Form::Cards { columns: 1, chart: 8 });
    }

    #[test]
    fn no_size_and_number_of_paths_is_too_much() {
        for size in [0, 1, 2, 3, 5, 40, 300, u16::MAX] {
            for count in [0, 1, 2, 100, u16::MAX] {
                form(size, size, count);
                form(size, 1, count);
                form(1, size, count);
            }
        }
    }
}
