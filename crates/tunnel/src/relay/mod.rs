//! Relay: TCP connections on the streams of one association, sans-IO. Which frame is sent next, and what does a received one mean?
//!
//! Both directions of a connection use the stream of the same number. The end that has set up the association opens connections on even
//! streams, the other end on odd ones. The end that accepted a connection ends it by CLOSED or RESET, exactly once; only then does the
//! opener use the stream again. Frames of a stream are in order. So nothing of an earlier connection can reach a later one.
//!
//! ```text
//! opener   ─▶ OPEN
//! acceptor ─▶ OPENED, or RESET
//! both     ─▶ DATA, CREDIT, FINISHED; those of the opener may precede OPENED
//! opener   ─▶ RESET, if it ends the connection early
//! acceptor ─▶ CLOSED, or RESET
//! ```
//!
//! The driver passes in the messages that the association received, and transmits the frames of [`Relay::poll_transmit`]. By
//! [`Relay::handle_unsent`] it tells what of them the association has not sent. It wakes whoever uses the connection of a stream on which
//! something was received or transmitted.

mod connection;
mod joined;
mod queue;
#[cfg(test)]
mod tests;
mod unread;

use std::collections::{BTreeSet, VecDeque};
use std::num::NonZeroU16;
use std::time::{Duration, Instant};

use bytes::Bytes;
use thiserror::Error;

use self::connection::{Connection, Ended};
pub use self::connection::{Inbound, Outbound};
use self::queue::{Queue, Unsent};
use crate::class::{Class, Weighing};
use crate::credit::{BUDGET, MAX_CREDIT, Reading};
use crate::frame::{Frame, FrameError, LONGEST_DATA, Reason};
use crate::target::Target;

/// Streams in each direction. Each end can open connections on half of them at the same time.
pub const STREAMS: u16 = 1_024;

/// An end of an association.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// It has set up the association, and opens connections on even streams.
    Client,
    /// It has accepted the association, and opens connections on odd streams.
    Server,
}

/// A connection of a relay. That of a connection that is over refers to none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConnectionId {
    stream: u16,
    serial: u64,
}

impl ConnectionId {
    /// Its stream.
    #[must_use]
    pub const fn stream(self) -> u16 {
        self.stream
    }
}

/// How the peer broke the rules. The association ends with this reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum Violation {
    /// A message is no frame.
    #[error("{0}")]
    Frame(#[from] FrameError),
    /// A frame came on a stream that does not exist.
    #[error("a frame came on the stream {0}, and there are {STREAMS}")]
    NoSuchStream(u16),
    /// OPEN came on a stream of the other end, or an answer from the opener.
    #[error("a frame came from the wrong end of a connection")]
    WrongEnd,
    /// OPEN came on a stream with a connection.
    #[error("OPEN came on a stream that is in use")]
    InUse,
    /// A frame came on a stream without a connection.
    #[error("a frame came on a stream without a connection")]
    NotOpen,
    /// A frame came before OPENED.
    #[error("a frame came before OPENED")]
    BeforeOpened,
    /// OPENED came twice.
    #[error("OPENED came twice")]
    OpenedTwice,
    /// Data came after FINISHED.
    #[error("data came after FINISHED")]
    AfterFinished,
    /// A frame came after CLOSED or RESET.
    #[error("a frame came after CLOSED or RESET")]
    AfterEnd,
    /// CLOSED came before both directions had finished.
    #[error("CLOSED came before both directions had finished")]
    ClosedEarly,
    /// More data came than credit was given.
    #[error("more data came than credit was given")]
    BeyondCredit,
    /// More credit came than anybody may have.
    #[error("more credit came than {MAX_CREDIT} bytes")]
    TooMuchCredit,
}

/// What a stream is used for.
#[derive(Debug)]
enum Use {
    /// No connection. The next frame is OPEN.
    Idle,
    /// A connection that this end uses.
    Open(Box<Connection>),
    /// This end has given the connection up. Its opener waits for CLOSED or RESET; its acceptor has sent that, and waits for the next OPEN.
    /// Other frames are under way still and mean nothing.
    GivenUp,
}

