//! What is one conversation? The state, the paths, a sender, a receiver and the policies between them.
//!
//! Nothing happens here but delegation: what arrives goes to [`crate::input`], what leaves comes from
//! [`crate::output`], becoming associated is in [`crate::handshake`].

mod buffers;
mod commands;
mod events;
mod invariants;
mod state;
mod statistics;

pub(crate) mod close;
pub(crate) mod complaint;
pub(crate) mod liveness;
pub(crate) mod packet_size;
pub(crate) mod paths;
pub(crate) mod timers;
pub(crate) mod way_back;

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use anabranch_policy::{LossEvent, PolicySet};
use anabranch_types::{AssociationId, Instant, IntervalSet, PathAddr, PathId, Tsn, VerificationTag};
use anabranch_wire::Packet;
use anabranch_wire::chunk::kind;

use crate::address::AddressConfiguration;
use crate::auth::{Authentication, KeyVector, RANDOM_LEN};
use crate::config::AssociationConfig;
use crate::endpoint::Seal;
use crate::handshake::{ChunkKinds, Extensions};
use crate::output::{Control, Transmit, WindowProbe};
use crate::path::{PathSet, ProbeBudget, Sizes, braid, max_packet};
use crate::recv::{Receiver, ReceiverConfig};
use crate::secrets::Secrets;
use crate::send::{Hearing, Sender, SenderConfig};

pub use buffers::{BufferError, SendQueue};
pub(crate) use events::Events;
pub use events::{CloseReason, Event, PathChange, PathEvent};
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
    /// Our addresses, as the endpoint knows them.
    pub(crate) here: Arc<[SocketAddr]>,
    /// The peer's addresses, in its order.
    pub(crate) there: Vec<SocketAddr>,
    /// Those that the application named when it called; none if the peer called. They are its word, all others the
    /// peer's (RFC 9260 §5.4).
    pub(crate) called: Vec<IpAddr>,
    pub(crate) local: Side,
    pub(crate) peer: Side,
    /// Of the peer's cookie that it came from, if it did, to know late copies by.
    pub(crate) cookie_seal: Option<Seal>,
    pub(crate) addresses: AddressConfiguration,
    /// `None` if we do not offer it.
    pub(crate) authentication: Option<Authentication>,
    pub(crate) extensions: Extensions,
    pub(crate) paths: PathSet,
    pub(crate) policies: PolicySet,
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    pub(crate) control: Control,
    pub(crate) events: Events,
    pub(crate) secrets: Secrets,
    /// Consecutive errors on all paths together (RFC 9260 §8.1).
    pub(crate) errors: u16,
    pub(crate) window_probe: WindowProbe,
    pub(crate) probe_budget: ProbeBudget,
    /// When the path scheduler wants to be asked again.
    pub(crate) scheduler_wakes: Option<Instant>,
    pub(crate) owed: Owed,
    /// Sets whose allocations the next SACK uses.
    pub(crate) sack_scratch: [IntervalSet; 2],
    pub(crate) counters: Counters,
}

/// What one end of an association is known by.
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
    /// The peer's addresses are others than before: the endpoint has to learn the present ones.
    pub(crate) moved: bool,
    /// Addresses that the peer was known by until now.
    pub(crate) left: Vec<SocketAddr>,
    /// The application wants to finish, before the handshake was complete.
    pub(crate) shutdown: bool,
}

/// With what an association starts; the handshake knows the rest.
pub(crate) struct Setup {
    pub(crate) id: AssociationId,
    pub(crate) config: Arc<AssociationConfig>,
    pub(crate) here: Arc<[SocketAddr]>,
    pub(crate) local: Side,
    pub(crate) peer: Side,
    pub(crate) there: Vec<SocketAddr>,
    pub(crate) pairs: Vec<PathAddr>,
    /// Our part of the key for authentication.
    pub(crate) random: [u8; RANDOM_LEN],
    pub(crate) secrets: Secrets,
}

