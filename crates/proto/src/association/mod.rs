//! Association. What is one conversation, and who owns which part of it?
//!
//! It keeps what belongs to the conversation as a whole: state, peer, control chunks, addresses, authentication, events. Data
//! transfer is [`Transfer`]'s, and addresses are [`Addresses`]'; what they change that is not theirs comes back as
//! [`Effects`], which are applied here. What arrives goes to [`crate::input`], what leaves comes from [`crate::output`].

mod addresses;
mod buffers;
mod commands;
mod control;
mod events;
mod peer_error;
mod state;
mod statistics;

pub(crate) mod close;
pub(crate) mod shutdown;
pub(crate) mod timers;

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use anabranch_types::{AssociationId, Instant, PathAddr, Tsn, VerificationTag};
use anabranch_wire::Packet;
use anabranch_wire::chunk::kind;

use crate::address::Addresses;
use crate::auth::{Authentication, KeyVector, RANDOM_LEN};
use crate::config::AssociationConfig;
use crate::endpoint::cookie::Seal;
use crate::extensions::{ChunkKinds, Extensions};
use crate::path::PathChange;
use crate::recv::ReceiverConfig;
use crate::secrets::Secrets;
use crate::send::Sender;
use crate::transfer::{Effects, InitialTsns, Transfer};

pub use buffers::{BufferError, SendQueue};
pub(crate) use control::{Control, LastWords};
pub(crate) use events::Events;
pub use events::{CloseReason, Event};
pub(crate) use peer_error::PeerError;
pub(crate) use state::{Guard, Retry, State};
pub(crate) use statistics::Counters;
pub use statistics::{AssociationStatistics, SackWork};

/// One SCTP association.
///
/// The application's side is here: [`Association::send`], [`Association::receive`], [`Association::shutdown`].
/// The network's and the clock's side is [`crate::Endpoint`], which owns it.
#[derive(Debug)]
pub struct Association {
    pub(crate) id: AssociationId,
    pub(crate) config: Arc<AssociationConfig>,
    pub(crate) state: State,
    pub(crate) local: Side,
    pub(crate) peer: Side,
    /// The seal of the peer's cookie that it came from, if it did: late copies are known by it.
    pub(crate) cookie_seal: Option<Seal>,
    pub(crate) addresses: Addresses,
    /// `None` if we do not offer it.
    pub(crate) authentication: Option<Authentication>,
    pub(crate) extensions: Extensions,
    pub(crate) transfer: Transfer,
    pub(crate) control: Control,
    pub(crate) events: Events,
    pub(crate) owed: Owed,
    pub(crate) counters: Counters,
}

//= rfc9260 5.3.1-2
/// One end of an association.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Side {
    pub(crate) port: u16,
    /// The tag of packets *to* this side (RFC 9260 §8.5).
    pub(crate) tag: VerificationTag,
    pub(crate) initial_tsn: Tsn,
}

/// What the application waits for.
#[derive(Debug, Default)]
pub(crate) struct Owed {
    /// A message was refused because the buffer was full.
    pub(crate) writable: bool,
    /// [`Event::Readable`] was told and the application has not read everything since.
    pub(crate) readable_told: bool,
    /// The application wants to finish, before the handshake was complete.
    pub(crate) shutdown: bool,
}

impl Owed {
    /// The application may wait for space in the send buffer, and there may be some.
    fn tell_writable(&mut self, state: &State, sender: &Sender, events: &mut Events) {
        let accepting = state.accepts_messages() && !self.shutdown;
        if self.writable && accepting && sender.free_space() > 0 {
            self.writable = false;
            events.push(Event::Writable);
        }
    }
}

/// With what an association starts; the handshake knows the rest.
pub(crate) struct Setup {
    pub(crate) id: AssociationId,
    pub(crate) config: Arc<AssociationConfig>,
    pub(crate) local_addrs: Arc<[SocketAddr]>,
    pub(crate) local: Side,
    pub(crate) peer: Side,
    pub(crate) peer_addrs: Vec<SocketAddr>,
    pub(crate) pairs: Vec<PathAddr>,
    /// Our part of the key for authentication.
    pub(crate) random: [u8; RANDOM_LEN],
    pub(crate) secrets: Secrets,
}

/// What both ends agreed on in the handshake, seen from this end.
pub(crate) struct Agreement {
    pub(crate) extensions: ChunkKinds,
    /// The peer's part of the key for authentication.
    pub(crate) vector: Option<KeyVector>,
    pub(crate) peer_tsn: Tsn,
    pub(crate) peer_window: u32,
    pub(crate) outbound_streams: u16,
    pub(crate) inbound_streams: u16,
}

impl Association {
    pub(crate) fn new(setup: Setup, state: State, now: Instant) -> Self {
        let Setup {
            id,
            config,
            local_addrs,
            local,
            peer,
            peer_addrs,
            pairs,
            random,
            secrets,
        } = setup;
        let initial = InitialTsns {
            local: local.initial_tsn,
            peer: peer.initial_tsn,
        };
        let mut transfer = Transfer::new(&config, initial, secrets);
        transfer.replace_paths(&pairs, now);
        let mut addresses = Addresses::new(local_addrs, peer_addrs, local.initial_tsn);
        addresses.expect(peer.initial_tsn);
        Self {
            id,
            state,
            local,
            peer,
            cookie_seal: None,
            addresses,
            authentication: config
                .offers_address_changes()
                .then(|| Authentication::new(&random)),
            extensions: Extensions::offered(&config),
            transfer,
            control: Control::default(),
            events: Events::default(),
            owed: Owed::default(),
            counters: Counters::default(),
            config,
        }
    }

