//! Commands of the application: send, receive, shut down, abort, and settings of streams and paths.

use alloc::vec::Vec;
use core::num::NonZeroU16;

use anabranch_policy::PathFacts;
use anabranch_types::{AssociationId, ChannelId, MessageId, PathAddr, PathId, StreamId, VerificationTag};

use super::{Association, CloseReason, DeliverySettings, State, close};
use crate::endpoint::AssociationMut;
use crate::message::{MessagePart, ReceivedMessage};
use crate::send::{Abandonments, SendError};

impl Association {
    /// The id of the association, unique within its endpoint.
    #[must_use]
    pub const fn id(&self) -> AssociationId {
        self.id
    }

    /// The channel of the layer below SCTP, which all its packets have.
    #[must_use]
    pub const fn channel(&self) -> ChannelId {
        self.channel
    }

    //= rfc9260 9.2-25
    /// Queues a message, or a part of one. It is sent as the windows allow, and kept until the peer has acknowledged it. Returns the id
    /// of the message.
    ///
    /// # Errors
    ///
    /// [`SendError::BufferFull`] while the send buffer is full; [`crate::Event::Writable`] follows when it has room. The other
    /// errors are about the message or the state of the association. A message that has begun may be finished while the association
    /// shuts down, which waits for that.
    #[inline]
    pub fn send(&mut self, part: impl Into<MessagePart>) -> Result<MessageId, SendError> {
        // Inlined, so that a whole message is not moved into a part and out of it again.
        let part = part.into();
        let (begins, ends) = (part.begins(), part.ends());
        let is_open = self.state.accepts_messages() && !self.owed.shutdown;
        match self.state {
            State::Closed => return Err(SendError::NotConnected),
            _ if is_open => {}
            // RFC 9260 §9.2 refuses new data. The peer cannot use the beginning of a message without its end (ADR 0130).
            _ if !begins && (self.state.accepts_messages() || self.state.sends_data()) => {}
            _ => return Err(SendError::Closing),
        }
        if let Some(id) = part.authentication_key() {
            self.check_key(id)?;
        }
        if !self.transfer.sender.has_unsent() {
            self.transfer.policies.burst.on_transmission_opportunity();
        }
        let sent = self
            .transfer
            .sender
            .enqueue(part, &mut *self.transfer.policies.stream_scheduler);
        if self.transfer.sender.has_stale_facts() {
            self.transfer.note_abandoned();
        }
        match &sent {
            Ok(_) => self.counters.messages_sent += u64::from(ends),
            Err(SendError::BufferFull) => self.owed.writable = true,
            Err(_) => {}
        }
        sent
    }

    /// Whether a message has begun of which not all parts are queued ([`MessagePart`]).
    #[must_use]
    pub fn has_unfinished_message(&self) -> bool {
        self.transfer.sender.has_unfinished()
    }

    /// Whether a part of an unfinished message may be accepted beyond [`Association::send_room`], because all that is queued may wait for it.
    #[must_use]
    pub fn awaits_part(&self) -> bool {
        self.transfer.sender.may_wait_for_part()
    }

    /// Sets the priority of `stream` for the stream scheduler `priority`, which strictly serves the lowest number first (RFC 8260
    /// §3.4). The default is 0; other schedulers ignore it.
    ///
    /// # Errors
    ///
    /// [`SendError::InvalidStream`].
    pub fn set_stream_priority(&mut self, stream: StreamId, priority: u16) -> Result<(), SendError> {
        let scheduler = &mut *self.transfer.policies.stream_scheduler;
        self.transfer.sender.set_priority(stream, priority, scheduler)
    }

    /// Sets the weight of `stream` for the stream scheduler `wfq`, which serves streams in proportion to their weights (RFC 8260
    /// §3.6). The default is 1; other schedulers ignore it.
    ///
    /// # Errors
    ///
    /// [`SendError::InvalidStream`].
    pub fn set_stream_weight(&mut self, stream: StreamId, weight: NonZeroU16) -> Result<(), SendError> {
        let scheduler = &mut *self.transfer.policies.stream_scheduler;
        self.transfer.sender.set_weight(stream, weight, scheduler)
    }

    /// Priority and weight of `stream` ([`Association::set_stream_priority`], [`Association::set_stream_weight`]).
    ///
    /// # Errors
    ///
    /// [`SendError::InvalidStream`].
    pub fn stream_priority_and_weight(&self, stream: StreamId) -> Result<(u16, NonZeroU16), SendError> {
        self.transfer.sender.priority_and_weight(stream)
    }

