//! How is a flow graph drawn with letters?

use core::fmt::Write as _;

use super::{View, covers, headline, seconds};
use crate::conversation::{Conversation, Direction, Row};

/// Letters of one lane.
const LANE: usize = 10;

/// Draws the part of `conversation` in `view`, lines of at most `width` letters.
#[must_use]
pub fn draw(conversation: &Conversation, view: &View, width: usize) -> String {
    let (rows, wanted) = view.of(conversation);
    let lanes = conversation.lanes.len() * LANE;
    let column = width.saturating_sub(12 + lanes + 2).max(40) / 2;
    let mut text = headline(conversation) + "\n";
    for (number, (near, far)) in conversation.lanes.iter().enumerate() {
        // Writing to a string does not fail.
        let _ = writeln!(text, "  lane {}: {near} ↔ {far}", number + 1);
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

/// One for each decade above a millisecond.
fn blank_lines(nanoseconds: u64) -> u32 {
    (nanoseconds / 100_000).checked_ilog10().unwrap_or(0).min(5)
}

fn line(text: &mut String, conversation: &Conversation, row: &Row, column: usize) {
    let mut label = format!("#{} {}", row.number, row.label);
    if row.again {
        label += " (again)";
    }
    if let Some(covers) = covers(conversation, row) {
        label += ", ";
        label += &covers;
    }
    let arrow = match row.direction {
        Direction::Forth => "───────▶",
        Direction::Back => "◀───────",
    };
    let mut lanes = String::new();
    for lane in 0..conversation.lanes.len() {
        lanes += if lane == row.lane { arrow } else { "│      │" };
        lanes += "  ";
    }
    let (forth, back) = match row.direction {
        Direction::Forth => (cut(&label, column), String::new()),
        Direction::Back => (String::new(), label),
    };
    let line = format!("{:>11} {forth:column$} {lanes}{back}", seconds(row.at));
    text.push_str(line.trim_end());
    text.push('\n');
}

/// At most `length` letters.
fn cut(text: &str, length: usize) -> String {
    if text.chars().count() <= length {
        return text.to_owned();
    }
    let kept: String = text.chars().take(length.saturating_sub(1)).collect();
    kept + "…"
}
