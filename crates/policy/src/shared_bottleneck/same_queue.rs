//! Shared bottlenecks found by one queue: paths whose round-trip times rise and fall together, by the same amount.
//!
//! Source: ours, after RFC 8382, MPTCP-SBD of S. Ferlin et al., INFOCOM 2016 (mean delays of an interval), and Dynamic Window Coupling of
//! S. Hassayoun et al., ICNP 2011 (losses and delays of two paths at the same time).
//!
//! Idea: packets of two paths that wait in the same queue wait equally long. So the difference of their round-trip times is that of
//! their propagation delays, and does not vary, however much both vary. Two queues differ, or will once one path reduces its cwnd alone.
//!
//! ```text
//! interval:  the longest smoothed RTT; x, y = mean RTT of both paths in it, of SACKs that arrived over the path itself
//! apart:     32 intervals or more, a loss event of each path:   var(x − y) ≤ 15 % of var(x) + var(y), twice in a row  ⇒ together
//! together:  16 intervals with a loss event, or 128:            var(x − y) > 40 %, and an eighth of what they are known for
//!                                                                ⇒ apart, and twice as many loss events are needed next time
//! ```
//!
//! RFC 8382 compares statistics of one-way delays that say how a queue behaves, because receivers of different senders have no common
//! clock. Here one sender sees all delays, so that it can compare the delays themselves.

use alloc::boxed::Box;
use core::mem;
use core::time::Duration;

use anabranch_types::{Instant, PathId};

use super::pair::Pair;
use crate::parameters::NoParameters;
use crate::path_table::PathTable;
use crate::{AckSample, LossCause, LossEvent, PathFacts, Policy, SharedBottleneck, path_facts};

/// Parameters of [`SameQueue`]: none.
pub type SameQueueParameters = NoParameters;

/// The shortest interval.
const SHORTEST: Duration = Duration::from_millis(5);

/// Bottlenecks by the queue that two paths see.
#[derive(Debug, Default)]
pub struct SameQueue {
    /// From the second path with data on: most associations have one path, or are idle.
    pub(super) known: Option<Box<Known>>,
}

/// What is known of all paths.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// When the current interval ends.
    ends: Instant,
    paths: PathTable<Seen>,
    groups: PathTable<PathId>,
}

/// Round-trip times of an interval.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    all: Duration,
    samples: u32,
}

impl Sum {
    fn add(&mut self, rtt: Duration) {
        self.all = self.all.saturating_add(rtt);
        self.samples = self.samples.saturating_add(1);
    }

    fn mean(&self) -> Option<Duration> {
        self.all.checked_div(self.samples)
    }
}

/// One path.
#[derive(Debug, Default)]
struct Seen {
    /// Round-trip times of the current interval.
    rtt: Sum,
    /// Intervals in a row without any.
    silent: u8,
    /// The path with each one of lower id.
    pairs: PathTable<Pair>,
}

/// Intervals without a round-trip time after which a path carries nothing.
const SILENT: u8 = 16;

impl SameQueue {
    /// Creates the policy.
    #[must_use]
    pub const fn new(_: SameQueueParameters) -> Self {
        Self { known: None }
    }
}

impl Known {
    /// Compares all paths that have round-trip times of the interval that is over. Returns whether a verdict has changed.
    fn end_interval(&mut self, paths: &[PathFacts]) -> bool {
        let mut has_changed = false;
        for (index, path) in paths.iter().enumerate() {
            let mean = self.paths.of(path.id).and_then(|seen| seen.rtt.mean());
            for other in &paths[..index] {
                let other_mean = self.paths.of(other.id).and_then(|seen| seen.rtt.mean());
                let (Some(mean), Some(other_mean)) = (mean, other_mean) else {
                    continue;
                };
                if let Some(seen) = self.paths.of_mut(path.id) {
                    let pair = seen.pairs.of_mut_or_default(other.id);
                    has_changed |= pair.on_interval([other_mean, mean]);
                }
            }
        }
        for path in paths {
            has_changed |= self.begin_interval(path.id);
        }
        has_changed
    }

    /// Returns whether `path` has carried nothing for so long that it leaves its group.
    fn begin_interval(&mut self, path: PathId) -> bool {
        let Some(seen) = self.paths.of_mut(path) else {
            return false;
        };
        seen.silent = match seen.rtt.mean() {
            Some(_) => 0,
            None => seen.silent.saturating_add(1),
        };
        seen.rtt = Sum::default();
        seen.silent == SILENT && self.forget(path)
    }

