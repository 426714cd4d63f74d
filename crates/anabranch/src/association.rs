//! Association handle: send, receive, observe and close.

mod authentication;
mod data_channels;
mod delivery;
mod parts;
mod readiness;
mod streams;
pub(crate) mod weak;

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU16;
use std::sync::Arc;

use anabranch_proto::{
    self as proto, Abandonments, AddressError, AssociationStatistics, BufferError, BufferSize, CloseReason,
    Message, MessagePart, PathPreference, ProtocolParameters, ReceivedMessage, Reconfiguration,
    ReconfigurationError, SendQueue,
};
use anabranch_secure::PeerInfo;
use anabranch_types::{AssociationId, MessageId, PathId, StreamId};

use crate::byte_stream::ByteStream;
use crate::driver::{Looked, Shared, Signals, until};
use crate::error::{ConnectError, RecvError, SendError, TrySendError, UnfinishedError};
use crate::events::Events;
use crate::runtime::Home;
use crate::stream::SendStream;

/// A handle of one association. Clones refer to the same association.
///
/// Dropping the last handle shuts the association down in the background: sent messages are still delivered, messages
/// that the peer still sends are discarded. To be sure that everything arrived, await [`shutdown`](Self::shutdown).
#[derive(Clone, Debug)]
pub struct Association(Arc<Handle>);

#[derive(Debug)]
struct Handle {
    shared: Arc<Shared>,
    signals: Arc<Signals>,
    id: AssociationId,
}

impl Association {
    pub(crate) fn new(shared: Arc<Shared>, id: AssociationId, signals: Arc<Signals>) -> Self {
        Self(Arc::new(Handle { shared, signals, id }))
    }

    /// The runtime of its endpoint.
    pub(crate) fn home(&self) -> &Home {
        &self.0.shared.home
    }

    /// Waits for the end of the handshake that [`Endpoint::begin`](crate::Endpoint::begin) began. Other associations are established.
    ///
    /// # Errors
    ///
    /// As [`Endpoint::connect`](crate::Endpoint::connect).
    pub async fn established(&self) -> Result<(), ConnectError> {
        let signals = &self.0.signals;
        let outcome = until(&signals.progress, || match signals.ended() {
            _ if signals.is_connected() => Some(Ok(())),
            Some(reason) => Some(Err(self.why_not_established(reason))),
            None => None,
        });
        outcome.await
    }

    fn why_not_established(&self, reason: &CloseReason) -> ConnectError {
        let Handle { shared, signals, .. } = &*self.0;
        match (&shared.seal, signals.handshake_error()) {
            (Some(seal), Some(error)) => seal.explain(error.clone()),
            _ => ConnectError::from(reason.clone()),
        }
    }

    /// Sends a message, waiting while the send buffer is full. When this returns the message is in the send buffer, not
    /// yet delivered: see [`flushed`](Self::flushed).
    ///
    /// If the future is dropped before it is ready, the message was not sent.
    ///
    /// # Errors
    ///
    /// The association is closed or closing, or the message is not valid for its stream or buffer.
    pub async fn send(&self, message: Message) -> Result<MessageId, SendError> {
        self.0.send(message.into()).await
    }

    /// Sends a message if the send buffer has space for it now.
    ///
    /// # Errors
    ///
    /// The send buffer is full, or as [`send`](Self::send).
    pub fn try_send(&self, message: Message) -> Result<MessageId, TrySendError> {
        self.0.try_send(&mut Some(message.into()))
    }

    /// The next message, from any stream; `None` after the last one of a peer that shut the association down.
    ///
    /// Several tasks may receive; each message goes to one of them. Nothing is lost if the future is dropped
    /// before it is ready.
    ///
    /// # Errors
    ///
    /// [`RecvError::Closed`] if the association was aborted or failed; messages that arrived before are returned first.
    /// [`RecvError::Partial`] if the next message is longer than
    /// [`AssociationConfig::partial_delivery_point`](crate::AssociationConfig::partial_delivery_point), so that it arrives in parts:
    /// [`recv_part`](Self::recv_part) returns them.
    pub async fn recv(&self) -> Result<Option<ReceivedMessage>, RecvError> {
        until(&self.0.signals.readable, || self.0.try_recv(false)).await
    }

