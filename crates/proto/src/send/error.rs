//! Send errors. Why was a message not accepted?

use thiserror::Error;

/// Why a message was not accepted. The message is not queued, not even in part.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
#[non_exhaustive]
pub enum SendError {
    /// Too many bytes wait for the peer's acknowledgement; there is room again later.
    #[error("the send buffer is full")]
    BufferFull,
    /// The message would never fit.
    #[error("the message is longer than {max} bytes")]
    TooLarge {
        /// The longest message that is accepted, in bytes.
        max: usize,
    },
    /// DATA chunks carry one byte at least (RFC 9260 §3.3.1).
    #[error("the message is empty")]
    Empty,
    /// The association has no such outbound stream.
    #[error("there are only {streams} outbound streams")]
    InvalidStream {
        /// How many there are, numbered from 0.
        streams: u16,
    },
    /// The association is shutting down and takes no new messages (RFC 9260 §9.2).
    #[error("the association is closing")]
    Closing,
    /// There is no association.
    #[error("the association is not connected")]
    NotConnected,
}
