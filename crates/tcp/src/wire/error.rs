//! Decode errors of a segment: an offset and a reason.

use thiserror::Error;

/// Error in decoding a segment, with its position.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("{kind} at byte {at}")]
pub struct DecodeError {
    /// Offset from the start of the segment.
    pub at: usize,
    /// Kind of the error.
    pub kind: DecodeErrorKind,
}

/// Kinds of decode errors.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
pub enum DecodeErrorKind {
    /// Shorter than a header.
    #[error("segment shorter than its header")]
    TooShort,
    /// The checksum does not match (RFC 9293 §3.1).
    #[error("wrong checksum")]
    BadChecksum,
    /// The two addresses are of different IP versions.
    #[error("addresses of two IP versions")]
    MixedAddresses,
    /// Flags that exclude each other, such as SYN and FIN.
    #[error("contradictory flags")]
    BadFlags,
    /// An option extends beyond the header, has an invalid length, or conflicts with an earlier one.
    #[error("impossible length of an option")]
    BadOption,
    /// The form of an MPTCP handshake option does not match the kind of segment (RFC 8684 §3.1 and §3.2).
    #[error("multipath option of another step of the handshake")]
    WrongStep,
}
