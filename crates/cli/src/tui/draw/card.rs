//! Card of a path in a terminal. What is said of it on some lines?

use anabranch_dashboard::PathSample;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget as _;

use super::head::at_right;
use super::rates::Rates;
use super::theme::Theme;
use super::words::{limit, milliseconds, percent, state, use_of};
use super::{below, rates};
use crate::output::{bytes_text, rate_text};

/// Columns of a fact, with its name and a space.
const FACT: u16 = 26;

/// Columns of its name.
const NAME: usize = 12;

/// Columns of the longest limit, with its name and a space.
const LIMIT: usize = 46;

/// Facts that have a place among others; two more have longer texts.
const FACTS: u16 = 9;

/// Columns at which everything is moved to the right.
const INDENT: u16 = 2;

/// Rows of a card without its chart.
pub(super) const fn height(width: u16) -> u16 {
    1 + FACTS.div_ceil(per_row(width)) + if has_wide_rows(width) { 1 } else { 2 }
}

/// Facts in a row.
const fn per_row(width: u16) -> u16 {
    let room = width.saturating_sub(INDENT) / FACT;
    match room {
        0 => 1,
        1..FACTS => room,
        _ => FACTS,
    }
}

/// Whether the longer texts share a row.
const fn has_wide_rows(width: u16) -> bool {
    per_row(width) >= 3
}

/// Draws a card, whose last rows are its chart.
pub(super) fn draw(area: Rect, buffer: &mut Buffer, path: &PathSample, rates: &Rates<'_>, theme: Theme) {
    let mut rows = area.rows();
    if let Some(row) = rows.next() {
        heading(row, buffer, path, theme);
    }
    let rest = below(area, 1);
    let inner = Rect {
        x: rest.x + INDENT.min(rest.width),
        width: rest.width.saturating_sub(INDENT),
        ..rest
    };
    let mut rows = inner.rows();
    for facts in facts(path).chunks(per_row(area.width).into()) {
        if let Some(row) = rows.next() {
            let text: String = facts.iter().map(|(name, value)| fact(name, value)).collect();
            Line::raw(text).render(row, buffer);
        }
    }
    for line in wide(path, has_wide_rows(area.width)) {
        if let Some(row) = rows.next() {
            Line::raw(line).render(row, buffer);
        }
    }
    let chart = below(area, height(area.width));
    let chart = Rect {
        x: inner.x,
        width: inner.width,
        ..chart
    };
    rates::draw(chart, buffer, rates, path.path, theme);
}

/// `path 0  works, primary  10.0.0.1:9899 -> 10.0.0.2:9899      share 34 %`
fn heading(row: Rect, buffer: &mut Buffer, path: &PathSample, theme: Theme) {
    let line = Line::from(vec![
        Span::styled(format!("path {}", path.path), theme.strong()),
        Span::raw("  "),
        Span::styled(state(path), theme.state(path)),
        Span::raw(format!("  {} -> {}", path.local, path.remote)),
    ]);
    line.render(row, buffer);
    at_right(row, buffer, Line::raw(format!("share {}", percent(path.share))));
}

/// The name and the value of a fact, as wide as the others.
fn fact(name: &str, value: &str) -> String {
    let width = usize::from(FACT) - NAME;
    format!("{name:<NAME$}{value:<width$}")
}

fn facts(path: &PathSample) -> [(&'static str, String); FACTS as usize] {
    let rate = |rate: u64| rate_text(rate as f64);
    [
        ("sends", rate(path.sent_bit_s)),
        ("round trip", milliseconds(path.rtt_ms)),
        ("in flight", bytes_text(path.in_flight_bytes)),
        ("receives", rate(path.received_bit_s)),
        ("of it queue", milliseconds(path.queue_ms)),
        ("cwnd", bytes_text(path.cwnd_bytes)),
        ("loss", percent(path.loss)),
        ("sent", bytes_text(path.sent_bytes + path.retransmitted_bytes)),
        ("received", bytes_text(path.received_bytes)),
    ]
}

/// Use and limit, in one row or two.
fn wide(path: &PathSample, is_one: bool) -> Vec<String> {
    let limited = fact("limited by", limit(path.limit));
    match (use_of(path), is_one) {
        (used, true) => vec![format!("{limited:<LIMIT$}use {used}")],
        (used, false) => vec![limited, fact("use", &used)],
    }
}
