//! Endpoint: all associations of a set of sockets. To which of them does a packet belong?

mod connect;
pub(crate) mod cookie;
mod directory;
mod icmp;
mod inbound;
mod index;
mod limits;
mod listener;
mod out_of_the_blue;
mod replies;
mod responder;
mod spent;
mod timer_queue;
mod zero_checksum;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use core::ops::{Deref, DerefMut};

use anabranch_types::{AssociationId, ChannelId, Ecn, Instant, PathAddr, Tsn, VerificationTag};
use anabranch_wire::chunk::{RawChunk, kind};
use anabranch_wire::{Chunk, Packet, checksum};

use crate::address::is_unicast;
use crate::association::{Association, Event};
use crate::config::{AssociationConfig, EndpointConfig};
use crate::input::is_lawful_bundle;
use crate::output::{Transmit, authenticate};
use crate::secrets::{Entropy, Secrets};
pub use connect::{Channel, ConnectError, check_remotes};
use cookie::CookieKeys;
pub use icmp::{IcmpKind, IcmpMessage};
use inbound::Inbound;
use index::{Index, Slot};
use replies::Replies;
use spent::Spent;

/// Maximum number of associations that are checked for a packet with an unknown tag. A legitimate peer at one address has one per
/// pair of ports; a peer that lists the address in many associations must not make such packets expensive.
const MAX_NAMESAKES: usize = 64;

/// An SCTP endpoint: all associations that share a set of sockets, without the sockets.
///
/// A driver calls three families of methods: *commands* of the application ([`Endpoint::connect`], [`Endpoint::association_mut`]);
/// *handlers* for packets and time ([`Endpoint::handle_datagram`], [`Endpoint::handle_timeout`]). After any of these it *polls*:
/// [`Endpoint::poll_transmit`] and [`Endpoint::poll_event`] until they return `None`, then [`Endpoint::poll_timeout`] once, which
/// returns when to call [`Endpoint::handle_timeout`]. Time must not decrease between calls. Idle associations cost nothing.
#[derive(Debug)]
pub struct Endpoint {
    config: EndpointConfig,
    local_addrs: Arc<[SocketAddr]>,
    accept: Option<Arc<AssociationConfig>>,
    /// That of the association that was started last.
    last_config: Option<Arc<AssociationConfig>>,
    secrets: Secrets,
    cookies: CookieKeys,
    /// Source of each association's random number for authentication, which is derived from its tag, so that cookies need not
    /// contain it.
    randoms: Secrets,
    /// Boxed, because the nodes of the map are half empty.
    slots: BTreeMap<AssociationId, Box<Slot>>,
    index: Index,
    replies: Replies,
    next_id: u32,
    counters: EndpointCounters,
    /// Whether there may be associations that accept packets with a checksum of zero.
    accepts_zero_checksums: bool,
}

/// Counters of packets that belong to no association of the endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct EndpointCounters {
    /// Datagrams that are not SCTP packets: too short, or with a wrong checksum.
    pub malformed: u64,
    /// Packets that belong to no association (RFC 9260 §8.4).
    pub out_of_the_blue: u64,
    /// Packets dropped: with forged cookies, with cookies beyond the limit of associations, and with a chunk that must be alone in
    /// its packet beside others (RFC 9260 §6.10).
    pub dropped: u64,
    /// Packets of unverified peers without a reply, because too many replies were queued, or the reply would have been more than
    /// three times as long.
    pub unanswered: u64,
    /// INITs and cookies refused because there were too many associations, in all or of one source prefix.
    pub refused: u64,
    /// DATA chunks dropped because the memory for received data was used up.
    pub data_refused: u64,
}

impl Endpoint {
    /// Creates an endpoint without associations.
    #[must_use]
    pub fn new(config: EndpointConfig, entropy: impl Into<Entropy>) -> Self {
        let mut secrets = Secrets::new(entropy.into());
        Self {
            local_addrs: config.local.clone().into(),
            accept: config.accept.clone().map(Arc::new),
            last_config: None,
            cookies: CookieKeys::new(secrets.split(), config.cookie_life),
            randoms: secrets.split(),
            secrets,
            slots: BTreeMap::new(),
            index: Index::new(&config),
            replies: Replies::default(),
            next_id: 0,
            counters: EndpointCounters::default(),
            accepts_zero_checksums: config
                .accept
                .as_ref()
                .is_some_and(|accept| accept.zero_checksum.is_some()),
            config,
        }
    }

