//! Policy set. The policies of one association, one for each trait.

use alloc::boxed::Box;

use anabranch_types::{Instant, PathId};

use crate::burst::Paced;
use crate::parameters::NoParameters;
use crate::{
    AckPolicy, BufferPolicy, BurstPolicy, CongestionControl, FailoverPolicy, LossDetection, PathFacts,
    PathScheduler, ReschedulingPolicy, RetransmissionPolicy, RttSampling, SackPath, SharedBottleneck,
    StreamScheduler, TailProbe,
};

/// The policies of one association, one for each trait.
///
/// Made by [`crate::PolicyRecipe::build`]; any field may be replaced by another policy before the first path is
/// added.
#[derive(Debug)]
pub struct PolicySet {
    /// Which stream sends next?
    pub stream_scheduler: Box<dyn StreamScheduler>,
    /// Which path takes the next packet of new data?
    pub path_scheduler: Box<dyn PathScheduler>,
    /// How much may be in flight on each path?
    pub congestion: Box<dyn CongestionControl>,
    /// Which paths share a bottleneck?
    pub shared_bottleneck: Box<dyn SharedBottleneck>,
    /// Whether the congestion control measures rates now: a copy of [`CongestionControl::measures_rates`], so that others cost
    /// no call for each packet.
    pub measures_rates: bool,
    /// How many packets may be sent at once? Paced in any case if the congestion control may measure rates.
    pub burst: Box<dyn BurstPolicy>,
    /// How much of the shared buffers may a path hold?
    pub buffer: Box<dyn BufferPolicy>,
    /// A buffer is blocked: which chunks move to another path?
    pub rescheduling: Box<dyn ReschedulingPolicy>,
    /// When is a SACK sent?
    pub ack: Box<dyn AckPolicy>,
    /// On which path is a SACK sent?
    pub sack_path: Box<dyn SackPath>,
    /// Which acknowledgements are RTT samples?
    pub rtt_samples: Box<dyn RttSampling>,
    /// Which outstanding chunks are lost?
    pub loss: Box<dyn LossDetection>,
    /// When is a tail loss probe sent?
    pub tail_probe: Box<dyn TailProbe>,
    /// On which path is a lost chunk retransmitted?
    pub retransmission: Box<dyn RetransmissionPolicy>,
    /// When is a path potentially failed, inactive or active again?
    pub failover: Box<dyn FailoverPolicy>,
}

impl PolicySet {
    /// Adds a path to all policies that keep state per path. A congestion control that may measure rates needs pacing, so a burst
    /// policy that does not pace gives way with the first path.
    pub fn add_path(&mut self, path: &PathFacts, now: Instant) {
        if self.congestion.may_measure_rates() && !self.burst.is_paced() {
            self.burst = Box::new(Paced::new(NoParameters));
        }
        self.path_scheduler.add_path(path.id);
        self.congestion.add_path(path, now);
        self.measures_rates = self.congestion.measures_rates();
        self.rtt_samples.add_path(path.id);
        self.loss.add_path(path.id);
        self.burst.add_path(path.id);
    }

    /// Reduces the cwnd of `path` where the burst policy limits it, before data is sent. Returns whether it changed, in
    /// which case the facts must be updated.
    pub fn limit_window(&mut self, path: &PathFacts) -> bool {
        let limit = self.burst.window_limit(path);
        let limit = limit.filter(|limit| *limit < path.cwnd);
        if let Some(limit) = limit {
            self.congestion.on_burst_limit(path.id, limit);
        }
        limit.is_some()
    }

    /// Removes a path from all policies that keep state per path.
    pub fn remove_path(&mut self, path: PathId) {
        self.path_scheduler.remove_path(path);
        self.congestion.remove_path(path);
        self.shared_bottleneck.remove_path(path);
        self.rtt_samples.remove_path(path);
        self.loss.remove_path(path);
        self.burst.remove_path(path);
    }
}
