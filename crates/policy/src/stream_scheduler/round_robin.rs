//! Whose bytes are next, if all streams are equal? Each in turn, message by message.
//!
//! Source: RFC 8260 §3.2 (Round-Robin Scheduler).
//!
//! Idea: ready streams queue up; the first one is served until its message is done and goes to the end of the
//! queue if it has another one. A stream that is announced again keeps its place.
//!
//! ```text
//! ready and not queued: turn += 1, queue it with this turn
//! message done:         leave the queue
//! next = the queued stream with the smallest turn
//! ```

use anabranch_types::{PathId, StreamId};

use super::ready::Ready;
use crate::parameters::NoParameters;
use crate::{Policy, StreamFacts, StreamScheduler};

/// Streams take turns, one message each.
#[derive(Debug, Default)]
pub struct RoundRobin {
    ready: Ready,
    turn: u64,
}

impl RoundRobin {
    /// A scheduler without ready streams.
    #[must_use]
    pub fn new(_: NoParameters) -> Self {
        Self::default()
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
            self.turn += 1;
            self.ready.insert(self.turn, stream.id);
        }
    }

    fn on_idle(&mut self, stream: StreamId) {
        self.ready.remove(stream);
    }

    fn on_taken(&mut self, stream: StreamId, _bytes: u32, message_done: bool) {
        if message_done {
            self.ready.remove(stream);
        }
    }

    fn next(&self, _path: PathId) -> Option<StreamId> {
        self.ready.first()
    }
}
