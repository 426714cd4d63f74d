//! Reassembly buffer: bytes received out of order, and the gaps before them.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::mem;
use core::ops::Range;

use anabranch_types::IntervalSet;
use bytes::{Bytes, BytesMut};

/// Number of recent blocks to remember; more than fit into any acknowledgement.
const REMEMBERED: usize = 6;
/// Number of parts that may always wait for a gap.
const PARTS: usize = 64;
/// Beyond that, each part must on average be this large, so that tiny segments cannot use many times the window in memory.
const BYTES_PER_PART: u64 = 64;
/// Size of the blocks into which bytes in order are copied.
const BLOCK: usize = 1 << 14;

/// Reassembles bytes that arrive in any order.
#[derive(Debug)]
pub(crate) struct Reassembly {
    /// The first missing position.
    next: u64,
    parts: BTreeMap<u64, Bytes>,
    /// The ranges of `parts`, all beyond `next`.
    beyond: IntervalSet,
    beyond_bytes: u64,
    /// A position in each recently received block, the latest first.
    latest: Vec<u64>,
    /// Free memory for bytes in order. They are read in order, too, so a block does not outlive its bytes by long.
    block: BytesMut,
}

/// Changes made by an arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Arrived {
    /// New bytes.
    pub(crate) new: u64,
    /// It is out of order, or filled a gap at least partly.
    pub(crate) gaps_changed: bool,
}

impl Reassembly {
    pub(crate) fn new(next: u64) -> Self {
        Self {
            next,
            parts: BTreeMap::new(),
            beyond: IntervalSet::new(),
            beyond_bytes: 0,
            latest: Vec::new(),
            block: BytesMut::new(),
        }
    }

    /// The first missing position.
    pub(crate) const fn next(&self) -> u64 {
        self.next
    }

    /// Bytes that wait for a gap before them.
    pub(crate) const fn beyond_bytes(&self) -> u64 {
        self.beyond_bytes
    }

    pub(crate) fn has_gaps(&self) -> bool {
        !self.beyond.is_empty()
    }

    /// Adds the new part of `bytes`, whose first byte is at `start`. Bytes that became readable are appended to `ready`.
    pub(crate) fn insert(&mut self, start: u64, bytes: &[u8], ready: &mut Vec<(u64, Bytes)>) -> Arrived {
        let run = start..start + bytes.len() as u64;
        let Some(from) = self.take_in_order(&run) else {
            return self.insert_run(run, ready, |part| Bytes::copy_from_slice(&bytes[part]));
        };
        let new = &bytes[(from - start) as usize..];
        if self.block.capacity() < new.len() {
            self.block.reserve(BLOCK.max(new.len()));
        }
        self.block.extend_from_slice(new);
        ready.push((from, self.block.split().freeze()));
        Arrived {
            new: new.len() as u64,
            gaps_changed: false,
        }
    }

    /// Like [`Self::insert`], for bytes that need not be copied.
    pub(crate) fn insert_shared(
        &mut self,
        start: u64,
        bytes: &Bytes,
        ready: &mut Vec<(u64, Bytes)>,
    ) -> Arrived {
        let run = start..start + bytes.len() as u64;
        let Some(from) = self.take_in_order(&run) else {
            return self.insert_run(run, ready, |part| bytes.slice(part));
        };
        let new = bytes.slice((from - start) as usize..);
        let arrived = Arrived {
            new: new.len() as u64,
            gaps_changed: false,
        };
        ready.push((from, new));
        arrived
    }

    /// The usual case: the run continues what was received, and nothing waits for a gap. Returns where its new bytes start.
    fn take_in_order(&mut self, run: &Range<u64>) -> Option<u64> {
        let continues = run.start <= self.next && self.next < run.end;
        if !continues || !self.beyond.is_empty() {
            return None;
        }
        Some(mem::replace(&mut self.next, run.end))
    }

