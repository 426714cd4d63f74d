//! Priority stream scheduler. Which stream sends next, if some streams have priority over others?
//!
//! Source: RFC 8260 §3.4 (Priority-Based Scheduler).
//!
//! Idea: strict priorities. While a stream of higher priority has data, no other one is served; streams of equal
//! priority take turns. The priority is a number set for each stream, and a lower number is a higher priority.
//!
//! ```text
//! key of a stream = (priority, turn), with turns as in rr
//! next = the ready stream with the smallest key
//! ```
//!
//! Without interleaving, a message of high priority waits for the end of the message that is being sent.

use anabranch_types::{PathId, StreamId};

use super::ready::Ready;
use crate::parameters::NoParameters;
use crate::{Policy, StreamFacts, StreamScheduler};

/// Strict-priority stream scheduler; streams of equal priority take turns.
#[derive(Debug, Default)]
pub struct Priority {
    /// By priority, then turn.
    ready: Ready<(u16, u64)>,
    turn: u64,
}

impl Priority {
    /// Creates a scheduler without ready streams.
    #[must_use]
    pub fn new(_: NoParameters) -> Self {
        Self::default()
    }

    fn queue(&mut self, priority: u16, stream: StreamId) {
        self.turn += 1;
        self.ready.insert((priority, self.turn), stream);
    }

    fn priority_of(&self, stream: StreamId) -> Option<u16> {
        self.ready.key_of(stream).map(|(priority, _)| priority)
    }
}

impl Policy for Priority {
    fn name(&self) -> &'static str {
        "priority"
    }
}

impl StreamScheduler for Priority {
    fn on_ready(&mut self, stream: &StreamFacts) {
        if self.priority_of(stream.id) != Some(stream.priority) {
            self.queue(stream.priority, stream.id);
        }
    }

    fn on_idle(&mut self, stream: StreamId) {
        self.ready.remove(stream);
    }

    fn on_taken(&mut self, stream: StreamId, _bytes: u32, message_done: bool) {
        if message_done {
            self.ready.remove(stream);
        } else if let Some(priority) = self.priority_of(stream) {
            self.queue(priority, stream);
        }
    }

    fn next(&self, _path: PathId) -> Option<StreamId> {
        self.ready.first()
    }
}
