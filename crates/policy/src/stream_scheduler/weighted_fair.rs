//! Weighted fair queueing stream scheduler. Which stream sends next, if bytes are shared by weight?
//!
//! Source: RFC 8260 §3.6 (Weighted Fair Queueing Scheduler). The RFC leaves the details open; this is start-time fair
//! queueing (see `shares.rs`). WebRTC's data channels use it (RFC 8831 §6.4).
//!
//! Idea: as `fair-bandwidth`, but a byte of a stream with weight n counts 1/n. A stream with n times the weight of
//! another gets n times its bytes while both have data; what one leaves unused, the others share.
//!
//! ```text
//! next = the ready stream with the smallest (bytes served / weight)
//! ```

use anabranch_types::{PathId, StreamId};

use super::shares::Shares;
use crate::parameters::NoParameters;
use crate::{Policy, StreamFacts, StreamScheduler};

/// Weighted fair queueing stream scheduler.
#[derive(Debug, Default)]
pub struct WeightedFair {
    shares: Shares,
}

impl WeightedFair {
    //= rfc8260 3-1
    /// Creates a scheduler without ready streams.
    #[must_use]
    pub fn new(_: NoParameters) -> Self {
        Self::default()
    }
}

impl Policy for WeightedFair {
    fn name(&self) -> &'static str {
        "wfq"
    }
}

impl StreamScheduler for WeightedFair {
    fn on_ready(&mut self, stream: &StreamFacts) {
        self.shares.ready(stream.id, stream.weight, stream.head);
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
