//! Check of a packet by our own dissector.

use anabranch_wire::chunk::kind;
use anabranch_wire::{CommonHeader, Packet, dissect};

/// The dissector's output if it cannot decode the whole packet or the checksum is wrong. One of zero is not: the receiver would drop
/// the packet if it had not accepted that (RFC 9653).
pub(crate) fn error(packet: &[u8]) -> Option<String> {
    let line = dissect::line(packet);
    (line.contains('!') || line.ends_with("(wrong checksum)")).then_some(line)
}

/// Types of the chunks in a packet, whose checksum may be zero.
pub(crate) fn kinds(packet: &[u8]) -> Vec<u8> {
    let Ok(packet) = Packet::parse_unverified(packet) else {
        return Vec::new();
    };
    packet.chunks().flatten().map(|chunk| chunk.kind).collect()
}

/// Whether `packet` is a HEARTBEAT without the mandatory heartbeat information (RFC 9260 §3.3.5), which pion sends if
/// acknowledgements are late. No dissector accepts it, and it depends on timing whether it occurs.
pub(crate) fn is_empty_heartbeat(packet: &[u8]) -> bool {
    matches!(packet.get(CommonHeader::LEN..), Some([kind::HEARTBEAT, _, 0, 4]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_packet_is_reported() {
        assert!(error(&[1, 2, 3]).is_some());
        assert!(error(&[1; 12]).is_some(), "the checksum is wrong");
    }

    #[test]
    fn heartbeat_with_information_is_not_empty() {
        let mut packet = [0; 20];
        packet[12..].copy_from_slice(&[4, 0, 0, 8, 0, 1, 0, 4]);
        assert!(!is_empty_heartbeat(&packet));
        packet[15] = 4;
        assert!(is_empty_heartbeat(&packet[..16]));
        assert!(!is_empty_heartbeat(&packet), "another chunk behind it");
    }
}
