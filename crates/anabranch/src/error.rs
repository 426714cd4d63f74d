//! Errors of the library: one enum for each operation.

use std::io;

pub use anabranch_proto::ConnectError as ConnectConfigError;
use anabranch_proto::{self as proto, CloseReason};
use anabranch_secure::{HandshakeError, PublicKey, rustls};
use thiserror::Error;

/// Why an endpoint could not be set up.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BindError {
    /// No socket and no local address were given.
    #[error("an endpoint needs a local address")]
    NoAddress,
    /// A name given as local address could not be resolved.
    #[error("local address {name}: {source}")]
    Address {
        /// As given.
        name: String,
        /// The error of the resolver.
        source: io::Error,
    },
    /// A socket could not be opened.
    #[error("socket: {0}")]
    Socket(#[from] io::Error),
    /// Neither an identity nor trusted keys were given, and the endpoint was not called [insecure](crate::EndpointBuilder::insecure).
    #[error(
        "an endpoint needs an identity or keys that it trusts; in the clear only if it is called insecure"
    )]
    NoSecurity,
    /// Security was given in more than one way: as keys, as configurations of rustls, or as none.
    #[error("security was given in two ways")]
    AmbiguousSecurity,
    /// Sealed datagrams are sent in UDP only.
    #[error("a raw socket has no sealed datagrams")]
    SealedRaw,
    /// TLS cannot use the identity or the configuration.
    #[error("TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// The operating system provided no random seed.
    #[error("no randomness from the operating system: {0}")]
    NoRandomness(#[from] getrandom::Error),
}

/// Why no association was set up.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The peer's name could not be resolved.
    #[error("address of the peer: {0}")]
    Address(#[from] io::Error),
    /// The endpoint is closed.
    #[error("the endpoint is closed")]
    EndpointClosed,
    /// The peer's addresses or the configuration are not valid.
    #[error(transparent)]
    Config(#[from] ConnectConfigError),
    /// The endpoint has no configuration of TLS for connecting.
    #[error("the endpoint has no configuration of TLS for connecting")]
    NoTrust,
    /// The peer has proven that it holds this key, which is not trusted here.
    #[error("the peer's key {0} is not trusted")]
    UntrustedKey(PublicKey),
    /// The peer does not trust our key, this one.
    #[error("the peer does not trust our key {0}")]
    KeyNotAccepted(PublicKey),
    /// The handshake of sealed datagrams failed.
    #[error("no secure connection: {0}")]
    Insecure(#[from] HandshakeError),
    /// No program listens at any of the addresses: the hosts have answered by ICMP that the port is closed.
    #[error("no program listens at the address of the peer")]
    Refused,
    /// No answer from any of the addresses.
    #[error("no answer from the peer")]
    NoAnswer,
    /// The handshake failed.
    #[error("the handshake failed: {0}")]
    Failed(CloseReason),
}

impl From<CloseReason> for ConnectError {
    fn from(reason: CloseReason) -> Self {
        match reason {
            CloseReason::Refused => Self::Refused,
            CloseReason::NoAnswer => Self::NoAnswer,
            other => Self::Failed(other),
        }
    }
}

/// Why a message was not sent. Unlike the core's error it tells why the association was closed; a full buffer is
/// [`TrySendError::Full`], for [`Association::send`](crate::Association::send) waits for space.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum SendError {
    /// The message exceeds [`AssociationConfig::max_message`](crate::AssociationConfig::max_message).
    #[error("the message is longer than {max} bytes")]
    TooLarge {
        /// Length of the longest message, in bytes.
        max: usize,
    },
    /// SCTP has no empty messages.
    #[error("the message is empty")]
    Empty,
    /// The association has no such stream.
    #[error("there are only {streams} outbound streams")]
    InvalidStream {
        /// Number of outbound streams, which are numbered from 0.
        streams: u16,
    },
    /// The payload protocol identifier is that of the control messages of [streams](crate::EndpointBuilder::streams).
    #[error("the payload protocol identifier is reserved")]
    ReservedPpid,
    /// The message names a shared key that does not exist or is deactivated.
    #[error("there is no such shared key, or it is deactivated")]
    InvalidKey,
    /// The stream has an unfinished message, whose end comes first: see [`Association::send_part`](crate::Association::send_part).
    #[error("the stream has an unfinished message")]
    Unfinished,
    /// The message of this part is not unfinished: it was abandoned, has ended, or was lost with a restart of the peer.
    #[error("there is no unfinished message for this part")]
    NoSuchMessage,
    /// The association is shutting down, by either side.
    #[error("the association is closing")]
    Closing,
    /// The association has ended.
    #[error("the association is closed: {0}")]
    Closed(CloseReason),
}

/// Why a message was not sent without waiting.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum TrySendError {
    /// The send buffer is full now.
    #[error("the send buffer is full")]
    Full,
    /// It can never be sent.
    #[error(transparent)]
    Never(#[from] SendError),
}

impl SendError {
    /// Converts errors of the core other than a full buffer; `ended` is how the association ended, if it did.
    pub(crate) fn of(error: proto::SendError, ended: Option<&CloseReason>) -> Self {
        match error {
            proto::SendError::TooLarge { max } => Self::TooLarge { max },
            proto::SendError::Empty => Self::Empty,
            proto::SendError::InvalidStream { streams } => Self::InvalidStream { streams },
            proto::SendError::InvalidKey => Self::InvalidKey,
            proto::SendError::Unfinished => Self::Unfinished,
            proto::SendError::NoSuchMessage => Self::NoSuchMessage,
            _ => ended.map_or(Self::Closing, |reason| Self::Closed(reason.clone())),
        }
    }
}

impl From<SendError> for io::Error {
    fn from(error: SendError) -> Self {
        let kind = match error {
            SendError::TooLarge { .. }
            | SendError::Empty
            | SendError::InvalidStream { .. }
            | SendError::ReservedPpid
            | SendError::InvalidKey => io::ErrorKind::InvalidInput,
            SendError::Unfinished => io::ErrorKind::ResourceBusy,
            SendError::NoSuchMessage | SendError::Closing | SendError::Closed(_) => io::ErrorKind::BrokenPipe,
        };
        Self::new(kind, error)
    }
}

impl TrySendError {
    /// Converts an error of the core; `ended` is how the association ended, if it did.
    pub(crate) fn of(error: proto::SendError, ended: Option<&CloseReason>) -> Self {
        match error {
            proto::SendError::BufferFull => Self::Full,
            error => SendError::of(error, ended).into(),
        }
    }
}

/// Why no message was received.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum RecvError {
    /// No further message will be received: the association failed before the peer had finished.
    #[error("the association is closed: {0}")]
    Closed(
        /// How it ended.
        CloseReason,
    ),
    /// The next message arrives in parts, which [`Association::recv_part`](crate::Association::recv_part) returns.
    #[error("the next message arrives in parts")]
    Partial,
}

