//! Which policies does an association have? One of each.

use alloc::boxed::Box;

use anabranch_types::{Instant, PathId};

use crate::{
    AckPolicy, BufferPolicy, BurstPolicy, CongestionControl, FailoverPolicy, LossDetection, PathFacts,
    PathScheduler, ReschedulingPolicy, RetransmissionPolicy, RttSampling, SackPath, StreamScheduler,
    TailProbe,
};

/// The policies of one association: one answer to each question.
///
/// Made by [`crate::PolicyRecipe::build`]; any field may be replaced by a policy from elsewhere before the first
/// path is added.
#[derive(Debug)]
pub struct PolicySet {
    /// Whose bytes are next?
    pub stream_scheduler: Box<dyn StreamScheduler>,
    /// Which path takes the next packet?
    pub path_scheduler: Box<dyn PathScheduler>,
    /// How much may be in flight on each path?
    pub congestion: Box<dyn CongestionControl>,
    /// How many packets may leave at once?
    pub burst: Box<dyn BurstPolicy>,
    /// How much of the shared buffers may a path hold?
    pub buffer: Box<dyn BufferPolicy>,
    /// The buffer is blocked: what moves to another path?
    pub rescheduling: Box<dyn ReschedulingPolicy>,
    /// When is a SACK sent?
    pub ack: Box<dyn AckPolicy>,
    /// On which path is a SACK sent?
    pub sack_path: Box<dyn SackPath>,
    /// Which acknowledgements measure a round trip?
    pub rtt_samples: Box<dyn RttSampling>,
    /// Which outstanding chunks are lost?
    pub loss: Box<dyn LossDetection>,
    /// Is the tail of what was sent still there?
    pub tail_probe: Box<dyn TailProbe>,
    /// Where does a lost chunk go?
    pub retransmission: Box<dyn RetransmissionPolicy>,
    /// When is a path suspected, dead or back?
    pub failover: Box<dyn FailoverPolicy>,
}

impl PolicySet {
    /// Tells all policies that remember paths of a new one.
    pub fn add_path(&mut self, path: &PathFacts, now: Instant) {
        self.path_scheduler.add_path(path.id);
        self.congestion.add_path(path, now);
        self.rtt_samples.add_path(path.id);
        self.loss.add_path(path.id);
        self.burst.add_path(path.id);
    }

    /// Shrinks the window of `path` where bursts are limited by windows, before data leaves. Returns whether it is another one
    /// now, which the facts have to follow.
    pub fn limit_window(&mut self, path: &PathFacts) -> bool {
        let limit = self.burst.window_limit(path);
        let limit = limit.filter(|limit| *limit < path.cwnd);
        if let Some(limit) = limit {
            self.congestion.on_burst_limit(path.id, limit);
        }
        limit.is_some()
    }

    /// Tells all policies that remember paths that one is gone.
    pub fn remove_path(&mut self, path: PathId) {
        self.path_scheduler.remove_path(path);
        self.congestion.remove_path(path);
        self.rtt_samples.remove_path(path);
        self.loss.remove_path(path);
        self.burst.remove_path(path);
    }
}
