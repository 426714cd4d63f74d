//! Sealing key. How is each nonce used only once?

use rustls::quic::{PacketKey, Tag};

use super::SealError;
use crate::number::{MAX_NUMBER, SpaceId};
use crate::packet::TAG_LEN;

/// A packet number that no packet of this direction has had. Only [`Counters::take`] makes one, and sealing consumes it.
#[derive(Debug)]
pub(super) struct Nonce {
    pub(super) space: SpaceId,
    pub(super) number: u64,
}

/// The next packet number of each space. They continue across key updates (RFC 9001 §6.1).
#[derive(Debug, Default)]
pub(super) struct Counters(pub(super) Vec<u64>);

impl Counters {
    fn take(&mut self, space: SpaceId) -> Option<Nonce> {
        let index = usize::from(space.get());
        if self.0.len() <= index {
            self.0.resize(index + 1, 0);
        }
        let next = self.0.get_mut(index)?;
        let number = *next;
        *next = number.checked_add(1).filter(|next| *next <= MAX_NUMBER)?;
        Some(Nonce { space, number })
    }
}

/// A key that seals, with the packet numbers that it has not used yet. It cannot be cloned.
pub(crate) struct Sealer {
    key: Box<dyn PacketKey>,
    pub(super) counters: Counters,
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

    /// Seals `packet`, whose header has `header` bytes and whose last [`TAG_LEN`] bytes are room for the tag. The packet
    /// number becomes the last four bytes of the header.
    pub(crate) fn seal(&mut self, space: SpaceId, header: usize, packet: &mut [u8]) -> Result<(), SealError> {
        let len = packet.len();
        if header < 4 || len < header + TAG_LEN {
            return Err(SealError::TooShort(len));
        }
        if self.sealed >= self.limit() {
            return Err(SealError::KeyExhausted);
        }
        let nonce = self.counters.take(space).ok_or(SealError::KeyExhausted)?;
        self.sealed += 1;
        let (head, rest) = packet.split_at_mut(header);
        head[header - 4..].copy_from_slice(&(nonce.number as u32).to_be_bytes());
        let (payload, room) = rest.split_at_mut(rest.len() - TAG_LEN);
        let tag = self.apply(nonce, head, payload)?;
        room.copy_from_slice(tag.as_ref());
        Ok(())
    }

    pub(super) fn apply(&self, nonce: Nonce, header: &[u8], payload: &mut [u8]) -> Result<Tag, SealError> {
        let len = payload.len();
        self.key
            .encrypt_in_place_for_path(u32::from(nonce.space.get()), nonce.number, header, payload)
            .map_err(|_| SealError::TooShort(len))
    }
}
