//! Versions of the protocol. Which one do two ends have in common?

use core::fmt;

/// A version of the packet format and handshake.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u32);

impl Version {
    /// The only version so far.
    pub const V1: Self = Self(0x616e_6101);

    /// Whether the version is reserved to test that unknown versions are negotiated (RFC 9000 §15): `0x?a?a?a?a`.
    #[must_use]
    pub const fn is_reserved(self) -> bool {
        self.0 & 0x0f0f_0f0f == 0x0a0a_0a0a
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

/// The first version of `preferred` that `offered` contains too.
pub(crate) fn select(preferred: &[Version], offered: &[Version]) -> Option<Version> {
    preferred
        .iter()
        .copied()
        .find(|version| offered.contains(version))
}

#[cfg(test)]
mod tests {
    use super::{Version, select};

    #[test]
    fn own_preference_decides() {
        let [a, b, c] = [Version(1), Version(2), Version(3)];
        assert_eq!(select(&[a, b], &[c, b, a]), Some(a));
        assert_eq!(select(&[a], &[b, c]), None);
    }
}
