//! SACK statistics: TSNs reported beyond the cumulative TSN Ack in received SACKs, and their blocks.

use anabranch_wire::{Chunk, GapBlock, Packet};

use crate::Histogram;

/// Counts over the SACKs and NR-SACKs that a host received, discarded ones included.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SackStatistics {
    /// TSNs reported beyond the cumulative TSN Ack, per SACK.
    pub gap_tsns: Histogram,
    /// Blocks that report them.
    pub gap_blocks: Histogram,
    /// TSNs in SACKs with exactly one block.
    pub tsns_of_single_block: Histogram,
}

impl SackStatistics {
    /// Counts the SACKs of a packet.
    pub(crate) fn note(&mut self, packet: &[u8]) {
        let Ok(packet) = Packet::parse_unverified(packet) else {
            return;
        };
        for chunk in packet.chunks() {
            match chunk.and_then(|chunk| chunk.decode()) {
                Ok(Chunk::Sack(sack)) => self.note_blocks(sack.gap_blocks()),
                Ok(Chunk::NrSack(sack)) => {
                    self.note_blocks(sack.gap_blocks().chain(sack.non_renegable_blocks()));
                }
                // The rest of a malformed packet is not counted.
                Err(_) => return,
                Ok(_) => {}
            }
        }
    }

    fn note_blocks(&mut self, blocks: impl Iterator<Item = GapBlock>) {
        let (mut count, mut tsns) = (0, 0);
        for block in blocks {
            count += 1;
            tsns += u64::from(block.end.saturating_sub(block.start)) + 1;
        }
        self.gap_blocks.note(count);
        self.gap_tsns.note(tsns);
        if count == 1 {
            self.tsns_of_single_block.note(tsns);
        }
    }
}
