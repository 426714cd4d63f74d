//! Commands of the application. What may it ask of an association?

use alloc::vec::Vec;
use core::num::NonZeroU16;

use anabranch_policy::PathFacts;
use anabranch_types::{AssociationId, MessageId, PathAddr, PathId, StreamId};

use super::{Association, CloseReason, State, close};
use crate::message::{Message, ReceivedMessage};
use crate::send::SendError;

impl Association {
    /// Its number within the endpoint.
    #[must_use]
    pub const fn id(&self) -> AssociationId {
        self.id
    }

    //= rfc9260 9.2-25
    /// Hands over a message. It leaves as the windows allow; what the peer did not acknowledge is kept.
    ///
    /// # Errors
    ///
    /// [`SendError::BufferFull`] while the send buffer has no room (then [`crate::Event::Writable`] follows);
    /// the others say what is wrong with the message or the association.
    pub fn send(&mut self, message: Message) -> Result<MessageId, SendError> {
        match self.state {
            State::Closed => return Err(SendError::NotConnected),
            _ if !self.state.accepts_messages() || self.owed.shutdown => return Err(SendError::Closing),
            _ => {}
        }
        if !self.transfer.sender.has_unsent() {
            self.transfer.policies.burst.on_transmission_opportunity();
        }
        let sent = self
            .transfer
            .sender
            .enqueue(message, &mut *self.transfer.policies.stream_scheduler);
        match &sent {
            Ok(_) => self.counters.messages_sent += 1,
            Err(SendError::BufferFull) => self.owed.writable = true,
            Err(_) => {}
        }
        sent
    }

    /// Says how urgent `stream` is: with the stream scheduler `priority`, the lower number is served first, strictly
    /// (RFC 8260 §3.4). 0 unless set; other schedulers take no notice.
    ///
    /// # Errors
    ///
    /// [`SendError::InvalidStream`].
    pub fn set_stream_priority(&mut self, stream: StreamId, priority: u16) -> Result<(), SendError> {
        let scheduler = &mut *self.transfer.policies.stream_scheduler;
        self.transfer.sender.set_priority(stream, priority, scheduler)
    }

    /// Says what `stream` gets in proportion to others with the stream scheduler `wfq` (RFC 8260 §3.6). 1 unless set;
    /// other schedulers take no notice.
    ///
    /// # Errors
    ///
    /// [`SendError::InvalidStream`].
    pub fn set_stream_weight(&mut self, stream: StreamId, weight: NonZeroU16) -> Result<(), SendError> {
        let scheduler = &mut *self.transfer.policies.stream_scheduler;
        self.transfer.sender.set_weight(stream, weight, scheduler)
    }

    /// The next whole message, in the order of becoming deliverable; `None` if there is none yet. What arrived
    /// before the association ended can still be read afterwards.
    pub fn receive(&mut self) -> Option<ReceivedMessage> {
        let message = self.transfer.receiver.receive();
        match &message {
            Some(_) => self.counters.messages_received += 1,
            None => self.owed.readable_told = false,
        }
        message
    }

    //= rfc9260 9.2-8
    /// Finishes gracefully: what was handed over is still delivered, nothing more is accepted (RFC 9260 §9.2).
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
            | State::ShutdownReceived
            | State::ShutdownAckSent(..)
            | State::Closed => {}
        }
        self.owed.shutdown = true;
    }

    /// Ends the association at once; what is not acknowledged is lost (RFC 9260 §9.1). The peer is told
    /// `reason`, of which the first 256 bytes count.
    pub fn abort(&mut self, reason: &[u8]) {
        if !self.state.is_closed() {
            let causes = close::user_abort(&reason[..reason.len().min(256)]);
            self.end(CloseReason::Aborted, Some(causes));
        }
    }

    /// Whether the handshake is complete and the end not reached.
    #[must_use]
    pub const fn is_connected(&self) -> bool {
        self.state.is_connected()
    }

    /// Whether it is over. Messages may still wait to be received.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        self.state.is_closed()
    }

    /// Whether everything handed over was acknowledged.
    #[must_use]
    pub fn is_flushed(&self) -> bool {
        self.transfer.sender.is_drained()
    }

    /// Whether [`Association::receive`] has something.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        self.transfer.receiver.readable()
    }

    /// The SCTP port of this end.
    #[must_use]
    pub const fn local_port(&self) -> u16 {
        self.local.port
    }

    /// The SCTP port of the other end.
    #[must_use]
    pub const fn peer_port(&self) -> u16 {
        self.peer.port
    }

    /// What is known of each path, for schedulers and for people.
    #[must_use]
    pub fn path_facts(&self) -> &[PathFacts] {
        self.transfer.paths.facts()
    }

    /// The two ends of each path, by path id.
    #[must_use]
    pub fn path_addresses(&self) -> Vec<PathAddr> {
        self.transfer.paths.iter().map(|(_, path)| path.addr).collect()
    }

    /// Makes `path` the primary one (RFC 9260 §11.1). Others stand in for it while it is down (RFC 7829 §5). Unknown paths are
    /// ignored.
    pub fn set_primary(&mut self, path: PathId) {
        if self.transfer.paths.contains(path) {
            let effects = self.transfer.make_primary(path);
            self.apply(effects);
        }
    }

    /// Sends a heartbeat on `path` at once, unless one is under way (REQUESTHEARTBEAT, RFC 9260 §11.1.10). If it is not answered in
    /// time, that counts as an error of the path. Paths that are unknown or not confirmed are passed over: those are asked anyway.
    pub fn request_heartbeat(&mut self, path: PathId) {
        self.transfer.request_heartbeat(path);
    }
}
