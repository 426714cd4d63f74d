//! Idle times: pauses on each path, in each direction.

use crate::conversation::{Conversation, Direction};

/// Pauses of one direction of one path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Idle {
    /// Index in [`Conversation::paths`].
    pub path: usize,
    /// Direction of the packets.
    pub direction: Direction,
    /// Pauses of at least the threshold: start and length, in nanoseconds.
    pub pauses: Vec<(u64, u64)>,
    /// Sum of the pauses, in nanoseconds.
    pub total: u64,
    /// Duration of the conversation, in nanoseconds.
    pub duration: u64,
}

/// Finds pauses of at least `threshold` nanoseconds between packets in the same direction on the same path, from the
/// start of the conversation to its end.
#[must_use]
pub fn idle(conversation: &Conversation, threshold: u64) -> Vec<Idle> {
    let directions = [Direction::Forward, Direction::Reverse];
    let all = (0..conversation.paths.len()).flat_map(|path| directions.map(|direction| (path, direction)));
    all.map(|(path, direction)| {
        let rows = conversation
            .rows
            .iter()
            .filter(|row| row.path == path && row.direction == direction);
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
            path,
            direction,
            total: pauses.iter().map(|(_, length)| length).sum(),
            pauses,
            duration: conversation.duration(),
        }
    })
    .collect()
}
