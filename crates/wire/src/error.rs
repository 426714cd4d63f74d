//! Decode errors: an offset and a reason.

use thiserror::Error;

/// Bytes that could not be decoded, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("{kind} at byte {at}")]
pub struct DecodeError {
    /// Offset from the start of the packet (from the start of the bytes, where no packet is around them).
    pub at: usize,
    /// What is wrong there.
    pub kind: DecodeErrorKind,
}

/// Why received bytes could not be decoded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
pub enum DecodeErrorKind {
    /// Fewer bytes than a common header has.
    #[error("packet shorter than its header")]
    TooShort,
    /// The CRC32c does not match (RFC 9260 §6.8).
    #[error("wrong checksum")]
    BadChecksum,
    /// A port number is zero, which RFC 9260 §3.1 forbids.
    #[error("port zero")]
    ZeroPort,
    /// A field reaches beyond the end of what contains it.
    #[error("truncated field")]
    Truncated,
    /// A length field is not valid for its type.
    #[error("impossible length")]
    BadLength,
    /// An address of a form that must not be sent, such as an IPv4-mapped IPv6 address (RFC 9260 §3.3.2.1.2).
    #[error("forbidden address")]
    BadAddress,
    /// Another parameter than the one that this chunk must begin with.
    #[error("unexpected parameter")]
    UnexpectedParameter,
}
