//! How much is acknowledged selectively? TSNs, or bytes of TCP, in the blocks of each acknowledgement.

use core::ops::Range;

use crate::conversation::{Acknowledged, Conversation, Direction};

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
            let beyond = beyond(acknowledged);
            let reported = beyond.iter().map(|block| block.end - block.start).sum();
            let class = BOUNDS.partition_point(|bound| *bound <= reported);
            histogram.classes[class].2 += 1;
            histogram.acknowledgements += 1;
            histogram.most = histogram.most.max(reported);
            histogram.most_blocks = histogram.most_blocks.max(beyond.len());
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

/// What is new in the blocks beside what is acknowledged cumulatively: a block that tells of duplicates (RFC 2883) lies below,
/// or in another one.
fn beyond(acknowledged: &Acknowledged) -> Vec<Range<u64>> {
    let mut known = acknowledged.before;
    let blocks = acknowledged.blocks.iter().filter_map(|block| {
        let new = block.start.max(known)..block.end;
        known = known.max(block.end);
        (!new.is_empty()).then_some(new)
    });
    blocks.collect()
}

#[cfg(test)]
mod tests {
    use super::{Acknowledged, beyond};

    #[test]
    fn blocks_that_tell_of_duplicates_are_not_gaps() {
        let told = |before, blocks: &[core::ops::Range<u64>]| {
            beyond(&Acknowledged {
                before,
                blocks: blocks.to_vec(),
                covers: Vec::new(),
            })
        };
        assert_eq!(told(4_001, &[1..1_001, 2_000..3_000]), [], "what came twice");
        assert_eq!(told(10, &[20..40, 25..30, 50..60]), [20..40, 50..60]);
    }
}
