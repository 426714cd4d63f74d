//! What does a SACK say? As much as fits, from the lowest TSN up (RFC 9260 §6.7).

use alloc::vec::Vec;

use anabranch_wire::{GapBlock, OutboundSack, PacketBuilder};

use super::tracker::Tracker;

/// Writes SACKs; keeps the list of blocks between them, so that none is allocated anew.
#[derive(Debug, Default)]
pub(super) struct SackWriter {
    blocks: Vec<GapBlock>,
}

impl SackWriter {
    /// Puts one SACK into the packet; `false` if not even one without blocks fits.
    ///
    /// RFC 9260 §6.7: one SACK that reports the gaps "from the lowest to highest TSNs, within the size
    /// limit". Duplicates get the room that remains.
    pub(super) fn write(
        &mut self,
        builder: &mut PacketBuilder<'_>,
        tracker: &Tracker,
        a_rwnd: u32,
        packet_count: Option<u8>,
    ) -> bool {
        let Some(room) = builder.room().checked_sub(OutboundSack::HEADER_LEN) else {
            return false;
        };
        let entries = room / OutboundSack::ENTRY_LEN;
        self.blocks.clear();
        self.blocks.extend(tracker.gap_blocks().take(entries));
        let duplicates = tracker.duplicates();
        let sack = OutboundSack {
            cumulative: tracker.cumulative().wrap(),
            a_rwnd,
            packet_count,
            blocks: &self.blocks,
            duplicates: &duplicates[..duplicates.len().min(entries - self.blocks.len())],
        };
        builder.push(&sack).is_ok()
    }
}
