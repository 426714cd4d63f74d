//! Chunk authentication (RFC 4895). Does a chunk come from the peer of the handshake? AUTH chunks carry an HMAC under the
//! association key.
//!
//! The key consists of random numbers, which are sent in the clear, and of the endpoint pair shared key. If that is empty,
//! authentication protects only against attackers who have not observed the handshake.

mod code;
mod key;
mod shared_keys;

use alloc::boxed::Box;
use alloc::vec::Vec;

use anabranch_wire::{Auth, NoRoom, PacketBuilder, WriteChunk, Writer};

pub(crate) use code::Algorithm;
use code::HashedKey;
pub(crate) use key::{ADDRESS_CHANGES, BadRandom, KeyVector, KeyVectorReader, RANDOM_LEN, changes_addresses};
pub use shared_keys::KeyError;
use shared_keys::SharedKeys;

/// Authentication state of an association.
#[derive(Debug)]
pub(crate) struct Authentication {
    /// `None` if only address changes have to be authenticated.
    general: Option<Box<General>>,
    stage: Stage,
}

/// Before and after the exchange of the key vectors.
#[derive(Debug)]
enum Stage {
    /// The random number of our key vector; the rest of it is the same for associations of one configuration.
    Offered([u8; RANDOM_LEN]),
    Agreed(Agreed),
}

/// Authentication of other chunks than those of RFC 5061, and of keys that change.
#[derive(Debug)]
struct General {
    /// The chunk types that we require to be authenticated.
    demanded: Vec<u8>,
    shared: SharedKeys,
    /// The key vectors of both ends, ours first.
    vectors: Option<(KeyVector, KeyVector)>,
    /// The association keys, by the ids of the shared keys that they are derived from.
    keys: Vec<(u16, HashedKey)>,
    /// Id of the key that the peer used last; it begins with 0.
    peer_key: u16,
    /// Whether all our packets are authenticated, because the peer requires more than ASCONF and ASCONF ACK.
    seals_packets: bool,
}

impl General {
    fn new(demanded: &[u8], shared: &[u8]) -> Self {
        Self {
            demanded: demanded.into(),
            shared: SharedKeys::of(shared),
            vectors: None,
            keys: Vec::new(),
            peer_key: 0,
            seals_packets: false,
        }
    }

    fn agree(&mut self, ours: KeyVector, theirs: KeyVector) {
        let derive = |(id, secret)| (id, HashedKey::of(&ours.key(&theirs, secret)));
        self.keys = self.shared.iter().map(derive).collect();
        self.seals_packets = theirs.demands_more_than_asconf();
        self.peer_key = 0;
        self.vectors = Some((ours, theirs));
    }

    /// Forgets what was agreed. The shared keys stay.
    fn disagree(&mut self) {
        self.keys.clear();
        self.seals_packets = false;
        self.vectors = None;
    }
}

#[derive(Debug)]
struct Agreed {
    /// The association key of the shared key 0 at the beginning.
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
            demands_address_changes: ADDRESS_CHANGES.into_iter().all(|kind| theirs.demands(kind)),
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

/// The field of the longest HMAC before it is computed.
const ZEROS: [u8; 32] = [0; 32];

impl Authentication {
    /// Requires chunks of the types `all` to be authenticated; `others` are those among them that are not of address changes.
    pub(crate) fn new(random: &[u8; RANDOM_LEN], others: &[u8], all: &[u8], shared: &[u8]) -> Self {
        Self {
            general: (!others.is_empty()).then(|| Box::new(General::new(all, shared))),
            stage: Stage::Offered(*random),
        }
    }

    /// Continues with this random number in a handshake that starts again, or that the peer's handshake replaces.
    pub(crate) fn begin_again_with(&mut self, random: &[u8; RANDOM_LEN]) {
        self.stage = Stage::Offered(*random);
        if let Some(general) = &mut self.general {
            general.disagree();
        }
    }

    /// Takes over the shared keys of an association that has been restarted.
    pub(crate) fn keep_keys(&mut self, before: &Self) {
        if let (Some(general), Some(before)) = (&mut self.general, &before.general) {
            general.shared = before.shared.clone();
        }
    }

