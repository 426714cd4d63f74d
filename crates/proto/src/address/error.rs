//! Address errors: why an address change was refused.

use core::net::SocketAddr;

use thiserror::Error;

/// Reason why an address change was refused without asking the peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum AddressError {
    /// The association is not established, or is shutting down.
    #[error("the association is not established")]
    NotConnected,
    /// Address changes (RFC 5061) were not negotiated with the peer.
    #[error("changes of addresses were not agreed on with the peer")]
    NotAgreed,
    /// The address is unspecified, multicast or broadcast.
    #[error("{0} is not the address of one host")]
    InvalidAddress(SocketAddr),
    /// The address is not a local address of this association.
    #[error("{0} is not an address of this association")]
    UnknownAddress(SocketAddr),
    /// The address is the last one with a path to the peer, and no other one is being added.
    #[error("{0} is the last address that reaches the peer")]
    LastAddress(SocketAddr),
    /// Too many changes are queued or outstanding.
    #[error("too many changes wait to be confirmed by the peer")]
    TooMany,
}
