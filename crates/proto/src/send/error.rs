//! Send errors: why a message was refused.

use thiserror::Error;

/// Reason why a message was refused. No part of it was queued.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
#[non_exhaustive]
pub enum SendError {
    /// The send buffer is full; it has room again when the peer has acknowledged data.
    #[error("the send buffer is full")]
    BufferFull,
    /// The message is longer than the limit.
    #[error("the message is longer than {max} bytes")]
    TooLarge {
        /// Maximum message length in bytes.
        max: usize,
    },
    /// The message is empty: DATA chunks carry at least one byte (RFC 9260 §3.3.1).
    #[error("the message is empty")]
    Empty,
    /// The outbound stream does not exist.
    #[error("there are only {streams} outbound streams")]
    InvalidStream {
        /// Number of outbound streams, numbered from 0.
        streams: u16,
    },
    /// The message names a shared key that does not exist or is deactivated.
    #[error("there is no such shared key, or it is deactivated")]
    InvalidKey,
    /// The stream has an unfinished message ([`MessagePart`](crate::MessagePart)): its end comes first.
    #[error("the stream has an unfinished message")]
    Unfinished,
    /// The message of this part is not unfinished: it was abandoned, has ended, or was lost with a restart of the peer.
    #[error("there is no unfinished message for this part")]
    NoSuchMessage,
    /// The association is shutting down and accepts no messages (RFC 9260 §9.2).
    #[error("the association is closing")]
    Closing,
    /// The association does not exist or has ended.
    #[error("the association is not connected")]
    NotConnected,
}
