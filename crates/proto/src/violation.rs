//! Protocol violations. How can a peer break the protocol so badly that the association must end?

use anabranch_types::Tsn;
use thiserror::Error;

/// Becomes an ABORT with the matching error cause, in one place.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub(crate) enum Violation {
    /// A DATA chunk without payload (RFC 9260 §3.3.10.9).
    #[error("DATA chunk {0} carries no user data")]
    NoUserData(Tsn),
    /// A mandatory parameter has an impossible value (RFC 9260 §3.3.10.7).
    #[error("a mandatory parameter is invalid")]
    InvalidMandatoryParameter,
    /// An INIT ACK names a host instead of listing addresses (RFC 9260 §5.1.2 B).
    #[error("INIT ACK with a host name")]
    HostName,
    /// An INIT ACK without a State Cookie (RFC 9260 §3.3.10.2).
    #[error("INIT ACK without State Cookie")]
    NoStateCookie,
    /// An ASCONF ACK for an ASCONF that we never sent (RFC 5061 §4.3.4).
    #[error("an answer to a question about addresses that was never asked")]
    IllegalAsconfAck,
    /// Anything else (RFC 9260 §3.3.10.13); the text goes to the peer.
    #[error("{0}")]
    Protocol(&'static str),
}
