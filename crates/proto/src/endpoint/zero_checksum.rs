//! Zero checksum (RFC 9653). Which packets may have a checksum of zero, where a lower layer detects errors?
//!
//! A packet is accepted so if its association has declared it. A packet that belongs to no association is accepted so if the endpoint
//! has declared it for any. All others need a correct CRC32c.

use anabranch_wire::chunk::kind;
use anabranch_wire::{Packet, checksum};

use super::inbound::Inbound;

impl Inbound<'_> {
    //= rfc9653 5.3-1, 5.3-2
    /// Whether the packet has a correct checksum, or one of zero that is accepted: by its association, or by the endpoint for a
    /// packet that belongs to none.
    pub(super) fn is_intact(&self, accepts_zero: bool) -> bool {
        !self.is_unverified
            || accepts_zero && !needs_checksum(self.packet)
            || checksum::is_valid(self.packet.bytes())
    }
}

//= rfc9653 5.2-2, 5.2-4, 5.2-5
//= rfc6951 5.3-4
/// Whether a packet needs a correct CRC32c in any case: an INIT and a COOKIE ECHO, because their receiver has no association yet, and
/// an ASCONF, whose destination may be a new path.
fn needs_checksum(packet: &Packet<'_>) -> bool {
    let needs = |kind| matches!(kind, kind::INIT | kind::COOKIE_ECHO | kind::ASCONF);
    packet.chunks().flatten().any(|chunk| needs(chunk.kind))
}

//= rfc9653 5.2-7
/// Writes the checksums of packets, which are `segment` bytes long except the last. If `may_be_zero`, they are left zero where
/// that is permitted.
pub(super) fn seal(packets: &mut [u8], segment: usize, may_be_zero: bool) {
    for packet in packets.chunks_mut(segment.max(1)) {
        let stays_zero =
            may_be_zero && Packet::parse_unverified(packet).is_ok_and(|packet| !needs_checksum(&packet));
        if !stays_zero {
            checksum::seal(packet);
        }
    }
}
