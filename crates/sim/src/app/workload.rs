//! Workloads. What does an application send, and when? All it can, at a pace, or request by request.

use core::time::Duration;

use anabranch_proto::{Association, ReceivedMessage, SendError};
use anabranch_types::{Instant, Rng, Seed, StreamId};

use super::{Draft, Objects, Outbox, Requests};

/// An application on an association. It speaks when it begins, when its deadline comes, when a message came and
/// when the send buffer has room again.
#[derive(Clone, Debug)]
pub enum Workload {
    /// Sends all that the send buffer takes.
    Bulk(Bulk),
    /// Sends all that the send buffer takes, and shares the buffer out evenly.
    Even(Even),
    /// Keeps a little waiting on each stream.
    Refill(Refill),
    /// Sends at a pace.
    Paced(Paced),
    /// Asks, waits for the answer, asks again.
    Client(Client),
    /// Answers each message.
    Server(Server),
    /// Sends objects, each on a stream of its own.
    Objects(Objects),
    /// Asks for them.
    Requests(Requests),
}

impl Workload {
    /// Sends what is to be sent now.
    pub(super) fn act(&mut self, now: Instant, writer: &mut MessageWriter<'_>) {
        match self {
            Self::Bulk(bulk) => bulk.act(writer),
            Self::Even(even) => even.act(writer),
            Self::Refill(refill) => refill.act(writer),
            Self::Paced(paced) => paced.act(now, writer),
            Self::Client(client) => client.act(now, writer),
            Self::Server(server) => server.act(writer),
            Self::Objects(objects) => objects.act(writer),
            Self::Requests(requests) => requests.act(writer),
        }
    }

    /// A message came.
    pub(super) fn on_message(&mut self, now: Instant, message: &ReceivedMessage) {
        match self {
            Self::Bulk(_) | Self::Even(_) | Self::Refill(_) | Self::Paced(_) | Self::Requests(_) => {}
            Self::Objects(objects) => objects.on_request(message.stream),
            Self::Client(client) => client.on_message(now),
            Self::Server(server) => server.owed.push(message.stream),
        }
    }

    pub(super) const fn deadline(&self) -> Option<Instant> {
        match self {
            Self::Bulk(_)
            | Self::Even(_)
            | Self::Refill(_)
            | Self::Server(_)
            | Self::Objects(_)
            | Self::Requests(_) => None,
            Self::Paced(paced) => paced.next,
            Self::Client(client) => client.next,
        }
    }
}

/// An association to which a workload writes messages.
#[derive(Debug)]
pub(super) struct MessageWriter<'a> {
    pub(super) now: Instant,
    pub(super) association: &'a mut Association,
    pub(super) outbox: &'a mut Outbox,
}

impl MessageWriter<'_> {
    /// `false` if the message has to wait, or will never be taken.
    pub(super) fn takes(&mut self, draft: Draft) -> Result<(), SendError> {
        self.outbox.send(self.association, draft, self.now).map(|_| ())
    }
}

/// On which stream the next message goes.
#[derive(Clone, Debug)]
pub enum Streams {
    /// Always on this one.
    One(StreamId),
    /// On the first so many, in turn.
    InTurn {
        /// How many.
        count: u16,
        /// The next one.
        next: u16,
    },
    /// On any of the first so many.
    Random {
        /// How many.
        count: u16,
        /// The dice.
        rng: Rng,
    },
}

impl Streams {
    /// Always on stream `stream`.
    #[must_use]
    pub const fn one(stream: u16) -> Self {
        Self::One(StreamId(stream))
    }

    /// On the first `count` streams, in turn.
    #[must_use]
    pub const fn in_turn(count: u16) -> Self {
        Self::InTurn { count, next: 0 }
    }

    /// On any of the first `count` streams.
    #[must_use]
    pub fn random(count: u16, seed: Seed) -> Self {
        Self::Random {
            count,
            rng: seed.rng(),
        }
    }