impl Association {
    pub(crate) fn new(setup: Setup, state: State, now: Instant) -> Self {
        let Setup {
            id,
            config,
            here,
            local,
            peer,
            there,
            pairs,
            random,
            secrets,
        } = setup;
        let mut association = Self {
            id,
            state,
            here,
            there: Vec::new(),
            called: Vec::new(),
            local,
            peer,
            cookie_seal: None,
            addresses: AddressConfiguration::new(local.initial_tsn),
            authentication: config
                .offers_address_changes()
                .then(|| Authentication::new(&random)),
            extensions: Extensions::offered(&config),
            paths: PathSet::default(),
            policies: config.build_policies(),
            sender: Sender::new(SenderConfig {
                initial_tsn: local.initial_tsn,
                buffer: config.send_buffer,
                max_message: config.max_message,
                outbound_streams: config.wanted_streams(),
                peer_window: 0,
                sack_handling: config.policies.sack_handling,
                sack_walks: config.sack_walks,
                hearing: Hearing::new(config.policies.sack_window),
            }),
            receiver: Receiver::new(ReceiverConfig {
                initial_tsn: peer.initial_tsn,
                buffer: config.advertised_buffer(),
                max_message: config.longest_received(),
                inbound_streams: config.allowed_streams(),
                interleaving: false,
            })
            .promising(config.policies.nr_sack),
            control: Control::default(),
            events: Events::default(),
            secrets,
            errors: 0,
            window_probe: WindowProbe::default(),
            probe_budget: ProbeBudget::default(),
            scheduler_wakes: None,
            owed: Owed::default(),
            sack_scratch: [const { IntervalSet::new() }; 2],
            counters: Counters::default(),
            config,
        };
        association.addresses.expect(peer.initial_tsn);
        association.replace_paths(&pairs, there, now);
        association
    }

    /// Puts other paths in the place of the present ones, before anything was sent on them.
    pub(crate) fn replace_paths(&mut self, pairs: &[PathAddr], there: Vec<SocketAddr>, now: Instant) {
        for id in self.paths.ids() {
            self.policies.remove_path(id);
        }
        self.control.forget_paths();
        self.owed.left.extend(self.paths.remotes());
        self.owed.moved = true;
        self.there = there;
        self.paths = PathSet::new(pairs, self.sizes(), self.config.rto());
        for id in self.paths.ids() {
            self.policies.add_path(self.paths.fact(id), now);
        }
        self.publish_windows();
    }

    /// The handshake told what the peer supports, and its part of the key.
    pub(crate) fn extend(&mut self, theirs: ChunkKinds, vector: Option<KeyVector>) {
        self.extensions.theirs = theirs;
        let vector = vector.filter(|_| self.extensions.agreed(kind::AUTH));
        if let Some(authentication) = &mut self.authentication {
            authentication.agree(vector, &self.config.authentication_key);
        }
    }

    /// Whether both ends agreed to changes of addresses, and to authenticate them. "If an endpoint supports ASCONF it
    /// MUST list ASCONF and ASCONF-ACK in its CHUNKS" is how RFC 5061 §4.1 is to be read.
    pub(crate) fn may_change_addresses(&self) -> bool {
        let both = [kind::ASCONF, kind::ASCONF_ACK];
        let demanded =
            |authentication: &Authentication| both.iter().all(|kind| authentication.peer_demands(*kind));
        both.iter().all(|kind| self.extensions.agreed(*kind))
            && self.authentication.as_ref().is_some_and(demanded)
    }

    /// Those of the `listed` addresses that would be new ones of the peer. None of those that no address of ours can
    /// reach: the ones of another IP version "MAY be ignored" (RFC 9260 §5.1.2). None at all if only one is wanted.
    pub(crate) fn added(&self, listed: &[IpAddr]) -> Vec<IpAddr> {
        let is_known = |ip| self.paths.leads_to(ip) || self.there.iter().any(|known| known.ip() == ip);
        let is_in_reach = |ip| !braid(&self.here, &[SocketAddr::new(ip, 0)]).is_empty();
        let is_new = |ip: &&IpAddr| !self.config.single_homed && !is_known(**ip) && is_in_reach(**ip);
        listed.iter().filter(is_new).copied().collect()
    }

    /// Whether `path` leads to an address that the application named when it called.
    pub(crate) fn has_called(&self, path: PathId) -> bool {
        let remote = self.paths.path(path).addr.remote.ip();
        self.called.contains(&remote)
    }

    /// Whether what leads to `path` is the peer's, by the word of the application or by its own proof (RFC 9260 §5.4).
    pub(crate) fn is_proven(&self, path: PathId) -> bool {
        self.has_called(path) || self.paths.is_confirmed(path)
    }

