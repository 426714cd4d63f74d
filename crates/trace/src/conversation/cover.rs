//! Matching of acknowledgements to segments. Which segments does an acknowledgement newly cover?

use core::ops::Range;
use std::collections::VecDeque;

use anabranch_types::IntervalSet;

use super::{Acknowledged, Direction, Row};
use crate::segment::{Acknowledgement, Segment};

/// State of both directions while a conversation is read.
#[derive(Default)]
pub(super) struct Cover {
    directions: [Sent; 2],
}

/// Sent and acknowledged sequence numbers of one direction.
#[derive(Default)]
struct Sent {
    /// Highest unwrapped number seen; the next number is unwrapped to the nearest value.
    near: Option<u64>,
    /// Sent numbers.
    sent: IntervalSet,
    /// Acknowledged numbers.
    acknowledged: IntervalSet,
    /// Rows that are not cumulatively acknowledged.
    open: VecDeque<usize>,
}

impl Sent {
    /// Unwraps a number to the value nearest to the highest one seen.
    fn unwrap(&mut self, number: u32) -> u64 {
        // The first number starts one wrap up, so that earlier numbers do not underflow.
        let near = *self.near.get_or_insert_with(|| (1 << 32) + u64::from(number));
        let distance = number.wrapping_sub(near as u32) as i32;
        near.saturating_add_signed(i64::from(distance))
    }

    fn range(&mut self, range: &Range<u32>) -> Range<u64> {
        let start = self.unwrap(range.start);
        start..start + u64::from(range.end.wrapping_sub(range.start))
    }
}

impl Cover {
    /// Builds the row of a segment that follows `rows`.
    pub(super) fn row(
        &mut self,
        segment: Segment,
        direction: Direction,
        path: usize,
        began: u64,
        rows: &[Row],
    ) -> Row {
        let sent = &mut self.directions[direction.index()];
        let carries: Vec<Range<u64>> = segment.carries.iter().map(|range| sent.range(range)).collect();
        let known = |range: &Range<u64>| {
            sent.sent
                .range_with(range.start)
                .is_some_and(|had| range.end <= had.end)
        };
        let retransmission = !carries.is_empty() && carries.iter().all(known);
        for range in &carries {
            sent.sent.insert(range.clone());
            sent.near = sent.near.max(Some(range.end));
        }
        if !carries.is_empty() {
            sent.open.push_back(rows.len());
        }
        let other = &mut self.directions[1 - direction.index()];
        let acknowledges = segment
            .acknowledges
            .map(|acknowledgement| other.acknowledge(&acknowledgement, rows));
        Row {
            number: segment.number,
            at: segment.at.saturating_sub(began),
            direction,
            path,
            length: segment.length,
            label: segment.label,
            carries,
            retransmission,
            acknowledges,
        }
    }
}

impl Sent {
    fn acknowledge(&mut self, acknowledgement: &Acknowledgement, rows: &[Row]) -> Acknowledged {
        let before = self.unwrap(acknowledgement.before);
        let mut blocks: Vec<Range<u64>> = acknowledgement
            .blocks
            .iter()
            .map(|block| self.range(block))
            .collect();
        blocks.sort_by_key(|block| (block.start, block.end));
        let is_in = |number: &Range<u64>| {
            number.start < before
                || blocks
                    .iter()
                    .any(|block| number.start < block.end && block.start < number.end)
        };
        let mut covers = Vec::new();
        for &row in &self.open {
            let news = rows[row]
                .carries
                .iter()
                .any(|range| is_in(range) && !self.acknowledged.contains(range.start));
            if news {
                covers.push(row);
            }
        }
        self.open
            .retain(|row| rows[*row].carries.iter().any(|range| range.end > before));
        if let Some(first) = self.sent.iter().next() {
            let through = first.start.min(before)..before;
            if !through.is_empty() {
                self.acknowledged.insert(through);
            }
        }
        for block in blocks.iter().filter(|block| !block.is_empty()) {
            self.acknowledged.insert(block.clone());
        }
        Acknowledged {
            before,
            blocks,
            covers,
        }
    }
}
