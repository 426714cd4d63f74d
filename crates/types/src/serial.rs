//! Serial number arithmetic (RFC 1982), as RFC 9260 §1.6 requires.

/// Serial number arithmetic of RFC 1982.
///
/// Deliberately not [`Ord`]: the relation is not transitive, so sorting by it is a mistake.
/// Where an order is needed, unwrap first (see [`crate::UnwrappedTsn`]).
pub trait Serial: Copy + Eq {
    //= rfc9260 1.6-2
    /// `self` comes before `other`. Two numbers exactly half the space apart are unordered: `false` both ways.
    #[must_use]
    fn precedes(self, other: Self) -> bool;

    /// `self` is `other` or comes before it.
    #[must_use]
    fn precedes_or_is(self, other: Self) -> bool {
        self == other || self.precedes(other)
    }
}

impl Serial for u16 {
    //= rfc5061 3-4
    fn precedes(self, other: Self) -> bool {
        let ahead = other.wrapping_sub(self);
        ahead != 0 && ahead < 1 << 15
    }
}

impl Serial for u32 {
    //= rfc5061 3-2
    fn precedes(self, other: Self) -> bool {
        let ahead = other.wrapping_sub(self);
        ahead != 0 && ahead < 1 << 31
    }
}

#[cfg(test)]
mod tests {
    use super::Serial;

    //= rfc5061 3-2, 3-4
    //= rfc9260 1.6-2
    #[test]
    fn order_survives_the_wrap() {
        assert!(u32::MAX.precedes(0));
        assert!(!0_u32.precedes(u32::MAX));
        assert!(0xfff0_u16.precedes(5));
        assert!(7_u32.precedes_or_is(7));
        assert!(!7_u32.precedes(7));
    }

    #[test]
    fn numbers_half_the_space_apart_are_unordered() {
        assert!(!0_u16.precedes(1 << 15));
        assert!(!(1_u16 << 15).precedes(0));
    }
}
