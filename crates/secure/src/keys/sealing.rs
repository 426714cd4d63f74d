//! Sealing key. How is each nonce used only once?

use rustls::quic::{PacketKey, Tag};

use super::SealError;
use crate::number::{MAX_NUMBER, SpaceId};
use crate::packet::TAG_LEN;

/// The right to seal one packet: a packet number that no packet of this direction has had, and the key that it is for.
///
/// Sealing consumes it. It borrows its [`Sealer`], so there is no second one meanwhile, and no other key can take it.
pub(super) struct Nonce<'k> {
    key: &'k dyn PacketKey,
    space: SpaceId,
    number: u64,
}

impl Nonce<'_> {
    /// Encrypts `payload` in place.
    pub(super) fn seal(self, header: &[u8], payload: &mut [u8]) -> Result<Tag, SealError> {
        let len = payload.len();
        self.key
            .encrypt_in_place_for_path(u32::from(self.space.get()), self.number, header, payload)
            .map_err(|_| SealError::TooShort(len))
    }
}

/// The next packet number of each space. They continue across key updates (RFC 9001 §6.1).
#[derive(Debug, Default)]
struct Counters(Vec<u64>);

impl Counters {
    fn of(&mut self, space: SpaceId) -> Option<&mut u64> {
        let index = usize::from(space.get());
        if self.0.len() <= index {
            self.0.resize(index + 1, 0);
        }
        self.0.get_mut(index)
    }

    fn take(&mut self, space: SpaceId) -> Option<u64> {
        let next = self.of(space)?;
        let number = *next;
        *next = number.checked_add(1).filter(|next| *next <= MAX_NUMBER)?;
        Some(number)
    }
}

/// A key that seals, with the packet numbers that it has not used yet. It cannot be cloned.
pub(crate) struct Sealer {
    key: Box<dyn PacketKey>,
    counters: Counters,
    /// Packets sealed with this key.
    sealed: u64,
}

impl Sealer {
    pub(crate) fn new(key: Box<dyn PacketKey>) -> Self {
        Self {
            key,
            counters: Counters::default(),
            sealed: 0,
        }
    }

    /// Packets sealed with this key.
    pub(super) const fn sealed(&self) -> u64 {
        self.sealed
    }

    /// The number of packets that this key may seal (RFC 9001 §6.6).
    pub(super) fn limit(&self) -> u64 {
        self.key.confidentiality_limit()
    }

    /// Continues with the next key.
    pub(super) fn replace_key(&mut self, key: Box<dyn PacketKey>) {
        self.key = key;
        self.sealed = 0;
    }

    /// The next packet number of `space`, to be used with this key.
    pub(super) fn next(&mut self, space: SpaceId) -> Result<Nonce<'_>, SealError> {
        if self.sealed >= self.limit() {
            return Err(SealError::KeyExhausted);
        }
        let number = self.counters.take(space).ok_or(SealError::KeyExhausted)?;
        self.sealed += 1;
        let key = &*self.key;
        Ok(Nonce { key, space, number })
    }

    /// Seals `packet`, whose header has `header` bytes and whose last [`TAG_LEN`] bytes are room for the tag. The packet
    /// number becomes the last four bytes of the header.
    pub(crate) fn seal(&mut self, space: SpaceId, header: usize, packet: &mut [u8]) -> Result<(), SealError> {
        let len = packet.len();
        if header < 4 || len < header + TAG_LEN {
            return Err(SealError::TooShort(len));
        }
        let nonce = self.next(space)?;
        let (head, rest) = packet.split_at_mut(header);
        head[header - 4..].copy_from_slice(&(nonce.number as u32).to_be_bytes());
        let (payload, room) = rest.split_at_mut(rest.len() - TAG_LEN);
        let tag = nonce.seal(head, payload)?;
        room.copy_from_slice(tag.as_ref());
        Ok(())
    }

    /// Continues with packet number `number` in `space`: known answers have numbers of their own.
    #[cfg(test)]
    pub(super) fn skip_to(&mut self, space: SpaceId, number: u64) {
        if let Some(next) = self.counters.of(space) {
            *next = number;
        }
    }
}
