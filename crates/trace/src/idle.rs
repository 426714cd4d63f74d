//! When was nothing sent? Pauses on each lane, in each direction.

use crate::conversation::{Conversation, Direction};

/// The pauses of one direction of one lane.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Idle {
    /// Which of [`Conversation::lanes`].
    pub lane: usize,
    /// Which way.
    pub direction: Direction,
    /// Pauses of at least the threshold: when they began, and how long they were, in nanoseconds.
    pub pauses: Vec<(u64, u64)>,
    /// All of them together.
    pub total: u64,
    /// The conversation's duration, for the share.
    pub of: u64,
}

/// The pauses of at least `threshold` nanoseconds between packets that went the same way on the same lane, from the
/// beginning of the conversation to its end.
#[must_use]
pub fn idle(conversation: &Conversation, threshold: u64) -> Vec<Idle> {
    let directions = [Direction::Forth, Direction::Back];
    let all = (0..conversation.lanes.len()).flat_map(|lane| directions.map(|direction| (lane, direction)));
    all.map(|(lane, direction)| {
        let rows = conversation
            .rows
            .iter()
            .filter(|row| row.lane == lane && row.direction == direction);
        let moments = rows.map(|row| row.at).chain([conversation.duration()]);
        let mut before = 0;
        let mut pauses = Vec::new();
        for at in moments {
            if at - before >= threshold.max(1) {
                pauses.push((before, at - before));
            }
            before = at;
        }
        Idle {
            lane,
            direction,
            total: pauses.iter().map(|(_, length)| length).sum(),
            pauses,
            of: conversation.duration(),
        }
    })
    .collect()
}