    fn choose(&mut self) -> StreamId {
        match self {
            Self::One(stream) => *stream,
            Self::InTurn { count, next } => {
                let stream = *next;
                *next = (stream + 1) % (*count).max(1);
                StreamId(stream)
            }
            Self::Random { count, rng } => StreamId(rng.below(u64::from(*count)) as u16),
        }
    }
}

/// Sends messages of one size as fast as they are taken.
#[derive(Clone, Debug)]
pub struct Bulk {
    bytes: usize,
    streams: Streams,
    unordered: bool,
    left: u64,
    waiting: Option<StreamId>,
}

impl Bulk {
    /// Messages of `bytes` bytes without end, on `streams`.
    #[must_use]
    pub const fn new(bytes: usize, streams: Streams) -> Self {
        Self {
            bytes,
            streams,
            unordered: false,
            left: u64::MAX,
            waiting: None,
        }
    }

    /// Only `messages` of them.
    #[must_use]
    pub fn messages(self, messages: u64) -> Self {
        Self {
            left: messages,
            ..self
        }
    }

    /// Without regard to order.
    #[must_use]
    pub fn unordered(self) -> Self {
        Self {
            unordered: true,
            ..self
        }
    }

    fn act(&mut self, writer: &mut MessageWriter<'_>) {
        while self.left > 0 {
            let stream = self.waiting.take().unwrap_or_else(|| self.streams.choose());
            let draft = Draft {
                stream,
                bytes: self.bytes,
                unordered: self.unordered,
            };
            if writer.takes(draft).is_err() {
                self.waiting = Some(stream);
                return;
            }
            self.left -= 1;
        }
    }
}

/// Sends messages of one size as fast as they are taken, always on the stream that has the fewest bytes waiting: an
/// application that asks for sender-queue information, as Dreibholz et al. 2010 §6.2 has it. So a stream that is served
/// faster than the others is fed faster.
#[derive(Clone, Debug)]
pub struct Even {
    bytes: usize,
    streams: u16,
}

impl Even {
    /// Messages of `bytes` bytes without end, on the first `streams` streams.
    #[must_use]
    pub const fn new(bytes: usize, streams: u16) -> Self {
        Self { bytes, streams }
    }

    fn act(&self, writer: &mut MessageWriter<'_>) {
        loop {
            let streams = (0..self.streams).map(StreamId);
            let Some(stream) = streams.min_by_key(|stream| writer.association.queued_on(*stream)) else {
                return;
            };
            let draft = Draft {
                stream,
                bytes: self.bytes,
                unordered: false,
            };
            if writer.takes(draft).is_err() {
                return;
            }
        }
    }
}

/// Keeps messages waiting on each stream up to a level, and is told by the association when one falls to half of it: an
/// application that needs to look at nothing in between.
#[derive(Clone, Debug)]
pub struct Refill {
    bytes: usize,
    streams: u16,
    level: u64,
}

impl Refill {
    /// Messages of `bytes` bytes without end, on the first `streams` streams, `level` bytes on each.
    #[must_use]
    pub const fn new(bytes: usize, streams: u16, level: u64) -> Self {
        Self {
            bytes,
            streams,
            level,
        }
    }

    fn act(&self, writer: &mut MessageWriter<'_>) {
        for stream in (0..self.streams).map(StreamId) {
            let draft = Draft {
                stream,
                bytes: self.bytes,
                unordered: false,
            };
            if writer.association.queued_on(stream) > self.level / 2 {
                continue;
            }
            let is_watched = writer.association.set_stream_low_water(stream, self.level / 2);
            while is_watched.is_ok()
                && writer.association.queued_on(stream) < self.level
                && writer.takes(draft).is_ok()
            {}
        }
    }
}