#[derive(Debug)]
struct Stream {
    usage: Use,
    queue: Queue,
    unsent: Unsent,
    /// It transmits nothing until less is unsent.
    is_held: bool,
    /// That of its connection, or of the one before.
    class: Option<Class>,
    weighing: Weighing,
}

/// One end's relay. State of all its connections.
#[derive(Debug)]
pub struct Relay {
    role: Role,
    streams: Vec<Stream>,
    /// Streams on which this end can open a connection.
    free: BTreeSet<u16>,
    /// Streams with frames to transmit that are not held, in turn, each once.
    ready: VecDeque<u16>,
    next_serial: u64,
    /// By how much all receive windows have grown.
    grown: u64,
    /// The smallest round-trip time of the slowest path, if it is known.
    rtt: Option<Duration>,
}

impl Relay {
    /// A relay without connections.
    #[must_use]
    pub fn new(role: Role) -> Self {
        let stream = || Stream {
            usage: Use::Idle,
            queue: Queue::default(),
            unsent: Unsent::default(),
            is_held: false,
            class: None,
            weighing: Weighing::default(),
        };
        Self {
            role,
            streams: std::iter::repeat_with(stream).take(STREAMS.into()).collect(),
            free: (0..STREAMS)
                .filter(|stream| is_opened_by(role, *stream))
                .collect(),
            ready: VecDeque::new(),
            next_serial: 0,
            grown: 0,
            rtt: None,
        }
    }

    /// Takes the smallest round-trip time of the slowest path. It decides how far large windows grow.
    pub const fn set_rtt(&mut self, rtt: Option<Duration>) {
        self.rtt = rtt;
    }

    /// Opens a connection to `target`, of a class if that is known. `None` if all streams of this end are in use.
    pub fn open(&mut self, target: Target, class: Option<Class>) -> Option<ConnectionId> {
        let stream = self.free.pop_first()?;
        let id = self.begin(stream, true, class);
        self.queue(stream, Frame::Open(target, class));
        Some(id)
    }

    /// Tells the peer that the target has accepted its connection.
    pub fn accept(&mut self, id: ConnectionId) {
        if let Some(connection) = self.connection_mut(id)
            && !connection.is_ours
            && !connection.is_open
        {
            connection.is_open = true;
            let is_over = connection.ended.is_some();
            if !is_over {
                self.queue(id.stream, Frame::Opened);
            }
        }
    }

    /// Whether the target has accepted the connection; a reason if it was refused, or is over.
    ///
    /// # Errors
    ///
    /// Why there is no connection.
    pub fn is_opened(&self, id: ConnectionId) -> Result<bool, Reason> {
        let connection = self.connection(id).ok_or(Reason::Reset)?;
        match connection.ended {
            Some(Ended::Reset(reason)) => Err(reason),
            _ => Ok(connection.is_open),
        }
    }

    /// What can be sent now.
    #[must_use]
    pub fn outbound(&self, id: ConnectionId) -> Outbound {
        let reset = Outbound::Reset(Reason::Reset);
        self.connection(id)
            .map_or(reset, |connection| connection.outbound(LONGEST_DATA as u64))
    }

    /// Sends `data`, of as many bytes as [`outbound`](Self::outbound) says at most.
    pub fn send(&mut self, id: ConnectionId, data: Bytes) {
        let Outbound::Room(room) = self.outbound(id) else {
            return;
        };
        let bytes = data.len() as u64;
        if let Some(connection) = self.connection_mut(id)
            && (1..=room).contains(&bytes)
            && !connection.has_finished
        {
            connection.credit.spend(bytes);
            connection.queued += bytes;
            self.queue(id.stream, Frame::Data(data));
        }
    }

    /// Sends nothing more on the connection.
    pub fn finish(&mut self, id: ConnectionId) {
        if let Some(connection) = self.connection_mut(id)
            && connection.ended.is_none()
            && !connection.has_finished
        {
            connection.has_finished = true;
            self.queue(id.stream, Frame::Finished);
        }
    }

