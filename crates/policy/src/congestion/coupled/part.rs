//! Fixed-point fractions. Which part of an increase does a path take?

use core::ops::{Add, Neg};

/// A part of a whole, in units of 2⁻³²; negative for a decrease.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Part(i64);

const BITS: u32 = 32;

impl Part {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// The whole.
    pub const ONE: Self = Self(1 << BITS);

    /// `numerator / denominator`, at most the whole; the whole if the denominator is 0. The numerator has 96 bits at
    /// most.
    #[must_use]
    pub fn ratio(numerator: u128, denominator: u128) -> Self {
        if numerator >= denominator {
            return Self::ONE;
        }
        Self(((numerator << BITS) / denominator) as i64)
    }

    /// Its part of `bytes`, rounded up: what grows at all grows by a byte.
    #[must_use]
    pub fn of(self, bytes: u64) -> i64 {
        let scaled = i128::from(self.0) * i128::from(bytes);
        ((scaled + (1 << BITS) - 1) >> BITS) as i64
    }

    /// This many times 2⁻³².
    #[must_use]
    pub const fn units(self) -> u64 {
        self.0.unsigned_abs()
    }

    /// The part that is `square` times 2⁻⁶⁴, at most the whole.
    #[must_use]
    pub fn of_square(square: u128) -> Self {
        Self((square >> BITS).min(1 << BITS) as i64)
    }
}

impl Add for Part {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Neg for Part {
    type Output = Self;

    fn neg(self) -> Self {
        Self(-self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Part;

    #[test]
    fn a_part_of_bytes_is_rounded_up() {
        assert_eq!(Part::ratio(1, 3).of(1_452), 484);
        assert_eq!(Part::ratio(1, 1_000_000).of(1_452), 1);
        assert_eq!((-Part::ratio(1, 4)).of(1_451), -362);
        assert_eq!(Part::ONE.of(1_452), 1_452);
        assert_eq!(Part::ZERO.of(1_452), 0);
    }

    #[test]
    fn no_ratio_is_more_than_the_whole() {
        assert_eq!(Part::ratio(7, 3), Part::ONE);
        assert_eq!(Part::ratio(0, 0), Part::ONE);
        assert_eq!(Part::ratio(1, 4) + Part::ratio(3, 4), Part::ONE);
        assert_eq!(Part::of_square(1 << 63), Part::ratio(1, 2));
    }
}
