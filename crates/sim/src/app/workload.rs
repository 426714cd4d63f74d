//! Workloads. What does an application send, and when? Bulk, paced, or request and response.

use core::time::Duration;

use anabranch_proto::{Association, ReceivedMessage, SendError};
use anabranch_types::{Instant, Rng, Seed, StreamId};

use super::{Draft, InParts, Objects, Outbox, Requests};

/// Application on an association. It is called when the association starts, when its deadline expires, when a message arrives,
/// and when the send buffer has room again.
#[derive(Clone, Debug)]
pub enum Workload {
    /// Sends as much as the send buffer accepts.
    Bulk(Bulk),
    /// Sends as much as the send buffer accepts, and shares the buffer evenly among streams.
    Even(Even),
    /// Keeps a few messages queued on each stream.
    Refill(Refill),
    /// Sends at a fixed pace.
    Paced(Paced),
    /// Sends a request, waits for the response, and repeats.
    Client(Client),
    /// Responds to each message.
    Server(Server),
    /// Sends objects, each on its own stream.
    Objects(Objects),
    /// Requests objects.
    Requests(Requests),
    /// Sends a message in parts.
    InParts(InParts),
}

impl Workload {
    /// Sends what is due now.
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
            Self::InParts(message) => message.act(now, writer),
        }
    }

    /// Handles a received message.
    pub(super) fn on_message(&mut self, now: Instant, message: &ReceivedMessage) {
        match self {
            Self::Bulk(_)
            | Self::Even(_)
            | Self::Refill(_)
            | Self::Paced(_)
            | Self::Requests(_)
            | Self::InParts(_) => {}
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
            Self::InParts(message) => message.deadline(),
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
    /// `false` if the message has to wait, or will never be accepted.
    pub(super) fn takes(&mut self, draft: Draft) -> Result<(), SendError> {
        self.outbox.send(self.association, draft, self.now).map(|_| ())
    }
}

/// Selects the stream of the next message.
#[derive(Clone, Debug)]
pub enum Streams {
    /// Always this stream.
    One(StreamId),
    /// The first streams, round robin.
    InTurn {
        /// Number of streams.
        count: u16,
        /// Next stream.
        next: u16,
    },
    /// A random one of the first streams.
    Random {
        /// Number of streams.
        count: u16,
        /// Random number generator.
        rng: Rng,
    },
}

impl Streams {
    /// Always stream `stream`.
    #[must_use]
    pub const fn one(stream: u16) -> Self {
        Self::One(StreamId(stream))
    }

    /// The first `count` streams, round robin.
    #[must_use]
    pub const fn in_turn(count: u16) -> Self {
        Self::InTurn { count, next: 0 }
    }

    /// A random one of the first `count` streams.
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

/// Sends messages of one size as fast as they are accepted.
#[derive(Clone, Debug)]
pub struct Bulk {
    bytes: usize,
    streams: Streams,
    unordered: bool,
    left: u64,
    waiting: Option<StreamId>,
}

impl Bulk {
    /// Unlimited messages of `bytes` bytes on `streams`.
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

    /// Limits the number to `messages`.
    #[must_use]
    pub fn messages(self, messages: u64) -> Self {
        Self {
            left: messages,
            ..self
        }
    }

    /// Sends them unordered.
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

/// Sends messages of one size as fast as they are accepted, always on the stream with the fewest bytes queued: an application
/// that queries sender-queue information (Dreibholz et al. 2010, PFLDNeT, §6.2). So a stream that is served faster is filled faster.
#[derive(Clone, Debug)]
pub struct Even {
    bytes: usize,
    streams: u16,
}

impl Even {
    /// Unlimited messages of `bytes` bytes on the first `streams` streams.
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

/// Keeps each stream's queue filled to a level; the association notifies it when a queue falls to half of the level, so the
/// application never has to poll.
#[derive(Clone, Debug)]
pub struct Refill {
    bytes: usize,
    streams: u16,
    level: u64,
}

impl Refill {
    /// Unlimited messages of `bytes` bytes on the first `streams` streams, with `level` bytes queued on each.
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

/// Sends one message per interval. A message that finds the buffer full is sent as soon as there is room.
#[derive(Clone, Debug)]
pub struct Paced {
    bytes: usize,
    every: Duration,
    burst: u64,
    streams: Streams,
    unordered: bool,
    next: Option<Instant>,
    owed: u64,
    /// Stream of the message that found the buffer full.
    waiting: Option<StreamId>,
}

impl Paced {
    /// A message of `bytes` bytes every `every`, the first one immediately.
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

    /// Sends them unordered.
    #[must_use]
    pub fn unordered(self) -> Self {
        Self {
            unordered: true,
            ..self
        }
    }

    /// Number of messages per interval.
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

/// Sends a request, waits for the response, pauses, and sends the next one.
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
    /// Requests of `bytes` bytes on `stream`, each sent `thinks` after the previous response.
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

    /// Delay from each request to its response.
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

/// Responds to each message on its stream.
#[derive(Clone, Debug)]
pub struct Server {
    bytes: usize,
    owed: Vec<StreamId>,
}

impl Server {
    /// Responses of `bytes` bytes.
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