    /// Takes what was received.
    pub fn inbound(&mut self, id: ConnectionId) -> Inbound {
        let reset = Inbound::Reset(Reason::Reset);
        self.connection_mut(id).map_or(reset, Connection::inbound)
    }

    /// So many of the received bytes were passed on, which may give the peer credit.
    pub fn read(&mut self, id: ConnectionId, bytes: u64, now: Instant) {
        let (left, rtt) = (BUDGET.saturating_sub(self.grown), self.rtt);
        let Some(connection) = self.connection_mut(id) else {
            return;
        };
        let is_wanted = connection.ended.is_none() && !connection.peer_has_finished;
        let before = connection.window.grown();
        // A window for which nothing comes any more takes none of the budget.
        let reading = Reading {
            now,
            rtt,
            left: if is_wanted { left } else { 0 },
        };
        let grant = connection.window.read(bytes, reading);
        let more = connection.window.grown() - before;
        self.grown += more;
        if let Some(bytes) = grant.filter(|_| is_wanted) {
            self.queue(id.stream, Frame::Credit(bytes));
        }
    }

    /// Gives the connection up: in order if both directions have finished and everything was read, else by a reset with `reason`.
    pub fn close(&mut self, id: ConnectionId, reason: Reason) {
        let Some(connection) = self.connection(id) else {
            return;
        };
        let (is_ours, is_done, ended) = (connection.is_ours, connection.is_done(), connection.ended);
        self.grown = self.grown.saturating_sub(connection.window.grown());
        match (is_ours, ended) {
            (true, Some(_)) => return self.free(id.stream),
            // The peer will answer by CLOSED.
            (true, None) if is_done => {}
            // The opener has reset it, reads nothing more, and waits for the answer.
            (false, Some(_)) => {
                self.drop_queued(id.stream);
                self.queue(id.stream, Frame::Closed);
            }
            (false, None) if is_done => self.queue(id.stream, Frame::Closed),
            // The peer reads what was sent before.
            (_, None) => self.queue(id.stream, Frame::Reset(reason)),
        }
        self.stream_mut(id.stream).usage = Use::GivenUp;
    }

    /// A message was received on `stream`. Returns the connection that it opens, with its target: it is to be
    /// [accepted](Self::accept), or [closed](Self::close) with the reason of the refusal.
    ///
    /// # Errors
    ///
    /// The peer broke the rules: the association must be aborted.
    pub fn handle_frame(
        &mut self,
        stream: u16,
        frame: Frame,
    ) -> Result<Option<(ConnectionId, Target)>, Violation> {
        if stream >= STREAMS {
            return Err(Violation::NoSuchStream(stream));
        }
        let is_ours = is_opened_by(self.role, stream);
        let entry = self.stream_mut(stream);
        let has_answered = entry.queue.is_empty();
        match (&mut entry.usage, frame) {
            (Use::Open(connection), frame) => connection.on_frame(frame).map(|()| None),
            (Use::Idle | Use::GivenUp, Frame::Open(..)) if is_ours => Err(Violation::WrongEnd),
            // The opener waits for the answer to the former connection, or would fill the queue with further ones.
            (Use::GivenUp, Frame::Open(..)) if !has_answered => Err(Violation::InUse),
            (Use::Idle | Use::GivenUp, Frame::Open(target, class)) => {
                Ok(Some((self.begin(stream, false, class), target)))
            }
            (Use::Idle, _) => Err(Violation::NotOpen),
            (Use::GivenUp, Frame::Closed | Frame::Reset(_)) if is_ours => {
                self.free(stream);
                Ok(None)
            }
            (Use::GivenUp, Frame::Opened | Frame::Closed) if !is_ours => Err(Violation::WrongEnd),
            (Use::GivenUp, _) => Ok(None),
        }
    }

