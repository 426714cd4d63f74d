//! Within-window path scheduler. Which path is next, if none may hold the send window for longer than it lasts?
//!
//! Source: ours, from the idea of BLEST (Ferlin et al. 2016).
//!
//! Idea: all paths share one send window. A chunk holds it until its acknowledgement, and what the other paths send meanwhile has to
//! fit in; otherwise they are idle. A lost chunk holds it for longer. So a path rests while it would cost the others more
//! than it brings, and none fills its queue for longer than the window lasts.
//!
//! ```text
//! base_d = min_rtt + min(rttvar, srtt / 8)                    how long an empty d holds a chunk
//! r_d    = delivery rate of d, measured once per srtt and smoothed: 7/8 of the old value; in slow start cwnd / srtt
//! hold_d = base_d while in flight + PMDCS ≤ 5/4 · r_d · base_d, else (in flight + PMDCS) / r_d + min(rttvar, srtt / 8)
//! M      = send window: what may be outstanding above the cumulative TSN
//!
//! best path: the largest min(r_d, M / (λ · base_d)); it never rests
//! others:    λ · hold_d · Σ r_f ≤ M                           over all f with base_f < hold_d that do not rest
//!       and  p_d · (late_d · Σ r_f − M) ≤ PMDCS               over all f with base_f < late_d that do not rest
//! late_d = hold_d + smallest base: a chunk that is lost and sent again
//! p_d    = loss events per chunk on d; both are forgotten with a half-life of 10 s
//! On(smallest hold_d of those that may send and can take data); none: Wait
//! ```
//!
//! A path rests if it could not send with nothing in flight. Its losses are forgotten meanwhile, so it is tried again. Where
//! nothing is in flight, the first path that can take data is used. A path without an RTT sample is tried first, to get one.

mod measured;

use core::cmp::Reverse;

use anabranch_types::{Instant, PathId};

use self::measured::{Measured, SECOND, UNIT};
use super::{nanos, open};
use crate::math::mul_div;
use crate::parameters::{Parameter, Parameters, Slot};
use crate::path_table::PathTable;
use crate::{
    AckSample, Backlog, LossEvent, PathFacts, PathScheduler, Pick, Policy, may_carry_data, path_facts,
};

/// Parameters of [`WithinWindow`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WithinWindowParameters {
    /// How much longer than expected a chunk may hold the window (λ), in thousandths.
    pub lambda_per_mille: u32,
}

impl WithinWindowParameters {
    /// The default values.
    pub const DEFAULT: Self = Self {
        lambda_per_mille: 1_100,
    };
}

impl Default for WithinWindowParameters {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Parameters for WithinWindowParameters {
    const LIST: &'static [Parameter] = &[Parameter {
        name: "lambda",
        default: "1.1",
        meaning: "how much longer than expected a chunk may hold the window, 1.0 to 10.0",
    }];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        Some(match name {
            "lambda" => Slot::thousandths(&mut self.lambda_per_mille, 1_000..=10_000),
            _ => return None,
        })
    }
}

/// Within-window path scheduler.
#[derive(Debug)]
pub struct WithinWindow {
    parameters: WithinWindowParameters,
    measured: PathTable<Measured>,
}

impl WithinWindow {
    /// Creates the scheduler.
    #[must_use]
    pub fn new(parameters: WithinWindowParameters) -> Self {
        Self {
            parameters,
            measured: PathTable::default(),
        }
    }

    /// `amount`, and as much more as is allowed for errors of the estimates.
    fn with_margin(&self, amount: u64) -> u64 {
        mul_div(amount, u64::from(self.parameters.lambda_per_mille), 1_000)
    }

    /// Delivery rate of `path` in bytes per second; at least one chunk per round trip.
    fn rate(&self, path: &PathFacts) -> u64 {
        let measured = self.measured.of(path.id).map_or(0, Measured::rate);
        let by_window = || mul_div(path.cwnd, SECOND, path.srtt.map_or(0, nanos).max(1));
        let in_slow_start = path.ssthresh == u64::MAX;
        let rate = if measured == 0 || in_slow_start {
            by_window().max(measured)
        } else {
            measured
        };
        let least = mul_div(path.max_data_chunk.into(), SECOND, base(path).max(1));
        rate.max(least).max(1)
    }

    /// How long `path` holds a chunk that is sent when there are `in_flight` bytes in flight, in nanoseconds.
    fn hold(&self, path: &PathFacts, in_flight: u64) -> u64 {
        let (base, rate) = (base(path), self.rate(path));
        let after = in_flight.saturating_add(path.max_data_chunk.into());
        // A little more than an empty path needs, so that a higher rate is noticed.
        if after <= mul_div(mul_div(rate, base, SECOND), 5, 4) {
            return base;
        }
        base.max(mul_div(after, SECOND, rate).saturating_add(variation(path)))
    }
}

/// Round-trip time of `path` without a queue of ours, in nanoseconds.
fn base(path: &PathFacts) -> u64 {
    path.min_rtt.map_or(0, nanos).saturating_add(variation(path))
}

/// Half a round trip is assumed before it is measured, which would keep a path from being used. So it is limited.
fn variation(path: &PathFacts) -> u64 {
    nanos(path.rttvar.min(path.srtt.unwrap_or_default() / 8))
}

