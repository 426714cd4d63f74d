//! Association (RFC 9260 §1.3). What does it consist of, and which part owns which state?
//!
//! It keeps the state that concerns the association as a whole: state, peer, control chunks, authentication and events.
//! [`Transfer`] owns data transfer, [`Addresses`] owns addresses; changes that concern the association are returned as [`Effects`]
//! and applied here. [`crate::input`] handles received packets, [`crate::output`] writes packets to send.

mod addresses;
mod buffers;
mod commands;
mod control;
mod delivery;
mod events;
mod keys;
mod parameters;
mod peer_error;
mod reconfig;
mod state;
mod statistics;

pub(crate) mod close;
pub(crate) mod shutdown;
pub(crate) mod timers;

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use anabranch_types::{AssociationId, ChannelId, Instant, PathAddr, Tsn, VerificationTag};
use anabranch_wire::Packet;
use anabranch_wire::chunk::kind;

use crate::address::Addresses;
use crate::auth::{ADDRESS_CHANGES, Authentication, KeyVector, RANDOM_LEN};
use crate::config::{AssociationConfig, PacketCounts};
use crate::endpoint::cookie::Seal;
use crate::extensions::{ChunkKinds, Extensions, PACKET_COUNTS, SELECTED_GAPS};
use crate::handshake::Declared;
use crate::path::{PathChange, PathEvent};
use crate::reconfig::Reconfig;
use crate::recv::{Receiver, ReceiverConfig};
use crate::secrets::Secrets;
use crate::send::Sender;
use crate::transfer::{Effects, InitialTsns, Negotiated, Transfer};

pub(crate) use addresses::probe_waiting_pairs;
pub use buffers::{BufferError, SendQueue};
pub(crate) use control::{Control, FinalChunk};
pub use delivery::DeliverySettings;
pub use events::{CloseReason, Event};
pub(crate) use events::{Events, Introduced};
pub use keys::AuthenticationKeys;
pub use parameters::ProtocolParameters;
pub(crate) use peer_error::PeerError;
pub use peer_error::ReportedError;
pub(crate) use state::{Guard, Retry, State, T2};
pub(crate) use statistics::Counters;
pub use statistics::{AssociationStatistics, SackWork};

/// One SCTP association.
///
/// The application calls [`Association::send`], [`Association::receive`], [`Association::shutdown`] and others. Packets and time
/// come from [`crate::Endpoint`], which owns all associations.
#[derive(Debug)]
pub struct Association {
    pub(crate) id: AssociationId,
    /// Of the layer below SCTP.
    pub(crate) channel: ChannelId,
    pub(crate) config: Arc<AssociationConfig>,
    pub(crate) state: State,
    pub(crate) local: Side,
    pub(crate) peer: Side,
    /// Seal of the cookie that created the association, if one did; identifies late copies of the COOKIE ECHO.
    pub(crate) cookie_seal: Option<Seal>,
    pub(crate) addresses: Addresses,
    /// `None` if authentication is not offered.
    pub(crate) authentication: Option<Box<Authentication>>,
    pub(crate) extensions: Extensions,
    pub(crate) zero_checksum: ZeroChecksum,
    /// The peer's code point of the adaptation layer (RFC 5061 §4.2.6).
    pub(crate) peer_adaptation: Option<u32>,
    pub(crate) transfer: Transfer,
    pub(crate) control: Control,
    /// Stream reconfiguration, from the first request on.
    pub(crate) reconfig: Option<Box<Reconfig>>,
    pub(crate) events: Events,
    pub(crate) owed: Owed,
    pub(crate) counters: Counters,
}

//= rfc9260 5.3.1-2
/// One end of an association.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Side {
    pub(crate) port: u16,
    /// The verification tag of packets *to* this side (RFC 9260 §8.5).
    pub(crate) tag: VerificationTag,
    pub(crate) initial_tsn: Tsn,
}

/// Use of a checksum of zero (RFC 9653).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ZeroChecksum {
    /// Declared by us, so packets of the peer may have it.
    pub(crate) is_accepted: bool,
    /// Declared by the peer, too, so our packets have it.
    pub(crate) is_sent: bool,
}

/// Notifications and commands that are pending.
#[derive(Debug, Default)]
pub(crate) struct Owed {
    /// A message was refused because the send buffer was full, so [`Event::Writable`] is due when it has room.
    pub(crate) writable: bool,
    /// [`Event::Readable`] was queued, and the application has not received all messages since.
    pub(crate) readable_told: bool,
    /// The application requested a shutdown before the handshake was complete.
    pub(crate) shutdown: bool,
    /// The handshake starts again, for which the endpoint draws another tag.
    pub(crate) another_tag: bool,
}

impl Owed {
    /// Queues [`Event::Readable`] if there are messages and it was not queued since the application received all.
    #[inline]
    pub(crate) fn tell_readable(&mut self, receiver: &Receiver, events: &mut Events) {
        if !self.readable_told && receiver.readable() {
            self.readable_told = true;
            events.push(Event::Readable);
        }
    }

