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
//!
//! Streams that are bound to some of the paths (see `bound.rs`) are next on those only.

use alloc::boxed::Box;

use anabranch_types::{Instant, PathId, StreamId};

use super::bound::BoundStreams;
use super::shares::Shares;
use crate::parameters::NoParameters;
use crate::{PathFacts, PathUse, Policy, StreamFacts, StreamScheduler};

/// Weighted fair queueing stream scheduler.
#[derive(Debug, Default)]
pub struct WeightedFair {
    shares: Shares,
    /// From the first one on: most associations have none.
    bound: Option<Box<BoundStreams>>,
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
        if stream.path_use != PathUse::All {
            self.shares.ready_bound(stream.id, stream.weight, stream.head);
            let bound = self.bound.get_or_insert_default();
            bound.on_ready(stream.id, stream.path_use);
            return;
        }
        self.shares.ready(stream.id, stream.weight, stream.head);
        if let Some(bound) = &mut self.bound {
            bound.forget(stream.id);
        }
    }

    fn on_idle(&mut self, stream: StreamId) {
        self.shares.idle(stream);
        if let Some(bound) = &mut self.bound {
            bound.on_idle(stream);
        }
    }

    fn on_placed(&mut self, stream: StreamId, path: PathId) {
        if let Some(bound) = &mut self.bound {
            bound.on_placed(stream, path);
        }
    }

    fn admits(&self, stream: StreamId, path: PathId) -> bool {
        self.bound.as_ref().is_none_or(|bound| bound.admit(stream, path))
    }

    fn path_of(&self, stream: StreamId) -> Option<PathId> {
        self.bound.as_ref()?.path_of(stream)
    }

    fn observe(&mut self, paths: &[PathFacts], now: Instant) {
        if let Some(bound) = &mut self.bound {
            bound.observe(paths, now);
        }
    }

    fn on_taken(&mut self, stream: StreamId, bytes: u32, _message_done: bool) {
        self.shares.serve(stream, bytes);
    }

    fn next(&self, path: PathId) -> Option<StreamId> {
        self.shares.first_of_all(|stream| self.admits(stream, path))
    }
}
