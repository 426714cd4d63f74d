//! Drawing of the live view in a terminal, as a function of what is seen and chosen. What is drawn where?
//!
//! | file | question |
//! |---|---|
//! | `head.rs` | which transfer is it, and how far? |
//! | `paths.rs` | how much of each path is there room for? |
//! | `card.rs`, `table.rs` | what is said of a path on some lines, and on one? |
//! | `rates.rs` | how has its rate changed? |
//! | `events.rs` | what happened? |
//! | `keys.rs` | which keys are there? |
//! | `words.rs`, `theme.rs` | which words and colours have states and limits? |

mod card;
mod events;
mod head;
mod keys;
mod paths;
mod rates;
mod table;
#[cfg(test)]
mod tests;
mod theme;
mod words;

use anabranch_dashboard::View;
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget as _;

pub(super) use theme::Theme;

use super::choice::Choice;
use crate::output::printable;

/// Rows that events have at least, with their heading.
const EVENT_ROWS: u16 = 3;

/// Everything that is drawn.
#[derive(Clone, Debug)]
pub(super) struct Scene {
    pub(super) view: View,
    pub(super) choice: Choice,
    /// What the user has to know before there is anything to see.
    pub(super) notices: Vec<String>,
    pub(super) theme: Theme,
}

/// Draws everything.
pub(super) fn draw(frame: &mut Frame<'_>, scene: &Scene) {
    let area = frame.area();
    let buffer = frame.buffer_mut();
    let [head, body, foot] = parts(area);
    head::draw(head, buffer, scene);
    let used = match sample(scene) {
        Some(sample) => paths::draw(body, buffer, scene, sample),
        None => notices(body, buffer, scene),
    };
    events::draw(below(body, used), buffer, scene);
    keys::draw_hint(foot, buffer, scene);
    if scene.choice.shows_keys {
        keys::draw_list(area, buffer, scene);
    }
}

/// Two lines of head and one of keys, as far as there is room: the head comes first, then paths and events.
fn parts(area: Rect) -> [Rect; 3] {
    let head = area.height.min(2);
    let foot = u16::from(area.height >= 6);
    let body = area.height - head - foot;
    let rows = |y, height| Rect {
        y: area.y + y,
        height,
        ..area
    };
    [rows(0, head), rows(head, body), rows(head + body, foot)]
}

/// What is left of an area below so many rows.
fn below(area: Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height);
    Rect {
        y: area.y + rows,
        height: area.height - rows,
        ..area
    }
}

/// The state of the transfer that is shown.
fn sample(scene: &Scene) -> Option<&anabranch_dashboard::Sample> {
    scene.view.shown.as_ref()?.sample.as_ref()
}

/// Draws what the user has to know as long as there are no paths. Returns the rows that it took.
fn notices(area: Rect, buffer: &mut Buffer, scene: &Scene) -> u16 {
    let lines = scene.notices.iter();
    let lines = lines.flat_map(|notice| events::wrapped(&printable(notice), area.width));
    let room = area.height.saturating_sub(EVENT_ROWS);
    let mut rows = 0;
    for (row, line) in area.rows().take(room.into()).zip(lines) {
        Line::raw(line).render(row, buffer);
        rows += 1;
    }
    rows
}
