//! Tunnel: a relay on an association. Who passes its frames on?
//!
//! One task receives from the association and sends on it, so that frames leave in the order in which the relay has queued them. What uses a
//! connection waits for what happens on its stream.

mod calls;
mod connection;
mod order;
mod parts;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use anabranch::{
    Association, AssociationEvent, CloseReason, Message, PathUse, Reachability, RecvError, SendError,
    StreamId,
};
use thiserror::Error;
use tokio::sync::Notify;
use tokio::task::{JoinError, JoinSet, yield_now};

use self::calls::Calls;
pub use self::connection::Connection;
use self::order::{Order, Place};
use self::parts::{Parts, Received};
use crate::class::Class;
use crate::datagram::{DATAGRAM_STREAMS, Datagram};
use crate::flows::Flow;
use crate::frame::{ADAPTATION_LAYER, Frame, Reason};
use crate::relay::{Relay, Role, STREAMS, Violation};
use crate::target::Target;

/// Frames that are received before others are sent, while both wait.
const TURN: usize = 64;

/// What the flows of one stream may have unsent, in bytes, whatever else waits.
const MAX_UNSENT_DATAGRAMS: u64 = 256 << 10;

/// What they may have unsent while half of the send buffer is free. More is lost: UDP has no flow control. On slow links the lifetime of
/// datagrams ends first.
const MAX_UNSENT_DATAGRAMS_WITH_ROOM: u64 = 1 << 20;

/// Streams in each direction.
const ALL_STREAMS: u16 = STREAMS + DATAGRAM_STREAMS;

/// A tunnel. Clones refer to the same one.
#[derive(Clone, Debug)]
pub struct Tunnel(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    association: Association,
    relay: Mutex<Relay>,
    /// Frames were queued.
    queued: Notify,
    /// Something happened on a stream.
    streams: Vec<Notify>,
    calls: Calls,
    order: Order,
    is_over: AtomicBool,
    carried: AtomicU64,
    role: Role,
}

/// A stream on which little is unsent.
type LowStream = Result<u16, SendError>;

/// A connection that the peer wants to open.
#[derive(Debug)]
pub struct Incoming {
    /// Where it is to lead.
    pub target: Target,
    /// The connection, to be [accepted](Connection::accept) or [refused](Connection::refuse).
    pub connection: Connection,
}

/// Why a tunnel has ended.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum End {
    /// The association has ended.
    #[error("the association has ended: {0}")]
    Closed(CloseReason),
    /// The peer does not speak this protocol, or another version.
    #[error("the peer is no tunnel, or one of another version")]
    NoTunnel,
    /// The peer has restarted, and knows nothing of its connections.
    #[error("the peer has restarted")]
    Restarted,
    /// The peer broke the rules of the protocol.
    #[error("the peer broke the rules: {0}")]
    Violation(#[from] Violation),
}

impl Tunnel {
    /// A tunnel on an established association, which is used for nothing else. It does nothing before it [runs](Self::run).
    #[must_use]
    pub fn new(association: Association, role: Role) -> Self {
        Self(Arc::new(Shared {
            association,
            relay: Mutex::new(Relay::new(role)),
            queued: Notify::new(),
            streams: std::iter::repeat_with(Notify::new).take(STREAMS.into()).collect(),
            calls: Calls::default(),
            order: Order::default(),
            is_over: AtomicBool::new(false),
            carried: AtomicU64::new(0),
            role,
        }))
    }

    /// Carries connections and datagrams until the association ends; `serve` gets the connections that the peer opens, and `take` its
    /// datagrams. Afterwards all connections are reset. If the future is dropped, the tunnel ends, and the association does not.
    pub async fn run(&self, serve: impl Fn(Incoming), take: impl Fn(Datagram)) -> End {
        let shared = &self.0;
        let _ending = Ending(shared);
        if !self.is_tunnel() {
            shared.association.abort(&End::NoTunnel.to_string());
            return End::NoTunnel;
        }
        for (stream, weight) in Datagram::weights() {
            // It fails only if the association is over, which is told below.
            let _ = shared.association.set_stream_weight(stream, weight);
        }
        for stream in Datagram::streams_of_flows() {
            let _ = shared.association.set_stream_path_use(stream, PathUse::One);
        }
        for stream in Datagram::real_time_streams() {
            let _ = shared.association.set_stream_path_use(stream, PathUse::Fastest);
        }
        for stream in Datagram::redundant_streams() {
            let _ = shared.association.set_stream_redundancy(stream, true);
        }
        shared.tell_rtt();
        let end = tokio::select! {
            end = self.receive(serve, take) => end,
            error = shared.transmit() => match error {
                SendError::Closed(reason) => End::Closed(reason),
                // The peer shuts the association down.
                _ => End::Closed(shared.association.closed().await),
            },
            () = shared.restarted() => End::Restarted,
            never = shared.calls.watch(&shared.association) => match never {},
        };
        if matches!(end, End::Restarted | End::Violation(_)) {
            shared.association.abort(&end.to_string());
        }
        end
    }