    /// `part` returns the bytes of a range counted from the start of the run.
    fn insert_run(
        &mut self,
        run: Range<u64>,
        ready: &mut Vec<(u64, Bytes)>,
        part: impl Fn(Range<usize>) -> Bytes,
    ) -> Arrived {
        let Range { start, end } = run;
        let from = start.max(self.next);
        if from >= end {
            return Arrived::default();
        }
        let piece = |range: &Range<u64>| part((range.start - start) as usize..(range.end - start) as usize);
        let arrival: IntervalSet = core::iter::once(from..end).collect();
        let new: Vec<Range<u64>> = arrival.difference(&self.beyond).collect();
        let may_wait =
            self.parts.len() < PARTS || self.parts.len() as u64 * BYTES_PER_PART < self.beyond_bytes;
        let mut count = 0;
        for range in new {
            if range.start > self.next && !may_wait {
                continue;
            }
            count += range.end - range.start;
            self.parts.insert(range.start, piece(&range));
            self.beyond.insert(range);
        }
        self.beyond_bytes += count;
        if count > 0 {
            self.remember(from);
        }
        self.advance(ready);
        Arrived {
            new: count,
            gaps_changed: true,
        }
    }

    fn advance(&mut self, ready: &mut Vec<(u64, Bytes)>) {
        while let Some(first) = self.parts.first_entry()
            && *first.key() == self.next
        {
            let part = first.remove();
            ready.push((self.next, part.clone()));
            self.next += part.len() as u64;
            self.beyond_bytes -= part.len() as u64;
        }
        self.beyond.remove_below(self.next);
    }

    fn remember(&mut self, place: u64) {
        let block = |place: u64| Some(self.beyond.range_with(place)?.start);
        let this = block(place);
        let mut latest = mem::take(&mut self.latest);
        latest.retain(|other| block(*other).is_some_and(|start| Some(start) != this));
        latest.insert(0, place);
        latest.truncate(REMEMBERED);
        self.latest = latest;
    }

    /// The blocks beyond the first gap: first the one with the segment that triggered this ACK (RFC 2018 §4), then those reported
    /// before it.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.latest
            .iter()
            .filter_map(|place| self.beyond.range_with(*place))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use anabranch_types::Seed;
    use bytes::Bytes;

    use super::Reassembly;

    #[test]
    fn segments_in_any_order_are_reassembled() {
        for seed in 0..200 {
            let mut rng = Seed(seed).rng();
            let mut sent = vec![0; 500];
            rng.fill(&mut sent);
            let mut reassembly = Reassembly::new(7);
            let mut read = Vec::new();
            while read.len() < sent.len() {
                let start = rng.below(500) as usize;
                let end = (start + 1 + rng.below(80) as usize).min(sent.len());
                let mut ready: Vec<(u64, Bytes)> = Vec::new();
                reassembly.insert(7 + start as u64, &sent[start..end], &mut ready);
                for (place, part) in ready {
                    assert_eq!(place, 7 + read.len() as u64);
                    read.extend_from_slice(&part);
                }
                assert_eq!(reassembly.next(), 7 + read.len() as u64);
            }
            assert_eq!(read, sent);
            assert_eq!(reassembly.beyond_bytes(), 0);
        }
    }

    #[test]
    fn latest_sack_block_is_reported_first() {
        let mut reassembly = Reassembly::new(0);
        let mut ready = Vec::new();
        for start in [10, 50, 30, 12] {
            reassembly.insert(start, &[0; 2], &mut ready);
        }
        let blocks: Vec<_> = reassembly.blocks().collect();
        assert_eq!(blocks, [10..14, 30..32, 50..52]);
        reassembly.insert(0, &[0; 10], &mut ready);
        let blocks: Vec<_> = reassembly.blocks().collect();
        assert_eq!(blocks, [30..32, 50..52]);
    }

    #[test]
    fn out_of_order_segments_beyond_the_limit_are_discarded() {
        let mut reassembly = Reassembly::new(0);
        let mut ready = Vec::new();
        for part in 1..10_000 {
            reassembly.insert(part * 2, &[0], &mut ready);
        }
        assert!(reassembly.parts.len() <= super::PARTS);
        reassembly.insert(0, &[0; 3], &mut ready);
        assert_eq!(reassembly.next(), 3, "what is missing is always taken");
    }
}
