//! File digest, SHA-256 (FIPS 180-4). How do both ends check that they have the same bytes?

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::octets::Octets;

/// A SHA-256 digest, written as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Digest(Octets<32>);

/// Computes a [`Digest`] incrementally.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hasher(Sha256);

impl Hasher {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn finish(self) -> Digest {
        Digest(Octets(self.0.finalize().into()))
    }
}

impl Digest {
    pub(super) fn parse(text: &str) -> Option<Self> {
        text.parse().ok().map(Self)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_of_abc_matches_the_standard() {
        let mut hasher = Hasher::default();
        hasher.update(b"a");
        hasher.update(b"bc");
        let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hasher.clone().finish().to_string(), text);
        assert_eq!(Digest::parse(text), Some(hasher.finish()));
    }

    #[test]
    fn digest_needs_64_lower_case_hexadecimal_digits() {
        let good = "0".repeat(64);
        let bad = [
            "",
            &good[1..],
            &"0".repeat(65),
            &"A".repeat(64),
            &"g".repeat(64),
            &"ä".repeat(32),
        ];
        assert!(Digest::parse(&good).is_some());
        for text in bad {
            assert_eq!(Digest::parse(text), None, "{text}");
        }
    }
}
