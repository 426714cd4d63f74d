//! Addresses of an association (RFC 5061). Which addresses do both ends have, and how do they change?
//!
//! [`asconf_sender`] requests changes of our addresses, [`asconf_receiver`] handles those of the peer, and [`paths`] updates the
//! paths. Changes are authenticated ([`crate::auth`]), because an attacker who could change addresses could take over an
//! association.

mod asconf_receiver;
mod asconf_sender;
mod error;
mod invariants;
mod join;
mod paths;
mod replacement;
mod responses;
mod retirement;
mod scope;
mod waiting;

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use anabranch_types::{AsconfNumber, Instant, PathAddr, PathId, Tsn};
use anabranch_wire::{NoRoom, OutboundAsconfAck, PacketBuilder};

pub(crate) use asconf_sender::Request;
pub use error::AddressError;
pub(crate) use scope::{is_believable, is_unicast, listed};

use asconf_receiver::AsconfReceiver;
use asconf_sender::AsconfSender;
use waiting::WaitingPairs;

use crate::auth::Authentication;
use crate::on_demand::{Idle, OnDemand};
use crate::path::{PathSet, pair_addresses};
use crate::transfer::{Effects, Transfer};

/// The addresses of both ends, and the state of changes.
#[derive(Debug)]
pub(crate) struct Addresses {
    /// Our addresses, as the endpoint knows them.
    pub(crate) local_addrs: Arc<[SocketAddr]>,
    /// The peer's addresses, in its order.
    pub(crate) peer_addrs: Box<[SocketAddr]>,
    /// Addresses that the application gave to connect; none if the peer was the initiator. They count as confirmed, all others do
    /// not (RFC 9260 §5.4).
    pub(crate) initiated_to: Box<[IpAddr]>,
    former: OnDemand<Former>,
    /// Pairs that the peer has listed and that have no path yet.
    waiting: OnDemand<WaitingPairs>,
    /// Whether the endpoint has to update its directory, because the peer's addresses have changed or one was confirmed.
    is_moved: bool,
    asconf_sender: AsconfSender,
    asconf_receiver: AsconfReceiver,
    /// Whether the paths differ from those of the handshake.
    is_changed: bool,
    /// Whether some paths may have become superfluous.
    is_unsettled: bool,
}

/// Former addresses.
#[derive(Debug, Default)]
struct Former {
    /// Addresses of the peer that the endpoint has to remove.
    of_peer: Vec<SocketAddr>,
    /// Our addresses whose deletion the peer has not acknowledged.
    leaving: Vec<SocketAddr>,
    /// Our addresses that are removed when another one has a confirmed path.
    departing: Vec<SocketAddr>,
}

impl Idle for Former {
    const IDLE: &'static Self = &Self {
        of_peer: Vec::new(),
        leaving: Vec::new(),
        departing: Vec::new(),
    };

    fn is_idle(&self) -> bool {
        self.of_peer.is_empty() && self.leaving.is_empty() && self.departing.is_empty()
    }
}

/// An ASCONF or ASCONF ACK that is due, and its path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Due {
    /// ASCONF ACKs.
    Acks(PathId),
    /// The ASCONF.
    Asconf(PathId),
}

impl Addresses {
    //= rfc5061 5.1-5
    /// Creates the addresses. Serial numbers of ASCONFs start at the initial TSN (RFC 5061 §5.1 A2).
    pub(crate) fn new(local_addrs: Arc<[SocketAddr]>, peer_addrs: Vec<SocketAddr>, initial: Tsn) -> Self {
        Self {
            local_addrs,
            peer_addrs: peer_addrs.into(),
            initiated_to: Box::default(),
            former: OnDemand::default(),
            waiting: OnDemand::default(),
            is_moved: true,
            asconf_sender: AsconfSender::new(AsconfNumber(initial.0)),
            asconf_receiver: AsconfReceiver::new(),
            is_changed: false,
            is_unsettled: false,
        }
    }

    /// Sets the first serial number of the peer's ASCONFs, its initial TSN.
    pub(crate) const fn expect(&mut self, theirs: Tsn) {
        self.asconf_receiver.expect(AsconfNumber(theirs.0));
    }

    /// Sets the serial number of our first ASCONF, our initial TSN in a handshake that starts again.
    pub(crate) const fn begin_again_at(&mut self, ours: Tsn) {
        self.asconf_sender.number_from(AsconfNumber(ours.0));
    }

    /// Replaces all paths, before any data was sent on them.
    pub(crate) fn replace_paths(
        &mut self,
        transfer: &mut Transfer,
        pairs: &[PathAddr],
        peer_addrs: Vec<SocketAddr>,
        now: Instant,
    ) {
        self.former.make_mut().of_peer.extend(transfer.paths.remotes());
        self.is_moved = true;
        self.stop_waiting();
        self.peer_addrs = peer_addrs.into();
        transfer.replace_paths(pairs, now);
    }

