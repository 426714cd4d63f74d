//! Keys in a terminal: a line below all else, and a list on demand.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Widget as _};

use super::Scene;
use super::events::wrapped;
use crate::output::printable;
use crate::tui::key::KEYS;

/// Columns of the list at most.
const WIDEST: u16 = 76;

/// Draws the line of the most important keys.
pub(super) fn draw_hint(area: Rect, buffer: &mut Buffer, scene: &Scene) {
    let span = scene.choice.span().name;
    let text = match scene.view.transfers.len() {
        0 | 1 => format!("q ends  t time: {span}  ? keys"),
        _ => format!("q ends  ↑↓ transfer  t time: {span}  ? keys"),
    };
    Line::styled(text, scene.theme.strong()).render(area, buffer);
}

/// Draws the list of keys, and what the user has to know, above all else.
pub(super) fn draw_list(area: Rect, buffer: &mut Buffer, scene: &Scene) {
    let inner = area.width.min(WIDEST).saturating_sub(4);
    let mut lines: Vec<String> = KEYS
        .iter()
        .map(|(key, does)| format!("{key:<12}{does}"))
        .collect();
    if !scene.notices.is_empty() {
        lines.push(String::new());
    }
    let notices = scene.notices.iter();
    lines.extend(notices.flat_map(|notice| wrapped(&printable(notice), inner)));
    let height = u16::try_from(lines.len() + 2)
        .unwrap_or(u16::MAX)
        .min(area.height);
    let width = area.width.min(WIDEST);
    let place = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    Clear.render(place, buffer);
    let block = Block::bordered().title(" keys ");
    let within = block.inner(place);
    block.render(place, buffer);
    for (line, row) in lines.into_iter().zip(within.rows()) {
        Line::raw(format!(" {line}")).render(row, buffer);
    }
}