    /// Queues [`Event::Writable`] if it is due and the send buffer has room.
    fn tell_writable(&mut self, state: &State, sender: &Sender, events: &mut Events) {
        let is_open = state.accepts_messages() && !self.shutdown;
        let accepting = is_open || (sender.has_unfinished() && state.sends_data());
        if self.writable && accepting && (sender.free_space() > 0 || sender.may_wait_for_part()) {
            self.writable = false;
            events.push(Event::Writable);
        }
    }
}

/// Initial values of an association; the handshake adds the others.
pub(crate) struct Setup {
    pub(crate) id: AssociationId,
    pub(crate) channel: ChannelId,
    pub(crate) config: Arc<AssociationConfig>,
    pub(crate) local_addrs: Arc<[SocketAddr]>,
    pub(crate) local: Side,
    pub(crate) peer: Side,
    pub(crate) peer_addrs: Vec<SocketAddr>,
    pub(crate) pairs: Vec<PathAddr>,
    /// Our random number for the association key (RFC 4895 §6.1).
    pub(crate) random: [u8; RANDOM_LEN],
    pub(crate) secrets: Secrets,
}

/// Parameters negotiated in the handshake, as seen from this end.
pub(crate) struct Agreement {
    pub(crate) extensions: ChunkKinds,
    /// The peer's key vector (RFC 4895 §6.1).
    pub(crate) vector: Option<KeyVector>,
    /// What the peer declared and we support.
    pub(crate) declared: Declared,
    pub(crate) peer_tsn: Tsn,
    pub(crate) peer_window: u32,
    pub(crate) outbound_streams: u16,
    pub(crate) inbound_streams: u16,
}