    /// Whether one of its paths leads to `remote` and is proven.
    pub(crate) fn has_proven(&self, remote: SocketAddr) -> bool {
        let mut there = self.paths.iter().filter(|(_, path)| path.addr.remote == remote);
        there.any(|(facts, _)| self.is_proven(facts.id))
    }

    /// The handshake told how many streams the peer takes and how large its window is. Messages that were queued
    /// on streams beyond are dropped, and the application is told.
    pub(crate) fn negotiated(&mut self, outbound_streams: u16, peer_window: u32) {
        let scheduler = &mut *self.policies.stream_scheduler;
        let interleaving = self.extensions.agreed(kind::I_DATA);
        let refused = self
            .sender
            .negotiated(outbound_streams, peer_window, interleaving, scheduler);
        if !refused.is_empty() {
            self.events.push(Event::Undeliverable {
                messages: refused.len() as u64,
            });
        }
    }

    /// Which sizes packets may have.
    pub(crate) fn sizes(&self) -> Sizes {
        Sizes {
            largest: self.config.mtu,
            choice: self.config.policies.path_mtu,
        }
    }

    /// The longest SCTP packet that the configuration lets leave on `path`, whatever gets through.
    pub(crate) fn largest_packet(&self, path: PathId) -> usize {
        max_packet(&self.paths.path(path).addr, self.config.mtu).into()
    }

    /// Copies cwnd and ssthresh into the facts, where the other policies see them.
    pub(crate) fn publish_windows(&mut self) {
        for id in self.paths.ids() {
            let window = self.policies.congestion.cwnd(id);
            let threshold = self.policies.congestion.ssthresh(id);
            let facts = self.paths.fact_mut(id);
            facts.cwnd = window;
            facts.ssthresh = threshold;
        }
    }

    /// Tells the policies that react to it of a loss on one path.
    pub(crate) fn tell_loss(&mut self, loss: &LossEvent, now: Instant) {
        let facts = self.paths.facts();
        self.policies.congestion.on_loss(loss, facts, now);
        self.policies.path_scheduler.on_loss(loss, facts, now);
    }

    /// Whether a packet that was found by tag or by addresses names this association's ports.
    ///
    /// One with the right tag from an address that the peer is not known to have is still this association's: it
    /// is dropped, not answered with an ABORT, which would end an association whose other paths work.
    pub(crate) fn expects(&self, packet: &Packet<'_>) -> bool {
        let header = packet.header();
        let ports = header.source_port == self.peer.port && header.destination_port == self.local.port;
        ports && !self.is_done() && !self.is_strange(packet)
    }

    /// Whether it ended and has said so. Until then it still hears, or an answer to a stranger would reach the peer
    /// before the reason does.
    pub(crate) fn is_done(&self) -> bool {
        self.state.is_closed() && !self.control.has_last_words()
    }

    /// RFC 9260 §8.5.1 E: a SHUTDOWN ACK that meets an association in COOKIE-WAIT or COOKIE-ECHOED is for one that
    /// was there before, and "is treated as an OOTB packet".
    fn is_strange(&self, packet: &Packet<'_>) -> bool {
        let mut chunks = packet.chunks().flatten();
        matches!(self.state, State::CookieWait(_) | State::CookieEchoed(..))
            && chunks.any(|chunk| chunk.kind == kind::SHUTDOWN_ACK)
    }

    /// A packet that is for this association arrived.
    pub(crate) fn handle_packet(&mut self, now: Instant, arrival: PathAddr, packet: &Packet<'_>) {
        crate::input::handle_packet(self, now, arrival, packet);
        self.debug_check();
    }

    /// The moment of [`Association::poll_timeout`] has come.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        timers::fire(self, now);
        self.debug_check();
    }

    /// Writes the next packets, all for one path, behind what is in `buffer`.
    pub(crate) fn poll_transmit(
        &mut self,
        now: Instant,
        buffer: &mut Vec<u8>,
        max_segments: usize,
    ) -> Option<Transmit> {
        let transmit = crate::output::poll_transmit(self, now, buffer, max_segments);
        self.debug_check();
        transmit
    }

    /// When [`Association::handle_timeout`] is due; `None` for never.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        timers::next(self)
    }

    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        let was_full = self.events.is_full();
        let event = self.events.pop();
        if was_full {
            self.tell_low_streams();
        }
        event
    }
}
