//! Address errors. Why can an address not be added or removed?

use core::net::SocketAddr;

use thiserror::Error;

/// Why a change of addresses was refused before the peer was asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum AddressError {
    /// The association is not established, or ending.
    #[error("the association is not established")]
    NotConnected,
    /// The peer did not agree to changes of addresses (RFC 5061), or we did not offer them.
    #[error("changes of addresses were not agreed on with the peer")]
    NotAgreed,
    /// The address is unspecified, multicast or broadcast.
    #[error("{0} is not the address of one host")]
    InvalidAddress(SocketAddr),
    /// It is not one of our addresses in this association.
    #[error("{0} is not an address of this association")]
    UnknownAddress(SocketAddr),
    /// Without it there would be no path to the peer.
    #[error("{0} is the last address that reaches the peer")]
    LastAddress(SocketAddr),
    /// As many changes wait to be confirmed as may.
    #[error("too many changes wait to be confirmed by the peer")]
    TooMany,
}