    /// Our key vector, as sent in INIT and INIT ACK; `None` once that of the peer is known, because neither is needed again.
    pub(crate) fn ours(&self) -> Option<KeyVector> {
        match &self.stage {
            Stage::Offered(random) => Some(KeyVector::ours(random, self.demanded())),
            Stage::Agreed(_) => None,
        }
    }

    const fn agreed(&self) -> Option<&Agreed> {
        match &self.stage {
            Stage::Offered(_) => None,
            Stage::Agreed(agreed) => Some(agreed),
        }
    }

    fn demanded(&self) -> &[u8] {
        let general = self.general.as_ref();
        general.map_or(&ADDRESS_CHANGES, |general| &general.demanded)
    }

    /// Derives the association keys from the peer's key vector and the shared keys, of which `shared` is key 0 at the beginning.
    pub(crate) fn agree(&mut self, theirs: Option<KeyVector>, shared: &[u8]) {
        let (Some(ours), Some(theirs)) = (self.ours(), theirs) else {
            return;
        };
        let Some(agreed) = Agreed::on(&ours, &theirs, shared) else {
            return;
        };
        self.stage = Stage::Agreed(agreed);
        if self.general.is_none() && theirs.demands_more_than_asconf() {
            self.general = Some(Box::new(General::new(&ADDRESS_CHANGES, shared)));
        }
        if let Some(general) = &mut self.general {
            general.agree(ours, theirs);
        }
    }

    /// Whether the peer's key vector is known.
    pub(crate) const fn is_agreed(&self) -> bool {
        self.agreed().is_some()
    }

    /// Whether the shared keys can be changed.
    pub(crate) const fn has_keys(&self) -> bool {
        self.general.is_some()
    }

    /// Adds a shared key, or replaces its secret.
    pub(crate) fn add_key(&mut self, id: u16, secret: &[u8]) -> Result<(), KeyError> {
        let general = self.general.as_mut().ok_or(KeyError::NotOffered)?;
        general.shared.add(id, secret)?;
        if let Some((ours, theirs)) = &general.vectors {
            general.keys.retain(|(known, _)| *known != id);
            general.keys.push((id, HashedKey::of(&ours.key(theirs, secret))));
        }
        Ok(())
    }

    /// Selects the shared key that authenticates our packets.
    pub(crate) fn use_key(&mut self, id: u16) -> Result<(), KeyError> {
        let general = self.general.as_mut().ok_or(KeyError::NotOffered)?;
        general.shared.select(id)
    }

    /// Checks that our messages may name the shared key `id`.
    pub(crate) fn check_key(&self, id: u16) -> Result<(), KeyError> {
        let general = self.general.as_ref().ok_or(KeyError::NotOffered)?;
        general.shared.check(id)
    }

    /// Ends the use of the shared key `id` for new messages.
    pub(crate) fn deactivate_key(&mut self, id: u16) -> Result<(), KeyError> {
        let general = self.general.as_mut().ok_or(KeyError::NotOffered)?;
        general.shared.deactivate(id)
    }

    //= rfc4895 6.2-5
    /// Id of the shared key that authenticates our packets.
    pub(crate) fn key_in_use(&self) -> u16 {
        self.general.as_ref().map_or(0, |general| general.shared.in_use())
    }

    pub(crate) fn delete_key(&mut self, id: u16) -> Result<(), KeyError> {
        let general = self.general.as_mut().ok_or(KeyError::NotOffered)?;
        general.shared.delete(id)?;
        general.keys.retain(|(known, _)| *known != id);
        Ok(())
    }

    /// Notes that the peer used key `id`; returns whether that is another one than before.
    pub(crate) fn peer_uses(&mut self, id: u16) -> bool {
        let general = self.general.as_mut();
        general.is_some_and(|general| core::mem::replace(&mut general.peer_key, id) != id)
    }

    /// The association key that is derived from the shared key `id`.
    fn key(&self, id: u16) -> Option<&HashedKey> {
        match &self.general {
            Some(general) => {
                let found = general.keys.iter().find(|(known, _)| *known == id);
                found.map(|(_, key)| key)
            }
            None => self.agreed().filter(|_| id == 0).map(|agreed| &agreed.key),
        }
    }