/// One decision.
struct Decision<'a> {
    scheduler: &'a WithinWindow,
    paths: &'a [PathFacts],
    window: u64,
    resting: Resting,
}

impl Decision<'_> {
    fn usable(&self) -> impl Iterator<Item = &PathFacts> {
        let paths = self.paths;
        paths.iter().filter(|path| may_carry_data(path, paths))
    }

    /// The path that carries most if it is the only one that sends.
    fn best(&self) -> Option<PathId> {
        let alone = |path: &PathFacts| {
            let hold = self.scheduler.with_margin(base(path)).max(1);
            self.scheduler.rate(path).min(mul_div(self.window, SECOND, hold))
        };
        let best = self.usable().max_by_key(|path| (alone(path), Reverse(path.id)));
        best.map(|path| path.id)
    }

    /// Finds the paths that rest, in the order of their delays: whether a path rests depends on the faster ones.
    fn find_resting(&mut self, best: Option<PathId>) {
        let mut last = None;
        loop {
            let keys = self.usable().map(|path| (base(path), path.id));
            let Some(key) = keys.filter(|key| last.is_none_or(|last| *key > last)).min() else {
                return;
            };
            last = Some(key);
            if let Some(path) = path_facts(self.paths, key.1)
                && Some(path.id) != best
                && !self.pays(path, 0)
            {
                self.resting.insert(path.id);
            }
        }
    }

    /// Bytes that the other paths send within `time`. Slower ones hold the window for that time anyhow.
    fn sent_by_others(&self, path: PathId, time: u64) -> u64 {
        let others = self
            .usable()
            .filter(|other| other.id != path && base(other) < time);
        let active = others.filter(|other| !self.resting.contains(other.id));
        let rate = active.fold(0, |sum: u64, other| {
            sum.saturating_add(self.scheduler.rate(other))
        });
        mul_div(rate, time, SECOND)
    }

    /// Whether a chunk on `path` brings more than it costs if `in_flight` bytes are in flight there.
    fn pays(&self, path: &PathFacts, in_flight: u64) -> bool {
        let hold = self.scheduler.hold(path, in_flight);
        let needed = self.sent_by_others(path.id, hold);
        if self.scheduler.with_margin(needed) > self.window {
            return false;
        }
        let losses = self.scheduler.measured.of(path.id).map_or(0, Measured::losses);
        let again = self.usable().map(base).min().unwrap_or(0);
        let late = self.sent_by_others(path.id, hold.saturating_add(again));
        mul_div(late.saturating_sub(self.window), losses, UNIT) <= path.max_data_chunk.into()
    }

    fn pick(&self, best: Option<PathId>) -> Option<PathId> {
        let may_send = |path: &&PathFacts| Some(path.id) == best || self.pays(path, path.in_flight);
        let hold = |path: &PathFacts| (self.scheduler.hold(path, path.in_flight), path.id);
        let picked = open(self.paths).filter(may_send).min_by_key(|path| hold(path));
        picked.map(|path| path.id)
    }
}

/// A set of paths, one bit each.
#[derive(Default)]
struct Resting([u64; 4]);

impl Resting {
    const fn insert(&mut self, path: PathId) {
        self.0[path.index() / 64] |= 1 << (path.index() % 64);
    }

    const fn contains(&self, path: PathId) -> bool {
        self.0[path.index() / 64] >> (path.index() % 64) & 1 == 1
    }
}

impl Policy for WithinWindow {
    fn name(&self) -> &'static str {
        "within-window"
    }
}

impl PathScheduler for WithinWindow {
    fn add_path(&mut self, path: PathId) {
        self.measured.insert(path, Measured::default());
    }

    fn remove_path(&mut self, path: PathId) {
        self.measured.remove(path);
    }

    fn on_ack(&mut self, ack: &AckSample<'_>, paths: &[PathFacts], now: Instant) {
        if paths.len() < 2 {
            return;
        }
        for acked in ack.paths {
            let measured = self.measured.of_mut(acked.path);
            if let (Some(facts), Some(measured)) = (path_facts(paths, acked.path), measured) {
                measured.on_ack(acked, facts, now);
            }
        }
    }

    fn on_loss(&mut self, loss: &LossEvent, paths: &[PathFacts], now: Instant) {
        let measured = self.measured.of_mut(loss.path);
        if let (Some(facts), Some(measured)) = (path_facts(paths, loss.path), measured) {
            measured.on_loss(facts, now);
        }
    }

    fn pick(&mut self, paths: &[PathFacts], backlog: &Backlog, _now: Instant) -> Pick {
        let Some(first) = open(paths).next() else {
            return Pick::Wait { until: None };
        };
        if paths.len() == 1 {
            return Pick::On(first.id);
        }
        if let Some(unknown) = open(paths).find(|path| path.srtt.is_none()) {
            return Pick::On(unknown.id);
        }
        let mut decision = Decision {
            scheduler: self,
            paths,
            window: backlog.send_window,
            resting: Resting::default(),
        };
        let best = decision.best();
        decision.find_resting(best);
        match decision.pick(best) {
            Some(path) => Pick::On(path),
            None if paths.iter().all(|path| path.in_flight == 0) => Pick::On(first.id),
            None => Pick::Wait { until: None },
        }
    }
}
