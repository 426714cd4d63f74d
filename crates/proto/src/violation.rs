//! Protocol violations that end the association with an ABORT.

use anabranch_types::Tsn;
use thiserror::Error;

use crate::handshake::HostName;

/// A violation by the peer. One function turns it into an ABORT with the matching error cause.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub(crate) enum Violation {
    /// A DATA chunk without payload (RFC 9260 §3.3.10.9).
    #[error("DATA chunk {0} carries no user data")]
    NoUserData(Tsn),
    /// A mandatory parameter has an invalid value (RFC 9260 §3.3.10.7).
    #[error("a mandatory parameter is invalid")]
    InvalidMandatoryParameter,
    /// An INIT ACK with a Host Name Address (RFC 9260 §5.1.2 B).
    #[error("INIT ACK with a host name")]
    HostName(HostName),
    /// An INIT ACK without a State Cookie (RFC 9260 §3.3.10.2).
    #[error("INIT ACK without State Cookie")]
    NoStateCookie,
    /// An ASCONF ACK for an ASCONF that was never sent (RFC 5061 §4.3.4).
    #[error("ASCONF ACK for an ASCONF that was never sent")]
    IllegalAsconfAck,
    /// Any other violation (RFC 9260 §3.3.10.13); the text is sent to the peer.
    #[error("{0}")]
    Protocol(&'static str),
}
