//! What does an association tell the application?

use alloc::collections::VecDeque;
use alloc::string::String;

use anabranch_policy::Reachability;
use anabranch_types::{PathAddr, PathId, StreamId};
use thiserror::Error;

/// Something happened that the application may want to know.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Event {
    /// The handshake is complete.
    Connected {
        /// The peer began it.
        incoming: bool,
    },
    /// The peer lost its state and began anew (RFC 9260 §5.2.4 A): what was not acknowledged is lost.
    Restarted {
        /// Messages of ours that the peer may not have received.
        undelivered: u64,
    },
    /// A message can be received, after none could.
    Readable,
    /// The send buffer has room again, after a message was refused.
    Writable,
    /// What waits on this stream has fallen to its low-water mark; see
    /// [`Association::set_stream_low_water`](crate::Association::set_stream_low_water).
    StreamLow(StreamId),
    /// Messages queued before the handshake was complete went to streams that the peer does not take, and were
    /// dropped.
    Undeliverable {
        /// How many.
        messages: u64,
    },
    /// A path changed.
    Path(PathEvent),
    /// The peer will send nothing more, and asks us to finish.
    PeerShutdown,
    /// The peer reported an error (RFC 9260 §3.3.10).
    PeerError(String),
    /// The association is over.
    Closed(CloseReason),
}

/// A change of one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathEvent {
    /// Which path.
    pub id: PathId,
    /// Its two ends.
    pub addr: PathAddr,
    /// What changed.
    pub change: PathChange,
}

/// What changed on a path. This is its whole life, as an application sees it:
///
/// ```text
///  Added ─▶ (unconfirmed) ─▶ Active ─▶ Primary, once and again
///                             │  ▲
///           error, or silence ▼  │ a proof: an answered heartbeat, or data that was sent once
///                    PotentiallyFailed ─▶ Inactive, after more errors; a heartbeat that is answered brings it back
/// ```
///
/// `Mtu` follows when the association carries data, and whenever the size changes; `Rebound` and `Removed` may come at any time. The
/// paths of the handshake exist without being `Added`, and begin unconfirmed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PathChange {
    /// It can be used or not, from now on.
    Reachability(Reachability),
    /// It became the primary path.
    Primary,
    /// There is a new one, to be confirmed before it carries data: an end got an address (RFC 5061).
    Added,
    /// It is no more, because an address is not (RFC 5061).
    Removed,
    /// Its packets may be so large from now on: the size of IP packets in bytes (RFC 8899).
    Mtu(u16),
    /// The peer's encapsulation port is another one now: a NAT has a new binding (RFC 6951 §5.4).
    Rebound,
}

/// Why an association ended.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum CloseReason {
    /// Both sides finished; everything sent was acknowledged.
    #[error("finished")]
    Finished,
    /// We aborted it.
    #[error("aborted by this side")]
    Aborted,
    /// The peer aborted it.
    #[error("aborted by the peer: {0}")]
    AbortedByPeer(String),
    /// Nobody answered the handshake.
    #[error("no answer from the peer")]
    NoAnswer,
    /// The peer stopped answering on all paths (RFC 9260 §8.1).
    #[error("the peer stopped answering")]
    PeerUnreachable,
    /// The peer did not finish in time after a shutdown (T5-shutdown-guard, RFC 9260 §9.2).
    #[error("the peer did not finish in time")]
    ShutdownTimeout,
    /// The peer broke the protocol.
    #[error("the peer broke the protocol: {0}")]
    PeerViolation(String),
}

/// Events in the order of happening. Edges like [`Event::Readable`] are told once until the application acts.
#[derive(Debug, Default)]
pub(crate) struct Events {
    queue: VecDeque<Event>,
}

impl Events {
    /// What a peer can cause as often as it likes is dropped beyond this number: an application that never looks must not
    /// cost memory.
    const LIMIT: usize = 1_024;

    pub(crate) fn push(&mut self, event: Event) {
        let limit = match event {
            Event::PeerError(_) | Event::Path(_) => Self::LIMIT,
            // Told once until the application acts, or for good.
            Event::Readable | Event::Writable | Event::Closed(_) => usize::MAX,
            _ => 2 * Self::LIMIT,
        };
        if self.queue.len() < limit {
            self.queue.push_back(event);
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.queue.len() >= Self::LIMIT
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(crate) fn pop(&mut self) -> Option<Event> {
        self.queue.pop_front()
    }
}