    /// The next frame to transmit, and its stream. Streams take turns.
    pub fn poll_transmit(&mut self) -> Option<(u16, Frame)> {
        let stream = self.ready.pop_front()?;
        let entry = self.stream_mut(stream);
        let frame = entry.queue.pop()?;
        entry.unsent.transmitted(frame.length());
        if let (Use::Open(connection), Frame::Data(data)) = (&mut entry.usage, &frame) {
            connection.queued = connection.queued.saturating_sub(data.len() as u64);
        }
        if !entry.queue.is_empty() {
            self.ready.push_back(stream);
        }
        Some((stream, frame))
    }

    /// A frame of so many `bytes` is about to be transmitted on `stream`, of which `unsent` bytes are not sent yet. Returns the weight of
    /// the stream if it changes; at first, that is the weight of [bulk](Class::Bulk).
    pub fn weigh(&mut self, stream: u16, bytes: u64, unsent: u64) -> Option<NonZeroU16> {
        let entry = self.stream_mut(stream);
        entry.weighing.send(entry.class, bytes, unsent)
    }

    /// Of what was transmitted on `stream`, so many bytes are unsent. If that is too much, the stream transmits nothing more for now: tell
    /// again when only as many as returned are left.
    pub fn handle_unsent(&mut self, stream: u16, bytes: u64) -> Option<u64> {
        let entry = self.stream_mut(stream);
        let was_held = std::mem::replace(&mut entry.is_held, entry.unsent.is_too_much(bytes));
        let (is_held, is_waiting) = (entry.is_held, !entry.queue.is_empty());
        if is_held && !was_held {
            self.ready.retain(|ready| *ready != stream);
        } else if was_held && !is_held && is_waiting {
            self.ready.push_back(stream);
        }
        is_held.then_some(bytes / 2)
    }

    /// Number of connections that this end uses.
    #[must_use]
    pub fn connections(&self) -> usize {
        let is_open = |stream: &&Stream| matches!(stream.usage, Use::Open(_));
        self.streams.iter().filter(is_open).count()
    }

    fn begin(&mut self, stream: u16, is_ours: bool, class: Option<Class>) -> ConnectionId {
        let serial = self.next_serial;
        self.next_serial += 1;
        let connection = Connection::new(serial, is_ours);
        let entry = self.stream_mut(stream);
        entry.usage = Use::Open(Box::new(connection));
        entry.class = class;
        ConnectionId { stream, serial }
    }

    /// A stream of this end has no connection any more. What is queued belongs to the former one, and the peer has ended that.
    fn free(&mut self, stream: u16) {
        self.drop_queued(stream);
        self.stream_mut(stream).usage = Use::Idle;
        self.free.insert(stream);
    }

    fn drop_queued(&mut self, stream: u16) {
        self.stream_mut(stream).queue = Queue::default();
        self.ready.retain(|ready| *ready != stream);
    }

    fn queue(&mut self, stream: u16, frame: Frame) {
        let Stream { queue, is_held, .. } = self.stream_mut(stream);
        let is_first = queue.is_empty() && !*is_held;
        queue.push(frame);
        if is_first {
            self.ready.push_back(stream);
        }
    }

    fn stream_mut(&mut self, stream: u16) -> &mut Stream {
        self.streams
            .get_mut(usize::from(stream))
            .expect("invariant: streams of connections exist, and those of frames were checked")
    }

    fn connection(&self, id: ConnectionId) -> Option<&Connection> {
        match &self.streams.get(usize::from(id.stream))?.usage {
            Use::Open(connection) if connection.serial == id.serial => Some(connection),
            Use::Open(_) | Use::Idle | Use::GivenUp => None,
        }
    }

    fn connection_mut(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        match &mut self.stream_mut(id.stream).usage {
            Use::Open(connection) if connection.serial == id.serial => Some(connection),
            Use::Open(_) | Use::Idle | Use::GivenUp => None,
        }
    }
}

/// Whether the end with `role` opens connections on `stream`.
const fn is_opened_by(role: Role, stream: u16) -> bool {
    match role {
        Role::Client => stream.is_multiple_of(2),
        Role::Server => !stream.is_multiple_of(2),
    }
}