    /// Whether the peer speaks this version of the protocol. If not, the tunnel ends as soon as it [runs](Self::run).
    #[must_use]
    pub fn is_tunnel(&self) -> bool {
        self.0.association.peer_adaptation_layer() == Some(ADAPTATION_LAYER)
            && self.0.association.streams() == (ALL_STREAMS, ALL_STREAMS)
    }

    /// Opens a connection to `target`, of a class if that is known, which [waits](Connection::opened) for the target's answer.
    ///
    /// # Errors
    ///
    /// The tunnel is over, or carries too many connections.
    pub fn open(&self, target: Target, class: Option<Class>) -> Result<Connection, Reason> {
        if self.is_over() {
            return Err(Reason::Down);
        }
        let opened = self.0.command(|relay| relay.open(target, class));
        let id = opened.ok_or(Reason::TooMany)?;
        self.0.carried.fetch_add(1, Ordering::Relaxed);
        Ok(Connection::new(Arc::clone(&self.0), id))
    }

    /// Whether this end has begun the flow of a datagram.
    #[must_use]
    pub fn has_begun(&self, datagram: &Datagram) -> bool {
        self.0.role.begins(datagram.flow)
    }

    /// The number on the wire of a flow that this end has begun.
    pub(crate) fn number_of(&self, flow: &Flow) -> u16 {
        self.0.role.flow(flow.number())
    }

    /// Sends a datagram. It is lost if too many wait, or the tunnel is over.
    pub fn send_datagram(&self, datagram: &Datagram) {
        let association = &self.0.association;
        let Place { stream, unordered } = self.0.order.place(datagram, Instant::now());
        if Datagram::is_real_time_on(stream) {
            self.0.calls.sent();
        }
        let unsent = association.stream(stream).queued();
        if unsent < MAX_UNSENT_DATAGRAMS || unsent < MAX_UNSENT_DATAGRAMS_WITH_ROOM && self.has_room() {
            // Without room in the send buffer it is lost, too.
            let _ = association.try_send(datagram.message(stream, unordered));
        }
    }

    /// Whether half of the send buffer is free.
    fn has_room(&self) -> bool {
        let queue = self.0.association.send_queue();
        queue.used < queue.limit / 2
    }

    /// Which end this is.
    #[must_use]
    pub fn role(&self) -> Role {
        self.0.role
    }

    /// The association.
    #[must_use]
    pub fn association(&self) -> &Association {
        &self.0.association
    }

    /// Number of connections now, and of all that were opened so far, by either end.
    #[must_use]
    pub fn connections(&self) -> (usize, u64) {
        (
            self.0.relay().connections(),
            self.0.carried.load(Ordering::Relaxed),
        )
    }

    /// Whether it has ended.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.0.is_over.load(Ordering::Acquire)
    }

    async fn receive(&self, serve: impl Fn(Incoming), take: impl Fn(Datagram)) -> End {
        let association = &self.0.association;
        let mut parts = Parts::default();
        let mut turn = 0;
        loop {
            turn = (turn + 1) % TURN;
            if turn == 0 {
                // recv_part returns at once while messages are there: the transmitter, which shares this task, would not run.
                yield_now().await;
            }
            let message = match association.recv_part().await {
                Ok(Some(message)) => message,
                Ok(None) => return End::Closed(association.closed().await),
                Err(RecvError::Closed(reason)) => return End::Closed(reason),
                Err(_) => continue,
            };
            let stream = message.stream.0;
            let handled = match parts.join(message) {
                Ok(Some(Received::Frame(frame))) => self.on_frame(stream, frame),
                Ok(Some(Received::Datagram(datagram))) => {
                    take(datagram);
                    Ok(None)
                }
                Ok(None) => Ok(None),
                Err(error) => Err(error.into()),
            };
            match handled {
                Ok(Some(incoming)) => serve(incoming),
                Ok(None) => {}
                Err(violation) => return End::Violation(violation),
            }
        }
    }

    fn on_frame(&self, stream: u16, frame: Frame) -> Result<Option<Incoming>, Violation> {
        // Received frames queue none, so there is nothing to transmit.
        let opened = self.0.relay().handle_frame(stream, frame)?;
        if let Some(waiting) = self.0.streams.get(usize::from(stream)) {
            waiting.notify_waiters();
        }
        Ok(opened.map(|(id, target)| {
            self.0.carried.fetch_add(1, Ordering::Relaxed);
            Incoming {
                target,
                connection: Connection::new(Arc::clone(&self.0), id),
            }
        }))
    }
}

