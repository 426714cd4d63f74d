//! What waits to be sent, and where does it go?

use anabranch_types::{Instant, MessageId, PathId, StreamId};

/// A stream with something to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamFacts {
    /// Which stream.
    pub id: StreamId,
    /// The message at its head.
    pub head: MessageId,
    /// Bytes of the head message that are not sent yet.
    pub head_bytes: u64,
    /// Bytes of all its messages that are not sent yet, those of the head message included.
    pub queued_bytes: u64,
    /// Its priority: lower is served first (RFC 8260 §3.4); 0 unless set.
    pub priority: u16,
    /// Its weight (RFC 8260 §3.6): 1 unless set, and at least 1.
    pub weight: u16,
}

/// What waits to be sent for the first time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Backlog {
    /// Bytes of payload not yet sent.
    pub unsent_bytes: u64,
    /// Bytes that the peer's receive buffer takes now.
    pub peer_window: u64,
    /// Bytes that may have been sent and not be acknowledged cumulatively at any time: what the smaller of send buffer
    /// and peer's receive buffer holds.
    pub send_window: u64,
    /// If a message has begun that must be finished before another one leaves (RFC 9260 §6.9): the bytes in front of
    /// it that were passed over.
    pub bound: Option<u64>,
}

/// The scheduler's answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pick {
    /// The next packet goes on this path.
    On(PathId),
    /// So does this, but it begins behind what is next: that is left for another path to take, without being
    /// overtaken on its own stream as the receiver sees it. Not while [`Backlog::bound`] is given.
    Ahead {
        /// Which path.
        path: PathId,
        /// Bytes of chunks to be passed over, more than none.
        skip: u64,
    },
    /// Nothing is sent until something changes or, if given, this moment comes.
    Wait {
        /// When to ask again.
        until: Option<Instant>,
    },
}
