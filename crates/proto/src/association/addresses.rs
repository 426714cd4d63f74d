//! Changes of addresses (RFC 5061). What may the application change while the association lives, and what does the peer say?

use core::net::SocketAddr;

use anabranch_types::{AddressScope, Instant};
use anabranch_wire::AsconfAck;

use super::{Association, Event};
use crate::address::{AddressError, Request};
use crate::violation::Violation;

impl Association {
    //= rfc5061 4.2.1-2, 6-2
    /// Uses the address `local`, to which the driver has a socket now, for this association too. The peer is told;
    /// when it agrees, paths from there are confirmed and used: [`crate::PathChange::Added`] follows.
    ///
    /// # Errors
    ///
    /// See [`AddressError`]. A refusal of the peer comes as [`crate::Event::PeerError`].
    pub fn add_local_address(&mut self, local: SocketAddr) -> Result<(), AddressError> {
        let is_one_host =
            AddressScope::of(local.ip()) != AddressScope::Unusable && !local.ip().is_unspecified();
        if !is_one_host {
            return Err(AddressError::InvalidAddress(local));
        }
        self.check_request()?;
        self.addresses.request(Request::Add(local));
        Ok(())
    }

    /// Uses the address `local` no more. Its paths end at once, and what is in flight on them is sent again on others:
    /// [`crate::PathChange::Removed`] follows. The socket may be closed when the peer has confirmed, or at once if
    /// what still comes in over it may be lost.
    ///
    /// # Errors
    ///
    /// See [`AddressError`].
    pub fn remove_local_address(&mut self, local: SocketAddr) -> Result<(), AddressError> {
        // A peer that restarted may have sent to one that was removed before.
        let is_used = self.transfer.paths.is_from(local);
        if !self.addresses.local_addrs.contains(&local) && !is_used {
            return Err(AddressError::UnknownAddress(local));
        }
        self.check_request()?;
        let removed = self.addresses.remove_local(&mut self.transfer, local);
        let effects = removed.ok_or(AddressError::LastAddress(local))?;
        self.apply(effects);
        Ok(())
    }

    //= rfc5061 5.4-1
    /// Asks the peer to send to our address `local` when it sends on one path only (RFC 5061 §5.4).
    ///
    /// # Errors
    ///
    /// See [`AddressError`].
    pub fn request_peer_primary(&mut self, local: SocketAddr) -> Result<(), AddressError> {
        let is_coming = self.addresses.is_pending(Request::Add(local));
        if !self.addresses.local_addrs.contains(&local) && !is_coming {
            return Err(AddressError::UnknownAddress(local));
        }
        self.check_request()?;
        self.addresses.request(Request::SetPrimary(local));
        Ok(())
    }

    /// Whether a change of addresses may be asked for now.
    pub(crate) fn check_request(&self) -> Result<(), AddressError> {
        if !self.state.changes_addresses() {
            return Err(AddressError::NotConnected);
        }
        if !self.may_change_addresses() {
            return Err(AddressError::NotAgreed);
        }
        self.addresses.check_request()
    }

    /// The peer acknowledges an ASCONF, or pretends to.
    pub(crate) fn on_asconf_ack(&mut self, now: Instant, chunk: &AsconfAck<'_>) -> Result<(), Violation> {
        let Some(acknowledged) = self.addresses.take_acknowledged(chunk)? else {
            return Ok(());
        };
        if let Some(path) = acknowledged.path {
            let effects = self.transfer.answered_at_some_time(path, now);
            self.apply(effects);
        }
        for refusal in self.addresses.settle(acknowledged, chunk) {
            self.events.push(Event::PeerError(refusal));
        }
        let effects = self.addresses.follow(&mut self.transfer, now);
        self.apply(effects);
        Ok(())
    }
}
