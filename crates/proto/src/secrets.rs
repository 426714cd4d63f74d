//! Secrets. Which numbers must nobody guess? Tags, initial TSNs, cookie keys, heartbeat nonces, parts of keys.

use anabranch_types::{Seed, VerificationTag};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

pub(crate) type HmacSha256 = Hmac<Sha256>;

//= rfc9260 5.1.3-6
/// Stands for the two tags of an association: whoever receives at an address of our peer's can ask for a cookie and read
/// it, and must learn no tag from it (RFC 9260 §5.1.3, RFC 5062 §3.3). The seal keeps them from being chosen, so they need not be longer than a tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TieTags(pub(crate) [u8; 4]);

/// Where the secrets of an endpoint start.
///
/// A real driver draws the 32 bytes from the operating system; a simulation uses a [`Seed`].
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

/// A stream of secrets: HMAC-SHA-256 of a counter under the entropy. Seeing some of them tells nothing of the
/// others, which a statistical generator does not promise.
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
    /// A number that is not zero, as a verification tag must be (RFC 9260 §3.3.2).
    pub(crate) fn tag(&mut self) -> u32 {
        loop {
            let tag = self.number() as u32;
            if tag != 0 {
                return tag;
            }
        }
    }

    /// The secret that belongs to `tag`, the same whenever it is asked for.
    pub(crate) fn of_tag(&self, tag: VerificationTag) -> [u8; 32] {
        let mut mac = HmacSha256::new_from_slice(&self.key.0).expect("HMAC takes keys of any length");
        // Longer than the counters of the stream, so it is none of them.
        mac.update(b"tag of an association");
        mac.update(&tag.0.to_be_bytes());
        mac.finalize().into_bytes().into()
    }

    /// What stands for a pair of tags where they must not be told.
    pub(crate) fn tie(&self, local: VerificationTag, peer: VerificationTag) -> TieTags {
        let mut mac = HmacSha256::new_from_slice(&self.key.0).expect("HMAC takes keys of any length");
        mac.update(b"tie tags of an association");
        mac.update(&local.0.to_be_bytes());
        mac.update(&peer.0.to_be_bytes());
        let bytes: [u8; 32] = mac.finalize().into_bytes().into();
        TieTags(core::array::from_fn(|at| bytes[at]))
    }

    /// An independent stream for a part of the endpoint.
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
