//! Protocol numbers: one type for each kind of number that counts chunks or messages.

use core::fmt;
use core::ops::{Add, Sub};

use crate::Serial;

macro_rules! wire_number {
    ($(#[$doc:meta])* $name:ident($raw:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $name(pub $raw);

        impl $name {
            //= rfc5061 3-1, 3-3
            /// The number after this one, wrapping.
            #[must_use]
            pub const fn next(self) -> Self {
                Self(self.0.wrapping_add(1))
            }

            /// The number before this one, wrapping.
            #[must_use]
            pub const fn previous(self) -> Self {
                Self(self.0.wrapping_sub(1))
            }
        }

        impl Serial for $name {
            fn precedes(self, other: Self) -> bool {
                self.0.precedes(other.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

wire_number! {
    /// Transmission Sequence Number: counts DATA chunks of one direction (RFC 9260 §1.3). Wraps at 2³².
    Tsn(u32)
}
wire_number! {
    /// Stream Sequence Number: counts ordered messages of one stream (RFC 9260 §1.3). Wraps at 2¹⁶.
    Ssn(u16)
}
wire_number! {
    /// Message Identifier: counts messages of one stream in I-DATA (RFC 8260 §2.1). Wraps at 2³².
    Mid(u32)
}
wire_number! {
    /// Counts the ASCONF chunks of one direction (RFC 5061 §4.1.1). Wraps at 2³².
    AsconfNumber(u32)
}
wire_number! {
    /// Counts the requests to reconfigure streams of one direction (RFC 6525 §4.1). Wraps at 2³².
    ReConfigNumber(u32)
}
wire_number! {
    /// Fragment Sequence Number: counts fragments of one message in I-DATA (RFC 8260 §2.1). Wraps at 2³².
    Fsn(u32)
}

impl Add<u32> for Tsn {
    type Output = Self;

    fn add(self, count: u32) -> Self {
        Self(self.0.wrapping_add(count))
    }
}

impl Sub<u32> for Tsn {
    type Output = Self;

    fn sub(self, count: u32) -> Self {
        Self(self.0.wrapping_sub(count))
    }
}

/// A [`Tsn`] with its wraps counted, so that it has a total order.
///
/// An association uses this type for everything; the 32-bit form exists on the wire only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnwrappedTsn(pub u64);

impl UnwrappedTsn {
    /// The unwrapped form of an association's initial TSN. It starts one wrap up, so that the TSN before the first one
    /// is a number too.
    #[must_use]
    pub const fn first(initial: Tsn) -> Self {
        Self((1 << 32) + initial.0 as u64)
    }

    //= rfc9260 1.6-1, 1.6-4
    /// The unwrapped number nearest to `self` whose low 32 bits are `tsn`.
    ///
    /// Correct while the distance is below 2³¹, which RFC 9260 §1.6 requires of TSNs in flight.
    #[must_use]
    pub const fn nearest(self, tsn: Tsn) -> Self {
        let ahead = tsn.0.wrapping_sub(self.0 as u32).cast_signed();
        Self(self.0.wrapping_add_signed(ahead as i64))
    }

    /// The 32-bit form, as on the wire.
    #[must_use]
    pub const fn wrap(self) -> Tsn {
        Tsn(self.0 as u32)
    }

    /// The number after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// The number before this one.
    #[must_use]
    pub const fn previous(self) -> Self {
        Self(self.0 - 1)
    }
}

impl Add<u64> for UnwrappedTsn {
    type Output = Self;

    fn add(self, count: u64) -> Self {
        Self(self.0 + count)
    }
}

impl Sub for UnwrappedTsn {
    type Output = u64;

    fn sub(self, earlier: Self) -> u64 {
        self.0 - earlier.0
    }
}

impl fmt::Debug for UnwrappedTsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.wrap())
    }
}

/// Send number: counts the chunks sent on one path, first transmissions and retransmissions alike.
///
/// Never on the wire. It orders retransmitted chunks, whose TSNs do not reflect when they were sent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct SendNumber(pub u64);

#[cfg(test)]
mod tests {
    use super::{AsconfNumber, Tsn, UnwrappedTsn};
    use crate::Serial as _;

    //= rfc9260 1.6-1, 1.6-4
    #[test]
    fn unwrapping_follows_the_wrap_in_both_directions() {
        let first = UnwrappedTsn::first(Tsn(u32::MAX - 1));
        let after_wrap = first.nearest(Tsn(3));
        assert_eq!(after_wrap - first, 5);
        assert_eq!(after_wrap.wrap(), Tsn(3));
        assert_eq!(after_wrap.nearest(Tsn(u32::MAX - 1)), first);
    }

    #[test]
    fn the_number_before_the_first_exists() {
        let first = UnwrappedTsn::first(Tsn(0));
        assert_eq!(first.previous().wrap(), Tsn(u32::MAX));
    }

    //= rfc5061 3-1, 3-2, 3-3
    #[test]
    fn asconf_numbers_wrap_and_keep_their_order() {
        let last = AsconfNumber(u32::MAX);
        assert_eq!(last.next(), AsconfNumber(0));
        assert!(last.precedes(last.next()) && !last.next().precedes(last));
    }
}