    /// The next message as [`recv`](Self::recv), or the next part of a message of any length (RFC 9260 §6.9):
    /// [`ReceivedMessage::extent`] tells which. The receive window opens as parts are taken. One task should receive, or parts of one
    /// message may go to different tasks.
    ///
    /// ```
    /// # use anabranch::{Association, Extent};
    /// # async fn example(association: Association) -> Result<(), anabranch::RecvError> {
    /// let mut bytes = 0;
    /// while let Some(part) = association.recv_part().await? {
    ///     bytes += part.payload.len();
    ///     match part.extent {
    ///         Extent::Whole | Extent::End => println!("{bytes} bytes on stream {:?}", part.stream),
    ///         Extent::Aborted => println!("the rest on stream {:?} will not arrive", part.stream),
    ///         _ => continue,
    ///     }
    ///     bytes = 0;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// With `interleaving`, parts of messages on several streams alternate.
    ///
    /// # Errors
    ///
    /// [`RecvError::Closed`], as [`recv`](Self::recv).
    pub async fn recv_part(&self) -> Result<Option<ReceivedMessage>, RecvError> {
        until(&self.0.signals.readable, || self.0.try_recv(true)).await
    }

    /// A light handle that sends on one stream.
    #[must_use]
    pub fn stream(&self, stream: StreamId) -> SendStream {
        SendStream::new(self.clone(), stream)
    }

    /// A pipe for bytes in both directions, if both ends use `stream` of this association for nothing else, and no other stream.
    #[must_use]
    pub fn byte_stream(&self, stream: StreamId) -> ByteStream {
        ByteStream::new(self, stream)
    }

    /// The address that the peer's packets come from on the primary path; `None` once no path is left.
    #[must_use]
    pub fn peer_addr(&self) -> Option<SocketAddr> {
        let paths = self.statistics().paths;
        let primary = paths.iter().find(|path| path.primary).or_else(|| paths.first());
        primary.map(|path| path.addr.remote)
    }

    /// Sets the priority of `stream`: with the stream scheduler `priority`, lower numbers are served strictly first
    /// (RFC 8260 §3.4). 0 by default; other schedulers ignore it.
    ///
    /// # Errors
    ///
    /// The association is closed, or has no such stream.
    pub fn set_stream_priority(&self, stream: StreamId, priority: u16) -> Result<(), SendError> {
        self.0
            .set(|association| association.set_stream_priority(stream, priority))
    }

    /// Sets the weight of `stream`, which gets bytes in proportion to it with the stream scheduler `wfq` (RFC 8260 §3.6).
    /// 1 by default; other schedulers ignore it.
    ///
    /// # Errors
    ///
    /// The association is closed, or has no such stream.
    pub fn set_stream_weight(&self, stream: StreamId, weight: NonZeroU16) -> Result<(), SendError> {
        self.0
            .set(|association| association.set_stream_weight(stream, weight))
    }

    /// Priority and weight of `stream`, 0 and 1 unless set.
    ///
    /// # Errors
    ///
    /// The association was removed, or has no such stream.
    pub fn stream_priority_and_weight(&self, stream: StreamId) -> Result<(u16, NonZeroU16), SendError> {
        let state = self.0.shared.lock();
        let association = state.core.association(self.0.id);
        let association = association.ok_or(proto::SendError::NotConnected);
        let set = association.and_then(|association| association.stream_priority_and_weight(stream));
        set.map_err(|error| SendError::of(error, self.0.signals.ended()))
    }

    /// The events of the association from now on.
    #[must_use]
    pub fn events(&self) -> Events {
        // The driver reports the end under the lock.
        let _state = self.0.shared.lock();
        let signals = &self.0.signals;
        Events::new(signals.subscribe(), signals.ended().is_some())
    }

    /// Counters and the present state of each path.
    #[must_use]
    pub fn statistics(&self) -> AssociationStatistics {
        let state = self.0.shared.lock();
        let association = state.core.association(self.0.id);
        association
            .expect("the core forgets an association after its last handle only")
            .statistics()
    }

    /// The code point of the peer's adaptation layer, if it declared one
    /// ([`AssociationConfig::adaptation_layer`](crate::AssociationConfig::adaptation_layer)).
    #[must_use]
    pub fn peer_adaptation_layer(&self) -> Option<u32> {
        let state = self.0.shared.lock();
        let association = state.core.association(self.0.id);
        association?.peer_adaptation_layer()
    }

    /// Waits until everything sent is acknowledged.
    ///
    /// # Errors
    ///
    /// The association ended first.
    pub async fn flushed(&self) -> Result<(), UnfinishedError> {
        until(&self.0.signals.progress, || {
            let mut state = self.0.shared.lock();
            match self.0.signals.ended() {
                Some(CloseReason::Finished) => return Some(Ok(())),
                Some(reason) => return Some(Err(UnfinishedError(reason.clone()))),
                None => {}
            }
            if state.is_flushed(self.0.id) {
                return Some(Ok(()));
            }
            state.watch_flush(self.0.id);
            None
        })
        .await
    }

