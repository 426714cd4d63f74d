//! Flow graph as text.

use core::fmt::Write as _;

use super::{View, covers, headline, seconds};
use crate::conversation::{Conversation, Direction, Row};

/// Characters of a path's column.
const PATH_WIDTH: usize = 10;

/// Draws the part of `conversation` in `view` in lines of about `width` characters.
#[must_use]
pub fn draw(conversation: &Conversation, view: &View, width: usize) -> String {
    let (rows, wanted) = view.of(conversation);
    let paths = conversation.paths.len() * PATH_WIDTH;
    let column = width.saturating_sub(12 + paths + 2).max(40) / 2;
    let mut text = headline(conversation) + "\n";
    for (number, (near, far)) in conversation.paths.iter().enumerate() {
        // Writing to a string does not fail.
        let _ = writeln!(text, "  path {}: {near} ↔ {far}", number + 1);
    }
    text.push('\n');
    let mut before: Option<&Row> = None;
    for row in rows {
        let since = before.map_or(0, |before| row.at - before.at);
        (0..blank_lines(since)).for_each(|_| text.push('\n'));
        line(&mut text, conversation, row, column);
        before = Some(row);
    }
    if wanted > rows.len() {
        let _ = writeln!(
            text,
            "\n{} rows more: see --rows, --from, --to",
            wanted - rows.len()
        );
    }
    text
}

/// One blank line for each power of ten above a millisecond.
fn blank_lines(nanoseconds: u64) -> u32 {
    (nanoseconds / 100_000).checked_ilog10().unwrap_or(0).min(5)
}

fn line(text: &mut String, conversation: &Conversation, row: &Row, column: usize) {
    let mut label = format!("#{} {}", row.number, row.label);
    if row.retransmission {
        label += " (retransmission)";
    }
    if let Some(covers) = covers(conversation, row) {
        label += ", ";
        label += &covers;
    }
    let arrow = match row.direction {
        Direction::Forward => "───────▶",
        Direction::Reverse => "◀───────",
    };
    let mut paths = String::new();
    for path in 0..conversation.paths.len() {
        paths += if path == row.path { arrow } else { "│      │" };
        paths += "  ";
    }
    let (forward, reverse) = match row.direction {
        Direction::Forward => (cut(&label, column), String::new()),
        Direction::Reverse => (String::new(), label),
    };
    let line = format!("{:>11} {forward:column$} {paths}{reverse}", seconds(row.at));
    text.push_str(line.trim_end());
    text.push('\n');
}

/// Truncates to `length` characters.
fn cut(text: &str, length: usize) -> String {
    if text.chars().count() <= length {
        return text.to_owned();
    }
    let kept: String = text.chars().take(length.saturating_sub(1)).collect();
    kept + "…"
}
