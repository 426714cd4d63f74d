//! Authentication (RFC 4895). Does this chunk come from the peer that shook hands with us? Codes under a key of the
//! association (RFC 4895).
//!
//! The key is made from random numbers that cross in the clear, and from a key shared beforehand if there is one.
//! Without the latter it keeps out everybody who did not see the handshake, and nobody else.

mod code;
mod key;

use alloc::boxed::Box;
use alloc::vec::Vec;

use anabranch_wire::{Auth, NoRoom, PacketBuilder, WriteChunk};

pub(crate) use code::Algorithm;
pub(crate) use key::{BadRandom, KeyVector, KeyVectorReader, RANDOM_LEN};

/// What one association knows about authentication.
#[derive(Debug)]
pub(crate) struct Authentication {
    ours: KeyVector,
    /// Made when the peer's vector came.
    agreed: Option<Agreed>,
}

#[derive(Debug)]
struct Agreed {
    key: Box<[u8]>,
    theirs: KeyVector,
    /// How the peer wants codes computed.
    algorithm: Algorithm,
}

/// What an AUTH chunk is worth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// What follows comes from the peer.
    Genuine,
    /// Somebody made it up, or damaged it.
    Forged,
    /// Made in a way that we did not offer: the peer should know (RFC 4895 §6.3).
    UnsupportedHmac,
}

//= rfc4895 6.2-5
/// The only key that is used: the one shared beforehand, or the empty one.
const KEY_ID: u16 = 0;

impl Authentication {
    pub(crate) fn new(random: &[u8; RANDOM_LEN]) -> Self {
        Self {
            ours: KeyVector::ours(random),
            agreed: None,
        }
    }

    /// What we say in INIT and INIT ACK.
    pub(crate) const fn ours(&self) -> &KeyVector {
        &self.ours
    }

    /// The peer said its part; `shared` is the key that both ends had before.
    pub(crate) fn agree(&mut self, theirs: Option<KeyVector>, shared: &[u8]) {
        self.agreed = theirs.and_then(|theirs| {
            Some(Agreed {
                key: self.ours.key(&theirs, shared),
                algorithm: theirs.algorithm()?,
                theirs,
            })
        });
    }

    /// Whether the peer takes part, and accepts chunks of type `kind` behind an AUTH chunk only.
    pub(crate) fn peer_demands(&self, kind: u8) -> bool {
        self.agreed
            .as_ref()
            .is_some_and(|agreed| agreed.theirs.demands(kind))
    }

    /// Whether we accept chunks of type `kind` behind an AUTH chunk only.
    pub(crate) fn we_demand(kind: u8) -> bool {
        key::DEMANDED.contains(&kind)
    }

    //= rfc4895 6.3-2, 6.3-5, 6.3-6, 6.3-7
    /// Judges `auth`; `covered` is its chunk and everything behind it in the packet.
    pub(crate) fn judge(&self, auth: &Auth<'_>, covered: &[u8]) -> Verdict {
        let Some(algorithm) = Algorithm::from_id(auth.hmac) else {
            return Verdict::UnsupportedHmac;
        };
        let genuine = self.agreed.as_ref().is_some_and(|agreed| {
            // RFC 4895 §6.3: another key than those that we have means silence.
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

    /// Bytes that authentication takes in a packet.
    pub(crate) fn overhead(&self) -> usize {
        self.agreed
            .as_ref()
            .map_or(0, |agreed| Auth::HEADER_LEN + agreed.algorithm.code_len())
    }

    //= rfc4895 5.1-7, 6.2-2, 6.2-3, 6.2-4, 6.2-7
    /// Writes `chunks` behind an AUTH chunk. Nothing may be pushed afterwards.
    ///
    /// # Errors
    /// [`NoRoom`] if not all of them fit; what did fit is in the packet then, without a code.
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