    /// Whether all our packets are authenticated, because the peer requires more than ASCONF and ASCONF ACK.
    #[inline]
    pub(crate) fn seals_packets(&self) -> bool {
        self.general.as_ref().is_some_and(|general| general.seals_packets)
    }

    /// Whether the peer requires chunks of type `kind` to be authenticated; not answered if [`Self::seals_packets`] is false.
    pub(crate) fn peer_demands(&self, kind: u8) -> bool {
        let vectors = self.general.as_ref().and_then(|general| general.vectors.as_ref());
        vectors.is_some_and(|(_, theirs)| theirs.demands(kind))
    }

    /// The types of the chunks that the peer requires to be authenticated.
    pub(crate) fn demanded_by_peer(&self) -> Vec<u8> {
        if self.general.is_some() {
            return (0..=u8::MAX).filter(|kind| self.peer_demands(*kind)).collect();
        }
        let is_demanded = self.peer_demands_address_changes();
        ADDRESS_CHANGES.into_iter().filter(|_| is_demanded).collect()
    }

    /// Whether the peer supports authentication and accepts ASCONF and ASCONF ACK only if authenticated.
    pub(crate) fn peer_demands_address_changes(&self) -> bool {
        self.agreed().is_some_and(|agreed| agreed.demands_address_changes)
    }

    /// Whether we accept chunks of type `kind` only if authenticated.
    pub(crate) fn we_demand(&self, kind: u8) -> bool {
        match &self.general {
            Some(general) => general.demanded.contains(&kind),
            None => changes_addresses(kind),
        }
    }

    //= rfc4895 6.3-2, 6.3-5, 6.3-6, 6.3-7
    /// Verifies `auth`; `covered` is its chunk and all later bytes of the packet.
    pub(crate) fn judge(&self, auth: &Auth<'_>, covered: &[u8]) -> Verdict {
        let Some(algorithm) = Algorithm::from_id(auth.hmac) else {
            return Verdict::UnsupportedHmac;
        };
        // RFC 4895 §6.3: an AUTH chunk with an unknown key id is discarded silently.
        let genuine = self
            .key(auth.key)
            .is_some_and(|key| auth.code.len() == algorithm.code_len() && algorithm.is_genuine(key, covered));
        if genuine {
            Verdict::Genuine
        } else {
            Verdict::Forged
        }
    }

    /// Bytes of an AUTH chunk; 0 without authentication.
    pub(crate) fn overhead(&self) -> usize {
        self.agreed()
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
        let agreed = self.agreed().ok_or(NoRoom)?;
        let needed = |chunk: &C| chunk.wire_len().next_multiple_of(4);
        if self.overhead() + chunks.iter().map(needed).sum::<usize>() > packet.room() {
            return Err(NoRoom);
        }
        let before = packet.len();
        let id = self.key_in_use();
        let key = self.key(id).ok_or(NoRoom)?;
        packet.push(&Auth {
            key: id,
            hmac: agreed.algorithm.id(),
            code: &ZEROS[..agreed.algorithm.code_len()],
        })?;
        chunks.iter().try_for_each(|chunk| packet.push(chunk))?;
        agreed.algorithm.seal(key, packet.written_since(before));
        Ok(())
    }

    //= rfc4895 6.2-3, 6.2-4, 6.2-7
    /// Appends an AUTH chunk by the shared key `named`, or the one in use, and the encoded `chunks` after it.
    pub(crate) fn push_before(&self, named: Option<u16>, chunks: &[u8], bytes: &mut Vec<u8>) {
        let start = bytes.len();
        let id = named.unwrap_or_else(|| self.key_in_use());
        let (Some(agreed), Some(key)) = (self.agreed(), self.key(id)) else {
            bytes.extend_from_slice(chunks);
            return;
        };
        let auth = Auth {
            key: id,
            hmac: agreed.algorithm.id(),
            code: &ZEROS[..agreed.algorithm.code_len()],
        };
        auth.write(&mut Writer::new(bytes, auth.wire_len()));
        bytes.extend_from_slice(chunks);
        agreed.algorithm.seal(key, &mut bytes[start..]);
    }
}

#[cfg(test)]
mod tests;
