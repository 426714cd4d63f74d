//! Addresses of an association (RFC 5061). Which do both ends have, and how do they come and go while it lives?
//!
//! [`asconf_sender`] tells the peer of ours, [`asconf_receiver`] takes note of the peer's, [`paths`] decides which paths follow.
//! Changes are authenticated ([`crate::auth`]): who could change addresses at will could take over an association.

mod asconf_receiver;
mod asconf_sender;
mod error;
mod paths;
mod responses;
mod scope;

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use anabranch_types::{AsconfNumber, Instant, PathAddr, PathId, Tsn};
use anabranch_wire::{NoRoom, PacketBuilder};

pub(crate) use asconf_sender::Request;
pub use error::AddressError;
pub(crate) use scope::{is_believable, listed};

use asconf_receiver::AsconfReceiver;
use asconf_sender::AsconfSender;

use crate::auth::Authentication;
use crate::path::{PathSet, pair_addresses};
use crate::transfer::{Effects, Transfer};

/// The addresses of both ends, and what is known of changes.
#[derive(Debug)]
pub(crate) struct Addresses {
    /// Ours, as the endpoint knows them.
    pub(crate) local_addrs: Arc<[SocketAddr]>,
    /// The peer's, in its order.
    pub(crate) peer_addrs: Vec<SocketAddr>,
    /// Those that the application named when it initiated the association; none if the peer did. They are its word, all others
    /// the peer's (RFC 9260 §5.4).
    pub(crate) initiated_to: Vec<IpAddr>,
    /// Addresses that the peer was known by until now.
    removed_addrs: Vec<SocketAddr>,
    /// The peer's addresses are others than before, or one of them is proven now: the endpoint has to learn it.
    is_moved: bool,
    asconf_sender: AsconfSender,
    asconf_receiver: AsconfReceiver,
    /// The paths are no longer those of the handshake.
    is_changed: bool,
    /// Some of the paths may have become superfluous.
    is_unsettled: bool,
    /// Addresses of ours whose deletion the peer has not confirmed.
    leaving: Vec<SocketAddr>,
}

/// A packet of this kind is due, on this path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Due {
    /// ASCONF ACKs.
    Acks(PathId),
    /// The ASCONF.
    Asconf(PathId),
}

impl Addresses {
    //= rfc5061 5.1-5
    /// Numbers of ASCONF chunks begin at the initial TSN (RFC 5061 §5.1 A2).
    pub(crate) fn new(local_addrs: Arc<[SocketAddr]>, peer_addrs: Vec<SocketAddr>, initial: Tsn) -> Self {
        Self {
            local_addrs,
            peer_addrs,
            initiated_to: Vec::new(),
            removed_addrs: Vec::new(),
            is_moved: true,
            asconf_sender: AsconfSender::new(AsconfNumber(initial.0)),
            asconf_receiver: AsconfReceiver::new(),
            is_changed: false,
            is_unsettled: false,
            leaving: Vec::new(),
        }
    }

    /// The handshake told where the peer's numbers begin.
    pub(crate) const fn expect(&mut self, theirs: Tsn) {
        self.asconf_receiver.expect(AsconfNumber(theirs.0));
    }

    /// Puts other paths in the place of the present ones, before anything was sent on them.
    pub(crate) fn replace_paths(
        &mut self,
        transfer: &mut Transfer,
        pairs: &[PathAddr],
        peer_addrs: Vec<SocketAddr>,
        now: Instant,
    ) {
        self.removed_addrs.extend(transfer.paths.remotes());
        self.is_moved = true;
        self.peer_addrs = peer_addrs;
        transfer.replace_paths(pairs, now);
    }

    /// The addresses that the peer was known by until now, if it moved since this was asked last.
    pub(crate) fn take_removed(&mut self) -> Option<Vec<SocketAddr>> {
        core::mem::take(&mut self.is_moved).then(|| core::mem::take(&mut self.removed_addrs))
    }

    /// Whether `path` leads to an address that the application named when it initiated the association.
    pub(crate) fn is_initiated_to(&self, paths: &PathSet, path: PathId) -> bool {
        let remote = paths.path(path).addr.remote.ip();
        self.initiated_to.contains(&remote)
    }

    /// Whether the far end of `path` is the peer's, by the word of the application or by its own proof (RFC 9260 §5.4).
    pub(crate) fn is_proven(&self, paths: &PathSet, path: PathId) -> bool {
        self.is_initiated_to(paths, path) || paths.is_confirmed(path)
    }

    /// Those of the `listed` addresses that would be new ones of the peer. None of those that no address of ours can
    /// reach, such as those of another IP version (RFC 9260 §5.1.2).
    pub(crate) fn added(&self, paths: &PathSet, listed: &[IpAddr]) -> Vec<IpAddr> {
        let is_known = |ip| paths.leads_to(ip) || self.peer_addrs.iter().any(|known| known.ip() == ip);
        let is_in_reach = |ip| !pair_addresses(&self.local_addrs, &[SocketAddr::new(ip, 0)]).is_empty();
        let is_new = |ip: &&IpAddr| !is_known(**ip) && is_in_reach(**ip);
        listed.iter().filter(is_new).copied().collect()
    }

    /// When the ASCONF is repeated: T4 (RFC 5061 §5.1 A4).
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.asconf_sender.deadline()
    }

    /// Whether an ABORT that came to `local` is to be ignored, because the peer may have forgotten that address
    /// already (RFC 5061 §5.3.1).
    pub(crate) fn is_leaving(&self, local: SocketAddr) -> bool {
        self.leaving.contains(&local)
    }

    /// What is due to be sent about addresses.
    pub(crate) fn due(&self, paths: &PathSet) -> Option<Due> {
        let acks = self.asconf_receiver.due_on();
        let acks = acks.filter(|path| paths.contains(*path));
        acks.map(Due::Acks)
            .or_else(|| self.asconf_sender.due_on(paths).map(Due::Asconf))
    }

    //= rfc4895 6.2-1
    //= rfc5061 4.1.1-2, 4.1.2-1
    /// Writes what is due; a packet of its own, for everything behind an AUTH chunk is covered by its code.
    pub(crate) fn write(
        &mut self,
        due: Due,
        authentication: &Authentication,
        paths: &PathSet,
        packet: &mut PacketBuilder<'_>,
        now: Instant,
    ) {
        let pushed: Result<(), NoRoom> = match due {
            Due::Acks(_) => authentication.push(packet, &self.asconf_receiver.take_due()),
            Due::Asconf(path) => {
                let rto = paths.fact(path).rto;
                let asconf = self.asconf_sender.take_due(path, now + rto);
                authentication.push(packet, asconf.as_slice())
            }
        };
        debug_assert!(pushed.is_ok(), "ASCONF and ASCONF ACK are kept short");
    }

    /// A path was confirmed that was not before. The one that the peer prefers becomes the primary one, if it is that; and some
    /// paths may be superfluous now. Without a change of addresses the pair that carried the handshake stays, whether the
    /// pairing rule has it or not.
    pub(crate) fn on_confirmed(&mut self, transfer: &mut Transfer) -> Effects {
        self.is_unsettled = self.is_changed;
        self.is_moved = true;
        self.prefer(transfer)
    }
}

#[cfg(test)]
mod tests;