    /// `path` is apart from all others. Returns whether it was not.
    fn forget(&mut self, path: PathId) -> bool {
        let mut was_shared = false;
        if let Some(seen) = self.paths.of_mut(path) {
            for pair in seen.pairs.iter_mut() {
                was_shared |= pair.is_shared;
                pair.forget();
            }
        }
        for seen in self.paths.iter_mut() {
            if let Some(pair) = seen.pairs.of_mut(path) {
                was_shared |= pair.is_shared;
                pair.forget();
            }
        }
        was_shared
    }

    fn is_shared(&self, path: PathId, lower: PathId) -> bool {
        let pair = self.paths.of(path).and_then(|seen| seen.pairs.of(lower));
        pair.is_some_and(|pair| pair.is_shared)
    }

    fn leader(&self, path: PathId) -> PathId {
        self.groups.of(path).copied().unwrap_or(path)
    }

    /// The groups follow from the pairs. A path that shares a queue with a member of a group is a member of it. Returns whether the
    /// groups have changed.
    fn regroup(&mut self) -> bool {
        let count = self.paths.len();
        let before = mem::take(&mut self.groups);
        let ids = || (0..=u8::MAX).map(PathId).take(count);
        let pairs = ids().flat_map(|path| ids().take(path.index()).map(move |lower| (path, lower)));
        for (path, lower) in pairs {
            if !self.is_shared(path, lower) {
                continue;
            }
            let (one, other) = (self.leader(path), self.leader(lower));
            for member in ids() {
                let theirs = self.leader(member);
                if theirs == one || theirs == other {
                    self.groups.insert(member, one.min(other));
                }
            }
        }
        let of = |groups: &PathTable<PathId>, path| groups.of(path).copied().unwrap_or(path);
        ids().any(|path| of(&before, path) != self.leader(path))
    }

    fn next_end(paths: &[PathFacts], now: Instant) -> Instant {
        let busy = paths.iter().filter(|path| path.in_flight > 0);
        let longest = busy.filter_map(|path| path.srtt()).max();
        now + longest.unwrap_or_default().max(SHORTEST)
    }
}

impl Policy for SameQueue {
    fn name(&self) -> &'static str {
        "same-queue"
    }
}

impl SharedBottleneck for SameQueue {
    fn remove_path(&mut self, path: PathId) {
        let Some(known) = &mut self.known else { return };
        known.paths.remove(path);
        for seen in known.paths.iter_mut() {
            seen.pairs.remove(path);
        }
        known.regroup();
    }

    fn on_ack(&mut self, ack: &AckSample<'_>, paths: &[PathFacts], now: Instant) -> bool {
        if self.known.is_none() {
            if paths.iter().filter(|path| path.sent_chunks > 0).count() < 2 {
                return false;
            }
            self.known = Some(Box::default());
        }
        let Some(known) = &mut self.known else {
            return false;
        };
        let mut has_changed = false;
        // What arrives now belongs to the next interval, whatever path it is of.
        if now >= known.ends {
            has_changed = known.end_interval(paths) && known.regroup();
            known.ends = Known::next_end(paths, now);
        }
        if let Some(own) = ack.on(ack.arrived_on)
            && path_facts(paths, own.path).is_some()
        {
            let seen = known.paths.of_mut_or_default(own.path);
            for rtt in own.round_trip_times(now).into_iter().flatten() {
                seen.rtt.add(rtt);
            }
        }
        has_changed
    }

    fn on_loss(&mut self, loss: &LossEvent, paths: &[PathFacts], _now: Instant) {
        let Some(known) = &mut self.known else { return };
        if loss.cause == LossCause::Reschedule {
            return;
        }
        if let Some(seen) = known.paths.of_mut(loss.path) {
            seen.pairs.iter_mut().for_each(|pair| pair.on_loss(1));
        }
        for other in paths.iter().filter(|other| other.id > loss.path) {
            let seen = known.paths.of_mut(other.id);
            if let Some(pair) = seen.and_then(|seen| seen.pairs.of_mut(loss.path)) {
                pair.on_loss(0);
            }
        }
    }

    fn group(&self, path: PathId) -> Option<PathId> {
        Some(self.known.as_ref().map_or(path, |known| known.leader(path)))
    }
}
