//! Flow graph of a conversation, as text or SVG. Which segments went which way, and when?
//!
//! Source: the extended flow graph of F. Yang, "Non-Renegable Selective Acknowledgments (NR-SACKs) and Scheduling for
//! TCP and Multipath TCP" (University of Delaware 2015, §6.2): a column of labels for each direction, SACK blocks,
//! the segments that an acknowledgement covers, rows spaced by time. Added: one column of arrows for each path.

mod svg;
mod terminal;

use core::fmt::Write as _;
use core::ops::Range;

use crate::conversation::{Conversation, Row};

pub use svg::draw as draw_svg;
pub use terminal::draw as draw_text;

/// The part of a conversation to draw.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct View {
    /// Nanoseconds since the first segment.
    pub time: Range<u64>,
    /// Maximum number of rows.
    pub rows: usize,
}

impl Default for View {
    /// The first thousand rows.
    fn default() -> Self {
        Self {
            time: 0..u64::MAX,
            rows: 1_000,
        }
    }
}

impl View {
    /// The rows in view, and their number without the limit.
    fn of<'a>(&self, conversation: &'a Conversation) -> (&'a [Row], usize) {
        let rows = &conversation.rows;
        let start = rows.partition_point(|row| row.at < self.time.start);
        let end = rows.partition_point(|row| row.at < self.time.end).max(start);
        let shown = (end - start).min(self.rows);
        (&rows[start..start + shown], end - start)
    }
}

/// Segments that an acknowledgement covers, by frame number: `covers #3–#5, #8`.
fn covers(conversation: &Conversation, row: &Row) -> Option<String> {
    let covered = &row.acknowledges.as_ref()?.covers;
    let mut numbers = covered
        .iter()
        .map(|place| (*place, conversation.rows[*place].number));
    let (mut last, first) = numbers.next()?;
    let mut runs = vec![(first, first)];
    for (place, number) in numbers {
        // Adjacent: no segment of the same direction in between.
        let between = &conversation.rows[last + 1..place];
        let adjacent = between
            .iter()
            .all(|row| row.direction != conversation.rows[place].direction);
        match runs.last_mut().filter(|_| adjacent) {
            Some(run) => run.1 = number,
            None => runs.push((number, number)),
        }
        last = place;
    }
    let mut text = String::from("covers ");
    for (index, (first, last)) in runs.into_iter().enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        // Writing to a string does not fail.
        let _ = if first == last {
            write!(text, "{comma}#{first}")
        } else {
            write!(text, "{comma}#{first}–#{last}")
        };
    }
    Some(text)
}

fn seconds(nanoseconds: u64) -> String {
    format!(
        "{}.{:06}",
        nanoseconds / 1_000_000_000,
        nanoseconds % 1_000_000_000 / 1_000
    )
}

fn headline(conversation: &Conversation) -> String {
    let (forward, reverse) = conversation.bytes();
    format!(
        "{} {} ↔ {}: {} segments in {} s, {forward} bytes →, {reverse} bytes ←",
        conversation.protocol,
        conversation.ports.0,
        conversation.ports.1,
        conversation.rows.len(),
        seconds(conversation.duration()),
    )
}

#[cfg(test)]
mod tests;
