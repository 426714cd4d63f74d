//! Sequence numbers, which wrap, and positions (relative sequence numbers), which do not.

use core::fmt;
use core::ops::Add;

use anabranch_types::Serial;

/// A sequence number as on the wire (RFC 9293 §3.4). It wraps at 2³² and has no order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SequenceNumber(pub u32);

impl Serial for SequenceNumber {
    fn precedes(self, other: Self) -> bool {
        self.0.precedes(other.0)
    }
}

impl Add<u32> for SequenceNumber {
    type Output = Self;

    fn add(self, count: u32) -> Self {
        Self(self.0.wrapping_add(count))
    }
}

impl fmt::Debug for SequenceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for SequenceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A position in one direction of a connection, relative to its SYN at 0; the first byte is at 1. Inside a connection all state
/// uses positions; 32-bit sequence numbers exist on the wire only.
pub(crate) type Position = u64;

/// Initial sequence number of a direction (ISS and IRS, RFC 9293 §3.3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct InitialSequenceNumber(pub(crate) SequenceNumber);

impl InitialSequenceNumber {
    /// The sequence number on the wire for `position`.
    pub(crate) const fn wire(self, position: Position) -> SequenceNumber {
        SequenceNumber(self.0.0.wrapping_add(position as u32))
    }

    /// The position nearest to `near` with this sequence number; `None` for one before the SYN. Correct while the distance is
    /// below 2³¹, which no window exceeds (RFC 7323 §2.3).
    pub(crate) fn position(self, number: SequenceNumber, near: Position) -> Option<Position> {
        let ahead = number.0.wrapping_sub(self.wire(near).0).cast_signed();
        near.checked_add_signed(i64::from(ahead))
    }
}

#[cfg(test)]
mod tests {
    use super::{InitialSequenceNumber, SequenceNumber};

    #[test]
    fn positions_continue_when_sequence_numbers_wrap() {
        let idsn = InitialSequenceNumber(SequenceNumber(u32::MAX - 1));
        assert_eq!(idsn.wire(5), SequenceNumber(3));
        assert_eq!(idsn.position(SequenceNumber(3), 0), Some(5));
        let far = 3 << 32;
        assert_eq!(idsn.position(idsn.wire(far + 9), far), Some(far + 9));
    }

    #[test]
    fn sequence_number_before_the_syn_is_invalid() {
        let idsn = InitialSequenceNumber(SequenceNumber(100));
        assert_eq!(idsn.position(SequenceNumber(99), 3), None);
        assert_eq!(idsn.position(SequenceNumber(100), 3), Some(0));
    }
}
