//! Address changes (RFC 5061). Which addresses can the application add and remove, and how is the peer's ASCONF ACK applied?

use core::net::SocketAddr;

use anabranch_types::{AddressScope, Instant};
use anabranch_wire::AsconfAck;

use super::{Association, Control, Event, ReportedError, State};
use crate::address::{AddressError, Addresses, Request};
use crate::path::PathIds;
use crate::transfer::Transfer;
use crate::violation::Violation;

impl Association {
    //= rfc5061 4.2.1-2, 6-2
    /// Adds the local address `local`, for which the driver has a socket, to this association by an ASCONF. When the peer has
    /// agreed, paths from this address are confirmed and used: [`crate::PathChange::Added`] follows.
    ///
    /// # Errors
    ///
    /// See [`AddressError`]. A refusal by the peer is reported as [`crate::Event::PeerError`].
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

    /// Removes the local address `local` from this association. Its paths end, and data in flight on them is retransmitted
    /// on others: [`crate::PathChange::Removed`] follows, at once, or as soon as another address has a confirmed path. The socket may be
    /// closed when the peer has confirmed the removal, or as soon as no path is from it if packets that still arrive there may be lost.
    ///
    /// If an uplink gets another address, add the new one first, then remove the former one: the new one is announced from there.
    ///
    /// # Errors
    ///
    /// See [`AddressError`].
    pub fn remove_local_address(&mut self, local: SocketAddr) -> Result<(), AddressError> {
        // A restarted peer may have sent its INIT to an address that was removed before.
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
    /// Requests that the peer uses our address `local` as its primary destination (Set Primary Address, RFC 5061 §5.4).
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

    /// Checks whether an address change may be requested now.
    pub(crate) fn check_request(&self) -> Result<(), AddressError> {
        if !self.state.changes_addresses() {
            return Err(AddressError::NotConnected);
        }
        if !self.may_change_addresses() {
            return Err(AddressError::NotAgreed);
        }
        self.addresses.check_request()
    }

    /// Handles an ASCONF ACK, which ends the association if no ASCONF with its number was sent.
    pub(crate) fn on_asconf_ack(&mut self, now: Instant, chunk: &AsconfAck<'_>) -> Result<(), Violation> {
        let Some(acknowledged) = self.addresses.take_acknowledged(chunk)? else {
            return Ok(());
        };
        if let Some(path) = acknowledged.path {
            let effects = self.transfer.answered_at_some_time(path, now);
            self.apply(effects);
        }
        // The peer knows the present addresses of these paths, and answers heartbeats from them.
        for path in acknowledged.joined.clone() {
            if self.addresses.leads_to_peer(self.transfer.paths.path(path)) {
                self.transfer.send_another_heartbeat(path, now);
            } else {
                self.transfer.send_heartbeat(path, now);
            }
        }
        if acknowledged.is_join() {
            return Ok(());
        }
        // Paths from an added address that were tried before had to wait for the answer.
        for local in acknowledged.added() {
            let paths = &self.transfer.paths;
            let tried: PathIds = paths
                .ids()
                .filter(|path| paths.path(*path).addr.local == local)
                .collect();
            tried.for_each(|path| self.transfer.send_heartbeat(path, now));
        }
        for refusal in self.addresses.settle(acknowledged, chunk) {
            self.events
                .push(Event::PeerError(ReportedError::refusal(refusal)));
        }
        let effects = self.addresses.follow(&mut self.transfer, now);
        self.apply(effects);
        Ok(())
    }

    /// Whether paths may join: whenever ASCONF may be sent.
    pub(crate) fn may_join(&self) -> bool {
        self.state.changes_addresses() && self.may_change_addresses()
    }
}

/// Lets waiting address pairs take the places of paths that are confirmed, or on which nothing was answered.
#[inline]
pub(crate) fn probe_waiting_pairs(
    state: &State,
    (addresses, control): (&mut Addresses, &mut Control),
    transfer: &mut Transfer,
    now: Instant,
) {
    if addresses.has_waiting_pairs() && state.changes_addresses() && !state.is_finishing() {
        control.forget_each(addresses.take_turns(transfer, now));
    }
}