/// Why nothing was received without waiting.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum TryRecvError {
    /// Nothing can be received now.
    #[error("there is no message now")]
    Empty,
    /// As [`RecvError::Closed`].
    #[error("the association is closed: {0}")]
    Closed(
        /// How it ended.
        CloseReason,
    ),
}

/// Why an association was not shut down in order, or not everything sent was acknowledged.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("the association ended early: {0}")]
pub struct UnfinishedError(
    /// How it ended.
    pub CloseReason,
);

/// Why no stream was opened or accepted.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum OpenStreamError {
    /// Not both endpoints have [streams](crate::EndpointBuilder::streams), or the association has data channels.
    #[error("the ends have not agreed on streams")]
    NotAgreed,
    /// The association has ended.
    #[error("the association is closed: {0}")]
    Closed(CloseReason),
}

/// Why a message was not sent on a stream.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum StreamSendError {
    /// The peer receives nothing more on this stream; the code is that of [`StreamReceiver::stop`](crate::StreamReceiver::stop).
    #[error("the peer stopped receiving with code {0}")]
    Stopped(u32),
    /// This end has finished or reset the stream.
    #[error("the stream was finished or reset")]
    Ended,
    /// The peer restarted, and all streams were lost.
    #[error("the peer restarted")]
    Restarted,
    /// The association refuses the message.
    #[error(transparent)]
    Association(#[from] SendError),
}

/// Why nothing was received on a stream.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum StreamRecvError {
    /// The peer gave the stream up; the code is that of [`StreamSender::reset`](crate::StreamSender::reset).
    #[error("the peer reset the stream with code {0}")]
    Reset(u32),
    /// This end has stopped receiving.
    #[error("this end stopped receiving")]
    Stopped,
    /// The peer restarted, and all streams were lost.
    #[error("the peer restarted")]
    Restarted,
    /// The association ended before the stream.
    #[error("the association is closed: {0}")]
    Closed(CloseReason),
}

impl From<StreamSendError> for io::Error {
    fn from(error: StreamSendError) -> Self {
        match error {
            StreamSendError::Association(error) => error.into(),
            StreamSendError::Stopped(_) | StreamSendError::Ended => {
                Self::new(io::ErrorKind::BrokenPipe, error)
            }
            StreamSendError::Restarted => Self::new(io::ErrorKind::ConnectionReset, error),
        }
    }
}

impl From<StreamRecvError> for io::Error {
    fn from(error: StreamRecvError) -> Self {
        let kind = match error {
            StreamRecvError::Stopped => io::ErrorKind::NotConnected,
            _ => io::ErrorKind::ConnectionReset,
        };
        Self::new(kind, error)
    }
}