    /// How data is to reach the peer: settings that may be changed at any time.
    #[must_use]
    pub const fn delivery(&mut self) -> DeliverySettings<'_> {
        DeliverySettings::new(&mut self.transfer)
    }

    /// Whether `stream` is redundant ([`DeliverySettings::set_stream_redundancy`]).
    ///
    /// # Errors
    ///
    /// [`SendError::InvalidStream`].
    pub fn stream_redundancy(&self, stream: StreamId) -> Result<bool, SendError> {
        self.transfer.sender.redundancy(stream)
    }

    //= rfc3758 3.3.2-6, 3.3.3-1
    /// Whether messages may be abandoned: both ends support FORWARD TSN (RFC 3758). False before the handshake is complete.
    #[must_use]
    pub const fn is_partially_reliable(&self) -> bool {
        self.transfer.sender.is_partially_reliable()
    }

    /// Numbers of messages that were abandoned (RFC 7496 §4.4).
    #[must_use]
    pub fn abandoned(&self) -> Abandonments {
        self.transfer.sender.abandonments()
    }

    /// Numbers of messages of one stream that were abandoned (RFC 7496 §4.3).
    #[must_use]
    pub fn abandoned_on(&self, stream: StreamId) -> Abandonments {
        self.transfer.sender.abandonments_on(stream)
    }

    /// Receives the next message, or part of a long message ([`Extent`](crate::Extent)), in the order in which they became
    /// deliverable; `None` if there is none. What arrived before the association ended can be received afterwards.
    pub fn receive(&mut self) -> Option<ReceivedMessage> {
        let message = self.transfer.receiver.receive();
        match &message {
            Some(message) => self.counters.messages_received += u64::from(message.extent.completes()),
            None => self.owed.readable_told = false,
        }
        message
    }

    //= rfc9260 9.2-8
    /// Shuts down gracefully: queued messages are delivered, further ones are refused (RFC 9260 §9.2).
    pub fn shutdown(&mut self) {
        match self.state {
            State::Established => self.state = State::ShutdownPending,
            State::CookieWait(_) if !self.transfer.sender.has_unsent() => {
                self.end(CloseReason::Aborted, None);
            }
            State::CookieWait(_)
            | State::CookieEchoed(..)
            | State::ShutdownPending
            | State::ShutdownSent(..)
            | State::ShutdownReceived(_)
            | State::ShutdownAckSent(..)
            | State::Closed => {}
        }
        self.owed.shutdown = true;
    }

    /// Aborts the association; unacknowledged data is lost (RFC 9260 §9.1). The ABORT carries the first 256 bytes of `reason`.
    pub fn abort(&mut self, reason: &[u8]) {
        if !self.state.is_closed() {
            let causes = close::user_abort(&reason[..reason.len().min(256)]);
            self.end(CloseReason::Aborted, Some(causes));
        }
    }

    /// Whether the handshake is complete and the association has not ended.
    #[must_use]
    pub const fn is_connected(&self) -> bool {
        self.state.is_connected()
    }

    /// Whether the association has ended. Messages may still be received.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        self.state.is_closed()
    }

    /// Whether all messages have been acknowledged; an unfinished one has not.
    #[must_use]
    pub fn is_flushed(&self) -> bool {
        self.transfer.sender.is_finished()
    }

    /// Whether [`Association::receive`] would return a message.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        self.transfer.receiver.readable()
    }

    /// How many messages were sent and received so far, as in [`Association::statistics`].
    #[must_use]
    pub const fn message_counts(&self) -> (u64, u64) {
        (self.counters.messages_sent, self.counters.messages_received)
    }

    /// Verification tags of this end and of the peer. Layers above, whose ends have different roles, can derive these from them.
    #[must_use]
    pub const fn verification_tags(&self) -> (VerificationTag, VerificationTag) {
        (self.local.tag, self.peer.tag)
    }

    /// The local SCTP port.
    #[must_use]
    pub const fn local_port(&self) -> u16 {
        self.local.port
    }

    /// The peer's SCTP port.
    #[must_use]
    pub const fn peer_port(&self) -> u16 {
        self.peer.port
    }

    /// Numbers of streams: outbound and inbound.
    #[must_use]
    pub fn streams(&self) -> (u16, u16) {
        (
            self.transfer.sender.stream_count(),
            self.transfer.receiver.stream_count(),
        )
    }

    /// Whether both ends support ECN: routers may mark packets with new data instead of dropping them.
    #[must_use]
    pub const fn is_ecn_capable(&self) -> bool {
        self.transfer.marks.is_agreed
    }

    /// The code point of the peer's adaptation layer, if it declared one (RFC 5061 §4.2.6).
    #[must_use]
    pub const fn peer_adaptation_layer(&self) -> Option<u32> {
        self.peer_adaptation
    }

    /// The facts of each path, which policies see too.
    #[must_use]
    pub fn path_facts(&self) -> &[PathFacts] {
        self.transfer.paths.facts()
    }

    /// Local and remote address of each path, in the order of path ids.
    #[must_use]
    pub fn path_addresses(&self) -> Vec<PathAddr> {
        self.transfer.paths.iter().map(|(_, path)| path.addr).collect()
    }

    /// Makes `path` the primary path (RFC 9260 §11.1). Other paths replace it while it is inactive (RFC 7829 §5). An unknown path
    /// is ignored.
    pub fn set_primary(&mut self, path: PathId) {
        if self.transfer.paths.contains(path) {
            let effects = self.transfer.make_primary(path);
            self.apply(effects);
        }
    }

    /// Sends a heartbeat on `path` at once, unless one is outstanding (REQUESTHEARTBEAT, RFC 9260 §11.1.10). If it is not
    /// acknowledged in time, that counts as an error of the path. Unknown and unconfirmed paths are ignored; unconfirmed ones are
    /// probed anyway.
    pub fn request_heartbeat(&mut self, path: PathId) {
        self.transfer.request_heartbeat(path);
    }
}

impl AssociationMut<'_> {
    /// Enables or disables heartbeats on `path` (CHANGEHEARTBEAT, RFC 9260 §11.1.6; `SPP_HB_DISABLE` in RFC 6458 §8.1.12). They are
    /// enabled at first. Without heartbeats, a failure of the path is detected only by data. Unconfirmed addresses and failed paths are
    /// probed nevertheless. An unknown path is ignored.
    pub fn set_heartbeats(&mut self, path: PathId, enabled: bool) {
        if self.transfer.paths.contains(path) {
            self.transfer.set_heartbeats(path, enabled);
        }
    }
}
