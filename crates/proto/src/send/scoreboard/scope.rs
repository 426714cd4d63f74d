//! SACK scope: the TSNs about which a SACK is taken to say something (ADR 0024).
//!
//! By RFC 9260 §6.2.1, a TSN that one SACK reports and the next one does not is no longer acknowledged. But a SACK may be
//! truncated: it has as many blocks as fit into its packet, the lowest first (§6.7). So it says nothing about TSNs above its last
//! block, and these keep their state. A SACK without blocks says that nothing above the cumulative TSN has arrived. This is safe:
//! if a receiver reneges on its highest TSNs, it shows at the latest when the cumulative TSN reaches them, and until then the chunk
//! after the cumulative TSN is outstanding, so that timers run.
//!
//! With `sack-window` = `sliding` (D. Sarnow, "SACK Handling for CMT-SCTP in the FreeBSD Kernel", HAW Hamburg 2017,
//! §6.3.2) the sender processes only part of it: always the first window above the cumulative TSN, and one of the following windows
//! in turn.

use alloc::vec::Vec;
use core::ops::Range;

use anabranch_policy::catalog::SackWindowChoice;
use anabranch_policy::options::SlidingWindowParameters;
use anabranch_types::IntervalSet;

/// The part of SACKs that is processed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SackWindow {
    /// The whole SACK.
    Everything,
    /// Two windows, of which the second one slides.
    Sliding {
        size: SlidingWindowParameters,
        /// Next position of the second window; 0 is directly above the first one.
        turn: u32,
    },
}

/// The TSNs of a SACK that are processed: two ranges, ascending and disjoint, each of which may be empty.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Scope(pub(super) [Range<u64>; 2]);

impl SackWindow {
    pub(crate) const fn new(window: SackWindowChoice) -> Self {
        match window {
            SackWindowChoice::Unlimited(_) | SackWindowChoice::Fixed(_) => Self::Everything,
            SackWindowChoice::Sliding(size) => Self::Sliding { size, turn: 0 },
        }
    }

    /// The scope of the next SACK; `sent` are the TSNs above its cumulative TSN.
    pub(super) fn next(&mut self, sent: Range<u64>, blocks: &IntervalSet) -> Scope {
        let end = blocks.max().map_or(sent.end, |highest| highest + 1).min(sent.end);
        match self {
            Self::Everything => Scope([sent.start..end, end..end]),
            Self::Sliding { size, turn } => {
                let window = |number: u32| {
                    let start = sent.start + u64::from(number) * u64::from(size.tsns);
                    start.min(end)..(start + u64::from(size.tsns)).min(end)
                };
                let scope = Scope([window(0), window(1 + *turn)]);
                *turn = (*turn + 1) % size.windows;
                scope
            }
        }
    }
}

impl Scope {
    /// Merges the blocks of the SACK within the scope with those reported `before` outside of it. Returns whether any of the latter
    /// are above the scope.
    pub(super) fn merge(
        &self,
        blocks: &IntervalSet,
        before: &[Range<u64>],
        into: &mut Vec<Range<u64>>,
    ) -> bool {
        let [first, second] = &self.0;
        let heard = |zone: &Range<u64>, into: &mut _| clip(blocks.iter(), zone, into);
        let known = |zone: &Range<u64>, into: &mut _| {
            let from = before.partition_point(|range| range.end <= zone.start);
            clip(before[from..].iter().cloned(), zone, into);
        };
        // The usual case: all blocks are in the first range.
        let is_within = |low: u64, high: u64| first.start <= low && high < first.end;
        if into.is_empty()
            && blocks
                .min()
                .zip(blocks.max())
                .is_some_and(|(low, high)| is_within(low, high))
        {
            into.extend(blocks.iter());
        } else {
            heard(first, into);
        }
        if first.end < second.end {
            known(&(first.end..second.start), into);
            heard(second, into);
        }
        let retains = before.last().is_some_and(|block| block.end > second.end);
        if retains {
            known(&(second.end..u64::MAX), into);
        }
        retains
    }
}

/// Appends the parts of `ranges` that lie in `zone`.
fn clip(ranges: impl Iterator<Item = Range<u64>>, zone: &Range<u64>, into: &mut Vec<Range<u64>>) {
    for range in ranges {
        let range = range.start.max(zone.start)..range.end.min(zone.end);
        if range.is_empty() {
            continue;
        }
        match into.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => into.push(range),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// A range, as its first number and the one after its last.
    type Pair = (u64, u64);

    /// What is reported after a SACK of these blocks, while everything below 100 was sent and 9 is acknowledged.
    fn heard(sack_window: &mut SackWindow, blocks: &[Pair], before: &[Pair]) -> Vec<Pair> {
        let blocks: IntervalSet = blocks.iter().map(|&(start, end)| start..end).collect();
        let before: Vec<_> = before.iter().map(|&(start, end)| start..end).collect();
        let mut after = Vec::new();
        let scope = sack_window.next(10..100, &blocks);
        scope.merge(&blocks, &before, &mut after);
        after.into_iter().map(|range| (range.start, range.end)).collect()
    }

    #[test]
    fn tsns_above_the_last_gap_block_keep_their_state() {
        let mut all = SackWindow::Everything;
        let before = [(12, 14), (20, 30)];
        assert_eq!(
            heard(&mut all, &[(12, 13)], &before),
            [(12, 14), (20, 30)],
            "13 is above the last block too"
        );
        assert_eq!(heard(&mut all, &[(20, 21)], &before), [(20, 30)]);
    }

    #[test]
    fn sack_without_gap_blocks_reneges_on_all() {
        assert_eq!(heard(&mut SackWindow::Everything, &[], &[(12, 14), (20, 30)]), []);
    }

    #[test]
    fn second_sack_window_slides_and_wraps_around() {
        let size = SlidingWindowParameters { tsns: 10, windows: 2 };
        let mut sliding = SackWindow::Sliding { size, turn: 0 };
        let blocks = [(11, 90)];
        let before = heard(&mut sliding, &blocks, &[]);
        assert_eq!(before, [(11, 30)], "the first two");
        assert_eq!(
            heard(&mut sliding, &blocks, &before),
            [(11, 40)],
            "the first and the third; what was known stays"
        );
        assert_eq!(heard(&mut sliding, &blocks, &[]), [(11, 30)]);
        assert_eq!(heard(&mut sliding, &blocks, &[]), [(11, 20), (30, 40)]);
    }
}
