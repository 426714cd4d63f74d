//! How does an algorithm for one path serve many? This adapter keeps one state for each and asks it alone.
//!
//! It also decides, once for all algorithms, whether a window may grow at all: the chosen [`Growth`] must allow
//! it, the path must not be in fast recovery, and the window must have been fully used (RFC 9260 §7.2.1).

use core::fmt;
use core::time::Duration;

use anabranch_types::{Instant, PathId};

use super::growth::Growth;
use super::window::Window;
use crate::parameters::Parameters;
use crate::path_table::PathTable;
use crate::{AckSample, CongestionControl, LossEvent, PathAck, PathFacts, Policy, path_facts};

/// An algorithm that looks at one path only. Implemented by its parameters; the state of each path is apart.
pub trait SinglePath: Parameters + Send {
    /// The name that users type.
    const NAME: &'static str;
    /// What it remembers of one path.
    type State: Send + fmt::Debug;

    /// When windows may grow.
    fn growth(&self) -> Growth;
    /// The state of a path that has not carried anything yet.
    fn start(&self, path: &PathFacts, now: Instant) -> Self::State;
    /// Chunks of the path were acknowledged.
    fn on_ack(&self, state: &mut Self::State, acked: &Acked<'_>);
    /// Chunks of the path were lost.
    fn on_loss(&self, state: &mut Self::State, loss: &LossEvent, path: &PathFacts);
    /// Nothing was sent on the path for `idle`.
    fn on_idle(&self, state: &mut Self::State, path: &PathFacts, idle: Duration);
    /// The window comes down to `limit` bytes, lest a burst follow.
    fn on_burst_limit(state: &mut Self::State, limit: u64);
    /// Window in bytes.
    fn cwnd(state: &Self::State) -> u64;
    /// Slow-start threshold in bytes.
    fn ssthresh(state: &Self::State) -> u64;
}

/// What a SACK acknowledged on the path in question.
#[derive(Clone, Copy, Debug)]
pub struct Acked<'a> {
    /// Bytes and TSNs.
    pub ack: &'a PathAck,
    /// The path.
    pub path: &'a PathFacts,
    /// Whether the rule for growth allows it and no fast recovery forbids it.
    pub may_grow: bool,
    /// When the SACK came.
    pub now: Instant,
}

impl<'a> Acked<'a> {
    pub(super) const fn new(growth: Growth, ack: &'a PathAck, path: &'a PathFacts, now: Instant) -> Self {
        Self {
            ack,
            path,
            // "only if […] the data sender is not in Fast Recovery" (RFC 9260 §7.2.1); per path with CMT.
            may_grow: growth.allows(ack) && !path.in_recovery,
            now,
        }
    }

    /// Whether `window` was fully used when the bytes acknowledged now were in flight. Call once for each SACK.
    pub(super) fn was_full(&self, window: &mut Window) -> bool {
        window.was_full(self.ack, self.path)
    }
}

//= rfc9260 7.2-3
/// The association-level controller made of an algorithm `A` for single paths.
#[derive(Debug)]
pub struct Independent<A: SinglePath> {
    algorithm: A,
    paths: PathTable<A::State>,
}

impl<A: SinglePath> Independent<A> {
    /// A controller without paths.
    #[must_use]
    pub fn new(algorithm: A) -> Self {
        Self {
            algorithm,
            paths: PathTable::default(),
        }
    }
}

impl<A: SinglePath> Policy for Independent<A> {
    fn name(&self) -> &'static str {
        A::NAME
    }
}

impl<A: SinglePath> CongestionControl for Independent<A> {
    fn add_path(&mut self, path: &PathFacts, now: Instant) {
        self.paths.insert(path.id, self.algorithm.start(path, now));
    }

    fn remove_path(&mut self, path: PathId) {
        self.paths.remove(path);
    }

    //= rfc9260 7.2.1-5, 7.2.1-6, 7.2.1-9
    fn on_ack(&mut self, ack: &AckSample<'_>, paths: &[PathFacts], now: Instant) {
        for ack in ack.paths {
            let (Some(state), Some(path)) = (self.paths.of_mut(ack.path), path_facts(paths, ack.path)) else {
                continue;
            };
            let acked = Acked::new(self.algorithm.growth(), ack, path, now);
            self.algorithm.on_ack(state, &acked);
        }
    }

    fn on_loss(&mut self, loss: &LossEvent, paths: &[PathFacts], _now: Instant) {
        if let (Some(state), Some(path)) = (self.paths.of_mut(loss.path), path_facts(paths, loss.path)) {
            self.algorithm.on_loss(state, loss, path);
        }
    }

    fn on_idle(&mut self, path: &PathFacts, idle: Duration) {
        if let Some(state) = self.paths.of_mut(path.id) {
            self.algorithm.on_idle(state, path, idle);
        }
    }

    fn on_burst_limit(&mut self, path: PathId, limit: u64) {
        if let Some(state) = self.paths.of_mut(path) {
            A::on_burst_limit(state, limit);
        }
    }

    fn cwnd(&self, path: PathId) -> u64 {
        self.paths.of(path).map_or(0, A::cwnd)
    }

    fn ssthresh(&self, path: PathId) -> u64 {
        self.paths.of(path).map_or(u64::MAX, A::ssthresh)
    }
}
