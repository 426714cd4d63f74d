//! Chunk authentication (RFC 4895). Does a chunk come from the peer of the handshake? AUTH chunks carry an HMAC under the
//! association key.
//!
//! The key consists of random numbers, which are sent in the clear, and of the endpoint pair shared key. If that is empty,
//! authentication protects only against attackers who have not observed the handshake.

mod code;
mod key;

use alloc::vec::Vec;

use anabranch_wire::chunk::kind;
use anabranch_wire::{Auth, NoRoom, PacketBuilder, WriteChunk};

pub(crate) use code::Algorithm;
use code::HashedKey;
pub(crate) use key::{BadRandom, KeyVector, KeyVectorReader, RANDOM_LEN};

/// Authentication state of an association.
#[derive(Debug)]
pub(crate) struct Authentication {
    /// The random number of our key vector; the rest of it is always the same.
    random: [u8; RANDOM_LEN],
    /// Set when the peer's key vector has been received.
    agreed: Option<Agreed>,
}

#[derive(Debug)]
struct Agreed {
    key: HashedKey,
    /// HMAC algorithm that the peer prefers.
    algorithm: Algorithm,
    /// Whether the peer accepts ASCONF and ASCONF ACK only if authenticated.
    demands_address_changes: bool,
}

impl Agreed {
    /// `None` if the peer supports none of our algorithms.
    fn on(ours: &KeyVector, theirs: &KeyVector, shared: &[u8]) -> Option<Self> {
        Some(Self {
            key: HashedKey::of(&ours.key(theirs, shared)),
            algorithm: theirs.algorithm()?,
            demands_address_changes: [kind::ASCONF, kind::ASCONF_ACK]
                .into_iter()
                .all(|kind| theirs.demands(kind)),
        })
    }
}

/// Result of verifying an AUTH chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// The HMAC is valid: the chunks after it come from the peer.
    Genuine,
    /// The HMAC is invalid: forged or damaged.
    Forged,
    /// The HMAC identifier was not offered, which is reported to the peer (RFC 4895 §6.3).
    UnsupportedHmac,
}

//= rfc4895 6.2-5
/// Id of the only shared key, which may be empty.
const KEY_ID: u16 = 0;

impl Authentication {
    pub(crate) fn new(random: &[u8; RANDOM_LEN]) -> Self {
        Self {
            random: *random,
            agreed: None,
        }
    }

    /// Our key vector, as sent in INIT and INIT ACK.
    pub(crate) fn ours(&self) -> KeyVector {
        KeyVector::ours(&self.random)
    }

    /// Derives the association key from the peer's key vector and the endpoint pair shared key `shared`.
    pub(crate) fn agree(&mut self, theirs: Option<KeyVector>, shared: &[u8]) {
        self.agreed = theirs.and_then(|theirs| Agreed::on(&self.ours(), &theirs, shared));
    }

    /// Whether the peer supports authentication and accepts ASCONF and ASCONF ACK only if authenticated.
    pub(crate) fn peer_demands_address_changes(&self) -> bool {
        self.agreed
            .as_ref()
            .is_some_and(|agreed| agreed.demands_address_changes)
    }

    /// Whether we accept chunks of type `kind` only if authenticated.
    pub(crate) fn we_demand(kind: u8) -> bool {
        key::DEMANDED.contains(&kind)
    }

    //= rfc4895 6.3-2, 6.3-5, 6.3-6, 6.3-7
    /// Verifies `auth`; `covered` is its chunk and all later bytes of the packet.
    pub(crate) fn judge(&self, auth: &Auth<'_>, covered: &[u8]) -> Verdict {
        let Some(algorithm) = Algorithm::from_id(auth.hmac) else {
            return Verdict::UnsupportedHmac;
        };
        let genuine = self.agreed.as_ref().is_some_and(|agreed| {
            // RFC 4895 §6.3: an AUTH chunk with an unknown key id is discarded silently.
            auth.key == KEY_ID
                && auth.code.len() == algorithm.code_len()
                && algorithm.is_genuine(&agreed.key, covered)
        });
        if genuine {
            Verdict::Genuine
        } else {
            Verdict::Forged
        }
    }

    /// Bytes of an AUTH chunk; 0 without authentication.
    pub(crate) fn overhead(&self) -> usize {
        self.agreed
            .as_ref()
            .map_or(0, |agreed| Auth::HEADER_LEN + agreed.algorithm.code_len())
    }

    //= rfc4895 5.1-7, 6.2-2, 6.2-3, 6.2-4, 6.2-7
    /// Writes an AUTH chunk and `chunks` after it. Nothing may be pushed afterwards.
    ///
    /// # Errors
    /// [`NoRoom`] if not all of them fit; the packet then holds those that fit, with an HMAC of zeros.
    pub(crate) fn push<C: WriteChunk>(
        &self,
        packet: &mut PacketBuilder<'_>,
        chunks: &[C],
    ) -> Result<(), NoRoom> {
        let agreed = self.agreed.as_ref().ok_or(NoRoom)?;
        let needed = |chunk: &C| chunk.wire_len().next_multiple_of(4);
        if self.overhead() + chunks.iter().map(needed).sum::<usize>() > packet.room() {
            return Err(NoRoom);
        }
        let before = packet.len();
        let zeros: Vec<u8> = alloc::vec![0; agreed.algorithm.code_len()];
        packet.push(&Auth {
            key: KEY_ID,
            hmac: agreed.algorithm.id(),
            code: &zeros,
        })?;
        chunks.iter().try_for_each(|chunk| packet.push(chunk))?;
        agreed.algorithm.seal(&agreed.key, packet.written_since(before));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
