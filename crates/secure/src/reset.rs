//! Stateless reset (RFC 9000 §10.3). How does an end that lost its state say so?

use core::fmt;

use aws_lc_rs::hmac;

use crate::cookie::derive;
use crate::index::Index;
use crate::packet::OVERHEAD;

/// Bytes of a reset token.
pub(crate) const TOKEN_LEN: usize = 16;
/// Greatest length of a reset.
const MAX_RESET: usize = OVERHEAD + 14;

/// The token that ends a connection: only its owner can compute it, and only the peer was told.
#[derive(Clone, Copy)]
pub(crate) struct ResetToken(pub(crate) [u8; TOKEN_LEN]);

/// Without the token itself: whoever reads a log could end the connection.
impl fmt::Debug for ResetToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResetToken")
    }
}

/// Derives the tokens of our indexes (RFC 9000 §10.3.2), and the keys under which the peers' tokens are stored.
#[derive(Debug)]
pub(crate) struct ResetKey {
    tokens: hmac::Key,
    lookup: hmac::Key,
}

impl ResetKey {
    pub(crate) fn new(secret: &[u8; 32]) -> Self {
        Self {
            tokens: derive(secret, b"anabranch stateless reset"),
            lookup: derive(secret, b"anabranch reset lookup"),
        }
    }

    /// The token of our index `index`: the same after a restart with the same secret.
    pub(crate) fn token(&self, index: Index) -> ResetToken {
        ResetToken(first_16(&self.tokens, index.as_bytes()))
    }

    /// A key for a map of the peers' tokens. As it is a hash under a secret key, comparing keys reveals nothing about
    /// the tokens (RFC 9000 §10.3.1).
    pub(crate) fn lookup(&self, token: ResetToken) -> [u8; 16] {
        first_16(&self.lookup, &token.0)
    }
}

fn first_16(key: &hmac::Key, message: &[u8]) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hmac::sign(key, message).as_ref()[..16]);
    bytes
}

/// The last bytes of a datagram, which are the token if it is a reset.
pub(crate) fn token_of(datagram: &[u8]) -> Option<ResetToken> {
    datagram.last_chunk::<TOKEN_LEN>().copied().map(ResetToken)
}

/// Length of the reset that answers a packet of `received` bytes: shorter, so that two ends without state do not
/// answer each other for ever (RFC 9000 §10.3.3). `None` if no reset is that short.
pub(crate) fn reset_len(received: usize) -> Option<usize> {
    let len = received.saturating_sub(1).min(MAX_RESET);
    (len >= OVERHEAD).then_some(len)
}

/// Makes a reset of `bytes`, which are random: it looks like a data packet.
pub(crate) fn write_reset(bytes: &mut [u8], token: ResetToken) {
    if let Some(first) = bytes.first_mut() {
        *first &= 0x7f;
    }
    if let Some(last) = bytes.last_chunk_mut::<TOKEN_LEN>() {
        *last = token.0;
    }
}

#[cfg(test)]
mod tests {
    use super::reset_len;

    #[test]
    fn resets_become_shorter_until_they_end() {
        let mut len = 1_500;
        let mut count = 0;
        while let Some(next) = reset_len(len) {
            assert!(next < len);
            len = next;
            count += 1;
        }
        assert!((1..=20).contains(&count));
    }
}
