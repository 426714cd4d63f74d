//! How much is acknowledged selectively? TSNs, or bytes of TCP, in the blocks of each acknowledgement.

use crate::conversation::{Conversation, Direction};

/// Bounds of the classes: below 1, 100, 250, …; the last has no upper bound. Those around which D. Sarnow, "SACK
/// Handling for CMT-SCTP in the FreeBSD Kernel" (HAW Hamburg 2017, §5.1.2), counts.
const BOUNDS: [u64; 6] = [1, 101, 251, 501, 751, 1_001];

/// How many acknowledgements report how much in their blocks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Histogram {
    /// For each class its smallest number, its largest one if there is one, and how many acknowledgements.
    pub classes: Vec<(u64, Option<u64>, u64)>,
    /// Acknowledgements in all.
    pub acknowledgements: u64,
    /// The most that one of them reported.
    pub most: u64,
    /// The most blocks in one of them.
    pub most_blocks: usize,
}

impl Histogram {
    /// The acknowledgements that went in `direction`.
    #[must_use]
    pub fn of(conversation: &Conversation, direction: Direction) -> Self {
        let rows = conversation.rows.iter().filter(|row| row.direction == direction);
        let mut histogram = Self::empty();
        for acknowledged in rows.filter_map(|row| row.acknowledges.as_ref()) {
            let reported = acknowledged
                .blocks
                .iter()
                .map(|block| block.end - block.start)
                .sum();
            let class = BOUNDS.partition_point(|bound| *bound <= reported);
            histogram.classes[class].2 += 1;
            histogram.acknowledgements += 1;
            histogram.most = histogram.most.max(reported);
            histogram.most_blocks = histogram.most_blocks.max(acknowledged.blocks.len());
        }
        histogram
    }

    fn empty() -> Self {
        let starts = core::iter::once(0).chain(BOUNDS);
        let ends = BOUNDS.iter().map(|bound| Some(bound - 1)).chain([None]);
        Self {
            classes: starts.zip(ends).map(|(start, end)| (start, end, 0)).collect(),
            acknowledgements: 0,
            most: 0,
            most_blocks: 0,
        }
    }
}
