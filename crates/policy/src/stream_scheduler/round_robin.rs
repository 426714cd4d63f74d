//! Round-robin stream scheduler. Which stream sends next, if all streams are equal?
//!
//! Source: RFC 8260 §3.2 (Round-Robin Scheduler).
//!
//! Idea: ready streams form a queue; the first one is served once and goes to the end of the queue if it has more. It
//! is served one message, or one chunk with interleaving. A stream that is reported ready again keeps its place.
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

/// Round-robin stream scheduler: one message per turn, or one chunk with interleaving.
#[derive(Debug, Default)]
pub struct RoundRobin {
    ready: Ready<u64>,
    turn: u64,
}

impl RoundRobin {
    /// Creates a scheduler without ready streams.
    #[must_use]
    pub fn new(_: NoParameters) -> Self {
        Self::default()
    }

    /// Whether `stream` is queued.
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