    /// Accepts associations with this configuration from now on; with `None`, none.
    pub fn set_accept(&mut self, accept: Option<AssociationConfig>) {
        let declares = |config: &AssociationConfig| config.zero_checksum.is_some();
        self.accepts_zero_checksums |= accept.as_ref().is_some_and(declares);
        self.accept = accept.clone().map(Arc::new);
        self.config.accept = accept;
    }

    /// Counters of packets that belong to no association.
    #[must_use]
    pub const fn counters(&self) -> EndpointCounters {
        EndpointCounters {
            unanswered: self.replies.unanswered(),
            ..self.counters
        }
    }

    /// Bytes of received data, with the overhead of chunks, that the applications of all associations have not received yet. See
    /// [`EndpointConfig::receive_memory`].
    #[must_use]
    pub const fn receive_memory(&self) -> u64 {
        self.index.limits.held()
    }

    /// Whether a peer at `source` may set up one more association; counts a refusal.
    fn admits(&mut self, source: IpAddr) -> bool {
        let admits = self.index.limits.admits(self.slots.len(), source);
        self.counters.refused += u64::from(!admits);
        admits
    }

    /// Adds the address of a new socket, which later associations use. For existing ones call [`Association::add_local_address`].
    pub fn add_local(&mut self, local: SocketAddr) {
        if !self.local_addrs.contains(&local) {
            self.local_addrs = self.local_addrs.iter().copied().chain([local]).collect();
        }
    }

    /// Removes the address of a closed socket for later associations. For existing ones call [`Association::remove_local_address`]
    /// before.
    pub fn remove_local(&mut self, local: SocketAddr) {
        self.local_addrs = self
            .local_addrs
            .iter()
            .copied()
            .filter(|known| *known != local)
            .collect();
    }

    /// The addresses of the sockets, in order of preference.
    #[must_use]
    pub fn local(&self) -> &[SocketAddr] {
        &self.local_addrs
    }

    /// An association, read-only.
    #[must_use]
    pub fn association(&self, id: AssociationId) -> Option<&Association> {
        self.slots.get(&id).map(|slot| &slot.association)
    }

