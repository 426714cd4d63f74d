//! Packet protection. Which key seals and opens which packets, and for how long?
//!
//! Keys, nonces and key updates follow RFC 9001 §5 and §6; the nonce contains the packet number space as in
//! draft-ietf-quic-multipath §4.

mod data;
mod sealing;

pub(crate) use data::DataKeys;
pub(crate) use sealing::Sealer;

use rustls::Side;
use rustls::crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::quic::{Keys, PacketKey, Version};

use crate::index::Index;
use crate::number::SpaceId;

/// Why a packet cannot be sealed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SealError {
    /// There is no such connection, or its handshake is not complete.
    #[error("the connection has no keys")]
    NoKeys,
    /// The buffer is shorter than header and tag.
    #[error("the buffer of {0} bytes has no room for header and tag")]
    TooShort(usize),
    /// The key has sealed as many packets as it may (RFC 9001 §6.6), and the peer has not taken up the last key update.
    #[error("the key has reached its limit before the peer took up a key update")]
    KeyExhausted,
}

/// Why an opened packet is not accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum OpenError {
    #[error("not authentic")]
    Forged,
    #[error("received before")]
    Replayed,
    #[error("too many forged packets for the keys of this connection")]
    IntegrityLimit,
}

/// The keys of one handshake level, for both directions.
pub(crate) struct LevelKeys {
    pub(crate) sealer: Sealer,
    remote: Box<dyn PacketKey>,
}

impl LevelKeys {
    pub(crate) fn new(keys: Keys) -> Self {
        Self {
            sealer: Sealer::new(keys.local.packet),
            remote: keys.remote.packet,
        }
    }

    /// The keys of Initial packets, which both ends derive from the client's index (RFC 9001 §5.2).
    pub(crate) fn initial(client: Index, side: Side) -> Self {
        let suite = TLS13_AES_128_GCM_SHA256
            .tls13()
            .and_then(|suite| suite.quic_suite())
            .expect("invariant: the provider has AES-128-GCM for QUIC");
        Self::new(suite.keys(client.as_bytes(), side, Version::V1))
    }

    /// Opens `datagram` behind its header of `header` bytes.
    pub(crate) fn open<'a>(
        &self,
        number: u32,
        header: usize,
        datagram: &'a mut [u8],
    ) -> Result<&'a [u8], OpenError> {
        let (header, payload) = datagram.split_at_mut_checked(header).ok_or(OpenError::Forged)?;
        let space = u32::from(Self::SPACE.get());
        self.remote
            .decrypt_in_place_for_path(space, u64::from(number), header, payload)
            .map_err(|_| OpenError::Forged)
    }

    /// Handshake packets of all paths share one space.
    pub(crate) const SPACE: SpaceId = SpaceId::from_low_bits(0);
}

#[cfg(test)]
mod tests;
