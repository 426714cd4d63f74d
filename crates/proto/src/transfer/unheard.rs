//! Paths that the peer does not hear of. Does a NAT on the way give our packets an address that the peer does not know?
//!
//! The peer ignores packets from addresses that it does not know. Behind a NAT, or after one of its addresses changed, those of a
//! path come from such an address; so does what a host sends from an address of its own that is new to the peer. All that
//! shows here is that heartbeats are not answered. An ASCONF from there with the wildcard address (RFC 5061 §4.2.1) then tells
//! the peer to add the address that it sees, whatever it is.

use core::net::SocketAddr;

use anabranch_policy::{PathFacts, Reachability};
use anabranch_types::PathId;

use super::Transfer;
use crate::path::Path;

impl Transfer {
    /// The next path on which another heartbeat was not answered, with its local address, if the peer is known to be at its
    /// far end: it would be a question to the wrong host elsewhere. Each unanswered heartbeat gives one.
    pub(crate) fn take_unheard(&mut self) -> Option<(PathId, SocketAddr)> {
        let ids = self.paths.ids();
        for id in ids {
            let (facts, path) = (self.paths.fact(id), self.paths.path(id));
            let (errors, local) = (facts.errors, path.addr.local);
            if errors > path.unheard.max(tolerated(facts)) && self.is_unheard(facts, path) {
                self.paths.path_mut(id).unheard = errors;
                return Some((id, local));
            }
        }
        None
    }

    /// Whether no other path from the same address works, while the peer is at its far end.
    fn is_unheard(&self, facts: &PathFacts, path: &Path) -> bool {
        let mut others = self.paths.iter().filter(|(other, _)| other.id != facts.id);
        let is_heard = others.any(|(other, known)| other.is_usable() && known.addr.local == path.addr.local);
        let is_peer = |(known, other): (&PathFacts, &Path)| {
            known.reachability != Reachability::Unconfirmed && other.addr.remote == path.addr.remote
        };
        !is_heard && self.paths.iter().any(is_peer)
    }
}

/// Errors that say nothing of addresses: none on a path that never worked, one on a path that did, which a lost packet explains.
const fn tolerated(facts: &PathFacts) -> u16 {
    match facts.reachability {
        Reachability::Unconfirmed => 0,
        Reachability::PotentiallyFailed | Reachability::Inactive => 1,
        Reachability::Active => u16::MAX,
    }
}
