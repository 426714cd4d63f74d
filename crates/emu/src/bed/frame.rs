//! Frame on a test bed: an IPv4 packet from the kernel.

use anabranch_netsim::link::{Packet, flip_bits, flow_of};
use anabranch_types::Rng;

/// Length of an IPv4 header without options (RFC 791 §3.1).
const MIN_HEADER: usize = 20;
/// Offset of the type of service, whose two low bits are ECN (RFC 3168 §5).
const TYPE_OF_SERVICE: usize = 1;
/// Offset of the flags.
const FLAGS: usize = 6;
/// Don't-fragment flag.
const DO_NOT_FRAGMENT: u8 = 0x40;
/// Offset of the protocol number.
const PROTOCOL: usize = 9;
/// Offset of the source address, before the destination.
const ADDRESSES: usize = 12;
/// Offset of the header checksum.
const CHECKSUM: usize = 10;

/// A complete IPv4 packet.
#[derive(Clone, Debug)]
pub(super) struct Frame(Vec<u8>);

impl Frame {
    /// `None` for anything but IPv4, such as IPv6 announcements on a new device.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let is_one = bytes.len() >= MIN_HEADER
            && bytes[0] >> 4 == 4
            && (MIN_HEADER..=bytes.len()).contains(&header_length(bytes));
        is_one.then(|| Self(bytes.to_vec()))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Length of the IP packet in bytes.
    pub(super) fn length(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }
}

fn header_length(bytes: &[u8]) -> usize {
    usize::from(bytes[0] & 0x0f) * 4
}

impl Packet for Frame {
    /// Corrupts only the payload: the kernel drops packets with a corrupt header.
    fn corrupt(&mut self, rng: &mut Rng) {
        let header = header_length(&self.0);
        flip_bits(&mut self.0[header..], rng);
    }

    fn may_fragment(&self) -> bool {
        self.0[FLAGS] & DO_NOT_FRAGMENT == 0
    }

    /// By addresses, protocol and the ports of TCP, UDP or SCTP, which are the first four bytes of the payload.
    fn flow(&self) -> u64 {
        let header = header_length(&self.0);
        let ports = &self.0[header..self.0.len().min(header + 4)];
        let addresses = &self.0[ADDRESSES..MIN_HEADER];
        flow_of([&self.0[PROTOCOL..=PROTOCOL], addresses, ports].concat())
    }

    fn mark_congestion(&mut self) -> bool {
        let before = self.0[TYPE_OF_SERVICE];
        if before & 0b11 == 0 {
            return false;
        }
        self.0[TYPE_OF_SERVICE] = before | 0b11;
        let checksum = u16::from_be_bytes([self.0[CHECKSUM], self.0[CHECKSUM + 1]]);
        let word = |service| u16::from_be_bytes([self.0[0], service]);
        let checksum = updated(checksum, word(before), word(before | 0b11));
        self.0[CHECKSUM..CHECKSUM + 2].copy_from_slice(&checksum.to_be_bytes());
        true
    }
}

/// Incremental update of a checksum by equation 3 of RFC 1624 §3, in one's complement arithmetic.
fn updated(checksum: u16, old: u16, new: u16) -> u16 {
    let sum = u32::from(!checksum) + u32::from(!old) + u32::from(new);
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::{CHECKSUM, Frame, Packet as _};

    /// An ECN-capable packet with a correct checksum.
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
    fn ecn_marking_updates_the_header_checksum() {
        let mut frame = Frame::parse(&packet()).unwrap();
        assert!(frame.mark_congestion());
        assert_eq!(frame.bytes()[1] & 3, 3);
        assert_eq!(sum_of(&frame.bytes()[..20]), 0xffff);
    }

    #[test]
    fn flows_differ_in_addresses_ports_and_protocol_alone() {
        let of = |offset: Option<usize>| {
            let mut bytes = packet();
            if let Some(offset) = offset {
                bytes[offset] ^= 1;
            }
            Frame::parse(&bytes).unwrap().flow()
        };
        for offset in [9, 12, 19, 20, 23] {
            assert_ne!(of(Some(offset)), of(None), "{offset}");
        }
        for offset in [1, 4, 8, 10] {
            assert_eq!(of(Some(offset)), of(None), "{offset}");
        }
    }

    #[test]
    fn packet_without_ecn_cannot_be_marked() {
        let mut bytes = packet();
        bytes[1] = 0;
        assert!(!Frame::parse(&bytes).unwrap().mark_congestion());
    }

    #[test]
    fn only_ipv4_packets_are_accepted() {
        assert!(Frame::parse(&[0x60; 40]).is_none());
        assert!(Frame::parse(&[0x45; 19]).is_none());
        assert!(
            Frame::parse(&[0x4f; 24]).is_none(),
            "header longer than the packet"
        );
        assert!(!Frame::parse(&packet()).unwrap().may_fragment());
    }
}