    /// Shuts the association down: nothing more can be sent, and it closes when everything sent is acknowledged. Waits
    /// for that. A message that was begun ([`send_part`](Self::send_part)) can still be finished, and has to be.
    ///
    /// The peer may have more to send: its messages can be received meanwhile, and if nobody receives them, they delay
    /// the end.
    ///
    /// # Errors
    ///
    /// The association was aborted or failed; something sent may not have arrived.
    pub async fn shutdown(&self) -> Result<(), UnfinishedError> {
        self.0.shared.command(|state| {
            if let Some(mut association) = state.core.association_mut(self.0.id) {
                association.shutdown();
            }
        });
        match self.closed().await {
            CloseReason::Finished => Ok(()),
            reason => Err(UnfinishedError(reason)),
        }
    }

    /// Aborts the association at once. Data in flight is lost; the peer gets `reason` in the ABORT.
    pub fn abort(&self, reason: &str) {
        self.0.shared.command(|state| {
            if let Some(mut association) = state.core.association_mut(self.0.id) {
                association.abort(reason.as_bytes());
            }
        });
    }

    /// Waits for the end of the association, whatever its cause.
    pub async fn closed(&self) -> CloseReason {
        let signals = &self.0.signals;
        until(&signals.progress, || signals.ended().cloned()).await
    }

    /// The identity that the peer has proven; `None` if the endpoint is [insecure](crate::EndpointBuilder::insecure).
    #[must_use]
    pub fn peer_identity(&self) -> Option<&PeerInfo> {
        self.0.signals.peer()
    }

    /// Whether the association has ended.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.signals.ended().is_some()
    }

    /// Enables or disables heartbeats on `path` (RFC 9260 §11.1.6; `SPP_HB_DISABLE` in RFC 6458 §8.1.12). They are enabled at first. Without
    /// heartbeats, a failure of the path is detected only by data; a failed path is probed nevertheless. An unknown path is ignored.
    pub fn set_heartbeats(&self, path: PathId, enabled: bool) {
        self.0.shared.command(|state| {
            if let Some(mut association) = state.core.association_mut(self.0.id) {
                association.set_heartbeats(path, enabled);
            }
        });
    }

    /// Changes protocol parameters (SETPROTOCOLPARAMETERS, RFC 9260 §11.1.13), of all paths. Timers that run keep their time.
    pub fn set_protocol_parameters(&self, parameters: &ProtocolParameters) {
        self.0.shared.command(|state| {
            if let Some(mut association) = state.core.association_mut(self.0.id) {
                association.set_protocol_parameters(parameters);
            }
        });
    }

    /// Sets how paths from `local` are to be used, also those that do not exist yet. The peer is told, and does the same if it
    /// [obeys](crate::AssociationConfig::obeys_path_preferences). For an address that is being added, call this before
    /// [`add_local_address`](Self::add_local_address).
    pub fn set_path_preference(&self, local: IpAddr, preference: PathPreference) {
        self.0.shared.command(|state| {
            if let Some(mut association) = state.core.association_mut(self.0.id) {
                association.set_path_preference(local, preference);
            }
        });
    }

    /// Sends a heartbeat on `path` at once, unless one is outstanding (RFC 9260 §11.1.10), to learn whether the peer is
    /// reachable without waiting for the interval. If it is not answered in time, that counts as an error of the path. An
    /// unknown path is ignored; an unconfirmed one is probed too.
    pub fn request_heartbeat(&self, path: PathId) {
        self.0.shared.command(|state| {
            if let Some(mut association) = state.core.association_mut(self.0.id) {
                association.request_heartbeat(path);
            }
        });
    }

    /// Makes `path` the primary path, which policies may prefer (RFC 9260 §6.4); others replace it while it has failed. An
    /// unknown path is ignored.
    pub fn set_primary(&self, path: PathId) {
        self.0.shared.command(|state| {
            if let Some(mut association) = state.core.association_mut(self.0.id) {
                association.set_primary(path);
            }
        });
    }
}

/// Partial reliability (RFC 3758), which [`AssociationConfig::partial_reliability`](crate::AssociationConfig::partial_reliability)
/// enables and [`Message::with_reliability`] uses.
impl Association {
    /// Whether messages may be abandoned: both ends support it. If not, all messages are reliable.
    #[must_use]
    pub fn is_partially_reliable(&self) -> bool {
        let state = self.0.shared.lock();
        let association = state.core.association(self.0.id);
        association.is_some_and(proto::Association::is_partially_reliable)
    }

