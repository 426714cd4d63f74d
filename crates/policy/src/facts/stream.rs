//! Streams and backlog. What waits to be sent, and what can a path scheduler decide?

use anabranch_types::{Instant, MessageId, PathId, StreamId};

/// A stream with data to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamFacts {
    /// Id of the stream.
    pub id: StreamId,
    /// The message at its head.
    pub head: MessageId,
    /// Bytes of the head message that are not sent yet.
    pub head_bytes: u64,
    /// Bytes of all its messages that are not sent yet, including the head message.
    pub queued_bytes: u64,
    /// Its priority: lower is served first (RFC 8260 §3.4); 0 unless set.
    pub priority: u16,
    /// Its weight (RFC 8260 §3.6): 1 unless set, and at least 1.
    pub weight: u16,
    /// The paths that its messages are to take; all unless set.
    pub path_use: PathUse,
}

/// The paths that a stream is to use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PathUse {
    /// All, as the path scheduler decides.
    #[default]
    All,
    /// One at a time, so that its messages do not overtake one another.
    One,
    /// The ones with the shortest round-trip times, even if its messages have to wait for them.
    Fastest,
}

/// Data queued for its first transmission.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Backlog {
    /// Bytes of payload not yet sent.
    pub unsent_bytes: u64,
    /// Bytes that the peer's receive window takes now.
    pub peer_window: u64,
    /// Bytes that may be outstanding above the cumulative TSN: the smaller of the send buffer and the peer's receive
    /// buffer.
    pub send_window: u64,
    /// If a message has begun that must be finished before another one is sent (RFC 9260 §6.9): the number of bytes
    /// passed over before it.
    pub bound: Option<u64>,
}

/// The decision of a path scheduler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pick {
    /// The next packet is sent on this path.
    On(PathId),
    /// Like [`Self::On`], but the packet begins behind the next data, which is left for another path without being overtaken on
    /// its own stream at the receiver. Not while [`Backlog::bound`] is given.
    Ahead {
        /// Id of the path.
        path: PathId,
        /// Bytes of chunks to pass over, more than 0.
        skip: u64,
    },
    /// Nothing is sent until something changes or, if given, until this moment.
    Wait {
        /// When to ask again.
        until: Option<Instant>,
    },
}
