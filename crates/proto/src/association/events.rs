//! Events of an association. What is the application told?

use alloc::collections::VecDeque;
use alloc::string::String;

use anabranch_types::StreamId;
use thiserror::Error;

use crate::path::PathEvent;
use crate::send::Sender;

/// Something happened that the application may want to know.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Event {
    /// The handshake is complete.
    Connected {
        /// The peer began it.
        incoming: bool,
    },
    /// The peer lost its state and restarted (RFC 9260 §5.2.4 A): what was not acknowledged is lost.
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

    /// What has left made streams fall to their low-water marks. Those for which there is no room now are told later.
    pub(crate) fn push_low_streams(&mut self, sender: &mut Sender) {
        while !self.is_full()
            && let Some(stream) = sender.next_low_stream()
        {
            self.push(Event::StreamLow(stream));
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