/// Sends one message every so often. What finds the buffer full is sent as soon as there is room.
#[derive(Clone, Debug)]
pub struct Paced {
    bytes: usize,
    every: Duration,
    burst: u64,
    streams: Streams,
    unordered: bool,
    next: Option<Instant>,
    owed: u64,
    /// The stream of what found the buffer full.
    waiting: Option<StreamId>,
}

impl Paced {
    /// A message of `bytes` bytes every `every`, the first one at once.
    ///
    /// # Panics
    ///
    /// If `every` is zero.
    #[must_use]
    pub fn new(bytes: usize, every: Duration, streams: Streams) -> Self {
        assert!(
            !every.is_zero(),
            "a pace of zero never gets past its first moment"
        );
        Self {
            bytes,
            every,
            burst: 1,
            streams,
            unordered: false,
            next: Some(Instant::ZERO),
            owed: 0,
            waiting: None,
        }
    }

    /// Without regard to order.
    #[must_use]
    pub fn unordered(self) -> Self {
        Self {
            unordered: true,
            ..self
        }
    }

    /// So many messages at a time.
    #[must_use]
    pub fn in_bursts(self, burst: u64) -> Self {
        Self { burst, ..self }
    }

    fn act(&mut self, now: Instant, writer: &mut MessageWriter<'_>) {
        if self.next.is_some_and(|next| next <= now) {
            self.owed += self.burst;
            self.next = Some(now + self.every);
        }
        while self.owed > 0 {
            let stream = self.waiting.take().unwrap_or_else(|| self.streams.choose());
            let draft = Draft {
                stream,
                bytes: self.bytes,
                unordered: self.unordered,
            };
            if writer.takes(draft).is_err() {
                self.waiting = Some(stream);
                return;
            }
            self.owed -= 1;
        }
    }
}

/// Sends a request, waits for the answer, thinks, and sends the next.
#[derive(Clone, Debug)]
pub struct Client {
    bytes: usize,
    stream: StreamId,
    thinks: Duration,
    next: Option<Instant>,
    owed: bool,
    asked_at: Option<Instant>,
    answer_times: Vec<Duration>,
}

impl Client {
    /// Requests of `bytes` bytes on `stream`, each `thinks` after the last answer.
    #[must_use]
    pub const fn new(bytes: usize, stream: u16, thinks: Duration) -> Self {
        Self {
            bytes,
            stream: StreamId(stream),
            thinks,
            next: Some(Instant::ZERO),
            owed: false,
            asked_at: None,
            answer_times: Vec::new(),
        }
    }

    /// From each request to its answer.
    #[must_use]
    pub fn answer_times(&self) -> &[Duration] {
        &self.answer_times
    }

    fn act(&mut self, now: Instant, writer: &mut MessageWriter<'_>) {
        if self.next.take_if(|next| *next <= now).is_some() {
            self.owed = true;
        }
        let draft = Draft {
            stream: self.stream,
            bytes: self.bytes,
            unordered: false,
        };
        if self.owed && writer.takes(draft).is_ok() {
            self.owed = false;
            self.asked_at = Some(now);
        }
    }

    fn on_message(&mut self, now: Instant) {
        if let Some(asked_at) = self.asked_at.take() {
            self.answer_times.push(now - asked_at);
            self.next = Some(now + self.thinks);
        }
    }
}

/// Answers each message on its stream.
#[derive(Clone, Debug)]
pub struct Server {
    bytes: usize,
    owed: Vec<StreamId>,
}

impl Server {
    /// Answers of `bytes` bytes.
    #[must_use]
    pub const fn new(bytes: usize) -> Self {
        Self {
            bytes,
            owed: Vec::new(),
        }
    }

    fn act(&mut self, writer: &mut MessageWriter<'_>) {
        let bytes = self.bytes;
        let answered = self.owed.iter().take_while(|stream| {
            let draft = Draft {
                stream: **stream,
                bytes,
                unordered: false,
            };
            writer.takes(draft).is_ok()
        });
        let answered = answered.count();
        self.owed.drain(..answered);
    }
}
