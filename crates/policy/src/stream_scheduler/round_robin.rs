//! Whose bytes are next, if all streams are equal? Each in turn.
//!
//! Source: RFC 8260 §3.2 (Round-Robin Scheduler).
//!
//! Idea: ready streams queue up; the first one is served once and goes to the end of the queue if it has more. Served
//! is a message, or a chunk if messages may be interleaved: in between nobody asks. A stream that is announced again
//! keeps its place.
//!
//! ```text
//! ready and not queued: turn += 1, queue it with this turn
//! served:               turn += 1, queue it with this turn; without more to send it leaves
//! next = the queued stream with the smallest turn
//! ```

use anabranch_types::{PathId, StreamId};

use super::ready::Ready;
use crate::parameters::NoParameters;
use crate::{Policy, StreamFacts, StreamScheduler};

/// Streams take turns, one message each, or one chunk each if messages may be interleaved.
#[derive(Debug, Default)]
pub struct RoundRobin {
    ready: Ready<u64>,
    turn: u64,
}

impl RoundRobin {
    /// A scheduler without ready streams.
    #[must_use]
    pub fn new(_: NoParameters) -> Self {
        Self::default()
    }

    /// Whether `stream` has a place in the queue.
    pub(super) fn is_ready(&self, stream: StreamId) -> bool {
        self.ready.contains(stream)
    }

    fn queue(&mut self, stream: StreamId) {
        self.turn += 1;
        self.ready.insert(self.turn, stream);
    }
}

impl Policy for RoundRobin {
    fn name(&self) -> &'static str {
        "rr"
    }
}

impl StreamScheduler for RoundRobin {
    fn on_ready(&mut self, stream: &StreamFacts) {
        if !self.ready.contains(stream.id) {
            self.queue(stream.id);
        }
    }

    fn on_idle(&mut self, stream: StreamId) {
        self.ready.remove(stream);
    }

    fn on_taken(&mut self, stream: StreamId, _bytes: u32, message_done: bool) {
        if message_done {
            self.ready.remove(stream);
        } else {
            self.queue(stream);
        }
    }

    fn next(&self, _path: PathId) -> Option<StreamId> {
        self.ready.first()
    }
}
