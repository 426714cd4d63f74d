//! What travels over a test bed? IPv4 packets as the kernel made them.

use anabranch_netsim::link::{Packet, flip_bits};
use anabranch_types::Rng;

/// The shortest IPv4 header (RFC 791 §3.1).
const SHORTEST_HEADER: usize = 20;
/// Where the header has its type of service, with the two ECN bits at the end (RFC 3168 §5).
const SERVICE: usize = 1;
/// Where the flags are.
const FLAGS: usize = 6;
/// The flag that forbids to cut the packet up.
const DO_NOT_FRAGMENT: u8 = 0x40;
/// Where the checksum of the header is.
const CHECKSUM: usize = 10;

/// A whole IPv4 packet.
#[derive(Clone, Debug)]
pub(super) struct Frame(Vec<u8>);

impl Frame {
    /// `None` for anything else than an IPv4 packet: what other protocols tell a new device is nothing that was sent.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let is_one = bytes.len() >= SHORTEST_HEADER
            && bytes[0] >> 4 == 4
            && (SHORTEST_HEADER..=bytes.len()).contains(&header_length(bytes));
        is_one.then(|| Self(bytes.to_vec()))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Bytes of IP, as links count them.
    pub(super) fn length(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }
}

fn header_length(bytes: &[u8]) -> usize {
    usize::from(bytes[0] & 0x0f) * 4
}

impl Packet for Frame {
    /// Damages what IP carries: a damaged header would be a lost packet.
    fn corrupt(&mut self, rng: &mut Rng) {
        let header = header_length(&self.0);
        flip_bits(&mut self.0[header..], rng);
    }

    fn may_fragment(&self) -> bool {
        self.0[FLAGS] & DO_NOT_FRAGMENT == 0
    }

    fn mark_congestion(&mut self) -> bool {
        let before = self.0[SERVICE];
        if before & 0b11 == 0 {
            return false;
        }
        self.0[SERVICE] = before | 0b11;
        let checksum = u16::from_be_bytes([self.0[CHECKSUM], self.0[CHECKSUM + 1]]);
        let word = |service| u16::from_be_bytes([self.0[0], service]);
        let checksum = updated(checksum, word(before), word(before | 0b11));
        self.0[CHECKSUM..CHECKSUM + 2].copy_from_slice(&checksum.to_be_bytes());
        true
    }
}

/// "HC' = ~(~HC + ~m + m')" (RFC 1624 §3), in one's complement arithmetic.
fn updated(checksum: u16, old: u16, new: u16) -> u16 {
    let sum = u32::from(!checksum) + u32::from(!old) + u32::from(new);
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::{CHECKSUM, Frame, Packet as _};

    /// A header with capable ECN bits and the checksum that belongs to it.
    fn packet() -> Vec<u8> {
        let mut bytes = vec![
            0x45, 0x02, 0, 24, 0x12, 0x34, 0x40, 0, 64, 132, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
        ];
        let checksum = !sum_of(&bytes);
        bytes[CHECKSUM..CHECKSUM + 2].copy_from_slice(&checksum.to_be_bytes());
        bytes.extend([1, 2, 3, 4]);
        bytes
    }

    fn sum_of(header: &[u8]) -> u16 {
        let words = header
            .chunks(2)
            .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
        let sum: u32 = words.sum();
        ((sum & 0xffff) + (sum >> 16)) as u16
    }

    #[test]
    fn a_marked_packet_has_a_checksum_that_fits() {
        let mut frame = Frame::parse(&packet()).unwrap();
        assert!(frame.mark_congestion());
        assert_eq!(frame.bytes()[1] & 3, 3);
        assert_eq!(sum_of(&frame.bytes()[..20]), 0xffff);
    }

    #[test]
    fn who_cannot_be_marked_says_so() {
        let mut bytes = packet();
        bytes[1] = 0;
        assert!(!Frame::parse(&bytes).unwrap().mark_congestion());
    }

    #[test]
    fn nothing_but_ipv4_travels() {
        assert!(Frame::parse(&[0x60; 40]).is_none());
        assert!(Frame::parse(&[0x45; 19]).is_none());
        assert!(
            Frame::parse(&[0x4f; 24]).is_none(),
            "its header is longer than it"
        );
        assert!(!Frame::parse(&packet()).unwrap().may_fragment());
    }
}
