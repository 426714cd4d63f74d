//! Secret random numbers: verification tags, initial TSNs, cookie keys, heartbeat nonces, random numbers of authentication.

use anabranch_types::{Seed, VerificationTag};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

pub(crate) type HmacSha256 = Hmac<Sha256>;

//= rfc9260 5.1.3-6
/// Tie-tags: a keyed hash of the two tags of an association. Any host that can receive packets at an address of our peer can
/// request a cookie and read it, and must not learn the tags from it (RFC 9260 §5.1.3, RFC 5062 §3.3). The cookie's HMAC prevents
/// forged tie-tags, so they need not be longer than a tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TieTags(pub(crate) [u8; 4]);

/// Entropy from which all secrets of an endpoint are derived.
///
/// A driver with sockets takes the 32 bytes from the operating system; a simulation uses a [`Seed`].
#[derive(Clone)]
pub struct Entropy([u8; 32]);

impl From<[u8; 32]> for Entropy {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl From<Seed> for Entropy {
    fn from(seed: Seed) -> Self {
        let mut bytes = [0; 32];
        seed.rng().fill(&mut bytes);
        Self(bytes)
    }
}

impl core::fmt::Debug for Entropy {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Entropy(secret)")
    }
}

/// Generator of secrets: HMAC-SHA-256 of a counter under the entropy. Known outputs reveal nothing about others, which a
/// statistical generator does not guarantee.
#[derive(Clone, Debug)]
pub(crate) struct Secrets {
    key: Entropy,
    drawn: u64,
}

impl Secrets {
    pub(crate) const fn new(key: Entropy) -> Self {
        Self { key, drawn: 0 }
    }

    //= rfc9260 14.1-1
    pub(crate) fn bytes(&mut self) -> [u8; 32] {
        self.drawn += 1;
        let mut mac = HmacSha256::new_from_slice(&self.key.0).expect("HMAC takes keys of any length");
        mac.update(&self.drawn.to_be_bytes());
        mac.finalize().into_bytes().into()
    }

    pub(crate) fn number(&mut self) -> u64 {
        let bytes = self.bytes();
        bytes[..8]
            .iter()
            .fold(0, |number, &byte| (number << 8) | u64::from(byte))
    }

    //= rfc9260 3.3.3-5, 5.1-2, 5.3.1-1
    /// A random verification tag, which is never zero (RFC 9260 §3.3.2).
    pub(crate) fn tag(&mut self) -> u32 {
        loop {
            let tag = self.number() as u32;
            if tag != 0 {
                return tag;
            }
        }
    }

    /// The secret of `tag`, the same at each call.
    pub(crate) fn of_tag(&self, tag: VerificationTag) -> [u8; 32] {
        let mut mac = HmacSha256::new_from_slice(&self.key.0).expect("HMAC takes keys of any length");
        // Longer than a counter, so its HMAC differs from all generated secrets.
        mac.update(b"tag of an association");
        mac.update(&tag.0.to_be_bytes());
        mac.finalize().into_bytes().into()
    }

    /// The tie-tags of a pair of tags.
    pub(crate) fn tie(&self, local: VerificationTag, peer: VerificationTag) -> TieTags {
        let mut mac = HmacSha256::new_from_slice(&self.key.0).expect("HMAC takes keys of any length");
        mac.update(b"tie tags of an association");
        mac.update(&local.0.to_be_bytes());
        mac.update(&peer.0.to_be_bytes());
        let bytes: [u8; 32] = mac.finalize().into_bytes().into();
        TieTags(core::array::from_fn(|at| bytes[at]))
    }

    /// Secret number `count`, from 1, of an independent generator for `part`; nothing of this one is drawn.
    pub(crate) fn numbered(&self, part: &[u8; 16], count: u64) -> u64 {
        let mut mac = HmacSha256::new_from_slice(&self.key.0).expect("HMAC takes keys of any length");
        mac.update(part);
        let mut generator = Self {
            key: Entropy(mac.finalize().into_bytes().into()),
            drawn: count - 1,
        };
        generator.number()
    }

    /// An independent generator for a part of the endpoint.
    pub(crate) fn split(&mut self) -> Self {
        Self::new(Entropy(self.bytes()))
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;

    use super::*;

    //= rfc9260 14.1-1
    #[test]
    fn secrets_differ_by_entropy_and_from_each_other() {
        let drawn = |seed: u8| {
            let mut secrets = Secrets::new(Entropy::from([seed; 32]));
            [(); 100].map(|()| secrets.bytes())
        };
        let all: BTreeSet<[u8; 32]> = [1, 2].into_iter().flat_map(drawn).collect();
        assert_eq!(all.len(), 200);
        assert_eq!(drawn(1), drawn(1));
    }
}
