//! First-come, first-served stream scheduler. Which stream has the oldest message?
//!
//! Source: RFC 8260 §3.1 (First-Come, First-Served Scheduler).
//!
//! Idea: the stream whose head message was submitted first is served until that message is done.
//!
//! ```text
//! next = the ready stream with the smallest MessageId at its head
//! ```

use anabranch_types::{MessageId, PathId, StreamId};

use super::ready::Ready;
use crate::parameters::NoParameters;
use crate::{Policy, StreamFacts, StreamScheduler};

/// First-come, first-served stream scheduler.
#[derive(Debug, Default)]
pub struct FirstCome {
    ready: Ready<MessageId>,
}

impl FirstCome {
    /// Creates a scheduler without ready streams.
    #[must_use]
    pub fn new(_: NoParameters) -> Self {
        Self::default()
    }
}

impl Policy for FirstCome {
    fn name(&self) -> &'static str {
        "fcfs"
    }
}

impl StreamScheduler for FirstCome {
    fn on_ready(&mut self, stream: &StreamFacts) {
        self.ready.insert(stream.head, stream.id);
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