    /// Whether the remote addresses of paths have changed since the last call of [`Addresses::take_removed`].
    pub(crate) const fn is_moved(&self) -> bool {
        self.is_moved
    }

    /// Takes the former addresses of the peer.
    pub(crate) fn take_removed(&mut self) -> Vec<SocketAddr> {
        self.is_moved = false;
        let former = self.former.active_mut();
        let taken = former.map(|former| core::mem::take(&mut former.of_peer));
        self.former.release_if_idle();
        taken.unwrap_or_default()
    }

    /// Whether `path` leads to an address that the application gave to connect.
    pub(crate) fn is_initiated_to(&self, paths: &PathSet, path: PathId) -> bool {
        let remote = paths.path(path).addr.remote.ip();
        self.initiated_to.contains(&remote)
    }

    /// Adds an address of the peer.
    pub(crate) fn add_to_peer(&mut self, address: SocketAddr) {
        let known = self.peer_addrs.iter().copied();
        self.peer_addrs = known.chain([address]).collect();
    }

    /// Removes an address that the application gave to connect, because it refused the INIT. The endpoint updates its directory, in which
    /// the address is not proven any more.
    pub(crate) fn remove_initiated(&mut self, remote: IpAddr) {
        let others = self.initiated_to.iter().copied();
        self.initiated_to = others.filter(|known| *known != remote).collect();
        self.note_moved();
    }

    /// Whether the remote address of `path` is confirmed or was given by the application (RFC 9260 §5.4).
    pub(crate) fn is_proven(&self, paths: &PathSet, path: PathId) -> bool {
        self.is_initiated_to(paths, path) || paths.is_confirmed(path)
    }

    /// The `listed` addresses that the peer did not have before, without those that no local address can reach, such as those of
    /// another IP version (RFC 9260 §5.1.2).
    pub(crate) fn added(&self, paths: &PathSet, listed: &[IpAddr]) -> Vec<IpAddr> {
        let is_known = |ip| paths.leads_to(ip) || self.peer_addrs.iter().any(|known| known.ip() == ip);
        let is_in_reach = |ip| !pair_addresses(&self.local_addrs, &[SocketAddr::new(ip, 0)]).is_empty();
        let is_new = |ip: &&IpAddr| !is_known(**ip) && is_in_reach(**ip);
        listed.iter().filter(is_new).copied().collect()
    }

    /// Notes that the remote addresses of paths have changed, so that the endpoint updates its directory.
    const fn note_moved(&mut self) {
        self.is_moved = true;
    }

    /// The deadline of T4, at which the ASCONF is retransmitted (RFC 5061 §5.1 A4).
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.asconf_sender.deadline()
    }

    /// Whether an ABORT to `local` is ignored, because the peer may have deleted that address already (RFC 5061 §5.3.1).
    pub(crate) fn is_leaving(&self, local: SocketAddr) -> bool {
        self.former.leaving.contains(&local)
    }

    /// The ASCONF or ASCONF ACK that is due.
    pub(crate) fn due(&self, paths: &PathSet) -> Option<Due> {
        let acks = self.asconf_receiver.due_on();
        let acks = acks.filter(|path| paths.contains(*path));
        acks.map(Due::Acks).or_else(|| {
            let asconf = self.asconf_sender.due_on(paths, &self.former.departing);
            asconf.map(Due::Asconf)
        })
    }

    //= rfc4895 6.2-1
    //= rfc5061 4.1.1-2, 4.1.2-1
    /// Writes what is due into a packet of its own, because the HMAC of AUTH covers all later chunks.
    #[cold]
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
                let asconf = self.asconf_sender.take_due(paths, path, now);
                authentication.push(packet, asconf.as_slice())
            }
        };
        debug_assert!(pushed.is_ok(), "ASCONF and ASCONF ACK are kept short");
    }

    /// Whether an ASCONF ACK is to be sent to an unknown address.
    pub(crate) fn has_repeated(&self) -> bool {
        self.asconf_receiver.has_repeated()
    }

    /// Takes the ASCONF ACK to send to an unknown address, and the two addresses.
    pub(crate) fn take_repeated(&mut self) -> Option<(PathAddr, OutboundAsconfAck)> {
        self.asconf_receiver.take_repeated()
    }

    /// Handles that a path was confirmed or works again: the path that the peer requests may become the primary path, and others may be
    /// superfluous. Without address changes, the pair of the handshake stays a path, whether the pairing rule contains it or not.
    pub(crate) fn on_usable_path(&mut self, transfer: &mut Transfer) -> Effects {
        self.is_unsettled = self.is_changed;
        self.is_moved = true;
        self.prefer(transfer)
    }
}

#[cfg(test)]
mod tests;
