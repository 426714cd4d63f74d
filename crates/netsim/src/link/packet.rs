//! Packet interface of a link. What does a link do to a packet? Duplicate, corrupt and ECN-mark it.

use anabranch_types::Rng;

/// A packet that a [`Link`](crate::Link) can carry. It is cloned only for duplication.
pub trait Packet: Clone {
    /// Corrupts the content so that it differs from before, unless it is empty.
    fn corrupt(&mut self, rng: &mut Rng);

    /// Whether a link with a smaller MTU may fragment the packet instead of dropping it.
    fn may_fragment(&self) -> bool {
        false
    }

    /// A number that packets of one flow share, by which a queue keeps flows apart; other flows should have others.
    fn flow(&self) -> u64 {
        0
    }

    /// Sets the congestion mark (CE, RFC 3168 §5); `false` if the packet is not ECN-capable and must be dropped.
    fn mark_congestion(&mut self) -> bool {
        false
    }
}

impl Packet for Vec<u8> {
    fn corrupt(&mut self, rng: &mut Rng) {
        flip_bits(self, rng);
    }
}

/// The flow number of a packet with these addresses, ports and protocol, or of any other sequence of bytes: FNV-1a.
#[must_use]
pub fn flow_of(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Flips one to eight bits in one byte, and with probability 1/2 in a second byte. Empty input stays empty.
pub fn flip_bits(bytes: &mut [u8], rng: &mut Rng) {
    let length = bytes.len() as u64;
    let Some(first) = index_below(length, rng) else {
        return;
    };
    bytes[first] ^= non_zero_byte(rng);
    if rng.chance(1, 2)
        && let Some(further) = index_below(length - 1, rng)
    {
        bytes[(first + 1 + further) % bytes.len()] ^= non_zero_byte(rng);
    }
}

fn index_below(bound: u64, rng: &mut Rng) -> Option<usize> {
    (bound > 0).then(|| rng.below(bound) as usize)
}

fn non_zero_byte(rng: &mut Rng) -> u8 {
    1 + rng.below(255) as u8
}
