//! Packet numbers. Which full number do the bits in a packet stand for?

/// Identifier of a packet number space in one direction of a connection: one for each path of the sender.
///
/// It is part of the nonce (draft-ietf-quic-multipath §4), so equal numbers on two paths give different nonces. The
/// sender chooses which path uses which identifier.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SpaceId(u8);

impl SpaceId {
    /// Number of spaces in each direction.
    pub const COUNT: usize = 32;

    /// The space `number`, or `None` if it is not below [`SpaceId::COUNT`].
    #[must_use]
    pub const fn new(number: u8) -> Option<Self> {
        if (number as usize) < Self::COUNT {
            Some(Self(number))
        } else {
            None
        }
    }

    /// The space in the lowest five bits of `byte`.
    pub(crate) const fn from_low_bits(byte: u8) -> Self {
        Self(byte & 0x1f)
    }

    /// Its number, below [`SpaceId::COUNT`].
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }
}

/// The largest packet number (RFC 9000 §12.3).
pub(crate) const MAX_NUMBER: u64 = (1 << 62) - 1;

/// The number closest to `expected` whose lowest `bits` bits are `truncated` (RFC 9000 §A.3). `expected` is one more
/// than the largest number received, `bits` is at most 32.
pub(crate) const fn expand(expected: u64, truncated: u64, bits: u32) -> u64 {
    let window = 1 << bits;
    let half = window / 2;
    let candidate = (expected & !(window - 1)) | truncated;
    if candidate + half <= expected && candidate + window <= MAX_NUMBER {
        candidate + window
    } else if candidate > expected + half && candidate >= window {
        candidate - window
    } else {
        candidate
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_NUMBER, SpaceId, expand};

    #[test]
    fn example_of_rfc_9000_a_3_expands() {
        assert_eq!(expand(0xa82f_30ea + 1, 0x9b32, 16), 0xa82f_9b32);
    }

    #[test]
    fn numbers_within_half_a_window_are_recovered() {
        let window = 1_u64 << 32;
        for largest in [
            0,
            1,
            window / 2,
            window - 1,
            window,
            5 * window - 1,
            MAX_NUMBER - window,
        ] {
            for distance in [0, 1, 1_000, window / 2 - 2] {
                let ahead = largest + 1 + distance;
                assert_eq!(expand(largest + 1, ahead % window, 32), ahead);
                if let Some(behind) = largest.checked_sub(distance) {
                    assert_eq!(expand(largest + 1, behind % window, 32), behind);
                }
            }
        }
    }

    #[test]
    fn numbers_stay_in_62_bits() {
        assert!(expand(MAX_NUMBER, 0, 32) <= MAX_NUMBER);
        assert!(expand(MAX_NUMBER, u64::from(u32::MAX), 32) <= MAX_NUMBER);
    }

    #[test]
    fn there_are_32_spaces() {
        assert!(SpaceId::new(31).is_some());
        assert!(SpaceId::new(32).is_none());
    }
}