    /// Numbers of messages that were abandoned (RFC 7496 §4.4).
    #[must_use]
    pub fn abandoned(&self) -> Abandonments {
        let state = self.0.shared.lock();
        let association = state.core.association(self.0.id);
        association.map_or_else(Abandonments::default, proto::Association::abandoned)
    }

    /// Numbers of messages of one stream that were abandoned (RFC 7496 §4.3).
    #[must_use]
    pub fn abandoned_on(&self, stream: StreamId) -> Abandonments {
        let state = self.0.shared.lock();
        let association = state.core.association(self.0.id);
        association.map_or_else(Abandonments::default, |association| {
            association.abandoned_on(stream)
        })
    }
}

/// Stream reconfiguration (RFC 6525), which
/// [`AssociationConfig::reconfiguration`](crate::AssociationConfig::reconfiguration) enables.
impl Association {
    /// Requests a change of streams. [`AssociationEvent::Reconfigured`](crate::AssociationEvent::Reconfigured) tells what becomes of
    /// it.
    ///
    /// # Errors
    ///
    /// See [`ReconfigurationError`].
    pub fn reconfigure(&self, change: Reconfiguration) -> Result<(), ReconfigurationError> {
        self.0.shared.command(|state| {
            let association = state.core.association_mut(self.0.id);
            let mut association = association.ok_or(ReconfigurationError::NotAvailable)?;
            association.reconfigure(change)
        })
    }
}

/// Buffers and queues.
impl Association {
    /// Sets the size of the send buffer, which holds unsent messages and sent ones until they are acknowledged. Tasks that
    /// wait for space are woken. A smaller buffer keeps what it holds and takes nothing more until it fits.
    ///
    /// # Errors
    ///
    /// The size is below 1,500 bytes, or the association is closed.
    pub fn set_send_buffer(&self, size: impl Into<BufferSize>) -> Result<(), BufferError> {
        let size = size.into();
        let resized = self
            .0
            .shared
            .command(|state| state.resize_send_buffer(self.0.id, size));
        self.0.signals.writable.notify_waiters();
        resized
    }

    /// Sets the size of the receive buffer, which holds messages until they are received. A larger buffer is advertised at
    /// once. A smaller one keeps what was advertised, and shrinks as that is used and received.
    ///
    /// # Errors
    ///
    /// The size is below that of the longest message allowed so far, or the association is closed.
    pub fn set_receive_buffer(&self, size: impl Into<BufferSize>) -> Result<(), BufferError> {
        let resized = self.0.shared.command(|state| {
            let mut association = state.core.association_mut(self.0.id)?;
            Some(association.set_receive_buffer(size))
        });
        resized.unwrap_or(Err(BufferError::NotConnected))
    }

    /// Unsent data, by stream.
    #[must_use]
    pub fn send_queue(&self) -> SendQueue {
        let state = self.0.shared.lock();
        let association = state.core.association(self.0.id);
        association
            .expect("the core forgets an association after its last handle only")
            .send_queue()
    }

    pub(crate) fn queued_on(&self, stream: StreamId) -> u64 {
        let state = self.0.shared.lock();
        let association = state.core.association(self.0.id);
        association.map_or(0, |association| association.queued_on(stream))
    }

    /// Waits until no more than `bytes` are unsent on `stream`.
    pub(crate) async fn low_water(&self, stream: StreamId, bytes: u64) -> Result<(), SendError> {
        until(&self.0.signals.progress, || self.0.is_low(stream, bytes)).await
    }
}

/// Address changes (RFC 5061).
impl Association {
    /// Adds `local`, an address of this host for which the endpoint has a socket
    /// ([`Endpoint::add_local`](crate::Endpoint::add_local)). When the peer agrees, a path from there is confirmed and
    /// used: [`PathChange::Added`](crate::PathChange::Added) and a change of reachability follow.
    ///
    /// # Errors
    ///
    /// The association is not established, the peer does not support address changes (RFC 5061), or the address is not a
    /// unicast address.
    pub fn add_local_address(&self, local: SocketAddr) -> Result<(), AddressError> {
        self.0
            .about_addresses(|association| association.add_local_address(local))
    }

    /// Removes `local`: at once, or as soon as another address reaches the peer. Data in flight over it is sent again on other paths. If an
    /// uplink gets another address, add the new one first. Keep its socket as long as [`statistics`](Self::statistics) lists a path from it.
    ///
    /// # Errors
    ///
    /// As [`add_local_address`](Self::add_local_address); also if it is the last address that reaches the peer, and no other one is being
    /// added.
    pub fn remove_local_address(&self, local: SocketAddr) -> Result<(), AddressError> {
        self.0
            .about_addresses(|association| association.remove_local_address(local))
    }

