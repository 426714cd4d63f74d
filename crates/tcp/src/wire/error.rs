//! Decode errors of a segment: an offset and a reason.

use thiserror::Error;

/// Bytes that could not be decoded, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("{kind} at byte {at}")]
pub struct DecodeError {
    /// Offset from the start of the segment.
    pub at: usize,
    /// What is wrong there.
    pub kind: DecodeErrorKind,
}

/// What can be wrong with a received segment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
pub enum DecodeErrorKind {
    /// Fewer bytes than a header has.
    #[error("segment shorter than its header")]
    TooShort,
    /// The checksum over segment and addresses does not match (RFC 9293 §3.1).
    #[error("wrong checksum")]
    BadChecksum,
    /// The two addresses are of different IP versions.
    #[error("addresses of two IP versions")]
    MixedAddresses,
    /// Flags that exclude each other, such as SYN and FIN.
    #[error("contradictory flags")]
    BadFlags,
    /// An option reaches beyond the header, its length contradicts its kind, or it excludes an earlier one.
    #[error("impossible length of an option")]
    BadOption,
    /// A step of a multipath handshake in a segment of another step (RFC 8684 §3.1 and §3.2).
    #[error("multipath option of another step of the handshake")]
    WrongStep,
}
