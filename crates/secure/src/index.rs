//! Receiver index: which connection of its receiver does a packet belong to?

use core::fmt;

/// Bytes of an index on the wire.
pub(crate) const INDEX_LEN: usize = 8;

/// The index of a connection at the end that receives the packet, as the Connection ID of RFC 9000 §5.1.
///
/// Its owner chooses it and the peer copies it, so a packet finds its connection whatever its source address is. The
/// value is random: it also proves that a handshake packet was sent by a host that saw ours.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Index(pub(crate) [u8; INDEX_LEN]);

impl Index {
    /// The bytes as they are sent.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; INDEX_LEN] {
        &self.0
    }

    /// The number of the machine that has chosen it, if machines have numbers.
    pub(crate) const fn machine(self) -> u16 {
        let [high, low, ..] = self.0;
        u16::from_be_bytes([high, low])
    }
}

impl From<[u8; INDEX_LEN]> for Index {
    fn from(bytes: [u8; INDEX_LEN]) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", u64::from_be_bytes(self.0))
    }
}