    /// The handshake told what both ends agreed on. Messages that wait to be read outlive it; those that wait on streams beyond
    /// what the peer takes are dropped, and the application is told.
    pub(crate) fn agree(&mut self, agreement: Agreement) {
        self.extensions.theirs = agreement.extensions;
        let vector = agreement.vector;
        let vector = vector.filter(|_| self.extensions.agreed(kind::AUTH));
        if let Some(authentication) = &mut self.authentication {
            authentication.agree(vector, &self.config.authentication_key);
        }
        self.addresses.expect(agreement.peer_tsn);
        let interleaving = self.extensions.agreed(kind::I_DATA);
        let (streams, window) = (agreement.outbound_streams, agreement.peer_window);
        let dropped = self.transfer.negotiated(streams, window, interleaving);
        if dropped > 0 {
            self.events.push(Event::Undeliverable { messages: dropped });
        }
        self.transfer.receiver = self.transfer.receiver.restart(ReceiverConfig {
            initial_tsn: agreement.peer_tsn,
            buffer: self.config.advertised_buffer(),
            max_message: self.config.longest_received(),
            inbound_streams: agreement.inbound_streams,
            interleaving,
        });
    }

    /// Does what a step of data transfer leaves to the association.
    #[inline]
    pub(crate) fn apply(&mut self, effects: Effects) {
        let is_acknowledged = effects.is_acknowledged;
        if effects.has_path_events() || effects.is_confirmed || effects.peer_is_unreachable {
            self.apply_rare(effects);
        } else if is_acknowledged {
            self.tell_writable();
        }
    }

    #[cold]
    fn apply_rare(&mut self, effects: Effects) {
        let (is_acknowledged, is_confirmed) = (effects.is_acknowledged, effects.is_confirmed);
        let peer_is_unreachable = effects.peer_is_unreachable;
        for event in effects.into_path_events() {
            if event.change == PathChange::Removed {
                self.control.forget_path(event.id);
            }
            self.events.push(Event::Path(event));
        }
        if is_acknowledged {
            self.tell_writable();
        }
        if is_confirmed {
            let preferred = self.addresses.on_confirmed(&mut self.transfer);
            let preferred = preferred.into_path_events().map(Event::Path);
            preferred.for_each(|event| self.events.push(event));
        }
        if peer_is_unreachable {
            self.end(CloseReason::PeerUnreachable, Some(Vec::new()));
        }
    }

    fn tell_writable(&mut self) {
        self.owed
            .tell_writable(&self.state, &self.transfer.sender, &mut self.events);
    }

    /// Whether both ends agreed to changes of addresses, and to authenticate them: who takes ASCONF has to demand that it and
    /// its answer be authenticated (RFC 5061 §4.1).
    pub(crate) fn may_change_addresses(&self) -> bool {
        let both = [kind::ASCONF, kind::ASCONF_ACK];
        let demanded =
            |authentication: &Authentication| both.iter().all(|kind| authentication.peer_demands(*kind));
        both.iter().all(|kind| self.extensions.agreed(*kind))
            && self.authentication.as_ref().is_some_and(demanded)
    }

    //= rfc9260 5.1.2-8, 5.1.2-9
    /// Those of the `listed` addresses that would be new ones of the peer; none at all if only one is wanted.
    pub(crate) fn added(&self, listed: &[IpAddr]) -> Vec<IpAddr> {
        if self.config.single_homed {
            return Vec::new();
        }
        self.addresses.added(&self.transfer.paths, listed)
    }

    /// Whether one of its paths leads to `remote` and is the peer's, by the word of the application or by its own proof.
    pub(crate) fn has_proven(&self, remote: SocketAddr) -> bool {
        let paths = &self.transfer.paths;
        let mut there = paths.iter().filter(|(_, path)| path.addr.remote == remote);
        there.any(|(facts, _)| self.addresses.is_proven(paths, facts.id))
    }

    /// Whether a packet that was found by tag or by addresses names this association's ports.
    ///
    /// One with the right tag from an address that the peer is not known to have is still this association's: it
    /// is dropped, not answered with an ABORT, which would end an association whose other paths work.
    pub(crate) fn expects(&self, packet: &Packet<'_>) -> bool {
        let header = packet.header();
        let ports = header.source_port == self.peer.port && header.destination_port == self.local.port;
        ports && !self.is_done() && !self.is_of_predecessor(packet)
    }

    //= rfc9260 14.2-1
    /// Whether it ended and has said so. Until then it still takes packets, or an answer to an unknown peer would reach the peer
    /// before the reason does.
    pub(crate) fn is_done(&self) -> bool {
        self.state.is_closed() && !self.control.has_last_words()
    }

    //= rfc9260 8.5.1-15, 9.2-27
    /// A SHUTDOWN ACK that meets an association in COOKIE-WAIT or COOKIE-ECHOED is for one that was there before, so it is out of
    /// the blue (RFC 9260 §8.5.1 E).
    fn is_of_predecessor(&self, packet: &Packet<'_>) -> bool {
        let mut chunks = packet.chunks().flatten();
        matches!(self.state, State::CookieWait(_) | State::CookieEchoed(..))
            && chunks.any(|chunk| chunk.kind == kind::SHUTDOWN_ACK)
    }

    /// Compared after every step in debug builds.
    pub(crate) fn debug_check(&self) {
        if !self.state.is_closed() {
            self.transfer.debug_check();
        }
    }

    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        let was_full = self.events.is_full();
        let event = self.events.pop();
        if was_full {
            self.events.push_low_streams(&mut self.transfer.sender);
        }
        event
    }
}
