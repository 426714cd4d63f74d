//! Replacement of the last working address (RFC 5061 §5.3.2, ADR 0111). How does an association keep an address that the application has
//! removed until it has another one?
//!
//! Only heartbeats may be sent to addresses that are not confirmed (RFC 9260 §5.4), and not even these from an address that is being added
//! (RFC 5061 §5.3 F1). So the peer could be told nothing if the only address with a confirmed path were removed at once. It departs instead:
//!
//! ```text
//! 1. the ASCONF that adds the new address is sent from that address at once, besides the retransmissions from the departing one
//! 2. ASCONF ACK: heartbeats from the new address, one round trip after the removal
//! 3. HEARTBEAT ACK: a path from the new address is confirmed, and the departing address is removed, two round trips after it
//! ```

use core::net::SocketAddr;

use anabranch_policy::{PathFacts, Reachability};
use anabranch_types::Instant;

use super::{Addresses, Request};
use crate::path::Path;
use crate::transfer::{Effects, Transfer};

impl Addresses {
    /// Removes our address `local`: at once, or when another of our addresses has a confirmed path. Returns `None` without any change if
    /// there is no other address and none is being added.
    pub(crate) fn remove_local(&mut self, transfer: &mut Transfer, local: SocketAddr) -> Option<Effects> {
        if let Some(effects) = self.remove_at_once(transfer, local) {
            return Some(effects);
        }
        if !self.has_successor(local) {
            return None;
        }
        if !self.former.departing.contains(&local) {
            self.former.make_mut().departing.push(local);
        }
        self.is_unsettled = true;
        Some(Effects::default())
    }

    fn has_successor(&self, local: SocketAddr) -> bool {
        let coming = self.asconf_sender.coming();
        let mut others = self.local_addrs.iter().chain(&coming);
        others.any(|other| *other != local && !self.former.departing.contains(other))
    }

    //= rfc5061 4.2.2-2, 5.3-11, 5.3-14, 5.3-15, 5.3-16, 5.3-17
    /// Removes our address `local` and its paths; returns `None` without any change if no confirmed path would be left.
    ///
    /// RFC 5061 §5.3 forbids deleting the last address (F5), and sending from an address that is being deleted (F4).
    fn remove_at_once(&mut self, transfer: &mut Transfer, local: SocketAddr) -> Option<Effects> {
        let is_confirmed = |(facts, path): (&PathFacts, &Path)| {
            facts.reachability != Reachability::Unconfirmed && path.addr.local != local
        };
        if !transfer.paths.iter().any(is_confirmed) {
            return None;
        }
        let effects = self.remove_paths(transfer, |path| path.local == local)?;
        self.change_lists(|lists| {
            let others = lists.local_addrs.iter().copied();
            lists.local_addrs = others.filter(|addr| *addr != local).collect();
        });
        self.is_changed = true;
        let former = self.former.make_mut();
        former.departing.retain(|departing| *departing != local);
        former.leaving.push(local);
        self.request(Request::Delete(local));
        Some(effects)
    }

    /// Removes the departing addresses, as far as others have confirmed paths.
    pub(super) fn remove_departing(&mut self, transfer: &mut Transfer) -> Effects {
        let mut effects = Effects::default();
        for local in self.former.departing.clone() {
            if self.check_request().is_ok()
                && let Some(removed) = self.remove_at_once(transfer, local)
            {
                effects.append(removed);
            }
        }
        effects
    }

    /// Makes paths from the addresses that are being added if all others depart, so that the ASCONF is sent from there.
    pub(super) fn hurry_replacement(&mut self, transfer: &mut Transfer, now: Instant) -> Effects {
        if self.former.departing.is_empty() {
            Effects::default()
        } else {
            self.use_pending_addresses(transfer, now)
        }
    }

    /// Keeps the address `local` if it departs, because the application has added it again.
    pub(super) fn keep(&mut self, local: SocketAddr) {
        if let Some(former) = self.former.active_mut() {
            former.departing.retain(|departing| *departing != local);
        }
        self.former.release_if_idle();
    }

    /// Takes over the departing addresses of `before`, the association of the peer before its restart.
    pub(crate) fn keep_departing(&mut self, before: &Self) {
        for local in &before.former.departing {
            if self.local_addrs.contains(local) && !self.former.departing.contains(local) {
                self.former.make_mut().departing.push(*local);
            }
        }
        self.is_unsettled |= !self.former.departing.is_empty();
    }
}
