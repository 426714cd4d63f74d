//! What must a link be able to do to its items? Copy, damage and mark them; nothing else.

use anabranch_types::Rng;

/// Anything that a [`Link`](crate::Link) can carry. Cloned only to duplicate it.
pub trait Packet: Clone {
    /// Damages the content so that it differs from before, unless there is none.
    fn corrupt(&mut self, rng: &mut Rng);

    /// Whether a link with a smaller MTU may cut it up; otherwise it is dropped there.
    fn may_fragment(&self) -> bool {
        false
    }

    /// Sets the congestion mark (RFC 3168 §5); `false` if the packet cannot carry one and must be dropped.
    fn mark_congestion(&mut self) -> bool {
        false
    }
}

impl Packet for Vec<u8> {
    fn corrupt(&mut self, rng: &mut Rng) {
        flip_bits(self, rng);
    }
}

/// Flips one to eight bits in one byte, and half the time in another byte too. Empty stays empty.
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