impl Association {
    pub(crate) fn new(setup: Setup, state: State, now: Instant) -> Self {
        let Setup {
            id,
            channel,
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
        let mut transfer = Transfer::new(Arc::clone(&config), initial, secrets);
        transfer.replace_paths(&pairs, now);
        let mut addresses = Addresses::new(local_addrs, peer_addrs, local.initial_tsn);
        addresses.expect(peer.initial_tsn);
        Self {
            id,
            channel,
            state,
            local,
            peer,
            cookie_seal: None,
            addresses,
            authentication: config.offers_authentication().then(|| {
                Box::new(Authentication::new(
                    &random,
                    &config.authenticated_chunks,
                    &config.demanded_chunks(),
                    &config.authentication_key,
                ))
            }),
            extensions: Extensions::offered(&config),
            zero_checksum: ZeroChecksum {
                is_accepted: config.zero_checksum.is_some(),
                is_sent: false,
            },
            peer_adaptation: None,
            transfer,
            control: Control::default(),
            reconfig: None,
            events: Events::default(),
            owed: Owed::default(),
            counters: Counters::default(),
            config,
        }
    }

    /// Applies the negotiated parameters. Received messages are kept; messages queued on streams that the peer does not accept are
    /// dropped, which is reported to the application.
    pub(crate) fn agree(&mut self, agreement: Agreement) {
        self.extensions.theirs = agreement.extensions;
        self.zero_checksum.is_sent = agreement.declared.zero_checksum.is_some();
        self.peer_adaptation = agreement.declared.adaptation_layer;
        self.transfer.marks.is_agreed = agreement.declared.ecn;
        self.reconfig = None;
        let vector = agreement.vector;
        let vector = vector.filter(|_| self.extensions.agreed(kind::AUTH));
        if let Some(authentication) = &mut self.authentication {
            authentication.agree(vector, &self.config.authentication_key);
            if authentication.seals_packets() {
                self.transfer.reserve(authentication.overhead());
            }
        }
        self.addresses.expect(agreement.peer_tsn);
        let interleaving = self.extensions.agreed(kind::I_DATA);
        let dropped = self.transfer.negotiated(Negotiated {
            outbound_streams: agreement.outbound_streams,
            peer_window: agreement.peer_window,
            interleaving,
            partial_reliability: self.extensions.partially_reliable(),
            packet_counts: self.config.packet_counts == PacketCounts::Assumed
                || self.extensions.agreed(PACKET_COUNTS),
            selected_gaps: self.extensions.agreed(SELECTED_GAPS),
            splits_chunks: self.extensions.agreed(kind::PART),
        });
        if dropped > 0 {
            self.events.push(Event::Undeliverable { messages: dropped });
        }
        self.transfer.receiver = self.transfer.receiver.restart(ReceiverConfig {
            initial_tsn: agreement.peer_tsn,
            buffer: self.config.advertised_buffer(),
            max_message: self.config.max_message,
            whole: self.config.longest_whole(),
            inbound_streams: agreement.inbound_streams,
            interleaving,
        });
    }

    /// Applies the effects of a step of data transfer on the association.
    #[inline]
    pub(crate) fn apply(&mut self, effects: Effects) {
        if effects.changes_association() {
            self.apply_changes(effects);
        } else if effects.is_acknowledged {
            self.owed
                .tell_writable(&self.state, &self.transfer.sender, &mut self.events);
        }
    }

    /// Applies effects that few steps have, apart from [`Association::apply`], so that the usual case is inlined in its callers.
    #[cold]
    fn apply_changes(&mut self, effects: Effects) {
        let (is_acknowledged, is_usable_again) = (effects.is_acknowledged, effects.is_usable_again);
        let (peer_is_unreachable, is_stalled) = (effects.peer_is_unreachable, effects.is_stalled);
        if let Some(changes) = effects.into_path_events() {
            report_path_events(&mut self.control, &mut self.events, changes);
        }
        if is_acknowledged {
            self.owed
                .tell_writable(&self.state, &self.transfer.sender, &mut self.events);
        }
        if is_usable_again {
            let preferred = self.addresses.on_usable_path(&mut self.transfer);
            if let Some(changes) = preferred.into_path_events() {
                report_path_events(&mut self.control, &mut self.events, changes);
            }
        }
        if peer_is_unreachable {
            self.end(CloseReason::PeerUnreachable, Some(Vec::new()));
        } else if is_stalled {
            self.end(CloseReason::NoProgress, Some(Vec::new()));
        }
    }

    /// Whether both ends support ASCONF and require its authentication: an end that accepts ASCONF must require AUTH for ASCONF and
    /// ASCONF ACK (RFC 5061 §4.1, §4.2.7).
    pub(crate) fn may_change_addresses(&self) -> bool {
        let authentication = self.authentication.as_deref();
        ADDRESS_CHANGES.iter().all(|kind| self.extensions.agreed(*kind))
            && authentication.is_some_and(Authentication::peer_demands_address_changes)
    }

    //= rfc9260 5.1.2-8, 5.1.2-9
    /// The `listed` addresses that the peer did not have before; none if the association is single-homed.
    pub(crate) fn added(&self, listed: &[IpAddr]) -> Vec<IpAddr> {
        if self.config.single_homed {
            return Vec::new();
        }
        self.addresses.added(&self.transfer.paths, listed)
    }

    /// Whether one of the paths leads to `remote`, and that address is confirmed or was given by the application.
    pub(crate) fn has_proven(&self, remote: SocketAddr) -> bool {
        let paths = &self.transfer.paths;
        let mut there = paths.iter().filter(|(_, path)| path.addr.remote == remote);
        there.any(|(facts, _)| self.addresses.is_proven(paths, facts.id))
    }

    /// Whether a packet, which was matched by tag or addresses, has this association's ports.
    ///
    /// A packet with the right tag from an unknown address belongs to this association, too: it is dropped and not answered with an
    /// ABORT, which would end an association whose other paths work.
    pub(crate) fn expects(&self, packet: &Packet<'_>) -> bool {
        let header = packet.header();
        let ports = header.source_port == self.peer.port && header.destination_port == self.local.port;
        ports && !self.is_done() && !self.is_of_predecessor(packet)
    }

    //= rfc9260 14.2-1
    /// Whether the association has ended and its last chunk has been sent. Until then it still takes packets; otherwise an ABORT
    /// for an unknown association would reach the peer before the one with the reason.
    pub(crate) fn is_done(&self) -> bool {
        self.state.is_closed() && !self.control.has_final_chunk()
    }

    /// Whether the application has to be notified of something.
    pub(crate) fn has_events(&self) -> bool {
        !self.events.is_empty() || self.transfer.sender.has_abandoned() || self.transfer.sender.has_free_key()
    }

    /// Whether it is in COOKIE-WAIT or COOKIE-ECHOED.
    pub(crate) const fn is_in_handshake(&self) -> bool {
        matches!(self.state, State::CookieWait(_) | State::CookieEchoed(..))
    }

    //= rfc9260 8.5.1-15, 9.2-27
    /// Whether a packet has a SHUTDOWN ACK while the association is in COOKIE-WAIT or COOKIE-ECHOED. It is for an earlier
    /// association, so it is handled as out of the blue (RFC 9260 §8.5.1 E).
    fn is_of_predecessor(&self, packet: &Packet<'_>) -> bool {
        let mut chunks = packet.chunks().flatten();
        self.is_in_handshake() && chunks.any(|chunk| chunk.kind == kind::SHUTDOWN_ACK)
    }

    /// Checks invariants after every step in debug builds.
    pub(crate) fn debug_check(&self) {
        if !self.state.is_closed() {
            self.transfer.debug_check();
            self.addresses.debug_check(&self.transfer.paths);
        }
    }
}

/// Tells the application of changes of paths. Control chunks that wait for a removed path are sent on others.
#[cold]
fn report_path_events(control: &mut Control, events: &mut Events, changes: Vec<PathEvent>) {
    for event in changes {
        if event.change == PathChange::Removed {
            control.forget_path(event.id);
        }
        events.push(Event::Path(event));
    }
}