impl Shared {
    fn relay(&self) -> MutexGuard<'_, Relay> {
        self.relay.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Acts on the relay, and has the frames transmitted that come of it.
    fn command<T>(&self, act: impl FnOnce(&mut Relay) -> T) -> T {
        let result = act(&mut self.relay());
        self.queued.notify_one();
        result
    }

    /// Transmits frames until that fails. A stream with much that is unsent transmits nothing, and the send buffer of the association holds
    /// all back, so the queues fill, and their senders wait.
    async fn transmit(&self) -> SendError {
        // One task for each stream that is held, until it is low.
        let mut held = JoinSet::new();
        loop {
            while let Some(low) = held.try_join_next() {
                if let Err(error) = self.on_low(low, &mut held) {
                    return error;
                }
            }
            let next = self.relay().poll_transmit();
            let Some((stream, frame)) = next else {
                tokio::select! {
                    () = self.queued.notified() => {}
                    Some(low) = held.join_next() => if let Err(error) = self.on_low(low, &mut held) {
                        return error;
                    },
                }
                continue;
            };
            if matches!(frame, Frame::Credit(_)) {
                self.tell_rtt();
            }
            let (ppid, payload) = frame.encode();
            self.weigh(stream, payload.len() as u64);
            let message = Message {
                ppid,
                ..Message::new(StreamId(stream), payload)
            };
            if let Err(error) = self.association.send(message).await {
                return error;
            }
            self.hold_if_full(stream, &mut held);
            if let Some(waiting) = self.streams.get(usize::from(stream)) {
                waiting.notify_waiters();
            }
        }
    }

    /// Tells the relay the round-trip time without queues. With each credit that is often enough, and little work.
    fn tell_rtt(&self) {
        let paths = self.association.statistics().paths;
        let active = paths
            .iter()
            .filter(|path| path.reachability == Reachability::Active);
        let slowest = active.filter_map(|path| path.min_rtt).max();
        self.relay().set_rtt(slowest);
    }

    /// Gives `stream` the weight that it has with so many more bytes.
    fn weigh(&self, stream: u16, bytes: u64) {
        let unsent = self.association.stream(StreamId(stream)).queued();
        let weight = self.relay().weigh(stream, bytes, unsent);
        if let Some(weight) = weight {
            // It fails only if the association is over, which the next message tells.
            let _ = self.association.set_stream_weight(StreamId(stream), weight);
        }
    }

    /// A stream that was held has as little unsent as it waited for.
    fn on_low(
        &self,
        low: Result<LowStream, JoinError>,
        held: &mut JoinSet<LowStream>,
    ) -> Result<(), SendError> {
        // Nobody aborts these tasks, and they do not panic.
        if let Ok(low) = low {
            self.hold_if_full(low?, held);
        }
        Ok(())
    }

    /// Tells the relay what is unsent on `stream`, and has it told again if that is too much.
    fn hold_if_full(&self, stream: u16, held: &mut JoinSet<LowStream>) {
        let sending = self.association.stream(StreamId(stream));
        let unsent = sending.queued();
        if let Some(mark) = self.relay().handle_unsent(stream, unsent) {
            held.spawn(async move { sending.low_water(mark).await.map(|()| stream) });
        }
    }

    /// Waits until the peer has restarted the association.
    async fn restarted(&self) {
        let mut events = self.association.events();
        while let Some(event) = events.next().await {
            if matches!(event, AssociationEvent::Restarted { .. }) {
                return;
            }
        }
        // The end of the association is received too.
        std::future::pending::<()>().await;
    }

    /// Waits until `check` has a result for what it finds in the relay.
    async fn until<T>(
        &self,
        stream: u16,
        mut check: impl FnMut(&mut Relay) -> Option<T>,
    ) -> Result<T, Reason> {
        let Some(waiting) = self.streams.get(usize::from(stream)) else {
            return Err(Reason::Down);
        };
        loop {
            // Before the check: what happens after it is not missed.
            let notified = waiting.notified();
            if self.is_over.load(Ordering::Acquire) {
                return Err(Reason::Down);
            }
            if let Some(result) = check(&mut self.relay()) {
                return Ok(result);
            }
            notified.await;
        }
    }
}

/// Ends the connections with the tunnel.
struct Ending<'s>(&'s Shared);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Release);
        for stream in &self.0.streams {
            stream.notify_waiters();
        }
    }
}
