//! SACK writer. What does a SACK say? As much as fits, from the lowest TSN up (RFC 9260 §6.7).

use alloc::vec::Vec;
use core::mem;

use anabranch_policy::PolicyRecipe;
use anabranch_policy::catalog::{GapLimitChoice, SackWindowChoice};
use anabranch_types::{IntervalSet, UnwrappedTsn};
use anabranch_wire::{GapBlock, OutboundNrSack, OutboundSack, PacketBuilder};

use super::tracker::Tracker;

/// What a SACK promises to keep, so that the peer may free it. This receiver never throws anything away, but it need not say so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Promises {
    /// Nothing: it is a plain SACK.
    Nothing,
    /// All that it reports.
    Arrived,
    /// What the application can read.
    Readable,
}

/// How much a SACK says, and in which form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SackForm {
    /// In its flags stands how many packets it acknowledges (DAC).
    pub(crate) reports_packet_count: bool,
    /// Whether it is an NR-SACK, and of what.
    pub(crate) promises: Promises,
    /// The most gap blocks.
    pub(crate) max_blocks: usize,
    /// The last TSN reported, as an offset from the cumulative one (D. Sarnow, "SACK Handling for CMT-SCTP in the
    /// FreeBSD Kernel", HAW Hamburg 2017, §6.2.2).
    pub(crate) reach: u16,
}

impl SackForm {
    /// What `recipe` says about the length of SACKs; of the plain form.
    pub(crate) fn of(recipe: &PolicyRecipe) -> Self {
        Self {
            reports_packet_count: false,
            promises: Promises::Nothing,
            max_blocks: match recipe.gap_limit {
                GapLimitChoice::Mtu(_) => usize::MAX,
                GapLimitChoice::Fixed(limit) => limit.blocks as usize,
            },
            reach: match recipe.sack_window {
                SackWindowChoice::Unlimited(_) | SackWindowChoice::Sliding(_) => u16::MAX,
                SackWindowChoice::Fixed(window) => u16::try_from(window.tsns).unwrap_or(u16::MAX),
            },
        }
    }

    const fn header_len(&self) -> usize {
        match self.promises {
            Promises::Nothing => OutboundSack::HEADER_LEN,
            Promises::Arrived | Promises::Readable => OutboundNrSack::HEADER_LEN,
        }
    }
}

/// Writes SACKs; keeps the list of blocks between them, so that none is allocated anew.
#[derive(Debug, Default)]
pub(super) struct SackWriter {
    blocks: Vec<GapBlock>,
    kept: Vec<GapBlock>,
}

impl SackWriter {
    //= rfc9260 6.2-18, 6.7-6, 6.7-7
    /// Puts one SACK into the packet; `false` if it does not fit, or none of the blocks that it should have: without
    /// any it would say that there are none.
    ///
    /// RFC 9260 §6.7: one SACK that reports the gaps "from the lowest to highest TSNs, within the size
    /// limit". Duplicates get the room that remains.
    pub(super) fn write(
        &mut self,
        builder: &mut PacketBuilder<'_>,
        (tracker, readable): (&Tracker, &IntervalSet),
        a_rwnd: u32,
        packet_count: Option<u8>,
        form: SackForm,
    ) -> bool {
        let Some(room) = builder.room().checked_sub(form.header_len()) else {
            return false;
        };
        let entries = room / OutboundSack::ENTRY_LEN;
        self.blocks.clear();
        let most = form.max_blocks.min(entries.max(1));
        tracker.add_gap_blocks(form.reach, most, &mut self.blocks);
        if self.blocks.len() > entries {
            return false;
        }
        self.kept.clear();
        match form.promises {
            Promises::Nothing => {}
            Promises::Arrived => mem::swap(&mut self.blocks, &mut self.kept),
            Promises::Readable => self.divide(tracker.cumulative(), entries, readable),
        }
        let duplicates = tracker.duplicates();
        let duplicates = &duplicates[..duplicates
            .len()
            .min(entries - self.blocks.len() - self.kept.len())];
        let cumulative = tracker.cumulative().wrap();
        let pushed = if form.promises == Promises::Nothing {
            builder.push(&OutboundSack {
                cumulative,
                a_rwnd,
                packet_count,
                blocks: &self.blocks,
                duplicates,
            })
        } else {
            builder.push(&OutboundNrSack {
                cumulative,
                a_rwnd,
                packet_count,
                blocks: &self.blocks,
                non_renegable: &self.kept,
                duplicates,
            })
        };
        pushed.is_ok()
    }

    /// Divides the blocks into those of TSNs that are `readable` and the others, the lowest first, as many as there are `entries`
    /// for.
    fn divide(&mut self, cumulative: UnwrappedTsn, entries: usize, readable: &IntervalSet) {
        let whole = mem::take(&mut self.blocks);
        let mut known = readable.iter().peekable();
        for block in whole {
            let mut at = block.start;
            while at <= block.end {
                if self.blocks.len() + self.kept.len() == entries {
                    return;
                }
                let first = cumulative.0 + u64::from(at);
                while known.next_if(|range| range.end <= first).is_some() {}
                // What is next, as an offset; beyond all offsets if nothing is.
                let offset = |tsn: u64| u16::try_from(tsn - cumulative.0).unwrap_or(u16::MAX);
                let (list, end) = match known.peek() {
                    Some(range) if range.start <= first => (&mut self.kept, offset(range.end - 1)),
                    Some(range) => (&mut self.blocks, offset(range.start - 1)),
                    None => (&mut self.blocks, block.end),
                };
                let end = end.min(block.end);
                list.push(GapBlock { start: at, end });
                let Some(after) = end.checked_add(1) else {
                    break;
                };
                at = after;
            }
        }
    }
}
