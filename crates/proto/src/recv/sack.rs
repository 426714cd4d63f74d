//! What does a SACK say? As much as fits, from the lowest TSN up (RFC 9260 §6.7).

use alloc::vec::Vec;

use anabranch_policy::PolicyRecipe;
use anabranch_policy::catalog::{GapLimitChoice, SackWindowChoice};
use anabranch_wire::{GapBlock, OutboundNrSack, OutboundSack, PacketBuilder};

use super::tracker::Tracker;

/// How much a SACK says, and in which form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SackForm {
    /// In its flags stands how many packets it acknowledges (DAC).
    pub(crate) reports_packet_count: bool,
    /// It is an NR-SACK: the peer may free what it reports. This receiver never reneges, so that is all of it.
    pub(crate) non_renegable: bool,
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
            non_renegable: false,
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
        if self.non_renegable {
            OutboundNrSack::HEADER_LEN
        } else {
            OutboundSack::HEADER_LEN
        }
    }
}

/// Writes SACKs; keeps the list of blocks between them, so that none is allocated anew.
#[derive(Debug, Default)]
pub(super) struct SackWriter {
    blocks: Vec<GapBlock>,
}

impl SackWriter {
    /// Puts one SACK into the packet; `false` if it does not fit, or none of the blocks that it should have: without
    /// any it would say that there are none.
    ///
    /// RFC 9260 §6.7: one SACK that reports the gaps "from the lowest to highest TSNs, within the size
    /// limit". Duplicates get the room that remains.
    pub(super) fn write(
        &mut self,
        builder: &mut PacketBuilder<'_>,
        tracker: &Tracker,
        a_rwnd: u32,
        packet_count: Option<u8>,
        form: SackForm,
    ) -> bool {
        let Some(room) = builder.room().checked_sub(form.header_len()) else {
            return false;
        };
        let entries = room / OutboundSack::ENTRY_LEN;
        self.blocks.clear();
        let within_reach = tracker.gap_blocks(form.reach).take(form.max_blocks);
        self.blocks.extend(within_reach.take(entries.max(1)));
        if self.blocks.len() > entries {
            return false;
        }
        let duplicates = tracker.duplicates();
        let duplicates = &duplicates[..duplicates.len().min(entries - self.blocks.len())];
        let cumulative = tracker.cumulative().wrap();
        let pushed = if form.non_renegable {
            builder.push(&OutboundNrSack {
                cumulative,
                a_rwnd,
                packet_count,
                blocks: &[],
                non_renegable: &self.blocks,
                duplicates,
            })
        } else {
            builder.push(&OutboundSack {
                cumulative,
                a_rwnd,
                packet_count,
                blocks: &self.blocks,
                duplicates,
            })
        };
        pushed.is_ok()
    }
}
