//! What does our own dissector think of a packet?

use anabranch_wire::chunk::kind;
use anabranch_wire::{CommonHeader, Packet, dissect};

/// What it says, if it does not understand the packet to its end, or the checksum is wrong.
pub(crate) fn complaint(packet: &[u8]) -> Option<String> {
    let line = dissect::line(packet);
    (line.contains('!') || line.ends_with("(wrong checksum)")).then_some(line)
}

/// The kinds of the chunks in it.
pub(crate) fn kinds(packet: &[u8]) -> Vec<u8> {
    let Ok(packet) = Packet::parse(packet) else {
        return Vec::new();
    };
    packet.chunks().flatten().map(|chunk| chunk.kind).collect()
}

/// Whether `packet` is the one that pion sends when acknowledgements are late: a HEARTBEAT without the information that
/// "MUST" be in it (RFC 9260 §3.3.5). Neither dissector takes it for SCTP, and whether it comes is a matter of time.
pub(crate) fn is_empty_heartbeat(packet: &[u8]) -> bool {
    matches!(packet.get(CommonHeader::LEN..), Some([kind::HEARTBEAT, _, 0, 4]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_damaged_is_told() {
        assert!(complaint(&[1, 2, 3]).is_some());
        assert!(complaint(&[0; 12]).is_some(), "the checksum is wrong");
    }

    #[test]
    fn a_heartbeat_with_information_is_not_empty() {
        let mut packet = [0; 20];
        packet[12..].copy_from_slice(&[4, 0, 0, 8, 0, 1, 0, 4]);
        assert!(!is_empty_heartbeat(&packet));
        packet[15] = 4;
        assert!(is_empty_heartbeat(&packet[..16]));
        assert!(!is_empty_heartbeat(&packet), "another chunk behind it");
    }
}