    /// Asks the peer to send to our address `local` when it sends on one path only (RFC 5061 §5.4).
    ///
    /// # Errors
    ///
    /// As [`add_local_address`](Self::add_local_address).
    pub fn request_peer_primary(&self, local: SocketAddr) -> Result<(), AddressError> {
        self.0
            .about_addresses(|association| association.request_peer_primary(local))
    }
}

impl Handle {
    fn about_addresses(
        &self,
        act: impl FnOnce(&mut proto::AssociationMut<'_>) -> Result<(), AddressError>,
    ) -> Result<(), AddressError> {
        let done = self.shared.command(|state| {
            let mut association = state.core.association_mut(self.id)?;
            Some(act(&mut association))
        });
        done.unwrap_or(Err(AddressError::NotConnected))
    }

    /// Changes a setting of the association.
    fn set(
        &self,
        change: impl FnOnce(&mut proto::AssociationMut<'_>) -> Result<(), proto::SendError>,
    ) -> Result<(), SendError> {
        let ended = self.signals.ended();
        if let Some(reason) = ended {
            return Err(SendError::Closed(reason.clone()));
        }
        let set = self.shared.command(|state| {
            let mut association = state.core.association_mut(self.id)?;
            Some(change(&mut association))
        });
        let set = set.unwrap_or(Err(proto::SendError::NotConnected));
        set.map_err(|error| SendError::of(error, self.signals.ended()))
    }

    /// Whether no more than `bytes` are unsent on `stream`. `None` if more are: then waiting tasks are woken when that changes.
    fn is_low(&self, stream: StreamId, bytes: u64) -> Option<Result<(), SendError>> {
        if let Some(reason) = self.signals.ended() {
            return Some(Err(SendError::Closed(reason.clone())));
        }
        let mut state = self.shared.lock();
        let mut association = state.core.association_mut(self.id)?;
        let is_low = association.queued_on(stream) <= bytes;
        let mark = if is_low { u64::MAX } else { bytes };
        match association.set_stream_low_water(stream, mark) {
            Ok(()) => is_low.then_some(Ok(())),
            Err(error) => Some(Err(SendError::of(error, None))),
        }
    }

    /// Sends the message, or part of one, as soon as the buffer has room.
    async fn send(&self, part: MessagePart) -> Result<MessageId, SendError> {
        let mut part = Some(part);
        until(&self.signals.writable, || match self.try_send(&mut part) {
            Ok(id) => Some(Ok(id)),
            Err(TrySendError::Full) => None,
            Err(TrySendError::Never(error)) => Some(Err(error)),
        })
        .await
    }

    /// Sends the message, or part of one, unless the buffer is full.
    fn try_send(&self, part: &mut Option<MessagePart>) -> Result<MessageId, TrySendError> {
        if let Some(reason) = self.signals.ended() {
            return Err(SendError::Closed(reason.clone()).into());
        }
        let sent = self.shared.command(|state| {
            let mut association = state.core.association_mut(self.id)?;
            let offered = part.take()?;
            if offered.payload().len() as u64 > association.send_room() {
                // It will be refused, perhaps only for now, and is offered again then.
                *part = Some(offered.clone());
            }
            Some(association.send(offered))
        });
        let sent = sent.unwrap_or(Err(proto::SendError::NotConnected));
        sent.map_err(|error| TrySendError::of(error, self.signals.ended()))
    }

    /// `None` while there is nothing to receive yet.
    fn try_recv(&self, takes_parts: bool) -> Option<Result<Option<ReceivedMessage>, RecvError>> {
        // Before the check: whatever arrived before the end was delivered before the end was reported.
        let ended = self.signals.ended();
        let finished = self.signals.peer_has_finished() || ended == Some(&CloseReason::Finished);
        let mut asked_in_vain = false;
        loop {
            match self.signals.inbox.look(takes_parts) {
                Looked::Message(message) => return Some(Ok(Some(message))),
                Looked::Part => return Some(Err(RecvError::Partial)),
                Looked::Ask if !asked_in_vain => {
                    asked_in_vain = !self.shared.command(|state| state.deliver(self.id));
                    if !asked_in_vain {
                        // Others may be waiting too.
                        self.signals.readable.notify_waiters();
                    }
                }
                Looked::Ask | Looked::Empty if finished => return Some(Ok(None)),
                Looked::Ask | Looked::Empty => {
                    return ended.map(|reason| Err(RecvError::Closed(reason.clone())));
                }
            }
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.command(|state| state.release(self.id));
    }
}
