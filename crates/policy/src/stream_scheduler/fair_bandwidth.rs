//! Fair-bandwidth stream scheduler. Which stream sends next, if each is to get as many bytes as any other?
//!
//! Source: RFC 8260 §3.5 (Fair Bandwidth Scheduler). The RFC leaves the details open; this is start-time fair queueing
//! (see `shares.rs`).
//!
//! Idea: count the bytes served to each stream while it has data, and serve the one with the smallest count. Streams
//! with small messages send more of them than streams with large ones.
//!
//! ```text
//! next = the ready stream that was served the fewest bytes
//! a stream that becomes ready again starts with the count of the one in service
//! ```

use anabranch_types::{PathId, StreamId};

use super::shares::Shares;
use crate::parameters::NoParameters;
use crate::{Policy, StreamFacts, StreamScheduler};

/// Fair-bandwidth stream scheduler.
#[derive(Debug, Default)]
pub struct FairBandwidth {
    shares: Shares,
}

impl FairBandwidth {
    /// Creates a scheduler without ready streams.
    #[must_use]
    pub fn new(_: NoParameters) -> Self {
        Self::default()
    }
}

impl Policy for FairBandwidth {
    fn name(&self) -> &'static str {
        "fair-bandwidth"
    }
}

impl StreamScheduler for FairBandwidth {
    fn on_ready(&mut self, stream: &StreamFacts) {
        self.shares.ready(stream.id, 1, stream.head);
    }

    fn on_idle(&mut self, stream: StreamId) {
        self.shares.idle(stream);
    }

    fn on_taken(&mut self, stream: StreamId, bytes: u32, _message_done: bool) {
        self.shares.serve(stream, bytes);
    }

    fn next(&self, _path: PathId) -> Option<StreamId> {
        self.shares.first()
    }
}
