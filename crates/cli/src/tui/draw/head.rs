//! Head of the live view in a terminal. Which transfer is it, and how far?

use anabranch_dashboard::{Amount, Listed, PathSample};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget as _;

use super::words::{clock, percent};
use super::{Scene, sample};
use crate::output::{bytes_text, printable, rate_text};

/// Draws two lines: what runs, and the sums of all paths.
pub(super) fn draw(area: Rect, buffer: &mut Buffer, scene: &Scene) {
    let mut rows = area.rows();
    if let Some(row) = rows.next() {
        let time = clock(scene.view.at);
        let right = match scene.choice.is_ending {
            true => format!("ending  {time}"),
            false => time,
        };
        title(scene).render(row, buffer);
        at_right(row, buffer, Line::raw(right));
    }
    if let Some(row) = rows.next() {
        sums(scene, row.width).render(row, buffer);
    }
}

/// Columns that a row has beside what is at its right end.
const BESIDE: u16 = 8;

/// Draws a line at the right end of a row, after a space, if there is room beside it.
pub(super) fn at_right(row: Rect, buffer: &mut Buffer, line: Line<'_>) {
    let width = u16::try_from(line.width()).unwrap_or(u16::MAX);
    if width.saturating_add(BESIDE) > row.width {
        return;
    }
    let place = Rect {
        x: row.right() - width,
        width,
        ..row
    };
    buffer.set_string(place.x - 1, place.y, " ", line.style);
    line.render(place, buffer);
}

fn title(scene: &Scene) -> Line<'_> {
    let view = &scene.view;
    let mut spans = vec![Span::styled(&*view.title, scene.theme.strong())];
    let number = view.shown.as_ref().map(|shown| shown.transfer);
    let at = view
        .transfers
        .iter()
        .position(|known| Some(known.transfer) == number);
    if let Some(at) = at {
        spans.push(Span::raw("  "));
        if view.transfers.len() > 1 {
            spans.push(Span::raw(format!("{} of {}: ", at + 1, view.transfers.len())));
        }
        spans.push(Span::raw(name(&view.transfers[at])));
    }
    Line::from(spans)
}

/// The name of a transfer, which may come from the peer.
fn name(known: &Listed) -> String {
    let name = match &*known.name {
        "" => format!("transfer {}", known.transfer),
        name => printable(name),
    };
    match known.has_ended {
        true => format!("{name} (ended)"),
        false => name,
    }
}

/// The sums of all paths, as many as there is room for.
fn sums(scene: &Scene, width: u16) -> Line<'_> {
    let Some(sample) = sample(scene) else {
        return Line::raw("no association yet");
    };
    let sum = |rate: fn(&PathSample) -> u64| {
        let all: u64 = sample.paths.iter().map(rate).sum();
        rate_text(all as f64)
    };
    let (sends, receives) = (sum(|path| path.sent_bit_s), sum(|path| path.received_bit_s));
    let mut parts = vec![("sends ", sends), ("receives ", receives)];
    parts.extend(sample.amount.map(|amount| ("arrived ", arrived(amount))));
    let mut line = Line::default();
    for (name, value) in parts {
        let space = if line.spans.is_empty() { "" } else { "  " };
        let used = line.width() + space.len() + name.len() + value.len();
        if used > width.into() && !line.spans.is_empty() {
            break;
        }
        line.push_span(Span::raw(format!("{space}{name}")));
        line.push_span(Span::styled(value, scene.theme.strong()));
    }
    line
}

/// `45.1 MB of 89.0 MB, 51 %`
fn arrived(amount: Amount) -> String {
    let bytes = bytes_text(amount.bytes);
    match amount.size {
        Some(size) if size > 0 => {
            let part = percent(amount.bytes as f64 / size as f64);
            format!("{bytes} of {}, {part}", bytes_text(size))
        }
        _ => bytes,
    }
}
