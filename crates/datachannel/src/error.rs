//! Errors of data channels: why one was closed, could not be opened, or refused a message.

use anabranch_types::Ppid;
use thiserror::Error;

use crate::dcep::ParseError;

/// Why a channel is closing or closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum CloseCause {
    /// The application closed it.
    #[error("closed by this side")]
    Local,
    /// The peer closed it.
    #[error("closed by the peer")]
    Peer,
    /// The peer did not accept it (RFC 8832 §6).
    #[error("the peer did not accept the channel")]
    Refused,
    /// The peer violated the protocol.
    #[error("the peer broke the protocol: {0}")]
    Violation(#[from] Violation),
    /// The association ended or restarted.
    #[error("the association ended")]
    Association,
}

/// How the peer violated the protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum Violation {
    /// A message of DCEP is malformed.
    #[error(transparent)]
    Malformed(#[from] ParseError),
    /// DATA_CHANNEL_OPEN on the stream of an open channel.
    #[error("a channel was opened on a stream in use")]
    InUse,
    /// DATA_CHANNEL_OPEN on a stream whose identifier belongs to our role.
    #[error("a channel was opened on a stream of the other role")]
    WrongRole,
    /// A message on a stream without a channel.
    #[error("a message on a stream without a channel")]
    NotOpen,
    /// A message with this PPID, which data channels do not have.
    #[error("a message with the PPID {}", .0.0)]
    UnknownPpid(Ppid),
    /// A text that is not UTF-8.
    #[error("a text that is not UTF-8")]
    InvalidText,
    /// A message that should have been ordered.
    #[error("an unordered message that should have been ordered")]
    Unordered,
    /// A message longer than [`Limits::max_received`](crate::Limits::max_received).
    #[error("a message that is too long")]
    TooLong,
    /// The labels and protocols of its channels exceed [`Limits::max_text`](crate::Limits::max_text).
    #[error("the labels of all channels are too long")]
    TooMuchText,
}

/// Why a channel cannot be opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The label or the protocol is longer than 65,535 bytes.
    #[error("the label or the protocol is longer than 65,535 bytes")]
    TooLong,
    /// All streams of our role are in use.
    #[error("no stream is free")]
    NoStream,
    /// The stream is in use, or the association does not have it.
    #[error("the stream is in use or does not exist")]
    StreamInUse,
}

/// Why a message cannot be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum SendError {
    /// The channel is closing or closed.
    #[error("the channel is closed")]
    Closed,
    /// The message is longer than [`Limits::max_sent`](crate::Limits::max_sent).
    #[error("the message is longer than {max} bytes")]
    TooLong {
        /// Length of the longest message in bytes.
        max: usize,
    },
}
