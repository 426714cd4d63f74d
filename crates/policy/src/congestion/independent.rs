//! Uncoupled congestion control. This adapter runs an algorithm for a single path on each path separately.
//!
//! It also decides, once for all algorithms, whether a cwnd may grow at all: the chosen [`Growth`] must allow
//! it, the path must not be in fast recovery, and the cwnd must have been fully used (RFC 9260 §7.2.1).

use core::fmt;
use core::time::Duration;

use anabranch_types::{Instant, PathId};

use super::growth::Growth;
use super::window::Window;
use crate::parameters::Parameters;
use crate::path_table::PathTable;
use crate::{AckSample, CongestionControl, LossEvent, PathAck, PathFacts, Policy, path_facts};

/// An algorithm for a single path. Implemented by its parameters; the state of each path is separate.
pub trait SinglePath: Parameters + Send {
    /// The name that users type.
    const NAME: &'static str;
    /// The state of one path.
    type State: Send + fmt::Debug;

    /// When the cwnd may grow.
    fn growth(&self) -> Growth;
    /// The initial state of a path.
    fn start(&self, path: &PathFacts, now: Instant) -> Self::State;
    /// Chunks of the path were acknowledged.
    fn on_ack(&self, state: &mut Self::State, acked: &Acked<'_>);
    /// Chunks of the path were lost.
    fn on_loss(&self, state: &mut Self::State, loss: &LossEvent, path: &PathFacts);
    /// Nothing was sent on the path for `idle`.
    fn on_idle(&self, state: &mut Self::State, path: &PathFacts, idle: Duration);
    /// The cwnd is reduced to `limit` bytes to prevent a burst.
    fn on_burst_limit(state: &mut Self::State, limit: u64);
    /// The cwnd in bytes.
    fn cwnd(state: &Self::State) -> u64;
    /// The ssthresh in bytes.
    fn ssthresh(state: &Self::State) -> u64;
}

/// Chunks of one path that a SACK acknowledged, with the facts of the path.
#[derive(Clone, Copy, Debug)]
pub struct Acked<'a> {
    /// Bytes and TSNs.
    pub ack: &'a PathAck,
    /// The path.
    pub path: &'a PathFacts,
    /// Whether the growth rule allows growth and the path is not in fast recovery.
    pub may_grow: bool,
    /// When the SACK arrived.
    pub now: Instant,
}

impl<'a> Acked<'a> {
    pub(super) const fn new(growth: Growth, ack: &'a PathAck, path: &'a PathFacts, now: Instant) -> Self {
        Self {
            ack,
            path,
            // RFC 9260 §7.2.1 allows growth only outside fast recovery; with CMT that is per path.
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
/// The congestion control of an association, made of an algorithm `A` for single paths.
#[derive(Debug)]
pub struct Independent<A: SinglePath> {
    algorithm: A,
    paths: PathTable<A::State>,
}

impl<A: SinglePath> Independent<A> {
    /// Creates a controller without paths.
    #[must_use]
    pub fn new(algorithm: A) -> Self {
        Self {
            algorithm,
            paths: PathTable::default(),
        }
    }

    /// The state of `path`, to be changed.
    pub(super) fn state_mut(&mut self, path: PathId) -> Option<&mut A::State> {
        self.paths.of_mut(path)
    }
}

impl<A: SinglePath> Policy for Independent<A> {
    fn name(&self) -> &'static str {
        A::NAME
    }
}

impl<A: SinglePath> CongestionControl for Independent<A> {
    //= rfc9260 7.2.5-1
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
