//! SACK writer. A SACK reports as many gap ack blocks as fit, from the lowest TSN up (RFC 9260 §6.7). If both ends agree, it also has
//! those of the TSNs that arrived last (ADR 0200).

use alloc::vec::Vec;
use core::mem;

use anabranch_policy::PolicyRecipe;
use anabranch_policy::catalog::{GapLimitChoice, SackWindowChoice};
use anabranch_types::{IntervalSet, UnwrappedTsn};
use anabranch_wire::{GapBlock, OutboundNrSack, OutboundSack, PacketBuilder};

use super::tracker::Tracker;
use crate::on_demand::Idle;

/// Which TSNs a SACK reports as non-renegable, so that the peer may free them. The receiver never reneges, but need not announce
/// it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NonRenegable {
    /// None: a plain SACK.
    Nothing,
    /// All reported TSNs.
    Received,
    /// The TSNs of messages that the application can receive.
    Deliverable,
}

/// Form and limits of a SACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SackForm {
    /// Whether its flags have the number of packets that it covers (DAC).
    pub(crate) reports_packet_count: bool,
    /// Which TSNs are non-renegable; `Nothing` for a plain SACK.
    pub(crate) non_renegable: NonRenegable,
    /// Maximum number of gap ack blocks.
    pub(crate) max_blocks: usize,
    /// Whether it has the blocks of the TSNs that arrived last if not all fit. A sender that did not agree would take those left out
    /// for reneged.
    pub(crate) selects: bool,
    /// Maximum offset of reported TSNs from the cumulative TSN (D. Sarnow, "SACK Handling for CMT-SCTP in the
    /// FreeBSD Kernel", HAW Hamburg 2017, §6.2.2).
    pub(crate) reach: u16,
}

impl SackForm {
    /// A plain SACK with the limits of `recipe`.
    pub(crate) fn of(recipe: &PolicyRecipe) -> Self {
        Self {
            reports_packet_count: false,
            non_renegable: NonRenegable::Nothing,
            max_blocks: match recipe.gap_limit {
                GapLimitChoice::Mtu(_) | GapLimitChoice::Recent(_) => usize::MAX,
                GapLimitChoice::Fixed(limit) => limit.blocks as usize,
            },
            selects: false,
            reach: match recipe.sack_window {
                SackWindowChoice::Unlimited(_) | SackWindowChoice::Sliding(_) => u16::MAX,
                SackWindowChoice::Fixed(window) => u16::try_from(window.tsns).unwrap_or(u16::MAX),
            },
        }
    }

    const fn header_len(&self) -> usize {
        match self.non_renegable {
            NonRenegable::Nothing => OutboundSack::HEADER_LEN,
            NonRenegable::Received | NonRenegable::Deliverable => OutboundNrSack::HEADER_LEN,
        }
    }
}

/// Writes SACKs; keeps the memory of the block list between them.
#[derive(Debug, Default)]
pub(super) struct SackWriter {
    blocks: Vec<GapBlock>,
    kept: Vec<GapBlock>,
}

impl Idle for SackWriter {
    const IDLE: &'static Self = &Self {
        blocks: Vec::new(),
        kept: Vec::new(),
    };

    fn is_idle(&self) -> bool {
        true
    }
}

impl SackWriter {
    //= rfc9260 6.2-18, 6.7-6, 6.7-7
    /// Writes one SACK into the packet; returns `false` if it does not fit, or if none of its gap ack blocks fits: without blocks
    /// it would report that nothing above the cumulative TSN has arrived.
    ///
    /// RFC 9260 §6.7: one SACK that reports the gaps "from the lowest to highest TSNs, within the size
    /// limit". Duplicate TSNs get the remaining room.
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
        if form.selects && form.non_renegable == NonRenegable::Nothing && tracker.gap_block_count() > most {
            tracker.add_selected_gap_blocks(form.reach, most, &mut self.blocks);
        } else {
            tracker.add_gap_blocks(form.reach, most, &mut self.blocks);
        }
        if self.blocks.len() > entries {
            return false;
        }
        self.kept.clear();
        match form.non_renegable {
            NonRenegable::Nothing => {}
            NonRenegable::Received => mem::swap(&mut self.blocks, &mut self.kept),
            NonRenegable::Deliverable => self.divide(tracker.cumulative(), entries, readable),
        }
        let duplicates = tracker.duplicates();
        let duplicates = &duplicates[..duplicates
            .len()
            .min(entries - self.blocks.len() - self.kept.len())];
        let cumulative = tracker.cumulative().wrap();
        let pushed = if form.non_renegable == NonRenegable::Nothing {
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

    /// Divides the blocks into those of `readable` TSNs and others, lowest first, `entries` at most.
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
                // The offset of the next TSN; above all offsets if there is none.
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
