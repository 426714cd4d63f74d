//! SACK forger: writes SACKs of any shape with the right verification tag.

use anabranch_types::Tsn;
use anabranch_wire::{CommonHeader, GapBlock, OutboundSack, PacketBuilder};

/// Writes forged SACKs from Bob to Alice.
#[derive(Clone, Copy, Debug)]
pub struct Forger {
    header: CommonHeader,
    window: u32,
}

impl Forger {
    /// Takes the header of any packet from Bob to Alice after the handshake, and the a_rwnd to advertise in bytes.
    #[must_use]
    pub const fn new(header: CommonHeader, window: u32) -> Self {
        Self { header, window }
    }

    /// A packet with one SACK.
    ///
    /// # Panics
    ///
    /// If the blocks do not fit into a packet.
    #[must_use]
    pub fn sack(&self, cumulative: Tsn, blocks: &[GapBlock]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut packet = PacketBuilder::new(&mut bytes, self.header, 1_472);
        let sack = OutboundSack {
            cumulative,
            a_rwnd: self.window,
            packet_count: None,
            blocks,
            duplicates: &[],
        };
        packet.push(&sack).expect("few enough blocks");
        packet.finish();
        bytes
    }
}
