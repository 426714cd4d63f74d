//! Histogram of gap blocks. How many TSNs (or bytes of TCP) does each acknowledgement report in its blocks?

use core::ops::Range;

use crate::conversation::{Acknowledged, Conversation, Direction};

/// Lower bounds of the buckets after the first; the last has no upper bound. As in D. Sarnow, "SACK Handling for
/// CMT-SCTP in the FreeBSD Kernel" (HAW Hamburg 2017, §5.1.2).
const BOUNDS: [u64; 6] = [1, 101, 251, 501, 751, 1_001];

/// Number of acknowledgements by the amount that they report in blocks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Histogram {
    /// For each bucket its smallest number, its largest one if any, and the number of acknowledgements.
    pub buckets: Vec<(u64, Option<u64>, u64)>,
    /// Total number of acknowledgements.
    pub acknowledgements: u64,
    /// Maximum reported by one acknowledgement.
    pub max: u64,
    /// Maximum number of blocks in one acknowledgement.
    pub max_blocks: usize,
}

impl Histogram {
    /// Counts the acknowledgements sent in `direction`.
    #[must_use]
    pub fn of(conversation: &Conversation, direction: Direction) -> Self {
        let rows = conversation.rows.iter().filter(|row| row.direction == direction);
        let mut histogram = Self::empty();
        for acknowledged in rows.filter_map(|row| row.acknowledges.as_ref()) {
            let beyond = beyond(acknowledged);
            let reported = beyond.iter().map(|block| block.end - block.start).sum();
            let bucket = BOUNDS.partition_point(|bound| *bound <= reported);
            histogram.buckets[bucket].2 += 1;
            histogram.acknowledgements += 1;
            histogram.max = histogram.max.max(reported);
            histogram.max_blocks = histogram.max_blocks.max(beyond.len());
        }
        histogram
    }

    fn empty() -> Self {
        let starts = core::iter::once(0).chain(BOUNDS);
        let ends = BOUNDS.iter().map(|bound| Some(bound - 1)).chain([None]);
        Self {
            buckets: starts.zip(ends).map(|(start, end)| (start, end, 0)).collect(),
            acknowledgements: 0,
            max: 0,
            max_blocks: 0,
        }
    }
}

/// The blocks above the cumulative acknowledgement. A D-SACK block (RFC 2883) lies below it or within another block
/// and is left out.
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
    fn dsack_blocks_are_not_gaps() {
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
