//! What does a conversation look like? A flow graph, in the terminal or as SVG.
//!
//! Source: the extended flow graph of F. Yang, "Non-Renegable Selective Acknowledgments (NR-SACKs) and Scheduling for
//! TCP and Multipath TCP" (University of Delaware 2015, §6.2): the words of each direction in a column of their own,
//! SACK blocks shown, what an acknowledgement covers marked, rows spaced by time. Ours: a lane for each path.

mod svg;
mod terminal;

use core::fmt::Write as _;
use core::ops::Range;

use crate::conversation::{Conversation, Row};

pub use svg::draw as draw_svg;
pub use terminal::draw as draw_text;

/// Which part of a conversation is drawn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct View {
    /// Nanoseconds since the first segment.
    pub time: Range<u64>,
    /// So many rows at most.
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
    /// The rows in view, and how many would be with a larger limit.
    fn of<'a>(&self, conversation: &'a Conversation) -> (&'a [Row], usize) {
        let rows = &conversation.rows;
        let start = rows.partition_point(|row| row.at < self.time.start);
        let end = rows.partition_point(|row| row.at < self.time.end).max(start);
        let shown = (end - start).min(self.rows);
        (&rows[start..start + shown], end - start)
    }
}

/// What an acknowledgement covers: `covers #3–#5, #8`, by numbers of frames.
fn covers(conversation: &Conversation, row: &Row) -> Option<String> {
    let covered = &row.acknowledges.as_ref()?.covers;
    let mut numbers = covered
        .iter()
        .map(|place| (*place, conversation.rows[*place].number));
    let (mut last, first) = numbers.next()?;
    let mut runs = vec![(first, first)];
    for (place, number) in numbers {
        // Neighbours among the rows that could be covered: with nothing of the same direction in between.
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
    let (forth, back) = conversation.bytes();
    format!(
        "{} {} ↔ {}: {} segments in {} s, {forth} bytes →, {back} bytes ←",
        conversation.protocol,
        conversation.ports.0,
        conversation.ports.1,
        conversation.rows.len(),
        seconds(conversation.duration()),
    )
}

#[cfg(test)]
mod tests;