    /// An association, for commands. Poll the endpoint afterwards.
    pub fn association_mut(&mut self, id: AssociationId) -> Option<AssociationMut<'_>> {
        let slot = self.slots.get_mut(&id)?;
        let index = &mut self.index;
        let scarce = index.limits.is_send_memory_scarce();
        slot.association.transfer.sender.note_scarcity(scarce);
        Some(AssociationMut { slot, index })
    }

    /// All associations that were not removed by [`Endpoint::forget`], closed ones included.
    pub fn associations(&self) -> impl ExactSizeIterator<Item = &Association> {
        self.slots.values().map(|slot| &slot.association)
    }

    /// Removes an association with all its data. If it is not closed, the peer is not notified, and gets an ABORT for its next
    /// packet.
    pub fn forget(&mut self, id: AssociationId) {
        if let Some(slot) = self.slots.remove(&id) {
            self.index
                .directory
                .retire(&slot.association, Spent::Ended, self.index.latest);
            self.index.timers.forget(id, &slot.entry);
            self.index.limits.remove((slot.held, slot.queued), slot.prefix);
        }
    }

    /// Handles a datagram that arrived over `path`, whose `local` address is ours.
    pub fn handle_datagram(&mut self, now: Instant, path: PathAddr, ecn: Ecn, datagram: &[u8]) {
        self.handle_packet(now, ChannelId::NONE, path, ecn, datagram);
    }

    /// As [`Endpoint::handle_datagram`], for a packet that arrived through `channel` of the layer below. It is delivered to
    /// associations with the same channel only, and its replies go through the same one.
    pub fn handle_packet(
        &mut self,
        now: Instant,
        channel: ChannelId,
        path: PathAddr,
        ecn: Ecn,
        datagram: &[u8],
    ) {
        self.index.latest = now;
        let is_unverified = self.accepts_zero_checksums && checksum::is_zero(datagram);
        let parsed = Packet::parse_unverified(datagram)
            .ok()
            .filter(|_| is_unverified || self.config.checksum_offload || checksum::is_valid(datagram));
        let Some(packet) = parsed else {
            self.counters.malformed += 1;
            return;
        };
        //= rfc9260 6.10-8
        if !is_lawful_bundle(&packet) {
            self.counters.dropped += 1;
            return;
        }
        let inbound = Inbound {
            now,
            arrival: path,
            channel,
            ecn,
            packet: &packet,
            is_unverified: is_unverified && !self.config.checksum_offload,
        };
        let is_handled = match packet.chunk_heads().next().map(|first| first.kind) {
            Some(kind::INIT | kind::COOKIE_ECHO) => self.handle_set_up(&inbound, 0),
            // A COOKIE ECHO may be authenticated before there is an association (RFC 4895 §6.3).
            Some(kind::AUTH) if is_second(&packet, kind::COOKIE_ECHO) => self.handle_set_up(&inbound, 1),
            Some(_) => self.deliver(&inbound),
            None => false,
        };
        if !is_handled {
            self.handle_out_of_the_blue(&inbound);
        }
    }

    /// Handles a packet whose chunk `at`, before which there is only an AUTH chunk, is an INIT or COOKIE ECHO; returns whether it
    /// belongs to this endpoint.
    #[inline(never)]
    fn handle_set_up(&mut self, inbound: &Inbound<'_>, at: usize) -> bool {
        if !is_unicast(&inbound.arrival) {
            return false;
        }
        if !inbound.is_intact(false) {
            self.counters.malformed += 1;
            return true;
        }
        match inbound.packet.chunks().flatten().nth(at).map(RawChunk::decode) {
            Some(Ok(Chunk::Init(init))) => listener::on_init(self, inbound, &init),
            Some(Ok(Chunk::CookieEcho(echo))) => {
                if responder::on_cookie_echo(self, inbound, echo.cookie) {
                    self.deliver(inbound);
                }
            }
            _ => return false,
        }
        true
    }

    //= rfc9260 8.4-1
    /// Handles a packet that belongs to no association. RFC 9653 §5.3 permits a checksum of zero: otherwise a peer whose association
    /// ended here would never learn that.
    #[cold]
    fn handle_out_of_the_blue(&mut self, inbound: &Inbound<'_>) {
        if !inbound.is_intact(true) {
            self.counters.malformed += 1;
            return;
        }
        let is_unicast = is_unicast(&inbound.arrival);
        if is_unicast && !self.answers_for(inbound) {
            return;
        }
        self.counters.out_of_the_blue += 1;
        if is_unicast {
            out_of_the_blue::handle(&mut self.replies, inbound);
        }
    }

    /// Whether this endpoint replies to unknown peers on the port. A packet directly over IP reaches every program on the host with
    /// such a socket, so replies are sent only for ports that this endpoint has used.
    fn answers_for(&self, inbound: &Inbound<'_>) -> bool {
        let port = inbound.ports().ours;
        let is_over_ip = inbound.arrival.local.port() == 0;
        let listens = self.accept.is_some() && port == self.config.sctp_port;
        !is_over_ip || listens || self.index.directory.has_used(port)
    }

    //= rfc4895 6.3-12
    /// Delivers the packet to its association, if there is one.
    fn deliver(&mut self, inbound: &Inbound<'_>) -> bool {
        let packet = inbound.packet;
        // A packet with a reflected tag (RFC 9260 §8.5.1 B, C) is matched by its addresses.
        let by_tag = self.index.directory.with_tag(packet.header().tag);
        let found = by_tag.or_else(|| self.with_address_of(inbound));
        let Some(slot) = found.and_then(|id| self.slots.get_mut(&id)) else {
            return false;
        };
        if slot.association.channel != inbound.channel || !slot.association.expects(packet) {
            return false;
        }
        if !inbound.is_intact(slot.association.zero_checksum.is_accepted) {
            self.counters.malformed += 1;
            return true;
        }
        let (limits, transfer) = (&self.index.limits, &mut slot.association.transfer);
        transfer.sender.note_scarcity(limits.is_send_memory_scarce());
        transfer
            .receiver
            .grant(limits.grant(slot.held), limits.is_receive_memory_scarce());
        let dropped = transfer.receiver.dropped();
        slot.association
            .handle_packet(inbound.now, &inbound.arrival, inbound.ecn, packet);
        if self.index.limits.is_exhausted() {
            let dropped_now = slot.association.transfer.receiver.dropped();
            self.counters.data_refused += dropped_now.saturating_sub(dropped);
        }
        self.index.follow(slot);
        // A later chunk of the packet may have ended it.
        if slot.association.owed.another_tag && !slot.association.is_closed() {
            let id = slot.association.id;
            self.renew_tag(id);
        }
        true
    }

    /// Gives another tag to an association whose handshake starts again after a Stale Cookie error (RFC 9260 §5.2.6). A late copy of
    /// the error then has the tag of before, and is not taken for one about the next cookie.
    #[cold]
    fn renew_tag(&mut self, id: AssociationId) {
        let tag = self.fresh_tag();
        let random = self.randoms.of_tag(tag);
        let Some(slot) = self.slots.get_mut(&id) else {
            return;
        };
        let directory = &mut self.index.directory;
        directory.retire(&slot.association, Spent::Replaced, self.index.latest);
        let association = &mut slot.association;
        association.owed.another_tag = false;
        (association.local.tag, association.local.initial_tsn) = (tag, tsn_of(tag));
        association.transfer.sender.begin_again_at(tsn_of(tag));
        association.addresses.begin_again_at(tsn_of(tag));
        if let Some(authentication) = &mut association.authentication {
            authentication.begin_again_with(&random);
        }
        directory.index(association, &[]);
    }

    /// The association to which a packet with an unknown tag belongs by its addresses.
    #[cold]
    fn with_address_of(&self, inbound: &Inbound<'_>) -> Option<AssociationId> {
        let packet = inbound.packet;
        let expects = |id: &AssociationId| {
            let slot = self.slots.get(id);
            slot.is_some_and(|slot| slot.association.expects(packet))
        };
        let reflected = |id: &AssociationId| {
            let slot = self.slots.get(id);
            slot.is_some_and(|slot| slot.association.peer.tag == packet.header().tag)
        };
        let listed = || self.index.directory.with(inbound.correspondent());
        let there = || listed().take(MAX_NAMESAKES).filter(expects);
        // Several associations may list the address.
        there().find(reflected).or_else(|| there().next())
    }

    /// Handles a packet that was too large for `path`: the local interface refused it, or a router reported it. `largest` is the
    /// size of IP packets in bytes that would pass, if known.
    ///
    /// Reports of routers can be forged (RFC 8899 §4.6.1), so the caller has to check that the report is about a packet of ours. A
    /// forged report can only make packets smaller for a while.
    pub fn handle_too_large(&mut self, now: Instant, path: PathAddr, largest: Option<u16>) {
        for id in self.index.directory.at(path.remote) {
            if let Some(slot) = self.slots.get_mut(&id) {
                let effects = slot.association.transfer.on_too_large(now, path, largest);
                slot.association.apply(effects);
                self.touch(id);
            }
        }
    }

    /// Handles all timers that are due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.index.latest = now;
        while let Some(id) = self.index.timers.take_due(now) {
            if let Some(slot) = self.slots.get_mut(&id) {
                slot.entry.fired();
                slot.association.handle_timeout(now);
                self.touch(id);
            }
        }
    }

    /// Takes up to `count` answers to unverified peers, each a packet of its own. [`Endpoint::poll_transmit`] would give them one by
    /// one; a driver that is flooded with INITs sends them together.
    pub fn poll_replies(&mut self, count: usize, replies: &mut Vec<(Transmit, Vec<u8>)>) {
        replies.extend(core::iter::from_fn(|| self.next_reply()).take(count));
    }

    /// Takes the next answer to an unverified peer.
    #[cold]
    fn next_reply(&mut self) -> Option<(Transmit, Vec<u8>)> {
        let (channel, path, mut bytes) = self.replies.pop()?;
        //= rfc9653 5.2-3
        if !self.config.checksum_offload {
            checksum::seal(&mut bytes);
        }
        Some((Transmit::one(channel, path, bytes.len()), bytes))
    }

    /// Appends the next packets to `buffer`, all for one path: at most `max_segments`, of equal length except the last. `None` if
    /// there is nothing to send.
    pub fn poll_transmit(
        &mut self,
        now: Instant,
        buffer: &mut Vec<u8>,
        max_segments: usize,
    ) -> Option<Transmit> {
        self.index.latest = now;
        if !self.replies.is_empty()
            && let Some((transmit, bytes)) = self.next_reply()
        {
            buffer.extend_from_slice(&bytes);
            return Some(transmit);
        }
        let seals = !self.config.checksum_offload;
        while let Some(id) = self.index.timers.front() {
            let Some(slot) = self.slots.get_mut(&id) else {
                self.index.timers.pop_front(None);
                continue;
            };
            let start = buffer.len();
            let transmit = slot.association.poll_transmit(now, buffer, max_segments);
            self.index.note_changes(slot);
            if let Some(mut transmit) = transmit {
                authenticate(&slot.association, &mut transmit, start, buffer);
                if seals {
                    let segment = transmit.segment_size.unwrap_or(transmit.size);
                    let may_be_zero = slot.association.zero_checksum.is_sent;
                    zero_checksum::seal(&mut buffer[start..], segment, may_be_zero);
                }
                if slot.association.is_done() {
                    self.index
                        .directory
                        .retire(&slot.association, Spent::Ended, self.index.latest);
                }
                self.index.timers.rotate();
                return Some(transmit);
            }
            self.index.timers.pop_front(Some(&mut slot.entry));
            let deadline = slot.association.poll_timeout();
            self.index.timers.list(id, &mut slot.entry, deadline);
        }
        None
    }

    /// Updates the deadline of [`Endpoint::poll_timeout`] without sending anything: for a driver that cannot call
    /// [`Endpoint::poll_transmit`] for now because its sockets are full.
    pub fn list_deadlines(&mut self) {
        for id in self.index.timers.touched() {
            if let Some(slot) = self.slots.get_mut(&id) {
                let deadline = slot.association.poll_timeout();
                self.index.timers.list(id, &mut slot.entry, deadline);
            }
        }
    }

    /// The time at which [`Endpoint::handle_timeout`] is due; `None` if no timer runs. Valid after [`Endpoint::poll_transmit`] has
    /// returned `None`, or after [`Endpoint::list_deadlines`]. It may be earlier than needed, never later.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.index.timers.next_deadline()
    }

    /// The next event and its association.
    pub fn poll_event(&mut self) -> Option<(AssociationId, Event)> {
        while let Some(id) = self.index.eventful.front().copied() {
            let slot = self.slots.get_mut(&id);
            if let Some(event) = slot.and_then(|slot| {
                let association = &mut slot.association;
                let event = association.events.poll(&mut association.transfer.sender);
                slot.entry.has_events = event.is_some();
                event
            }) {
                return Some((id, event));
            }
            self.index.eventful.pop_front();
        }
        None
    }

    /// A new association, which a peer at `source` set up, or we did.
    fn insert(&mut self, association: Association, source: Option<IpAddr>) {
        let id = association.id;
        let mut slot = Box::new(self.index.add(association, source));
        self.index.follow(&mut slot);
        self.slots.insert(id, slot);
    }

    /// Marks the association as changed, so that it is polled next.
    fn touch(&mut self, id: AssociationId) {
        if let Some(slot) = self.slots.get_mut(&id) {
            self.index.follow(slot);
        }
    }

    /// An unused association id. Ids wrap when they are used up, which takes days of handshakes.
    fn fresh_id(&mut self) -> AssociationId {
        loop {
            let id = AssociationId(self.next_id);
            self.next_id = self.next_id.wrapping_add(1);
            if !self.slots.contains_key(&id) {
                return id;
            }
        }
    }

    //= rfc9260 5.3.1-3
    /// A tag that no association of this endpoint uses, nor used lately: its cookie would be taken for one of that association.
    fn fresh_tag(&mut self) -> VerificationTag {
        let directory = &self.index.directory;
        loop {
            let tag = VerificationTag(self.secrets.tag());
            if directory.with_tag(tag).is_none() && directory.spent().reason(tag).is_none() {
                return tag;
            }
        }
    }
}

/// Whether the second chunk of the packet is of type `kind`.
fn is_second(packet: &Packet<'_>, kind: u8) -> bool {
    packet
        .chunk_heads()
        .nth(1)
        .is_some_and(|second| second.kind == kind)
}

//= rfc9260 3.3.2-21, 3.3.3-23
/// Our initial TSN, which has the value of our tag. The tag is random, as RFC 9260 §3.3.2 recommends for the initial TSN; this
/// saves four bytes in the cookie.
const fn tsn_of(tag: VerificationTag) -> Tsn {
    Tsn(tag.0)
}

/// Mutable access to an association; the endpoint polls it afterwards.
#[derive(Debug)]
pub struct AssociationMut<'a> {
    slot: &'a mut Slot,
    index: &'a mut Index,
}

impl Deref for AssociationMut<'_> {
    type Target = Association;

    fn deref(&self) -> &Association {
        &self.slot.association
    }
}

impl DerefMut for AssociationMut<'_> {
    fn deref_mut(&mut self) -> &mut Association {
        &mut self.slot.association
    }
}

impl Drop for AssociationMut<'_> {
    fn drop(&mut self) {
        self.index.follow(self.slot);
    }
}

#[cfg(test)]
mod tests;
